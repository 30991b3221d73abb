"""Publishing from the command line, as its page says: publish, read elsewhere, attach, release."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.config.address import Address
from ledger.machine.process import ExitCode
from ledger.reads.remote.publisher import HttpPublisher
from projections.queries import open_reads
from tests.integration.commands import answer_of, environment, lakeledger, up
from tests.web.test_unity import attached, listed

deltalake = pytest.importorskip("deltalake")
pytestmark = [pytest.mark.kafka, pytest.mark.slow]

WAIT_MS: Final = 30_000


LATER: Final = """
from ledger import Ledger

with Ledger.connect() as ledger:
    ledger.create_table("db.later", [{"id": 7}])
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Run a ledger with a publisher."""
    home = tmp_path / "home"
    with up(home, "--publish") as command:
        yield home
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def address_of(home: Path) -> Address:
    address = Address.read(home / "lake")
    assert address is not None
    return address


@contextmanager
def connected(home: Path) -> Iterator[Ledger]:
    address = address_of(home)
    assert address.store is not None
    with (
        closing(open_reads(address.store)) as reads,
        Ledger.connect(
            address.bootstrap, address.ledger, reads=reads, warehouse=address.warehouse
        ) as ledger,
    ):
        yield ledger


def published(home: Path, name: str) -> Any:
    """Return the Delta table of a table, once the publisher has written all that is there."""
    position = answer_of(home, "status")["position"]
    with closing(HttpPublisher(str(address_of(home).publisher_url))) as publisher:
        publisher.wait(position, WAIT_MS)
    with connected(home) as ledger:
        return deltalake.DeltaTable(ledger.table(name).definition.location)


def rows_of(table: Any) -> list[dict[str, Any]]:
    rows = table.to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda each: int(each["id"]))


def test_tables_are_published_in_three_ways_then_read_and_released(home: Path) -> None:
    with connected(home) as ledger:
        ledger.create_table("db.trips", [{"id": 1, "day": 3}], partition_columns=["day"])
        ledger.create_table("db.fares", [{"id": 1, "price": 2.5}])
        ledger.create_table("db.folders", [("id", "bigint")], layout="directories")

    def outcomes(*names: str) -> dict[str, str]:
        found = answer_of(home, "table", "publish", *names)
        return {each["table"]: each["outcome"] for each in found}

    assert outcomes("db.trips") == {"db.trips": "published"}
    assert rows_of(published(home, "db.trips")) == [{"id": 1, "day": 3}]
    with connected(home) as ledger:
        ledger.append("db.trips", [{"id": 2, "day": 4}])
    assert [each["id"] for each in rows_of(published(home, "db.trips"))] == [1, 2]

    refused = lakeledger(home, "table", "publish", "db.folders")
    assert (refused.returncode, "directories" in refused.stdout) == (ExitCode.FAILED, True)
    assert lakeledger(home, "table", "publish", "--all").returncode == ExitCode.USAGE
    every = outcomes("--all", "--yes")
    assert (every["db.trips"], every["db.fares"]) == ("was published before", "published")
    assert every["db.folders"].startswith("cannot be published")

    by_setting = {**environment(home), "LAKELEDGER_PUBLISH": "delta"}
    subprocess.run([sys.executable, "-c", LATER], env=by_setting, check=True)
    assert rows_of(published(home, "db.later")) == [{"id": 7}]

    catalog = attached(str(address_of(home).reads_url))
    names = [f"{schema}.{name}" for _, schema, name, *_ in listed(catalog)]
    assert names == ["db.fares", "db.later", "db.trips"]
    assert catalog.execute("SELECT id FROM lake.db.trips ORDER BY id").fetchall() == [(1,), (2,)]
    assert answer_of(home, "status")["publisher"]["tables"] == 3

    release(home)


def release(home: Path) -> None:
    """Release a table, which another program then writes."""
    trips = published(home, "db.trips")
    with pytest.raises(Exception, match="lakeledger"):
        deltalake.write_deltalake(trips, trips.to_pyarrow_table(), mode="append")
    released = answer_of(home, "table", "release", "db.trips")
    assert (released["newest"], released["stopped"]) == (trips.version() + 1, "")
    again = lakeledger(home, "table", "release", "db.trips", "--output", "json")
    assert again.returncode == ExitCode.FAILED
    assert "is not published" in json.dumps(again.stdout + again.stderr)
    deltalake.write_deltalake(trips.table_uri, trips.to_pyarrow_table(), mode="append")
    assert len(rows_of(deltalake.DeltaTable(trips.table_uri))) == 4
