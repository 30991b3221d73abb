"""Visibility: the write ids of a table under a txn list, against the rule told plainly."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.commands import TxnType
from ledger.core.events.events import TxnOpened
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList, compare
from ledger.core.lists.visibility import held_txn_list, valid_txn_list, valid_write_ids
from tests.driver import Driver

TOP = 12
laws = settings(deadline=None)
Rows = list[tuple[int, int]]


class TableHistory(NamedTuple):
    """A txn list and the complete rows (write id, txn) of a table."""

    txns: ValidTxnList
    rows: Rows

    def write_ids(self, rows: Rows | None = None) -> ValidWriteIdList:
        left = self.rows if rows is None else rows
        return valid_write_ids("db.t", self.txns, left, len(self.rows))


@st.composite
def histories(draw: st.DrawFn) -> TableHistory:
    """Draw txns around a list's high watermark, and write ids given to most in any order."""
    states = draw(st.lists(st.sampled_from(["committed", "open", "aborted"]), max_size=TOP))
    marked = list(enumerate(states, 1))
    still_open = tuple(txn for txn, state in marked if state == "open")
    aborted = tuple(txn for txn, state in marked if state == "aborted")
    txns = ValidTxnList(len(states), still_open, aborted, next(iter(still_open), None))
    order = draw(st.permutations(range(1, len(states) + 3)))
    writers = order[: draw(st.integers(0, len(order)))]
    return TableHistory(txns, list(enumerate(writers, 1)))


@pytest.mark.parametrize(
    ("txns", "rows", "last_write_id", "expected"),
    [
        pytest.param("7:9::", [], 0, "db.t:0:9223372036854775807::", id="never written"),
        pytest.param("7:9::", [], 3, "db.t:3:9223372036854775807::", id="all rows cleaned"),
        pytest.param("7:9::", [(3, 7)], 3, "db.t:3:9223372036854775807::", id="own write id"),
        pytest.param("7:9::", [(3, 7), (4, 8)], 4, "db.t:3:9223372036854775807::", id="younger"),
        pytest.param("7:9::", [(3, 8), (4, 7)], 4, "db.t:4:3:3:", id="younger allocated earlier"),
        pytest.param("7:9::", [(1, 8), (2, 9)], 2, "db.t:2:1:1,2:", id="only younger"),
        pytest.param("7:2:2:3", [(1, 3), (2, 2), (3, 7)], 3, "db.t:3:2:2:1", id="open, aborted"),
        pytest.param("7:2:2:3", [(1, 3), (2, 2)], 2, "db.t:2:2:2:1", id="nothing valid, not cut"),
        pytest.param("7:2:2:", [(2, 2), (5, 7)], 5, "db.t:5:2:2:", id="gaps are committed"),
        pytest.param("7:2:2:", [(1, 2), (3, 8)], 3, "db.t:2:1:1:", id="gap above the covered"),
    ],
)
def test_valid_write_ids(txns: str, rows: Rows, last_write_id: int, expected: str) -> None:
    """The list is the rule's: exceptions among the rows up to the highest id the reader covers."""
    assert expected == valid_write_ids("db.t", ValidTxnList.parse(txns), rows, last_write_id).text()


@pytest.mark.parametrize(("kind", "expected"), [("default", "4:1:1,2,3:"), ("read_only", "4:1:1:")])
def test_held_by_the_last_of_several(kind: TxnType, expected: str) -> None:
    driver = Driver()
    session = driver.open_session()
    driver.open_txn(session)
    last = driver.open_txn(session, kind, size=3) + 2
    control, opened = driver.events[-1]
    assert isinstance(opened, TxnOpened)
    held = held_txn_list(control, opened, last)

    assert (held.text(), held) == (expected, valid_txn_list(driver.state, last))


@given(histories())
@laws
def test_a_write_id_is_valid_iff_its_txn_is(history: TableHistory) -> None:
    expected = [write_id for write_id, txn in history.rows if history.txns.is_valid(txn)]
    answer = history.write_ids()

    assert expected == [write_id for write_id, _ in history.rows if answer.is_valid(write_id)]
    assert not answer.is_valid(len(history.rows) + 1)


@given(histories())
@laws
def test_an_exception_is_aborted_iff_the_list_says_so(history: TableHistory) -> None:
    """A txn that the list does not know as aborted is open for its reader, whatever it is now."""
    answer = history.write_ids()
    excepted = set(answer.exceptions())
    known_aborted = {write_id for write_id, txn in history.rows if history.txns.is_aborted(txn)}

    assert excepted & known_aborted == set(answer.aborted)
    assert answer.min_open == next(iter(answer.open), None)


@pytest.mark.parametrize(
    ("txns", "left"),
    [
        pytest.param("3:9::2", [(1, 2)], id="aborted txn 2 holds the watermark"),
        pytest.param("3:2:2:", [(1, 2)], id="txn 3 saw txn 2 open and holds the watermark"),
    ],
)
def test_an_older_txn_with_the_higher_write_id_stays_visible(txns: str, left: Rows) -> None:
    """Txn 1 took write id 2 and committed; that its row is cleaned first hides nothing."""
    reader = ValidTxnList.parse(txns)
    before = valid_write_ids("db.t", reader, [(1, 2), (2, 1)], 2)

    assert before == valid_write_ids("db.t", reader, left, 2)
    assert before.is_valid(2)


@given(histories(), st.sets(st.integers(1, TOP), max_size=2))
@laws
def test_cleaning_changes_no_answer_of_a_protected_snapshot(
    history: TableHistory, spared: set[int]
) -> None:
    """Rows below the list's first exception, the highest watermark there may be, can all go."""
    watermark = min((*history.txns.exceptions(), history.txns.hwm + 1))
    left = [row for row in history.rows if row[1] >= watermark or row[0] in spared]

    assert compare(history.write_ids(), history.write_ids(left)) == 0
