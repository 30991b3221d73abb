"""Valid lists from rows: exact as of every position, and safe from cleaning while protected."""

from collections.abc import Iterator

import pytest
from hypothesis import given

from ledger.core.events.events import (
    Event,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnCommitted,
    TxnOpened,
    WriteIdsAllocated,
)
from ledger.core.evolve.evolve import evolve
from ledger.core.lists.valid_lists import ValidTxnList
from ledger.core.lists.visibility import valid_txn_list
from ledger.core.state.domain import DomainState
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.rows.txns.history import EXCEPTIONS_EVERY
from projections.store.memory import MemoryStore
from tests.core.histories import Step, played, random_steps, steps
from tests.driver import Driver, write
from tests.projections.followed import PATIENT, Followed, rows_of


def lists_at_every_position(driver: Driver) -> list[ValidTxnList]:
    state, lists = DomainState(), []
    for event in driver.events:
        evolve(state, event)
        lists.append(valid_txn_list(state))
    return lists


@PATIENT
@given(history=steps(min_size=30))
def test_every_position(history: list[Step]) -> None:
    """What a list covers depends only on events at or before its position (law 6)."""
    driver = played(history).driver
    reads = StoreReads(rows_of(driver))
    positions = range(1, driver.head.position + 1)

    expected = lists_at_every_position(driver)

    assert [reads.valid_txns(position) for position in positions] == expected
    assert reads.valid_txns() == expected[-1]


@pytest.mark.parametrize("seed", range(2))
def test_lists_behind_a_full_list_are_as_exact_as_before_the_first(seed: int) -> None:
    driver = played(random_steps(seed, 700)).driver
    reads = StoreReads(rows_of(driver))
    positions = range(1, driver.head.position + 1)

    assert [reads.valid_txns(position) for position in positions] == lists_at_every_position(driver)
    assert [row.txn for row in reads.open_txns(99)] == list(driver.state.txns.open)


def test_read_only_behind_a_full_list() -> None:
    """A read-only txn is open for who lists the open ones, and an exception for nobody."""
    domain = Followed()
    session = domain.open_session()
    txn = domain.open_txn(session, "read_only")
    for _ in range(EXCEPTIONS_EVERY):
        domain.open_session()

    assert [row.txn for row in domain.reads.open_txns(9)] == [txn]
    assert domain.reads.valid_txns() == ValidTxnList(txn, (), (), None)


def test_as_of_position_0_no_txn_was_given_out() -> None:
    assert Followed().reads.valid_txns(0) == ValidTxnList(0, (), (), None)


def test_an_aborted_txn_that_wrote_nothing_is_an_exception_all_the_same() -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    domain.abort(session, domain.open_txn(session), [])
    domain.commit(session, 0, write(table))

    assert domain.state.txns.watermark == 3
    assert domain.reads.valid_txns() == ValidTxnList(2, (), (1,), None)


class Protected:
    """Replays a domain and asks for every open txn what it may see, against what it was shown.

    `given` are all mappings there ever were, so the truth needs no rows: a write id is valid for a
    list iff its txn is. `held` are the lists of the open txns, as of their open.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.store = MemoryStore()
        self.fold = Fold.load(self.store, driver.log)
        self.given: dict[tuple[int, int], int] = {}
        self.held: dict[int, ValidTxnList] = {}

    def wrong_answers(self) -> Iterator[str]:
        """Yield every wrong answer, asked whenever the watermark moved and at the end."""
        state, low = self.fold.state, 1
        events = {event.control.position: event for event in self.driver.events}
        for record in self.driver.records:
            if not self.fold.feed([record]).applied:
                continue
            self.note(events[state.position])
            if state.txns.watermark > low or state.position == self.driver.head.position:
                low = state.txns.watermark
                yield from self.asked()

    def note(self, event: Event) -> None:
        """Note the mappings an event gave, and the lists of the txns it opened or ended."""
        for table, write_id, txn in given_by(event):
            self.given[table, write_id] = txn
        txns = self.fold.state.txns.open
        self.held = {
            txn: self.held.get(txn) or valid_txn_list(self.fold.state, txn) for txn in txns
        }

    def asked(self) -> Iterator[str]:
        """Yield what is wrong for any open txn in any table."""
        reads = StoreReads(self.store)
        for txn, txns in self.held.items():
            for table in sorted({table for table, _ in self.given}):
                shown = reads.valid_write_ids(table, txns)
                ids = {ids: writer for ids, writer in self.given.items() if ids[0] == table}
                for (_, write_id), writer in ids.items():
                    is_right = shown.is_valid(write_id) == txns.is_valid(writer)
                    if not is_right and not (txns.is_aborted(writer) and self.is_gone(writer)):
                        yield f"txn {txn} at {self.fold.position}: {writer} by {txns} and {shown}"

    def is_gone(self, txn: int) -> bool:
        left = self.fold.state.txns.aborted.get(txn)
        return left is None or not left.wrote


def given_by(event: Event) -> list[tuple[int, int, int]]:
    """Return the mappings an event names, as (table, write id, txn)."""
    control, body = event
    match body:
        case WriteIdsAllocated() | TxnOpened():
            return [(each.table, each.write_id, each.txn) for each in body.ids]
        case TxnCommitted():
            return [(p.table, p.write_id, control.txn) for p in body.parts if p.write_id]
        case TableCreated() | TableAltered() | TableRenamed() | TableDropped() if body.write_id:
            return [(body.table, body.write_id, control.txn)]
        case _:
            return []


@PATIENT
@given(history=steps(min_size=30))
def test_cleaning_changes_no_answer(history: list[Step]) -> None:
    """A protected snapshot keeps its answers, but for aborted ids of which no data is left (11)."""
    assert list(Protected(played(history).driver).wrong_answers()) == []


@pytest.mark.parametrize("seed", range(3))
def test_cleaning_changes_no_answer_of_a_long_history(seed: int) -> None:
    protected = Protected(played(random_steps(seed, 300)).driver)

    assert list(protected.wrong_answers()) == []
    assert protected.fold.state.txns.cleaned_below > 5


def test_list_carries_the_name() -> None:
    """A write id list names its table with its catalog, as Hive's text forms do."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "Flights")
    domain.commit(session, 0, write(table))
    reads = domain.reads

    shown = reads.valid_write_ids(table, reads.valid_txns())

    assert shown.text() == "lake.Flights:1:9223372036854775807::"


def test_a_reader_from_before_the_drop_still_gets_its_list() -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    reader = domain.open_txn(session)
    txns = valid_txn_list(domain.state, reader)
    domain.commit(session, 0, write(table))
    domain.drop_table(session, table)

    shown = domain.reads.valid_write_ids(table, txns)

    assert [shown.is_valid(write_id) for write_id in (1, 2)] == [False, False]
