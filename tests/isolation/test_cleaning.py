"""Law 11: cleaning changes no answer of a protected snapshot, in histories of every kind of commit.

A write id counts for a txn that is open iff it is its own, or was committed up to the position at
which the txn opened: what a list says and what a read at that position sees are the same. Ids of
aborted txns that left nothing may turn valid; no data lies under them.
"""

from collections.abc import Iterator
from typing import Final

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
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.lists.visibility import held_txn_list, valid_write_ids
from ledger.core.state.domain import DomainState
from tests.core.histories import DEEP, QUICK, Step
from tests.core.oracle import mappings
from tests.driver import Driver
from tests.isolation.play import histories, played, played_seed

SEEDS: Final = 25
CHANGES: Final = (TableCreated, TableAltered, TableRenamed, TableDropped)
Row = tuple[int, int, int]


def given_by(event: Event) -> list[Row]:
    """Return the write ids an event names, as (table, write id, txn)."""
    (txn, body) = event.control.txn, event.body
    if isinstance(body, WriteIdsAllocated | TxnOpened):
        return [(each.table, each.write_id, each.txn) for each in body.ids]
    if isinstance(body, TxnCommitted):
        return [(part.table, part.write_id, txn) for part in body.parts if part.write_id]
    if isinstance(body, CHANGES) and body.write_id:
        return [(body.table, body.write_id, txn)]
    return []


class Snapshots:
    """Folds a log and forgets nothing: each write id ever given, each commit, each snapshot."""

    def __init__(self) -> None:
        self.state = DomainState()
        self.given: set[Row] = set()
        self.committed: dict[int, int] = {}
        self.opened: dict[int, Event] = {}
        self.cleaned = 0

    def take(self, event: Event) -> None:
        """Fold one event and note what it says."""
        self.cleaned += len(evolve(self.state, event))
        self.given.update(given_by(event))
        control, body = event
        if isinstance(body, TxnCommitted) or (isinstance(body, TableAltered) and body.one_shot):
            self.committed[control.txn] = control.position
        if isinstance(body, TxnOpened):
            self.opened.update(dict.fromkeys(range(control.txn, control.txn + body.size), event))

    def wrong_answers(self) -> Iterator[str]:
        """Yield each write id that an open txn sees otherwise than it did when it opened."""
        rows = sorted(mappings(self.state))
        for txn in self.state.txns.open:
            for table, write_id, owner in sorted(self.given):
                shown = self.shown(txn, table, rows).is_valid(write_id)
                if shown != self.is_seen(txn, owner) and not (shown and self.is_gone(owner, table)):
                    yield f"txn {txn} at {self.state.position}: {write_id} of table {table}"

    def shown(self, txn: int, table: int, rows: list[Row]) -> ValidWriteIdList:
        """Return the list a txn gets of a table from the mappings that are left."""
        control, body = self.opened[txn]
        assert isinstance(body, TxnOpened)
        left = [(write_id, owner) for each, write_id, owner in rows if each == table]
        last = max((write_id for each, write_id, _ in self.given if each == table), default=0)
        return valid_write_ids("t", held_txn_list(control, body, txn), left, last)

    def is_seen(self, txn: int, owner: int) -> bool:
        """Tell whether a txn may see what another wrote."""
        position = self.opened[txn].control.position
        return owner == txn or self.committed.get(owner, position + 1) <= position

    def is_gone(self, owner: int, table: int) -> bool:
        """Tell whether no data of a txn that did not commit can be left in a table."""
        left = self.state.txns.aborted.get(owner)
        is_open = owner in self.state.txns.open or owner in self.committed
        return not is_open and (left is None or table not in left.wrote)


def wrong_answers(driver: Driver) -> tuple[list[str], int]:
    """Return what is wrong after any event, and how many mappings were cleaned."""
    snapshots, wrong = Snapshots(), list[str]()
    for event in driver.events:
        snapshots.take(event)
        wrong += snapshots.wrong_answers()
    return wrong, snapshots.cleaned


@QUICK
@given(histories())
def test_cleaning_changes_no_answer(history: tuple[bytes, list[Step]]) -> None:
    assert wrong_answers(played(*history).driver)[0] == []


def test_cleaning_is_met() -> None:
    """The same over seeds, in which much is cleaned under the eyes of open txns."""
    results = [wrong_answers(played_seed(seed).driver) for seed in range(SEEDS)]

    assert [each for wrong, _ in results for each in wrong] == []
    assert sum(cleaned for _, cleaned in results) > 2 * SEEDS


@pytest.mark.slow
@DEEP
@given(histories(min_size=20, max_size=70))
def test_cleaning_changes_no_answer_for_long(history: tuple[bytes, list[Step]]) -> None:
    """The same over long histories, other ones in every run."""
    assert wrong_answers(played(*history).driver)[0] == []
