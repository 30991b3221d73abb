"""Another host: clients that reach Kafka and a URL of reads, and no store, on a real broker."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import urllib3

from ledger.client import Ledger
from ledger.config.address import Address
from ledger.errors import ReadsUnavailableError
from ledger.log.kafka.topics import create_topics
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode
from ledger.reads.remote.http import HttpReads
from tests.integration.commands import Command, environment, lakeledger, up

pytestmark = pytest.mark.kafka

WAIT_MS = 30_000
FAR = """
import json
from ledger import AddFile, ConcurrentAppendException, Ledger

with Ledger.connect() as ledger:
    ledger.create_table("flights", [("day", "int")], partition_columns=["day"])
    ledger.append("flights", [AddFile("one", ("1",)), AddFile("two", ("2",))])
    loser = ledger.begin()
    stale = loser.read("flights", "day = 1")
    with ledger.transaction() as txn:
        seen = txn.read("flights", "day = 1")
        txn.remove_files("flights", seen)
        txn.add_files("flights", [AddFile("three", ("1",))])
        held = txn.valid_write_ids("flights").text()
    try:
        loser.remove_files("flights", stale)
        loser.commit()
        lost = ""
    except ConcurrentAppendException as error:
        lost = error.explain()
    print(json.dumps({
        "seen": seen.paths,
        "held": held,
        "lost": lost,
        "files": ledger.read("flights").paths,
        "before": ledger.read("flights", version=1).paths,
        "versions": [row.version for row in ledger.reads().versions(seen.table.table, 9)],
        "snapshot": ledger.snapshot().text(),
    }))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("near")
    with up(home) as command:
        yield home
        assert command.end(signal.SIGTERM) == ExitCode.DONE


@pytest.fixture(scope="module")
def url(home: Path) -> str:
    address = Address.read(home / "lake")
    assert address is not None
    assert address.reads_url is not None
    return address.reads_url


@pytest.fixture
def far(home: Path, url: str, tmp_path: Path) -> Mapping[str, str]:
    address = Address.read(home / "lake")
    assert address is not None
    found = {"LAKELEDGER_BOOTSTRAP": address.bootstrap, "LAKELEDGER_READS_URL": url}
    return {**environment(tmp_path), **found}


def test_whole_transaction(far: Mapping[str, str], tmp_path: Path) -> None:
    """A client there creates, reads, writes, loses and is told why; it sees what it wrote."""
    done = subprocess.run(
        [sys.executable, "-c", FAR],
        env=far,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["seen"] == ["one"]
    assert told["held"].startswith("main.flights:")
    assert told["lost"].startswith("ConcurrentAppend: txn 2 lost")
    assert (told["files"], told["before"]) == (["three", "two"], ["one", "two"])
    assert told["versions"] == [2, 1, 0]


def test_the_command_line_there_answers_by_the_rows(far: Mapping[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ledger", "status", "--output", "json"],
        env=far,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["leader"]["epoch"] > 0


def test_the_follower_that_is_up_is_ready_and_has_metrics_of_its_log(home: Path, url: str) -> None:
    address = Address.read(home / "lake")
    assert address is not None
    with Ledger.connect(address.bootstrap, address.ledger, reads=HttpReads(url)) as ledger:
        reads = ledger.reads()
        position = reads.wait(ledger.begin().opened, WAIT_MS)
        ready = urllib3.request("GET", f"{url}/readyz")
        text = urllib3.request("GET", f"{url}/metrics").data.decode()
        reads.close()
    assert (ready.status, ready.json()["status"]) == (200, "UP")
    assert 'lakeledger_events_applied_total{type="LedgerCreated"} 1.0' in text
    found = next(line for line in text.splitlines() if line.startswith("lakeledger_position "))
    assert float(found.split()[1]) >= position


def test_gone(broker: Broker, ledger_name: str, tmp_path: Path) -> None:
    """A follower told to end leaves nobody waiting; a client is told that it is gone."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        http = f"127.0.0.1:{server.getsockname()[1]}"
    create_topics(broker.bootstrap, ledger_name)
    where = ("--bootstrap", broker.bootstrap, "--ledger", ledger_name)
    store = ("--store", str(tmp_path / "rows"))
    with Command(tmp_path, "serve", "follower", *store, *where, "--http", http) as follower:
        assert json.loads(follower.wait_for("answering HTTP"))["url"] == f"http://{http}"
        follower.wait_for("caught up")
        reads = HttpReads(f"http://{http}")
        assert reads.wait(0, WAIT_MS) == 0
        taken = lakeledger(
            tmp_path, "serve", "follower", "--store", str(tmp_path / "b"), *where, "--http", http
        )
        assert taken.returncode == ExitCode.USAGE
        assert f"listen at {http}" in taken.stderr
        assert follower.end(signal.SIGTERM) == ExitCode.DONE
        with pytest.raises(ReadsUnavailableError):
            reads.position()
        reads.close()


def test_without_http(broker: Broker, ledger_name: str, tmp_path: Path) -> None:
    """A follower that is told so answers no HTTP."""
    create_topics(broker.bootstrap, ledger_name)
    where = ("--bootstrap", broker.bootstrap, "--ledger", ledger_name)
    store = ("--store", str(tmp_path / "rows"))
    with Command(tmp_path, "serve", "follower", *store, *where, "--no-http") as follower:
        follower.wait_for("caught up")
        assert not any("answering HTTP" in line for line in follower.said)
        assert follower.end(signal.SIGTERM) == ExitCode.DONE
