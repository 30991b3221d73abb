"""Rows over a log that lost its end and was cut: they say what a state in memory says."""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.decide.cut import beyond, seen_in
from ledger.errors import SnapshotTooOldError
from ledger.reads.port import Reached
from ledger.snapshot.changes import VERSIONS, ChangeFeed
from projections.queries import StoreReads
from projections.reads.lake_diff import versions
from tests.core.cutting import all_taken_up, cut, filled, shortened
from tests.core.histories import Step, played, steps
from tests.driver import Driver
from tests.oracle.reads import StateReads
from tests.projections.filing import filed, filings
from tests.projections.followed import PATIENT, rows_of
from tests.projections.test_reads_agree import answers


def cut_log(whole: Driver, keep: float, margin: int, *, taken: bool) -> Driver:
    """Return the domain of which a power cut left a part, cut and led again.

    With `taken`, all tables have taken up what they lost.
    """
    short = shortened(whole, 3 + round((len(whole.records) - 3) * keep))
    cut(short, beyond(seen_in(whole.state, whole.head.epoch), margin))
    list(filled(short))
    if taken:
        list(all_taken_up(short))
    return short


@settings(PATIENT)
@given(history=steps(), keep=st.floats(0, 1), margin=st.sampled_from([0, 3]), taken=st.booleans())
def test_same_answers(history: list[Step], keep: float, margin: int, *, taken: bool) -> None:
    """Txns, sessions, write ids and versions that were lost are told alike."""
    short = cut_log(played(history).driver, keep, margin, taken=taken)
    rows = StoreReads(rows_of(short).reader())
    assert answers(rows, short) == answers(StateReads(short.log), short)


@settings(PATIENT, max_examples=10)
@given(filings(), st.floats(0, 1))
def test_same_files(history: list[Step], keep: float) -> None:
    """So are files: those that only the lost part added are not there."""
    short = cut_log(filed(history), keep, 5, taken=True)
    rows = StoreReads(rows_of(short).reader())
    assert answers(rows, short) == answers(StateReads(short.log), short)


@pytest.mark.parametrize("margin", [3, 3 * VERSIONS])
@pytest.mark.parametrize("after", [-1, 2, 3])
def test_changes_and_differences_over_a_cut_have_each_version_once(margin: int, after: int) -> None:
    """The versions that were lost leave a gap, behind which the numbers go on."""
    whole = Driver()
    session = whole.open_session()
    table = whole.create_table(session, "planes")
    commits(whole, session, table, 3)
    short = shortened(whole, len(whole.records))
    cut(short, beyond(seen_in(whole.state, whole.head.epoch), margin))
    list(filled(short))
    list(all_taken_up(short))
    commits(short, short.open_session("bob"), table, 2)

    reads = StoreReads(rows_of(short).reader())
    row = reads.table(table)
    assert row is not None
    known = sorted(each.version for each in reads.versions(table, 100))
    wanted = [version for version in known if version > after]
    feed = islice(ChangeFeed(reads, row, after), 2 * len(known))
    assert [each.version for each in feed] == wanted
    found = versions(reads, row, after, known[-1])
    assert [each.version for each in found] == wanted[::-1]


def commits(driver: Driver, session: int, table: int, count: int) -> None:
    """Commit inserts, a version each."""
    for _ in range(count):
        txn = driver.open_txn(session)
        driver.allocate(session, [txn], [table])
        driver.commit(session, txn)


def test_what_was_lost_is_told() -> None:
    whole = Driver()
    session = whole.open_session()
    table = whole.create_table(session, "planes", layout="directories")
    length = len(whole.records)
    txn = whole.open_txn(session)
    whole.allocate(session, [txn], [table])
    whole.commit(session, txn)
    seen = whole.head.position
    short = shortened(whole, length)
    event = cut(short, seen_in(whole.state, whole.head.epoch))
    list(filled(short))

    reads = StoreReads(rows_of(short).reader())
    lost = reads.txn(txn)
    assert lost is not None
    assert (lost.status, lost.reason, lost.user) == ("aborted", "cut", "operator")
    assert reads.write_ids_at(table).hwm == 0
    assert reads.version_row(table, version=1) is None

    (opened, *_) = all_taken_up(short)
    reads = StoreReads(rows_of(short).reader())
    assert [row.txn for row in reads.mappings(table)] == [opened.control.txn]
    assert [row.write_id for row in reads.aborted_write_ids(table, 9)] == [1]
    assert not reads.write_ids_at(table).is_valid(1)
    newest = reads.version_row(table)
    assert newest is not None
    assert newest.operation == "LOST BY CUT"
    following = reads.history(seen - 1, 1)[0]
    assert (following.position, following.type, following.message) == (
        event.control.position,
        "LogCut",
        "power cut",
    )
    assert reads.reach(0, Reached(), 0).position == short.head.position


def test_lists_of_what_was_lost() -> None:
    whole = Driver()
    session = whole.open_session()
    table = whole.create_table(session, "planes")
    length = len(whole.records)
    before = StoreReads(rows_of(whole).reader()).valid_txns()
    for _ in range(3):
        txn = whole.open_txn(session)
        whole.allocate(session, [txn], [table])
        whole.commit(session, txn)
    lost = StoreReads(rows_of(whole).reader()).valid_txns()
    short = shortened(whole, length)
    event = cut(short, beyond(seen_in(whole.state, whole.head.epoch), 5))
    list(filled(short))
    reads = StoreReads(rows_of(short).reader())

    told = f"by the cut at position {event.control.position}"
    with pytest.raises(SnapshotTooOldError, match=told):
        reads.valid_write_ids(table, lost)
    there = [each.position for each in reads.history(0, len(short.records))]
    for each in (before, *(reads.valid_txns(position) for position in there)):
        assert not reads.valid_write_ids(table, each).is_valid(1)
