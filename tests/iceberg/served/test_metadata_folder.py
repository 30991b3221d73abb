"""The metadata of a served table is written once, comes back if it is lost, and is cleaned."""

import os
import time
from pathlib import Path

from ledger import Ledger
from ledger.testing import InMemoryLedger
from projections.iceberg.served.folding import EARLIER_MAX
from projections.iceberg.served.tables import ServedTables
from tests.iceberg.served.readers import by_pyiceberg

HOUR_S = 3_600


def tables_of(memory: InMemoryLedger) -> ServedTables:
    """Return new served tables, as in a process that was just started."""
    return ServedTables(lambda: memory.reads, memory.reads.identity().ledger)


def filled(ledger: Ledger, folder: Path, appends: int) -> None:
    """Make a table with marks, and append and delete some rows."""
    properties = {"lakeledger.rows": "marks"}
    ledger.create_table("db.t", [("id", "BIGINT")], location=str(folder), properties=properties)
    for number in range(appends):
        ledger.append("db.t", [{"id": number}, {"id": -number - 1}])
        ledger.delete("db.t", f"id = {-number - 1}")


def aged(folder: Path, hours: float) -> None:
    """Let all files of a folder be older."""
    then = time.time() - hours * HOUR_S
    for each in folder.iterdir():
        os.utime(each, (then, then))


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_a_lost_file_comes_back_in_a_new_process(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "metadata"
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        filled(ledger, tmp_path / "t", 3)
        metadata = tables_of(memory).table(ledger.table("db.t")).metadata_location
        before = {each.name: each.read_bytes() for each in folder.iterdir()}
        for each in list(folder.iterdir())[::2]:
            each.unlink()
        (folder / min(names(folder))).write_bytes(b"cut")
        again = tables_of(memory).table(ledger.table("db.t")).metadata_location

        assert metadata == again
        assert before == {each.name: each.read_bytes() for each in folder.iterdir()}


def test_files_in_use_are_renewed_and_others_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "metadata"
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        filled(ledger, tmp_path / "t", 2)
        assert tables_of(memory).table(ledger.table("db.t")).metadata_location
        first = names(folder)
        for number in range(EARLIER_MAX + 1):
            ledger.append("db.t", [{"id": 9 + number}])
        aged(folder, 30)
        assert tables_of(memory).table(ledger.table("db.t")).metadata_location
        old = {each.name for each in folder.iterdir() if each.stat().st_mtime < time.time() - 60}

        assert {name for name in first if name.endswith(".metadata.json")} == old


def test_a_vacuum_takes_what_the_newest_metadata_does_not_lead_to(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "metadata"
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        filled(ledger, tmp_path / "t", 2)
        tables = tables_of(memory)
        assert tables.table(ledger.table("db.t")).metadata_location
        for number in range(70):
            ledger.append("db.t", [{"id": 100 + number}])
            assert tables.table(ledger.table("db.t")).metadata_location
        (folder / "snap-1-client.avro").write_bytes(b"a client's list")
        aged(folder, 400)
        newest = tables_of(memory)
        wanted = sorted(row["id"] for row in ledger.scan("db.t").to_arrow().to_pylist())
        gone = ledger.vacuum("db.t", older_than_h=200)
        left = names(folder)
        *earlier, metadata = sorted(name for name in left if name.endswith(".metadata.json"))

        assert "snap-1-client.avro" not in left
        assert len(earlier) == EARLIER_MAX
        assert len([name for name in left if name.endswith("-snap.avro")]) == 64 + EARLIER_MAX
        assert {file.why for file in gone.files} == {"orphan"}
        found = by_pyiceberg(str(folder / metadata), None)
        assert wanted == sorted(row["id"] for row in found.to_pylist())
        # A version that shares manifests with one that was cleaned is served all the same.
        fourth = ledger.reads().version_row(1, version=4)
        assert fourth is not None
        old = newest.table(ledger.table("db.t"), fourth.position)
        assert by_pyiceberg(old.metadata_location, None).num_rows == 2


def test_a_vacuum_cleans_the_metadata_beside_a_log_of_delta(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "metadata"
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        filled(ledger, tmp_path / "t", 1)
        (tmp_path / "t" / "_delta_log").mkdir()
        (tmp_path / "t" / "_delta_log" / "0.json").write_bytes(b"")
        tables = tables_of(memory)
        assert tables.table(ledger.table("db.t")).metadata_location
        first = {f"metadata/{name}" for name in names(folder) if name.endswith(".metadata.json")}
        for number in range(EARLIER_MAX + 1):
            ledger.append("db.t", [{"id": 9 + number}])
        newest = tables.table(ledger.table("db.t")).metadata_location.rpartition("/")[2]
        aged(folder, 400)
        gone = {file.path for file in ledger.vacuum("db.t", older_than_h=200).files}

        assert gone == first
        assert newest in names(folder)


def test_a_vacuum_leaves_the_metadata_of_another_catalog(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "metadata"
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        filled(ledger, tmp_path / "t", 1)
        folder.mkdir()
        for name in ("v1.metadata.json", "snap-2.avro", "a-m0.avro"):
            (folder / name).write_bytes(b"{}")
        aged(folder, 400)
        report = ledger.vacuum("db.t", older_than_h=200)

        assert names(folder) == {"v1.metadata.json", "snap-2.avro", "a-m0.avro"}
        assert "metadata has a list of another format" in report.note


def test_the_metadata_of_a_dropped_table_goes(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "metadata"
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        filled(ledger, tmp_path / "t", 1)
        assert tables_of(memory).table(ledger.table("db.t")).metadata_location
        number = ledger.table("db.t").table
        ledger.drop_table("db.t")
        for each in (tmp_path / "t").iterdir():
            if each.is_file():
                os.utime(each, (0, 0))
        aged(folder, 400)
        ledger.vacuum(number, older_than_h=0)

        assert not folder.exists()
