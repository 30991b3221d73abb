"""Loads of a table: what one costs, what it shows while others commit, and how numbers are kept."""

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from ledger import AddFile, Ledger
from ledger.reads.port import Reads, VersionRow
from ledger.testing import InMemoryLedger
from projections.iceberg.errors import IcebergRefusal
from projections.iceberg.served.numbers import snapshot_id, table_uuid
from projections.iceberg.served.tables import ServedTables
from tests.iceberg.served.readers import by_duckdb, by_pyiceberg, rows_of

STATS = '{"numRecords":100,"minValues":{"id":1},"maxValues":{"id":9},"nullCount":{"id":0}}'
# Bytes of numbers and of a deflated text differ a little.
SLACK = 0.1


class Counted:
    """Reads that count their calls and the rows of their answers."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self.calls = self.rows = 0
        self.by_name: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        read = getattr(self._reads, name)

        def call(*given: Any, **named: Any) -> Any:
            found = read(*given, **named)
            self.calls += 1
            size = len(found) if type(found) is list else 0
            self.rows += size
            self.by_name[name] += size
            return found

        return call


class Noting(Counted):
    """Reads in which a version has a note of an Iceberg client."""

    def __init__(self, reads: Reads, version: int) -> None:
        super().__init__(reads)
        self._version = version

    def versions(self, *given: Any, **named: Any) -> list[VersionRow]:
        return [self._noted(each) for each in self._reads.versions(*given, **named)]

    def version_row(self, *given: Any, **named: Any) -> VersionRow | None:
        found = self._reads.version_row(*given, **named)
        return None if found is None else self._noted(found)

    def _noted(self, row: VersionRow) -> VersionRow:
        note = {"snapshot-id": 77, "operation": "overwrite", "summary": {"who": "spark"}}
        return (
            row._replace(info=json.dumps({"iceberg": note}))
            if row.version == self._version
            else row
        )


def tables_of(memory: InMemoryLedger) -> ServedTables:
    return ServedTables(lambda: memory.reads, memory.reads.identity().ledger)


def made(ledger: Ledger, folder: Path, **properties: str) -> None:
    named = {name.replace("__", ".").replace("_", "-"): each for name, each in properties.items()}
    ledger.create_table("db.t", [("id", "BIGINT")], location=str(folder), properties=named)


def add(ledger: Ledger, number: int) -> None:
    """Commit a file that is not there: nothing of a load opens it."""
    ledger.append("db.t", [AddFile(f"part-{number:06d}.parquet", size=1_000, stats=STATS)])


def test_a_load_after_one_more_version_costs_as_much_after_many(tmp_path: Path) -> None:
    """Calls, rows read, files and bytes do not grow with the versions of a table."""
    costs = []
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t")
        reads, number = Counted(memory.reads), 0
        tables = ServedTables(lambda: reads, memory.reads.identity().ledger)
        for versions in (96, 1_600):
            while number < versions:
                number += 1
                add(ledger, number)
            row = ledger.table("db.t")
            folder = tables.folder(tables.table(row).location)
            assert tables.table(row).metadata_location
            reads.calls = reads.rows = folder.written = folder.bytes_written = 0
            for _ in range(16):
                number += 1
                add(ledger, number)
                assert tables.table(row).metadata_location
            costs.append((reads.calls, reads.rows, folder.written, folder.bytes_written))
    (*few, few_bytes), (*many, many_bytes) = costs

    assert few[:2] == many[:2]
    assert abs(few[2] - many[2]) <= 1
    assert many_bytes < few_bytes * (1 + SLACK) + 64 * 1024


def test_the_first_load_reads_the_live_files_and_not_the_history(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t")
        for number in range(400):
            ledger.overwrite("db.t", [{"id": number}])
        reads = Counted(memory.reads)
        ServedTables(lambda: reads, "x").table(ledger.table("db.t"))

        assert reads.by_name["files"] == 1
        assert reads.by_name["file_changes"] < 2 * (64 + 10 + 16) + 2


def test_threads_see_whole_states_while_others_commit(tmp_path: Path) -> None:
    """Each load of each thread has the rows of its version, and no load fails."""
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t", lakeledger__rows="marks")
        ledger.append("db.t", [{"id": number} for number in range(40)])
        tables = tables_of(memory)

        def load(_: int) -> tuple[int, str]:
            served = tables.table(ledger.table("db.t"))
            return served.version, served.metadata_location

        def commit() -> None:
            for number in range(12):
                ledger.append("db.t", [{"id": 100 + number}])
                ledger.delete("db.t", f"id = {number}")

        with ThreadPoolExecutor(5) as pool:
            writing = pool.submit(commit)
            found = dict(pool.map(load, range(60)))
            writing.result()

        for version, metadata in found.items():
            wanted = rows_of(ledger.scan("db.t", version=version).to_arrow())
            assert wanted == rows_of(by_pyiceberg(metadata, None))


def test_a_snapshot_that_a_commit_noted_has_its_id_and_is_found_by_it(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t")
        add(ledger, 1)
        ledger.alter_table("db.t", properties={"owner": "eve"})
        reads = Noting(memory.reads, 1)
        served = ServedTables(lambda: reads, "x").table(ledger.table("db.t"))
        (snapshot,) = served.metadata()["snapshots"]
        row = served.version_row_of_noted(77)

        assert snapshot["snapshot-id"] == 77
        assert snapshot["summary"]["operation"] == "overwrite"
        assert snapshot["summary"]["who"] == "spark"
        assert served.version_of(77) == 2
        assert row is not None
        assert row.version == 1
        assert served.version_row_of_noted(78) is None
        assert served.version_of(78) is None


def test_numbers_follow_from_the_ledger_the_table_and_the_version(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t")
        add(ledger, 1)
        add(ledger, 2)
        row, name = ledger.table("db.t"), memory.reads.identity().ledger
        served = tables_of(memory).table(row)

        assert served.uuid == table_uuid(name, row.table)
        assert served.snapshots == [snapshot_id(name, row.table, each) for each in (1, 2)]
        assert [each["sequence-number"] for each in served.metadata()["snapshots"]] == [1, 2]
        assert served.metadata()["properties"]["gc.enabled"] == "false"
        refs = served.metadata("refs")
        assert [each["snapshot-id"] for each in refs["snapshots"]] == served.snapshots[-1:]
        assert served.etag("refs") != served.etag("all")


def test_a_table_that_was_made_with_rows_counts_from_one(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("db.t", [{"id": 1}], location=str(tmp_path / "t"))
        served = tables_of(memory).table(ledger.table("db.t"))
        sequences = [each["sequence-number"] for each in served.metadata()["snapshots"]]

        assert sequences[:1] == ([1] if served.version == 0 else [served.version])


def test_format_3_can_follow_format_2(tmp_path: Path) -> None:
    """Deletes of before stay in their form, and all rows have ids afterwards."""
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t", lakeledger__rows="marks")
        ledger.append("db.t", [{"id": number} for number in range(9)])
        ledger.append("db.t", [{"id": 10 + number} for number in range(9)])
        ledger.delete("db.t", "id = 3")
        tables = tables_of(memory)
        assert tables.table(ledger.table("db.t")).format_version == 2
        ledger.alter_table("db.t", properties={"iceberg.format-version": "3"})
        higher = tables.table(ledger.table("db.t")).metadata()
        assert higher["format-version"] == 3
        assert not any("first-row-id" in each for each in higher["snapshots"])
        ledger.delete("db.t", "id = 12")
        served = tables.table(ledger.table("db.t"))
        with_ids = ["first-row-id" in each for each in served.metadata()["snapshots"]]
        assert with_ids == [False] * (len(with_ids) - 1) + [True]
        metadata = served.metadata_location
        wanted = rows_of(ledger.scan("db.t").to_arrow())
        forms = {each["file-format"] for each in served.plan({})["delete-files"]}
        firsts = [each["data-file"]["first-row-id"] for each in served.plan({})["file-scan-tasks"]]

        assert forms == {"parquet", "puffin"}
        assert firsts == [1 << 32, 2 << 32]
        assert served.metadata()["next-row-id"] == (served.version + 1) << 32
        assert wanted == rows_of(by_pyiceberg(metadata, None))
        assert wanted == rows_of(by_duckdb(metadata, None))
        assert served.metadata() == tables_of(memory).table(ledger.table("db.t")).metadata()


def test_a_table_that_moved_names_its_files_in_the_new_folder(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t")
        ledger.append("db.t", [{"id": 1}])
        tables = tables_of(memory)
        assert tables.table(ledger.table("db.t")).metadata_location
        copytree(tmp_path / "t", tmp_path / "u")
        ledger.alter_table("db.t", location=str(tmp_path / "u"))
        ledger.append("db.t", [{"id": 2}])
        served = tables.table(ledger.table("db.t"))

        assert served.location == f"file://{tmp_path}/u"
        assert served.metadata_location.startswith(f"{served.location}/metadata/")
        paths = [each["data-file"]["file-path"] for each in served.plan({})["file-scan-tasks"]]
        assert {path.rpartition("/")[0] for path in paths} == {served.location}
        assert rows_of(by_pyiceberg(served.metadata_location, None)) == ["{'id': 1}", "{'id': 2}"]
        assert served.metadata() == tables_of(memory).table(ledger.table("db.t")).metadata()


def test_a_position_before_a_table_and_after_its_drop_is_refused(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("db.s", [("id", "BIGINT")])
        made(ledger, tmp_path / "t")
        row, before = ledger.table("db.t"), ledger.table("db.s").created
        ledger.drop_table("db.t")
        dropped = next(
            each for each in memory.reads.tables(include_dropped=True) if each.table == row.table
        )
        for position in (before, None):
            with pytest.raises(IcebergRefusal) as refused:
                tables_of(memory).table(dropped, position)
            assert refused.value.code == 404
        assert tables_of(memory).table(dropped, dropped.dropped - 1).version == 0
