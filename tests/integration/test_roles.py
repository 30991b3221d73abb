"""Each role by itself: told to end, killed, on topics that are unfit, on a log that is damaged."""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.core.commands import OpenTxn
from ledger.core.events.events import Fenced, Resigned
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Log, Topic
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode
from projections.queries import open_reads
from projections.store.rocks_store import RocksStore
from tests.integration.audit import values
from tests.integration.commands import Command, lakeledger
from tests.integration.fleet import Fleet
from tests.integration.raw_client import UNNUMBERED, RawClient
from tests.log.kafka_bench import kafka_bench
from tests.log.test_topics import alter

pytestmark = pytest.mark.kafka

OPEN_TXN = OpenTxn(*UNNUMBERED, "default", 1, 0)
HAND_OVER_MS = 1_000
WAIT_MS = 30_000
END_S = 60.0
# Several followers may run on this machine, and none of these is asked over HTTP.
SILENT = "--no-http"


@pytest.fixture
def log(broker: Broker, ledger_name: str) -> Iterator[Log]:
    """Return the log of a ledger that is not created yet."""
    create_topics(broker.bootstrap, ledger_name)
    with closing(KafkaLog(broker.bootstrap, ledger_name)) as log:
        yield log


@pytest.fixture
def where(broker: Broker, ledger_name: str) -> tuple[str, ...]:
    return "--bootstrap", broker.bootstrap, "--ledger", ledger_name


@pytest.fixture
def position(broker: Broker, ledger_name: str, log: Log) -> int:
    """Give the ledger a history, end its sequencer in good order, and return where it ends."""
    with RawClient(log) as raw:
        with Fleet(broker.bootstrap, ledger_name, 1):
            session = raw.open_session()
            for _ in range(20):
                raw.ask(session, OPEN_TXN)
        return raw.wait_for(lambda event: isinstance(event.body, Resigned)).control.position


def test_leader_resigns(where: tuple[str, ...], log: Log, tmp_path: Path) -> None:
    """A leader told to end says so in the log, and a standby leads at once, without suspecting."""
    serve = ("serve", "sequencer", *where)
    with Command(tmp_path, *serve) as leader, RawClient(log) as raw:
        leader.wait_for("leading")
        with Command(tmp_path, *serve) as standby:
            standby.wait_for("standing by")
            session = raw.open_session()
            assert leader.end(signal.SIGTERM) == ExitCode.DONE
            standby.wait_for("leading")
            resigned = raw.wait_for(lambda event: isinstance(event.body, Resigned)).control
            fenced = raw.wait_for(lambda event: isinstance(event.body, Fenced)).control
            assert fenced.epoch == resigned.epoch + 1
            assert fenced.at - resigned.at < HAND_OVER_MS
            raw.ask(session, OPEN_TXN)


def test_follower_is_killed(where: tuple[str, ...], position: int, tmp_path: Path) -> None:
    """A follower that was killed goes on where its rows end, and reads nothing twice."""
    store = tmp_path / "store"
    serve = ("serve", "follower", "--store", str(store), SILENT, *where)
    with Command(tmp_path, *serve) as follower:
        follower.wait_for("caught up")
        follower.end(signal.SIGKILL)
    with Command(tmp_path, *serve) as follower:
        assert json.loads(follower.wait_for("following"))["rows_up_to"] == position
        follower.wait_for("caught up")
        with closing(open_reads(store)) as reads:
            reads.wait(position, WAIT_MS)
            assert len(reads.open_txns(100)) == 20
        assert follower.end(signal.SIGTERM) == ExitCode.DONE


def test_old_checkpoint_is_replaced(where: tuple[str, ...], position: int, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "store"), "--set", "follower.checkpoint_s=0.1")
    serve = ("serve", "follower", *store, SILENT, *where)
    with Command(tmp_path, *serve) as follower:
        begun = json.loads(follower.wait_for("following"))
        while json.loads(follower.wait_for("checkpoint"))["position"] < position:
            pass
        follower.end(signal.SIGKILL)
    with Command(tmp_path, *serve) as follower:
        resumed = json.loads(follower.wait_for("following"))
    assert (begun["state_up_to"], begun["from_record"]) == (0, 0)
    assert (resumed["state_up_to"], resumed["rows_up_to"]) == (position, position)
    assert resumed["from_record"] == resumed["records"] - 1


@pytest.mark.parametrize("role", ["sequencer", "follower"])
def test_role_is_told_to_end(where: tuple[str, ...], log: Log, tmp_path: Path, role: str) -> None:
    assert log.ends(Topic.EVENTS) == (0, 0)
    store = ("--store", str(tmp_path / "store"), SILENT) if role == "follower" else ()
    with Command(tmp_path, "serve", role, *store, *where) as command:
        command.wait_for("leading" if role == "sequencer" else "caught up")
        assert command.end(signal.SIGTERM) == ExitCode.DONE
        command.wait_for("stopped")


def test_a_follower_that_would_have_to_begin_with_events_that_are_gone_ends_for_good(
    broker: Broker, where: tuple[str, ...], log: KafkaLog, position: int, tmp_path: Path
) -> None:
    kafka_bench(log, broker.bootstrap).remove_below(Topic.EVENTS, position)
    store = str(tmp_path / "store")
    with Command(tmp_path, "serve", "follower", "--store", store, SILENT, *where) as follower:
        assert follower.process.wait(END_S) == ExitCode.UNHEALTHY
        assert f"first record left is at offset {position}" in follower.wait_for("ended")


def test_damage_is_named(where: tuple[str, ...], log: Log, position: int, tmp_path: Path) -> None:
    """Bytes that nobody can have written end every reader at their position, for good."""
    sound = lakeledger(tmp_path, "log", "verify", *where, "--output", "json")
    assert json.loads(sound.stdout)["position"] == position
    writer = log.writer(Topic.EVENTS)
    writer.append(b"", b"garbage")
    writer.flush(30.0)
    writer.close()
    damaged = f"the events log is damaged at position {position + 1}"
    store = ("--store", str(tmp_path / "store"), SILENT)
    for command in (("log", "verify"), ("serve", "follower", *store), ("serve", "sequencer")):
        done = lakeledger(tmp_path, *command, *where)
        assert done.returncode == ExitCode.UNHEALTHY
        assert damaged in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.spark
def test_damaged_rows_end_a_feeder(where: tuple[str, ...], log: Log, tmp_path: Path) -> None:
    assert log.ends(Topic.EVENTS) == (0, 0)
    rows = tmp_path / "fed/rows"
    with RocksStore.rebuild(rows) as store:
        store.publish()
    for path in rows.glob("*/CURRENT"):
        path.write_bytes(b"\xff")
    done = lakeledger(tmp_path, "serve", "feeder", "--store", str(rows.parent), *where)
    assert (done.returncode, "with --rebuild" in done.stderr) == (ExitCode.UNHEALTHY, True)


@pytest.mark.parametrize(
    "unfit",
    [
        (Topic.EVENTS, "retention.ms", "86400000"),
        (Topic.EVENTS, "retention.bytes", "1000000"),
        (Topic.EVENTS, "cleanup.policy", "compact"),
        (Topic.BEATS, "message.timestamp.type", "CreateTime"),
    ],
    ids=" ".join,
)
def test_unfit_topic(
    broker: Broker, log: Log, where: tuple[str, ...], tmp_path: Path, unfit: tuple[Topic, str, str]
) -> None:
    """A topic that would lose history is refused at every start: named, with what mends it."""
    topic, setting, value = unfit
    assert log.ends(topic) == (0, 0)
    name = topic_name(where[-1], topic)
    alter(broker.bootstrap, name, setting, value)
    for command in (("init", "--replication", "1"), ("serve", "sequencer")):
        done = lakeledger(tmp_path, *command, *where)
        assert done.returncode == ExitCode.USAGE
        assert f"{name} has {setting}={value}, wanted" in done.stderr
        assert f"--entity-name {name} --add-config {setting}=" in done.stderr


def test_init(broker: Broker, where: tuple[str, ...], tmp_path: Path) -> None:
    """The topics are created once; a second time they are only compared."""
    for _ in range(2):
        done = lakeledger(tmp_path, "init", *where, "--replication", "1")
        assert done.returncode == ExitCode.DONE
        assert re.search("next: lakeledger serve sequencer", done.stderr)
    with closing(KafkaLog(broker.bootstrap, where[-1])) as log:
        assert list(values(log, Topic.EVENTS)) == []


def test_more_copies_than_brokers_are_refused(where: tuple[str, ...], tmp_path: Path) -> None:
    done = lakeledger(tmp_path, "init", *where)
    assert done.returncode == ExitCode.USAGE
    assert "cannot have so many replicas" in done.stderr
