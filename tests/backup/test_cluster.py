"""Backup and restore on a real Kafka: the ledger goes on elsewhere, and both can be killed.

The other cluster is the same one, after the topics of the ledger were deleted.
"""

import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from ledger.backup.contents import manifest_in
from ledger.backup.place import FolderPlace
from ledger.client import Ledger
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.topics import create_topics, found_topics
from ledger.log.port import Topic
from ledger.log.replay import verify
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode
from projections.fold.fold import Fold
from projections.rows.keys import LOG
from projections.store.memory import MemoryStore
from tests.backup.benches import backed_up
from tests.driver import Driver
from tests.integration.commands import PROGRAM, answer_of, environment, lakeledger
from tests.integration.fleet import Fleet
from tests.log.kafka_bench import delete_topic

pytestmark = pytest.mark.kafka

PATIENCE_S = 60.0
LOOK_S = 0.005
TXNS = 30
# Each kill costs a start of the program, so that all twenty are for slow runs.
FEW, MANY = 3, 20
EVENTS = 30_000
SMALL_FILE = 40_000
FILES = 40
ENDS = {-signal.SIGKILL, -signal.SIGINT, ExitCode.INTERRUPTED, ExitCode.DONE}
APART = (sys.executable, "-m", "tests.backup.runs")


@pytest.fixture
def where(broker: Broker, ledger_name: str) -> tuple[str, ...]:
    return "--bootstrap", broker.bootstrap, "--ledger", ledger_name


@pytest.fixture
def log(broker: Broker, ledger_name: str) -> Iterator[KafkaLog]:
    """Return the log of a ledger that is not created yet."""
    create_topics(broker.bootstrap, ledger_name)
    with closing(KafkaLog(broker.bootstrap, ledger_name)) as log:
        yield log


def delete_topics(broker: Broker, ledger: str) -> None:
    for topic in found_topics(broker.bootstrap, ledger):
        delete_topic(broker.bootstrap, topic_name(ledger, topic))


def commit(client: Ledger, times: int) -> int:
    last = 0
    for _ in range(times):
        txn = client.begin()
        txn.commit()
        last = txn.id
    return last


def rows(log: KafkaLog) -> dict[bytes, bytes]:
    """Return the rows that a follower makes of the log, but for the one that names the topic."""
    store = MemoryStore()
    fold = Fold.load(store, log)
    end = log.ends(Topic.EVENTS)[1]
    with closing(log.reader(Topic.EVENTS, 0)) as reader:
        while reader.next_offset() < end:
            fold.feed(reader.read(1_000, 1.0))
    return {key: value for key, value in store.scan(b"", b"\xff") if key != LOG}


def test_ledger_goes_on_elsewhere(
    broker: Broker, ledger_name: str, log: KafkaLog, where: tuple[str, ...], tmp_path: Path
) -> None:
    """A ledger backed up under load is the same one in another cluster, and can be used there.

    Its log was cut before, and holds a record that is passed over.
    """
    path = str(tmp_path / "backup")
    with (
        Fleet(broker.bootstrap, ledger_name, 2),
        Ledger.connect(broker.bootstrap, ledger_name) as client,
    ):
        commit(client, TXNS)
        first = answer_of(tmp_path, "backup", path, *where)
        last = commit(client, TXNS)
    stray = log.ends(Topic.EVENTS)[1]
    with closing(log.writer(Topic.EVENTS)) as writer:
        writer.append(b"", b"what is this")
        writer.flush(PATIENCE_S)
    over = ("--pass-over", str(stray), "--margin", "0", "--store", str(tmp_path / "none"))
    assert answer_of(tmp_path, "recover", "--cut", *over, *where)["lost_txns"] == []
    before, rows_before = verify(log), rows(log)
    taken = answer_of(tmp_path, "backup", path, *where)
    assert first["new_records"] + taken["new_records"] == before.records == taken["records"]
    assert (taken["position"], taken["chain"]) == (before.head.position, before.head.chain.hex())

    delete_topics(broker, ledger_name)
    refused = lakeledger(tmp_path, "restore", str(tmp_path / "nowhere"), *where[:2])
    assert (refused.returncode, "no backup" in refused.stderr) == (ExitCode.FAILED, True)
    restored = answer_of(tmp_path, "restore", path, *where[:2])
    assert (restored["digest"], restored["restored"]) == (taken["digest"], True)
    with closing(KafkaLog(broker.bootstrap, ledger_name)) as again:
        assert verify(again) == before
        assert rows(again) == rows_before
        with Fleet(broker.bootstrap, ledger_name, 2):
            with Ledger.connect(broker.bootstrap, ledger_name, timeout_s=PATIENCE_S) as client:
                assert commit(client, TXNS) == last + TXNS
            more = answer_of(tmp_path, "backup", path, *where)
            assert more["new_records"] > TXNS
        assert verify(again).head.position >= more["position"]
        refused = lakeledger(tmp_path, "restore", path, *where[:2])
        assert refused.returncode == ExitCode.FAILED
        assert "went on after it was restored. Nothing was changed" in refused.stderr


def long_backup(ledger: str, path: Path) -> Driver:
    """Make a backup of a long history, without a Kafka, and return that history."""
    driver = Driver(ledger="f00d", name=ledger)
    session = driver.open_session()
    while len(driver.records) < EVENTS:
        driver.abort(session, driver.open_txn(session))
        driver.events.clear()
    backed_up(driver.log, path, 1_000_000)
    return driver


class Run(NamedTuple):
    """A program to run, and the home of its ledgers."""

    command: tuple[str, ...]
    home: Path


def strike(run: Run, is_due: Callable[[], bool], number: signal.Signals) -> int:
    """Run a program and send it a signal once that is due; return how it ended."""
    with subprocess.Popen(
        run.command, env=environment(run.home), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        while process.poll() is None:
            if is_due():
                process.send_signal(number)
                break
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
        _, said = process.communicate(timeout=PATIENCE_S)
        # Ctrl-C may come before there is anything of the program to hear it.
        assert process.returncode in ENDS or b"KeyboardInterrupt" in said, said.decode()
        return process.returncode


def struck(run: Run, at: Callable[[], int], total: int, kills: int, chance: random.Random) -> None:
    """Start a run again and again; kill or interrupt each when it has come a little further."""
    for _ in range(kills):
        goal = min(total, at() + 1 + chance.randrange(total // kills))
        number = chance.choice([signal.SIGKILL, signal.SIGINT])
        strike(run, partial(has_come, at, goal), number)


def has_come(at: Callable[[], int], goal: int) -> bool:
    return at() >= goal


@pytest.mark.parametrize(
    ("seed", "kills"),
    [
        (0, FEW),
        pytest.param(0, MANY, marks=pytest.mark.slow),
        pytest.param(1, MANY, marks=pytest.mark.slow),
    ],
)
def test_restore_and_backup_killed_and_interrupted_at_random_points_end_with_the_same_log(
    broker: Broker, ledger_name: str, tmp_path: Path, seed: int, kills: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test that can be repeated
    copy = tmp_path / "copy"
    driver = long_backup(ledger_name, tmp_path / "backup")
    create_topics(broker.bootstrap, ledger_name)
    restore = ("restore", str(tmp_path / "backup"), "--bootstrap", broker.bootstrap)
    backup = Run((*APART, broker.bootstrap, ledger_name, str(copy), str(SMALL_FILE)), tmp_path)
    with closing(KafkaLog(broker.bootstrap, ledger_name)) as log:
        run = Run((*PROGRAM, *restore), tmp_path)
        struck(run, lambda: log.ends(Topic.EVENTS)[1], len(driver.records), kills, chance)
        done = answer_of(tmp_path, *restore)
        assert done["restored"]
        assert verify(log) == verify(driver.log)
    struck(backup, lambda: len(list(copy.glob("*.avro"))), FILES, kills, chance)
    assert strike(backup, lambda: False, signal.SIGKILL) == 0
    manifest = manifest_in(FolderPlace(copy))
    assert manifest.reached.digest.hex() == done["digest"]
    names = {".lock", "backup.json", *(file.name for file in manifest.files)}
    assert {each.name for each in copy.iterdir()} == names
