"""Reads over a store in memory and over one that another process writes: the same answers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from ledger.core.lists.valid_lists import ValidTxnList
from ledger.errors import LimitExceededError, ReaderBehindError, UnknownTableError
from ledger.reads.metadata import ReadAt
from ledger.reads.port import Identity, MappingRow
from projections.cache.lists import read_at
from projections.errors import StoreClosedError, StoreMissingError
from projections.queries import StoreReads, open_reads
from projections.store.memory import MemoryRowReader, MemoryStore
from projections.store.port import Row, RowReader
from tests.driver import LEDGER, write
from tests.projections.followed import Followed

PATIENCE_MS = 20_000
MOMENT_S = 0.05


def test_the_reads_say_which_ledger_they_are_of(domain: Followed) -> None:
    assert domain.reads.identity() == Identity(LEDGER, "demo", 0)


def test_before_the_first_event_the_reads_are_empty(domain: Followed) -> None:
    reads = StoreReads(domain.reader)

    assert reads.position() == 0
    assert reads.valid_txns() == ValidTxnList(0, (), (), None)
    assert reads.watermark()[:4] == (1, 1, 1, 1)
    assert reads.tables() == []
    with pytest.raises(ReaderBehindError):
        reads.identity()


def test_sees_what_was_written_since(domain: Followed) -> None:
    reads = domain.reads
    before = reads.position()
    table = domain.create_table(domain.open_session(), "flights")
    domain.follow()

    assert before == 3
    assert reads.position() == 5
    assert [row.table for row in reads.tables()] == [table]


def test_wait_for_what_is_there(domain: Followed) -> None:
    assert domain.reads.wait(2, timeout_ms=0) == 3


def test_waiting_ends_with_an_error_that_says_how_far_the_reader_is(domain: Followed) -> None:
    with pytest.raises(ReaderBehindError, match="position 9 was not reached within 5 ms") as error:
        domain.reads.wait(9, timeout_ms=5)
    assert (error.value.applied, error.value.wanted) == (3, 9)


def test_wait_until_it_is_there(domain: Followed) -> None:
    reads, waited = domain.reads, list[int]()
    waiter = Thread(target=lambda: waited.append(reads.wait(4, PATIENCE_MS)))
    waiter.start()
    domain.open_session()
    domain.follow()
    waiter.join()

    assert waited == [4]


def test_list_of_the_future(domain: Followed) -> None:
    with pytest.raises(ReaderBehindError):
        domain.reads.valid_txns(4)


@pytest.mark.parametrize("table", [0, 7, -3])
def test_write_ids_of_a_table_that_never_was_are_an_error(domain: Followed, table: int) -> None:
    reads = domain.reads

    assert reads.table(table) is None
    assert reads.table_named("lake", "flights") is None
    with pytest.raises(UnknownTableError, match=f"no table {table}"):
        reads.valid_write_ids(table, reads.valid_txns())
    with pytest.raises(UnknownTableError):
        reads.mappings(table)


def test_open_and_aborted_txns_are_listed(domain: Followed) -> None:
    session = domain.open_session()
    domain.open_txn(session, size=3)
    domain.open_txn(session, "read_only")
    domain.abort(session, 2, [])
    reads = domain.reads

    assert [row.txn for row in reads.open_txns(9)] == [1, 3, 4]
    assert [row.txn for row in reads.open_txns(2)] == [1, 3]
    assert [row.txn for row in reads.aborted_txns(9)] == [2]
    assert reads.counts()[:2] == (3, 1)
    domain.tidy()
    assert domain.reads.aborted_txns(9) == []
    assert domain.reads.counts()[:2] == (3, 0)


def test_snapshot_and_write_ids(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    domain.open_txn(session, size=2)
    domain.allocate(session, [1, 2], [table])
    domain.commit(session, 2, write(table))
    committed = domain.head.position
    domain.abort(session, 1, [table])
    reads = domain.reads

    txns = reads.valid_txns(committed)
    assert txns.text() == "2:1:1:"
    assert reads.valid_txns().text() == "2:9223372036854775807::1"
    assert reads.valid_write_ids(table, txns).text() == "lake.flights:2:1:1:"
    assert reads.mappings(table) == [MappingRow(1, 1), MappingRow(2, 2)]


def test_what_became_of_a_command_is_found_by_session_and_number(domain: Followed) -> None:
    session = domain.open_session("bob", nonce=b"n" * 16)
    domain.open_txn(session, size=2)
    reads = domain.reads

    outcome = reads.outcome(session, 1)
    assert outcome is not None
    assert (outcome.outcome, outcome.first, outcome.size) == ("TxnOpened", 1, 2)
    assert reads.session_of(b"n" * 16) == session
    assert [row.type for row in reads.history(3, 9)] == ["SessionOpened", "TxnOpened"]
    asker, txn = reads.session(session), reads.txn(2)
    assert asker is not None
    assert txn is not None
    assert asker.user == txn.user == "bob"


def test_closed_reads_refuse_every_question(domain: Followed) -> None:
    reads = domain.reads
    reads.close()
    reads.close()

    with pytest.raises(StoreClosedError):
        reads.position()


def test_reads_of_a_store_that_no_follower_made_yet_say_so(tmp_path: Path) -> None:
    with pytest.raises(StoreMissingError):
        open_reads(tmp_path / "store")


class Moving(MemoryRowReader):
    """Rows whose writer goes on, once, when it is looked for what is new the nth time."""

    def __init__(self, store: MemoryStore) -> None:
        self.go_on: Callable[[], None] = lambda: None
        self.looks_left = 0
        super().__init__(store)

    def refresh(self) -> None:
        """Copy the rows, after those that come at this look."""
        self.looks_left -= 1
        if not self.looks_left:
            self.go_on()
        super().refresh()


@pytest.mark.parametrize("looks", range(1, 5))
@pytest.mark.parametrize("is_now", [True, False])
def test_a_list_is_of_one_look(looks: int, *, is_now: bool) -> None:
    store = MemoryStore()
    rows = Moving(store)
    domain = Followed(store, rows)
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    later, between, first = (domain.open_txn(session) for _ in range(3))
    domain.allocate(session, [first], [table])
    domain.allocate(session, [later], [table])
    domain.follow()
    position = None if is_now else domain.head.position

    def go_on() -> None:
        domain.commit(session, first)
        domain.commit(session, later)
        domain.open_txn(session)
        # From now on what `later` committed is told by a mapping that is gone.
        domain.commit(session, between)
        domain.follow()

    rows.refresh()
    rows.go_on, rows.looks_left = go_on, looks

    try:
        found = read_at(StoreReads(rows), ReadAt(None, table_id=table, position=position)).write_ids
    except LimitExceededError:
        assert not is_now
    else:
        assert found is not None
        seen = [found.is_valid(write_id) for write_id in (1, 2)]
        assert seen in ([[False] * 2, [True] * 2] if is_now else [[False] * 2])


class Interrupted(RowReader):
    """Rows that another thread asks for while the first row of an answer is being read."""

    def __init__(self, rows: RowReader) -> None:
        self.reads = StoreReads(self)
        self.moved_within: list[int] = []
        self.other = Thread(target=self.reads.position)
        self._rows = rows
        self._refreshes = 0

    def refresh(self) -> None:
        self._refreshes += 1
        self._rows.refresh()

    def get(self, key: bytes) -> bytes | None:
        """Return a row, after another thread had its chance to move all of them."""
        if self.other.ident is None:
            before = self._refreshes
            self.other.start()
            # It waits for its turn; who does not wait is through long before.
            self.other.join(MOMENT_S)
            self.moved_within.append(self._refreshes - before)
        return self._rows.get(key)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return rows in order."""
        return self._rows.scan(start, end, limit=limit, reverse=reverse)

    def close(self) -> None:
        self._rows.close()


def test_threads_share_reads_one_answer_at_a_time(domain: Followed) -> None:
    txn = domain.open_txn(domain.open_session())
    domain.follow()
    rows = Interrupted(domain.reader)
    found = rows.reads.txn(txn)
    rows.other.join(PATIENCE_MS / 1000)

    assert found is not None
    assert rows.moved_within == [0]


def test_rows_that_are_held_still_answer_from_one_state() -> None:
    domain = Followed()
    store = domain.store
    assert isinstance(store, MemoryStore)
    domain.follow()
    reads = StoreReads(store.reader())
    before = reads.position()
    with reads.still():
        session = domain.open_session()
        domain.follow()

        assert (reads.position(), reads.session(session)) == (before, None)
    assert reads.session(session) is not None
