"""What a txn declares before it is sent: what counts as written, and what its commit names."""

from collections.abc import Collection, Sequence

import pytest

from ledger.client import Ledger
from ledger.core.commands import CoarseWrite, Domain, Footprint
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, path_hash
from ledger.core.limits import HASH_BYTES, ROWS_PER_WRITE_MAX
from ledger.log.wire.file_list import AddFile
from ledger.work.footprint_writer import NUMBERS_ALL, FootprintWriter
from ledger.work.staging import size_of
from ledger.work.writes import DeclaredWrites
from tests.sdk.flights import TABLE, create_flights

FLIGHTS, OTHER = 1, 2


def numbered(path: str, rows: int, *, data_change: bool) -> AddFile:
    """Return a file with so many rows by its statistics."""
    return AddFile(path, stats=f'{{"numRecords":{rows}}}', data_change=data_change)


def test_one_table_written_is_enough() -> None:
    writes = DeclaredWrites(7)
    writes.writer(FLIGHTS).read_whole()
    before = writes.has_written
    writes.writer(OTHER).add([AddFile("a")])

    assert (before, writes.has_written) == (False, True)


def test_a_unit_alone_is_a_write() -> None:
    writes = DeclaredWrites(7)
    writes.add(FLIGHTS, CoarseWrite("table", "", "insert"), 7)

    assert writes.has_written


def test_an_operation_alone_is_a_write() -> None:
    writes = DeclaredWrites(7)
    writes.writer(FLIGHTS).name("MERGE")

    assert writes.has_written


def test_paths_are_known_by_their_hashes() -> None:
    writes = DeclaredWrites(7)
    writes.writer(FLIGHTS).add([AddFile("a")])
    writes.writer(FLIGHTS).remove(["b"])
    hashes = [path_hash(path) for path in ("a", "b", "c")]

    assert [list(writes.paths_of(FLIGHTS, each)) for each in hashes] == [["a"], ["b"], []]
    assert list(writes.paths_of(OTHER, hashes[0])) == []


@pytest.mark.parametrize(
    ("level", "asked", "changed", "named"),
    [
        ("WriteSerializable", "", (), 0),
        ("Serializable", "", (), 2),
        ("WriteSerializable", "Serializable", (), 2),
        ("WriteSerializable", "", (FLIGHTS,), 2),
    ],
    ids=["not judged", "by its own level", "by the level asked for", "changed by the txn"],
)
def test_the_files_read_in_a_table_that_is_not_written_are_named_if_it_is_judged_by_them(
    ledger: Ledger, level: str, asked: str, changed: Collection[int], named: int
) -> None:
    create_flights(ledger, level)
    writes = DeclaredWrites(7)
    writes.read(ledger.read(TABLE))
    writes.writer(OTHER).add([AddFile("a")])
    read, _ = writes.parts((), asked, changed)

    assert (read.table, len(read.read_files)) == (FLIGHTS, named * HASH_BYTES)


def test_files_read_where_something_is_written(ledger: Ledger) -> None:
    create_flights(ledger)
    writes = DeclaredWrites(7)
    writes.read(ledger.read(TABLE))
    writes.writer(FLIGHTS).add([AddFile("a", ("1",))])
    (part,) = writes.parts((), "")

    assert part.read_files == path_hash("day1") + path_hash("day2")


@pytest.mark.parametrize(
    ("operation", "files", "rows"),
    [
        ("", [numbered("a", 5, data_change=True), numbered("b", 3, data_change=False)], 5),
        (NUMBERS_ALL, [numbered("a", 5, data_change=False)], 5),
        (NUMBERS_ALL, [numbered("a", 5, data_change=True), numbered("b", 3, data_change=False)], 5),
        ("", [numbered("a", 5, data_change=False)], 0),
        ("", [numbered("a", ROWS_PER_WRITE_MAX, data_change=True)], ROWS_PER_WRITE_MAX),
        ("", [numbered(path, ROWS_PER_WRITE_MAX, data_change=True) for path in "ab"], 0),
    ],
    ids=["added", "backfilled", "no backfill after all", "moved", "as many as can be", "too many"],
)
def test_rows_added(operation: str, files: Sequence[AddFile], rows: int) -> None:
    """Rows count if they are new, or if a backfill and nothing else numbers them."""
    writer = FootprintWriter()
    writer.add(files)
    writer.name(operation)

    assert writer.with_files(writer.head(), files).rows_added == rows


@pytest.mark.parametrize(
    ("footprint", "size"),
    [
        (EMPTY_FOOTPRINT, 0),
        (EMPTY_FOOTPRINT._replace(read_files=b"8" * 16, removes=b"8" * 8, files=b"files"), 29),
        (EMPTY_FOOTPRINT._replace(adds=['["ü"]'], removes_in=["[]"], reads=["true"]), 12),
        (EMPTY_FOOTPRINT._replace(domains=[Domain("rows", "{}", removed=False)]), 6),
    ],
    ids=["nothing", "bytes", "texts", "domains"],
)
def test_all_long_parts_count_against_a_record(footprint: Footprint, size: int) -> None:
    assert size_of(footprint) == size
