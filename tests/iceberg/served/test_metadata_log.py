"""The log of earlier metadata files: as many as a table says, the same ones for all servers."""

import json
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

from ledger import Ledger
from ledger.testing import InMemoryLedger
from projections.iceberg.served.folding import EARLIER_MAX, SNAPSHOTS_MAX
from projections.iceberg.served.metadata.versions import KEPT
from projections.iceberg.served.tables import ServedTables


def tables_of(memory: InMemoryLedger) -> ServedTables:
    return ServedTables(lambda: memory.reads, memory.reads.identity().ledger)


def created(ledger: Ledger, folder: Path, **properties: str) -> None:
    ledger.create_table("db.t", [("id", "BIGINT")], location=str(folder), properties=properties)


def log_of(tables: ServedTables, ledger: Ledger) -> list[dict[str, Any]]:
    log: list[dict[str, Any]] = tables.table(ledger.table("db.t")).metadata()["metadata-log"]
    return log


def test_a_log_has_the_earlier_files_as_they_were_loaded(tmp_path: Path) -> None:
    """Every version has one, also one of the definition; a file names only those before it."""
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        created(ledger, tmp_path / "t")
        tables = tables_of(memory)
        loaded: list[dict[str, Any]] = []
        for number in range(6):
            table = tables.table(ledger.table("db.t"))
            metadata = json.loads(Path(table.metadata_location.removeprefix("file:")).read_bytes())
            assert metadata == table.metadata()
            assert metadata["metadata-log"] == loaded[-EARLIER_MAX:]
            updated = metadata["last-updated-ms"]
            loaded.append({"timestamp-ms": updated, "metadata-file": table.metadata_location})
            if number % 2:
                ledger.alter_table("db.t", properties={"a": str(number)})
            else:
                ledger.append("db.t", [{"id": number}])

        assert len({each["metadata-file"] for each in loaded}) == 6
        kept = loaded[-EARLIER_MAX:]
        assert log_of(tables, ledger) == log_of(tables_of(memory), ledger) == kept


def test_the_files_of_a_log_are_there_whether_or_not_their_versions_were_loaded(
    tmp_path: Path,
) -> None:
    """DuckDB opens them; a server writes the ones that another one would have."""
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        created(ledger, tmp_path / "t")
        eager, written = tables_of(memory), {}
        for number in range(SNAPSHOTS_MAX + 3 * EARLIER_MAX):
            ledger.append("db.t", [{"id": number}])
            path = Path(eager.table(ledger.table("db.t")).metadata_location.removeprefix("file:"))
            written[path] = path.read_bytes()
        rmtree(tmp_path / "t" / "metadata")
        log = log_of(tables_of(memory), ledger)

        assert len(log) == EARLIER_MAX
        for entry in log:
            path = Path(entry["metadata-file"].removeprefix("file:"))
            assert path.read_bytes() == written[path]
            for snapshot in json.loads(path.read_bytes())["snapshots"]:
                assert Path(snapshot["manifest-list"].removeprefix("file:")).exists()


def test_one_txn_is_one_entry(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        with ledger.transaction() as txn:
            txn.create_table("db.t", [("id", "BIGINT")], location=str(tmp_path / "t"))
            txn.insert("db.t", [{"id": 1}])
        assert log_of(tables_of(memory), ledger) == []
        with ledger.transaction() as txn:
            txn.alter_table("db.t", properties={"a": "b"})
            txn.insert("db.t", [{"id": 2}])
        assert len(log_of(tables_of(memory), ledger)) == 1


def test_a_log_is_bounded_and_the_same_for_a_server_that_begins(tmp_path: Path) -> None:
    """It reaches behind the listed snapshots, to versions that a new server does not replay."""
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        created(ledger, tmp_path / "t")
        tables, locations = tables_of(memory), []
        for number in range(EARLIER_MAX + 20):
            locations.append(tables.table(ledger.table("db.t")).metadata_location)
            ledger.append("db.t", [{"id": number}])
        kept = log_of(tables, ledger)

        assert [each["metadata-file"] for each in kept] == locations[-EARLIER_MAX:]
        assert log_of(tables_of(memory), ledger) == kept
        times = [each["timestamp-ms"] for each in kept]
        assert times == sorted(times)


@pytest.mark.parametrize(
    ("text", "count"),
    [("3", 3), ("0", 1), ("-5", 1), ("10000000", 5), ("many", 5), ("9" * 5_000, 5)],
)
def test_a_table_says_how_many_files_its_log_has(text: str, count: int, tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        created(ledger, tmp_path / "t", **{KEPT: text})
        for number in range(8):
            ledger.append("db.t", [{"id": number}])
        assert len(log_of(tables_of(memory), ledger)) == count


def test_a_log_names_files_where_they_were_written(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        created(ledger, tmp_path / "t")
        tables = tables_of(memory)
        first = tables.table(ledger.table("db.t")).metadata_location
        copytree(tmp_path / "t", tmp_path / "u")
        ledger.alter_table("db.t", location=str(tmp_path / "u"))
        moved = tables.table(ledger.table("db.t")).metadata_location
        ledger.append("db.t", [{"id": 2}])

        assert [each["metadata-file"] for each in log_of(tables, ledger)] == [first, moved]
        assert first.startswith(f"file://{tmp_path}/t/")
        assert moved.startswith(f"file://{tmp_path}/u/")
