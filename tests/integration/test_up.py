"""`lakeledger up`: comes up, answers, ends as a whole however it ends, and keeps its data."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from ledger.client import Ledger
from ledger.config.address import Address
from ledger.log.wire.file_list import RemoveFile
from ledger.machine.process import ExitCode
from ledger.machine.up import running as running_up
from ledger.machine.up_settings import UpSettings
from projections.queries import open_reads
from projections.store.port import FORMAT_VERSION
from projections.store.rocks_store import RocksStore
from tests.integration.commands import (
    PROGRAM,
    Command,
    answer_of,
    environment,
    lakeledger,
    starting,
    up,
)
from tests.projections.followed import Followed

pytestmark = pytest.mark.kafka

END_S = 60.0
WAIT_MS = 30_000
LEDGER = "lake"
MANY = 70


def produce(home: Path) -> None:
    """Create a table, commit a txn, leave one aborted with data in it, and one open no longer."""
    address = answer_of(home, "status")["bootstrap"]
    with Ledger.connect(address, LEDGER) as ledger:
        table = ledger.create_table("db.t", layout="directories").table
        with ledger.transaction() as txn:
            txn.write_id(table)
            txn.wrote(table, "insert")
        lost = ledger.begin()
        lost.write_id(table)
        lost.abort("no longer wanted [1]")


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the home of a ledger that was used and stopped."""
    home = tmp_path_factory.mktemp("used")
    with up(home) as command:
        produce(home)
        assert command.end(signal.SIGTERM) == ExitCode.DONE
    return home


@pytest.fixture
def home(used: Path, tmp_path: Path) -> Path:
    """Return a copy of the used home; it keeps no port, for another copy may be up at that."""
    return shutil.copytree(used, tmp_path / "home", ignore=shutil.ignore_patterns("ports.json"))


def left_of(processes: list[Any]) -> list[Any]:
    """Return which of the processes have not ended after a while."""
    return list(psutil.wait_procs(processes, timeout=END_S)[1])


@pytest.fixture(scope="module")
def shared(used: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the home of a ledger that is up, for commands that change nothing."""
    home = shutil.copytree(used, tmp_path_factory.mktemp("shared") / "home")
    with up(home) as command:
        yield home
        command.end(signal.SIGTERM)


@pytest.fixture
def running(home: Path) -> Iterator[Command]:
    """Return a `lakeledger up` over the used home."""
    with up(home) as command:
        yield command


def store_of(home: Path) -> Path:
    return home / LEDGER / "store"


def test_while_it_is_up_every_command_answers_to_people_and_to_programs(shared: Path) -> None:
    status = answer_of(shared, "status")
    assert (status["tables"], status["aborted_txns"], status["open_txns"]) == (1, 1, 0)
    assert status["leader"]["sequencer"].startswith("sequencer-")
    verified = answer_of(shared, "log", "verify")
    assert verified["epoch"] == status["leader"]["epoch"] > 1
    assert [row["txn"] for row in answer_of(shared, "txn", "list", "--aborted")] == [2]
    assert answer_of(shared, "txn", "show", "1")["status"] == "committed"
    assert answer_of(shared, "table", "list")[0]["name"] == "db.t"
    assert answer_of(shared, "table", "show", "db.t")["valid_write_ids"].startswith("main.db.t:2:")
    people = lakeledger(shared, "txn", "show", "2")
    assert "no longer wanted [1]" in people.stdout
    assert "as of position" in people.stderr


def test_a_second_is_up_once_its_own_rows_can_be_read(shared: Path, tmp_path: Path) -> None:
    address = answer_of(shared, "status")["bootstrap"]
    settings = UpSettings(LEDGER, tmp_path, address, sequencers=1, http="off")
    with running_up(settings) as second, closing(open_reads(store_of(tmp_path))) as reads:
        assert second.has_rows
        assert reads.identity().name == LEDGER
        assert reads.counts()[:2] == (0, 1)


def test_every_open_txn_is_counted_beyond_a_list(running: Command, home: Path) -> None:
    assert running.process.poll() is None
    address = answer_of(home, "status")["bootstrap"]
    with Ledger.connect(address, LEDGER) as ledger, closing(open_reads(store_of(home))) as reads:
        ledger.begin_many(MANY)
        reads.wait(ledger.token.position, WAIT_MS)
        status = answer_of(home, "status")
    assert (status["open_txns"], status["aborted_txns"]) == (MANY, 1)


def test_rows_of_a_ledger_of_the_same_name(tmp_path: Path) -> None:
    with RocksStore.open(tmp_path / "store") as rows:
        Followed(rows).follow()
    with up(tmp_path / "home", "--ledger", "demo") as command:
        folder = tmp_path / "home/demo"
        found = Address.read(folder)
        assert found is not None
        replace(found, store=tmp_path / "store", reads_url=None).write(folder)
        done = lakeledger(tmp_path / "home", "status")
        command.end(signal.SIGTERM)
    assert done.returncode == ExitCode.USAGE
    assert "the rows belong to ledger demo (5f3a9c1e, domain 0), but the log belongs" in done.stderr


def test_what_holds_the_watermark_is_named_with_a_remedy(running: Command, home: Path) -> None:
    assert running.process.poll() is None
    position = answer_of(home, "status")["position"]
    explained = answer_of(home, "watermark", "explain")
    assert explained["held_by"] == "aborted txn 2 with data in db.t"
    _, _, remedy = explained["remedy"].partition("lakeledger ")
    done = lakeledger(home, *remedy.split(), "--yes")
    assert done.returncode == ExitCode.DONE
    with closing(open_reads(store_of(home))) as reads:
        reads.wait(position + 2, WAIT_MS)
    assert answer_of(home, "watermark", "explain")["held_by"] == "nothing"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("txn show 99", ExitCode.NOT_FOUND, "there is no txn 99 up to position"),
        ("table show db.none", ExitCode.NOT_FOUND, "there is no table main.db.none"),
        ("txn abort 99", ExitCode.NOT_FOUND, "there is no txn 99 up to position"),
        ("txn abort 2", ExitCode.USAGE, "there is no terminal: abort txn 2?"),
        ("txn abort 99 --yes", ExitCode.NOT_FOUND, "txn 99 is not open"),
        ("txn abort 0 --yes", ExitCode.NOT_FOUND, "no txn with this id was ever opened"),
        ("txn abort 1 --yes", ExitCode.FAILED, "it committed at position"),
        ("clean --txn 99 --yes", ExitCode.NOT_FOUND, "txn 99 is unknown"),
        ("clean --txn 1 --yes", ExitCode.FAILED, "txn 1 is committed"),
        (
            "clean --table 1 --write-id 1 --yes",
            ExitCode.FAILED,
            "write id 1 of table 1 belongs to no",
        ),
        (
            "clean --table db.t --write-id 1 --yes",
            ExitCode.FAILED,
            "write id 1 of table 1 belongs to no",
        ),
        (
            "clean --table db.t --catalog other --write-id 1 --yes",
            ExitCode.NOT_FOUND,
            "there is no table other.db.t",
        ),
        ("txn list --ledger other", ExitCode.USAGE, "no ledger other is up on this machine"),
    ],
)
def test_exit_codes(shared: Path, arguments: str, code: ExitCode, said: str) -> None:
    """What cannot be done is told apart by its exit code, and said in a sentence."""
    done = lakeledger(shared, *arguments.split())
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("options", [(), ("--bootstrap", "127.0.0.1:9")])
def test_a_ledger_that_is_up_stays_where_it_is(shared: Path, options: tuple[str, ...]) -> None:
    second = lakeledger(shared, "up", *options)
    assert second.returncode == ExitCode.USAGE
    assert f"another `lakeledger up` runs in {shared / LEDGER}" in second.stderr
    assert answer_of(shared, "status")["ledger"] == LEDGER


def assert_ends_whole(command: Command, home: Path, number: signal.Signals) -> None:
    """A signal ends every process of it, and takes its address away."""
    children = command.children()
    assert len(children) == len(
        ["broker", "watch", "sequencer", "sequencer", "follower", "flusher"]
    )
    assert command.end(number) == ExitCode.DONE
    assert left_of(children) == []
    assert lakeledger(home, "status").returncode == ExitCode.UNHEALTHY


def test_ctrl_c_ends_it_whole(running: Command, home: Path) -> None:
    before = Address.read(home / LEDGER)
    assert_ends_whole(running, home, signal.SIGINT)
    with up(home):
        after = Address.read(home / LEDGER)
    assert before is not None
    assert after is not None
    assert after.reads_url == before.reads_url


def test_killed(running: Command, home: Path) -> None:
    """Killed, it takes every process along and loses nothing; started again, it goes on.

    The end of its terminal then ends it whole.
    """
    before = answer_of(home, "log", "verify")
    children = running.children()
    running.end(signal.SIGKILL)
    assert left_of(children) == []
    asked = lakeledger(home, "status")
    assert asked.returncode == ExitCode.UNHEALTHY
    assert "its `lakeledger up` was killed" in asked.stderr
    with up(home) as again:
        after = answer_of(home, "log", "verify")
        assert after["epoch"] == before["epoch"] + 1
        assert after["position"] == before["position"] + 1
        assert answer_of(home, "txn", "show", "1")["status"] == "committed"
        assert_ends_whole(again, home, signal.SIGHUP)


def laid_out(store: Path, version: int) -> None:
    """Leave rows as another version laid them out."""
    with RocksStore.rebuild(store, version=version) as other:
        other.publish()


def as_of_a_newer_version(store: Path) -> None:
    laid_out(store, FORMAT_VERSION + 1)


def test_rows_of_an_older_version_are_made_anew_by_themselves(home: Path) -> None:
    laid_out(store_of(home), FORMAT_VERSION - 1)
    with up(home, "--caches", "1") as command:
        assert answer_of(home, "txn", "show", "1")["status"] == "committed"
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def damaged(store: Path) -> None:
    """Lose what the newest rows are in."""
    for path in store.glob("*/*.sst"):
        path.unlink()


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        pytest.param(as_of_a_newer_version, ExitCode.INCOMPATIBLE, marks=pytest.mark.slow),
        (damaged, ExitCode.UNHEALTHY),
    ],
)
def test_rows_to_make_anew(home: Path, spoil: Callable[[Path], None], code: ExitCode) -> None:
    spoil(store_of(home))
    with starting(home, "--caches", "1") as command:
        command.wait_for("with --rebuild, of lakeledger up")
        assert command.process.wait(END_S) == code

    with up(home, "--caches", "1", "--rebuild") as command:
        if not any("caught up" in line for line in command.said):
            command.wait_for("caught up")
        assert answer_of(home, "txn", "show", "1")["status"] == "committed"
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def test_interrupted_at_its_start(home: Path) -> None:
    with starting(home) as command:
        command.wait_for("starting sequencer-1, sequencer-2, follower")
        children = command.children()
        assert command.end(signal.SIGINT) == ExitCode.INTERRUPTED
        command.wait_for("interrupted before the ledger was up")
        assert left_of(children) == []


def test_a_second_ctrl_c_kills_what_does_not_end(running: Command, home: Path) -> None:
    children = running.children()
    follower = next(each for each in children if "follower" in each.cmdline())
    follower.suspend()
    running.process.send_signal(signal.SIGINT)
    running.wait_for("stopping")
    assert running.end(signal.SIGINT) == ExitCode.INTERRUPTED
    running.wait_for("interrupted while stopping: the remaining processes were killed")
    assert left_of(children) == []
    assert Address.read(home / LEDGER) is None


def test_without_its_broker_it_ends_as_a_whole_and_says_why(running: Command) -> None:
    broker = next(each for each in running.children() if each.name() == "java")
    children = running.children()
    broker.kill()
    running.wait_for("BrokerError")
    assert running.process.wait(END_S) == ExitCode.FAILED
    assert left_of(children) == []
    *before, last = running.said
    assert "it was killed by SIGKILL" in last
    assert not any("most recent call" in line for line in before)


def test_a_ledger_whose_broker_hangs_is_told_to_be_unwell(running: Command, home: Path) -> None:
    broker = next(each for each in running.children() if each.name() == "java")
    broker.suspend()
    asked = lakeledger(home, "status", "--output", "json")
    broker.resume()
    assert asked.returncode == ExitCode.UNHEALTHY
    assert "no answer in time" in json.loads(asked.stdout)["reason"]
    assert json.loads(asked.stderr)["exit_code"] == ExitCode.UNHEALTHY


def test_the_last_events_are_shown_as_many_as_asked_for(shared: Path) -> None:
    rows = lakeledger(shared, "log", "tail", "--last", "2", "--no-follow", "--output", "json")
    positions = [json.loads(line)["position"] for line in rows.stdout.splitlines()]
    end = answer_of(shared, "status")["position"]
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(
        [*PROGRAM, "log", "tail"],
        env=environment(shared),
        stdout=writes,
        stderr=subprocess.PIPE,
        timeout=END_S,
        check=False,
    )
    os.close(writes)

    assert positions == [end - 1, end]
    assert (done.returncode, done.stderr) == (ExitCode.DONE, b"")


def test_an_anomaly_is_counted_until_it_is_acknowledged(running: Command, home: Path) -> None:
    assert running.process.poll() is None
    with Ledger.connect(answer_of(home, "status")["bootstrap"], LEDGER) as ledger:
        ledger.create_table("db.files")
        with ledger.transaction() as txn:
            txn.remove_files("db.files", [RemoveFile("ghost")])
        position = ledger.token.position
    with closing(open_reads(store_of(home))) as reads:
        reads.wait(position, WAIT_MS)
        assert answer_of(home, "status")["anomalies"] == {"removed_not_live": 1}
        (row,) = answer_of(home, "anomaly", "acknowledge")
        reads.wait(position + 2, WAIT_MS)

    assert (row["name"], row["acknowledged"]) == ("main.db.files", {"removed_not_live": 1})
    assert answer_of(home, "status")["anomalies"] == {}
    assert answer_of(home, "anomaly", "list") == []
    assert len(answer_of(home, "anomaly", "list", "--all")) == 1
