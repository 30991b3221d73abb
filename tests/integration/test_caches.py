"""Metadata caches as processes on a real broker: fed by the log, asked over HTTP, told to end."""

import json
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
import urllib3

from ledger.client import Ledger
from ledger.definitions.definitions import changed_definition
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode
from ledger.reads.metadata import Bounds, MetadataAnswer, Read, TableMetadata
from ledger.reads.remote.http import HttpCache
from projections.queries import open_reads
from tests.integration.commands import Command, answer_of, lakeledger, up
from tests.integration.fleet import Fleet

pytestmark = pytest.mark.kafka

WAIT_MS = 10_000
PATIENCE_MS = 60_000
END_S = 60.0
TABLE = "db.flights"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Command]]:
    home = tmp_path_factory.mktemp("cached")
    with up(home, "--caches", "2") as command:
        yield home, command
        children = command.children()
        assert command.end(signal.SIGINT) == ExitCode.DONE
        assert psutil.wait_procs(children, timeout=END_S)[1] == []


@pytest.fixture(scope="module")
def urls(running: tuple[Path, Command]) -> list[str]:
    lines = [line for line in running[1].said if line.startswith("metadata cache at ")]
    return [line.split()[3].rstrip(":") for line in lines]


@pytest.fixture(scope="module")
def ledger(running: tuple[Path, Command]) -> Iterator[Ledger]:
    """Return a client of the ledger, with a table."""
    home, _ = running
    bootstrap = answer_of(home, "status")["bootstrap"]
    with (
        closing(open_reads(home / "lake" / "store")) as reads,
        Ledger.connect(bootstrap, "lake", reads=reads) as ledger,
    ):
        ledger.create_table(TABLE, [("day", "int")], location="v0")
        yield ledger


def place(answer: MetadataAnswer) -> str:
    assert isinstance(answer.value, TableMetadata)
    return answer.value.definition.location


def test_a_write_is_read_in_every_cache(ledger: Ledger, urls: list[str]) -> None:
    table = ledger.table(TABLE).table
    held = ledger.begin("read_only")
    before = held.valid_write_ids(TABLE)
    token = ledger.alter_table(TABLE, lambda found: changed_definition(found, location="v1")).token
    now = ledger.begin("read_only").valid_write_ids(TABLE)
    asked = [Read(TABLE, now, table), Read(TABLE, before, table)]

    assert len(urls) == 2
    for url in urls:
        with closing(HttpCache(url)) as cache:
            cache.wait(token.position, PATIENCE_MS)
            found = cache.metadata(asked, Bounds(token.position, WAIT_MS))
            assert [place(each) for each in found] == ["v1", "v0"]
            assert {each.source for each in found} == {"cache"}
    held.abort()


def test_a_txn_is_read_in_every_cache(ledger: Ledger, urls: list[str]) -> None:
    with ledger.transaction() as txn:
        token = txn.alter_table(
            TABLE, lambda found: changed_definition(found, location="mine")
        ).token
        ids = txn.valid_write_ids(TABLE)
        own = Read(ledger.table(TABLE).table, ids, own_txn=txn.id)
        for url in urls:
            with closing(HttpCache(url)) as cache:
                found = cache.metadata([own], Bounds(token.position, WAIT_MS))[0]
                assert (place(found), found.source) == ("mine", "cache")
        assert txn.metadata(TABLE).definition.location == "mine"
        assert ledger.metadata(TABLE).definition.location != "mine"


def test_commands(running: tuple[Path, Command], ledger: Ledger, urls: list[str]) -> None:
    """The commands tell of both forms: a process behind a URL, and the rows of this host."""
    home, _ = running
    for where in (["--url", urls[0]], []):
        found = answer_of(home, "cache", "wait", str(ledger.token), *where)
        assert found["position"] >= ledger.token.position
        assert answer_of(home, "cache", "read", TABLE, *where)["name"] == TABLE
        assert answer_of(home, "cache", "verify", *where)["mismatches"] == []
    status = answer_of(home, "cache", "status", "--url", urls[0])
    assert (status["is_loading"], status["mismatches"]) == (False, 0)
    assert status["lag_positions"] is not None


def test_a_cache_that_follows_is_ready_and_has_metrics(ledger: Ledger, urls: list[str]) -> None:
    with closing(HttpCache(urls[1])) as cache:
        cache.wait(ledger.token.position, PATIENCE_MS)
        ids = ledger.begin("read_only").valid_write_ids(TABLE)
        assert cache.metadata([Read(TABLE, ids)])[0].source == "cache"
    ready = urllib3.request("GET", f"{urls[1]}/readyz")
    text = urllib3.request("GET", f"{urls[1]}/metrics").data.decode()

    checks = {"following", "lag", "sampler", "registered"}
    assert (ready.status, set(ready.json()["checks"])) == (200, checks)
    assert 'lakeledger_cache_reads_total{reason="hit",source="cache"}' in text


@pytest.fixture
def alone(broker: Broker, ledger_name: str) -> Iterator[tuple[str, ...]]:
    """Return the options that name a ledger that is led, and has no follower."""
    create_topics(broker.bootstrap, ledger_name)
    with Fleet(broker.bootstrap, ledger_name, 1):
        yield "--bootstrap", broker.bootstrap, "--ledger", ledger_name


def serve(where: tuple[str, ...], folder: Path) -> Command:
    """Return a cache process at any free port."""
    store = str(folder / "none")
    return Command(folder, "serve", "cache", "--store", store, "--http", "127.0.0.1:0", *where)


def test_a_cache_is_told_to_end(alone: tuple[str, ...], tmp_path: Path) -> None:
    with serve(alone, tmp_path) as command:
        url = json.loads(command.wait_for("answering HTTP"))["url"]
        command.wait_for("caught up")
        missed = lakeledger(tmp_path, "cache", "read", "none", "--url", url)
        assert missed.returncode == ExitCode.FAILED
        assert "no store at" in missed.stderr
        assert command.end(signal.SIGTERM) == ExitCode.DONE
        command.wait_for("stopped")


def test_damage_ends_a_cache(alone: tuple[str, ...], tmp_path: Path) -> None:
    with serve(alone, tmp_path) as command:
        command.wait_for("caught up")
        with closing(KafkaLog(alone[1], alone[3])) as log:
            writer = log.writer(Topic.EVENTS)
            writer.append(b"", b"garbage")
            writer.flush(30.0)
            writer.close()
        assert command.process.wait(END_S) == ExitCode.UNHEALTHY
        assert "damaged at position" in command.wait_for("ended")
