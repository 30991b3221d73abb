"""Every read takes the whole numbers of any library, and nothing else where a number belongs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ledger.errors import LedgerError
from ledger.reads.metadata import Bounds, Read
from ledger.reads.port import Reached, Reads
from projections.queries import StoreReads
from tests.driver import Driver
from tests.oracle.reads import StateReads
from tests.projections.followed import rows_of
from tests.web.served import serving

Question = Callable[[Any], object]


def numbered(reads: Reads) -> list[Question]:
    """Return every question about something that has a number, to be asked for any number."""
    return [
        reads.table,
        reads.definition,
        reads.mappings,
        reads.write_ids_at,
        lambda number: reads.write_ids_at(1, number),
        lambda number: reads.valid_write_ids(number, reads.valid_txns()),
        lambda number: reads.definition(1, number),
        reads.txn,
        reads.conflict,
        reads.session,
        lambda number: reads.outcome(number, 1),
        lambda number: reads.outcome(4, number),
        reads.table_mark,
        lambda number: reads.released_files(number, 9),
        lambda number: reads.aborted_write_ids(number, 9),
        reads.files,
        lambda number: reads.file_changes(number, 0, 9, 9),
        lambda number: reads.file_changes(1, number, 9, 9),
        lambda number: reads.file_changes(1, 0, number, 9),
        lambda number: reads.file_changes(1, 0, 9, number),
        lambda number: reads.file_changes(1, 0, 9, 9, place=number),
        lambda number: reads.files(1, position=number),
        lambda number: reads.files(1, version=number),
        lambda number: reads.file_paths(number, b"hash"),
        reads.version_row,
        lambda number: reads.version_row(1, version=number),
        lambda number: reads.versions(number, 9),
        lambda number: reads.versions(1, 9, below=number),
        lambda number: reads.app(number, "loader"),
        reads.apps,
        reads.protocol,
        reads.domains,
        lambda number: (reads.anomalies(number, 9), reads.anomalies(None, 9, after=number)),
        lambda number: reads.history(number, 9),
        lambda number: reads.conflicts(number, 9),
        lambda number: reads.wait(number, 0),
        lambda number: reads.reach(number, Reached(), 0),
        reads.open_txns,
        reads.aborted_txns,
        lambda number: reads.history(0, number),
        lambda number: reads.conflicts(0, number),
        lambda number: reads.anomalies(None, number),
        lambda number: reads.files(1, limit=number),
        lambda number: reads.versions(1, number),
        lambda number: reads.version_row(1, at=number),
        lambda number: reads.version_row(1, version=0, position=number),
        lambda number: reads.released_files(1, number),
        lambda number: reads.released_files(1, 9, since=number),
        lambda number: reads.aborted_write_ids(1, number),
        lambda number: reads.metadata([Read("a", None, table_id=number)]),
        lambda number: reads.metadata([Read(1, None, own_txn=number)]),
        lambda number: reads.metadata([], Bounds(token=number)),
    ]


def metadata_of(reads: Reads, table: Any) -> object:
    """Return what all see of a table, by its id or by its name."""
    return reads.metadata([Read(table, None)])


class Index:
    """A whole number that is no `int`, like those of many libraries."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __index__(self) -> int:
        return self._number


def said(question: Question, number: object) -> object:
    try:
        return question(number)
    except (LedgerError, ValueError) as error:
        return str(error)


@pytest.mark.parametrize("number", [0, 1, 4, 10**9, 2**63 - 1])
def test_a_number_of_any_library_is_the_number_it_says_it_is(number: int) -> None:
    driver = Driver()
    driver.create_table(driver.open_session(), "a")
    store = rows_of(driver)
    with serving(lambda: StoreReads(store.reader())) as served:
        for reads in (StoreReads(store), StateReads(driver.log), served.reads):
            questions: list[Question] = [*numbered(reads), partial(metadata_of, reads)]
            for question in questions:
                assert said(question, Index(number)) == said(question, number)


def test_a_caller_with_ids_in_arrays_asks_with_what_is_in_them() -> None:
    np = pytest.importorskip("numpy")
    driver = Driver()
    table = driver.create_table(driver.open_session(), "a")
    reads = StoreReads(rows_of(driver))
    found = reads.table(np.int64(table))
    assert found is not None
    assert type(found.table) is int
    assert reads.txn(np.int64(10**9)) is None
    assert reads.outcome(np.uint32(4), np.int8(1)) == reads.outcome(4, 1) is not None


@pytest.mark.parametrize("number", ["1", "a", 1.0, b"1"])
def test_what_is_no_whole_number_is_refused_at_once(number: object) -> None:
    driver = Driver()
    driver.create_table(driver.open_session(), "a")
    store = rows_of(driver)
    with serving(lambda: StoreReads(store.reader())) as served:
        for reads in (StoreReads(store), StateReads(driver.log), served.reads):
            for question in numbered(reads):
                with pytest.raises(TypeError, match="is no whole number"):
                    question(number)
