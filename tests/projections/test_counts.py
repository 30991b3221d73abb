"""The row of the counts: that it is what somebody finds who counts, always, and what it costs."""

from collections.abc import Callable

import pytest
from hypothesis import given

from ledger.cli.tables.cleaning import explanation
from ledger.reads.port import Counts
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.rows.keys import MAPPING
from projections.store.memory import MemoryStore
from projections.store.port import RowReader, prefix_end
from tests.core.histories import Step, played, random_steps, steps
from tests.driver import write
from tests.projections.filing import filed, filings
from tests.projections.followed import PATIENT, Followed, rows_of
from tests.projections.test_metadata_costs import Counted

FEW, MANY = 3, 300
ALL = 9_999


def found(rows: RowReader) -> Counts:
    """Return the counts as somebody finds them who looks at all there is."""
    reads = StoreReads(rows)
    mappings = list(rows.scan(MAPPING, prefix_end(MAPPING)))
    listed = (reads.open_txns(ALL), reads.aborted_txns(ALL), reads.tables(), mappings)
    return Counts(*map(len, listed))


@PATIENT
@given(history=steps(min_size=30))
def test_whatever_happened_the_counts_are_those_of_the_rows(history: list[Step]) -> None:
    rows = rows_of(played(history).driver)

    assert StoreReads(rows).counts() == found(rows)


@PATIENT
@given(history=filings())
def test_counts_with_files(history: list[Step]) -> None:
    """The same, where commits list their files, alter tables and lose."""
    rows = rows_of(filed(history))

    assert StoreReads(rows).counts() == found(rows)


def test_counts_of_every_position() -> None:
    driver, store = played(random_steps(3, 150)).driver, MemoryStore()
    fold = Fold.load(store, driver.log)
    for record in driver.records:
        fold.feed([record])
        assert StoreReads(store).counts() == found(store)


def held(tables: int) -> Followed:
    """Return a domain of so many tables, each with a mapping that an open txn keeps."""
    domain = Followed()
    session = domain.open_session()
    made = [domain.create_table(session, f"t{number}") for number in range(tables)]
    domain.open_txn(session)
    for table in made:
        domain.commit(session, 0, write(table))
    return domain


@pytest.mark.parametrize("ask", [StoreReads.counts, explanation])
def test_costs_no_more_for_many(ask: Callable[[StoreReads], object]) -> None:
    few, many = (Counted(held(size).rows) for size in (FEW, MANY))
    for rows in (few, many):
        ask(StoreReads(rows))

    assert few.given == many.given


def test_tables_and_mappings_are_counted_one_by_one() -> None:
    assert held(MANY).reads.counts() == (1, 0, MANY, MANY)
