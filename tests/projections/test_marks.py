"""Marks from rows: what holds a table's files, which may go, and that nobody can need those."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import Phase, given, settings

from ledger.cli.tables.cleaning import mark_fields
from ledger.core.commands import TxnType
from ledger.errors import UnknownTableError
from ledger.reads.port import FileRow, Reads
from projections.queries import StoreReads
from tests.core.histories import Step
from tests.projections.filing import Filers, commit, filed, filings
from tests.projections.followed import PATIENT, Followed, rows_of

Play = Callable[[Followed, int, int], object]
FLIGHTS = 1


def rewritten(domain: Followed, session: int, table: int) -> None:
    """Put one file in the place of two."""
    commit(domain, session, table, ["a", "b"])
    commit(domain, session, table, ["c"], ["a", "b"])


def under_a_reader(domain: Followed, session: int, table: int) -> None:
    """Remove a file before a reader opens, and another one after."""
    commit(domain, session, table, ["a", "b"])
    commit(domain, session, table, [], ["a"])
    domain.open_txn(session, "read_only")
    commit(domain, session, table, [], ["b"])


def reader_ended(domain: Followed, session: int, table: int) -> None:
    under_a_reader(domain, session, table)
    domain.commit(session, domain.state.txns.next_txn - 2)


def came_back(domain: Followed, session: int, table: int) -> None:
    """Remove two files and add one of them again."""
    rewritten(domain, session, table)
    commit(domain, session, table, ["a"])


def came_back_and_went(domain: Followed, session: int, table: int) -> None:
    """Let that file be removed once more, under a reader that still needs it."""
    came_back(domain, session, table)
    domain.open_txn(session, "read_only")
    commit(domain, session, table, [], ["a"])


def vectors(domain: Followed, session: int, table: int) -> None:
    """Give a file one deletion vector after another."""
    for adds, removes in ((["a"], []), (["a#1"], ["a"]), (["a#2"], ["a#1"])):
        commit(domain, session, table, adds, removes)


def vectors_and_gone(domain: Followed, session: int, table: int) -> None:
    """Remove that file with its last vector."""
    vectors(domain, session, table)
    commit(domain, session, table, [], ["a#2"])


def two_vectors(domain: Followed, session: int, table: int) -> None:
    """Remove a file of which a writer added another vector and left the first."""
    commit(domain, session, table, ["a", "a#1"])
    commit(domain, session, table, [], ["a"])


def two_vectors_gone(domain: Followed, session: int, table: int) -> None:
    """Remove that file with both vectors at once."""
    commit(domain, session, table, ["a", "a#1"])
    commit(domain, session, table, [], ["a", "a#1"])


def one_begins_alike(domain: Followed, session: int, table: int) -> None:
    """Remove a file whose path another one begins with, which stays."""
    commit(domain, session, table, ["a", "ab"])
    commit(domain, session, table, [], ["a"])


def removed_twice(domain: Followed, session: int, table: int) -> None:
    rewritten(domain, session, table)
    commit(domain, session, table, [], ["a"])


@pytest.mark.parametrize(
    ("play", "released"),
    [
        (rewritten, ["a", "b"]),
        (under_a_reader, ["a"]),
        (reader_ended, ["a", "b"]),
        (came_back, ["b"]),
        (came_back_and_went, ["b"]),
        (vectors, []),
        (vectors_and_gone, ["a"]),
        (two_vectors, []),
        (two_vectors_gone, ["a"]),
        (one_begins_alike, ["a"]),
        (removed_twice, ["a", "b"]),
    ],
)
def test_a_path_may_go_once_its_last_removal_is_behind(play: Play, released: list[str]) -> None:
    domain = Followed()
    session = domain.open_session()
    play(domain, session, domain.create_table(session, "flights"))

    assert [file.path for file in domain.reads.released_files(FLIGHTS, 99)] == released


def test_a_reader_that_took_some_goes_on_behind_the_last_one(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    commit(domain, session, table, ["a", "ab", "b", "c"])
    first = commit(domain, session, table, [], ["a", "ab", "b"]).control.position
    commit(domain, session, table, [], ["c"])

    def paths(limit: int, since: int, path: str = "") -> list[str]:
        found = domain.reads.released_files(table, limit, since=since, path=path)
        return [each.path for each in found]

    assert paths(2, 0) == ["a", "ab"]
    assert paths(9, first, "a\udcff") == ["b", "c"]
    assert paths(2, first, "ab") == ["b", "c"]
    assert (paths(9, first, "a"), paths(9, first + 1)) == (["ab", "b", "c"], ["c"])
    assert paths(2, -7) == ["a", "ab"]
    assert (paths(0, 0), paths(9, first + 2), paths(9, 2**62)) == ([], [], [])


def test_who_holds_a_mark_is_told_with_name_session_time_and_what_that_costs() -> None:
    domain = Followed()
    session = domain.open_session("bob")
    table = domain.create_table(session, "flights")
    rewritten(domain, session, table)
    txn = domain.open_txn(session, "read_only")
    commit(domain, session, table, [], ["c"])
    mark = domain.reads.table_mark(table)
    row = domain.reads.table(table)

    assert mark.open is not None
    assert row is not None
    assert mark[:4] == (table, mark.open.opened, 3, 2)
    fields = mark_fields(row, mark)
    assert (fields["txn"], fields["session"], fields["versions_held"]) == (txn, session, 1)
    assert fields["held_by"] == f"open txn {txn} of bob@host, type read_only"
    then = datetime.fromisoformat(fields["since"])
    assert then == datetime.fromtimestamp(mark.open.opened_at / 1000, UTC)
    assert fields["age_s"] == pytest.approx((datetime.now(UTC) - then).total_seconds(), abs=5)


def test_later_tables_are_not_held() -> None:
    domain = Followed()
    session = domain.open_session()
    domain.open_txn(session, "read_only")
    table = domain.create_table(session, "logs", layout="directories")
    txn = domain.open_txn(session)
    domain.allocate(session, [txn], [table])
    domain.abort(session, txn)

    mark = domain.reads.table_mark(table)
    assert (mark.position, mark.write_id, mark.open) == (domain.head.position, 2, None)
    assert [tuple(each) for each in domain.reads.aborted_write_ids(table, 9)] == [(1, txn)]
    domain.forget(session, [txn])
    assert list(domain.reads.aborted_write_ids(table, 9)) == []


@pytest.mark.parametrize(
    "end",
    [
        lambda domain, session, txn: domain.commit(session, txn),
        lambda domain, session, txn: domain.abort(session, txn),
        lambda domain, session, _txn: domain.close_session(session),
        lambda domain, _session, txn: domain.tidy(txns=[txn]),
        lambda domain, session, _txn: domain.tidy(sessions=[session]),
    ],
    ids=["committed", "aborted", "its session closed", "past its deadline", "its session silent"],
)
def test_below_an_id_everything_has_ended_once_its_txn_has(end: Play) -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    writer = domain.open_txn(session)
    domain.allocate(session, [writer], [table])
    before = domain.reads.table_mark(table).write_id
    end(domain, session, writer)

    assert (before, domain.reads.table_mark(table).write_id) == (1, 2)


@pytest.mark.parametrize("kind", ["default", "read_only"])
def test_younger_reader_holds_it(kind: TxnType) -> None:
    domain = Followed()
    session = domain.open_session()
    domain.open_txn(session, size=3)
    table = domain.create_table(session, "logs")
    ended, reader, _ = (domain.open_txn(session, kind) for _ in range(3))
    domain.commit(session, ended)

    mark = domain.reads.table_mark(table)
    assert mark.open is not None
    assert (mark.open.txn, mark.position) == (reader, mark.open.opened)


def test_a_table_that_is_not_committed_has_no_holder() -> None:
    domain = Followed()
    session = domain.open_session()
    txn = domain.open_txn(session)
    table = domain.create_table(session, "logs", txn=txn)

    mark = domain.reads.table_mark(table)
    assert (mark.position, mark.version, mark.open) == (domain.head.position, -1, None)


def test_a_table_that_was_dropped_is_held_by_snapshots_that_saw_it_alone() -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "logs", layout="directories")
    reader = domain.open_txn(session, "read_only")
    writer = domain.open_txn(session)
    domain.allocate(session, [writer], [table])
    domain.drop_table(session, table)
    held = domain.reads.table_mark(table)
    domain.commit(session, reader)
    domain.abort(session, writer)

    assert (held.open and held.open.txn, held.write_id) == (reader, 1)
    assert domain.reads.table_mark(table)[1:3] == (domain.head.position, 2)


@pytest.mark.parametrize(
    "ask",
    [
        lambda reads: reads.table_mark(9),
        lambda reads: reads.released_files(9, 1),
        lambda reads: reads.aborted_write_ids(9, 1),
    ],
)
def test_there_is_no_mark_of_a_table_that_never_was(ask: Callable[[Reads], object]) -> None:
    with pytest.raises(UnknownTableError):
        ask(Followed().reads)


# Each example is two whole stores.
FEW = settings(PATIENT, max_examples=10, phases=(Phase.explicit, Phase.generate))


class Read:
    """What the rows of writers say now."""

    def __init__(self, writers: Filers) -> None:
        self.now = writers.state.position
        self.opened = [txn.opened for txn in writers.state.txns.open.values()]
        self.reads = StoreReads(rows_of(writers))
        self.tables = self.reads.tables(include_dropped=True)

    def released(self) -> set[tuple[int, str]]:
        """Return every path that may go."""
        return {
            (file.table, file.path)
            for row in self.tables
            for file in self.reads.released_files(row.table, 999)
        }

    def shown(self, positions: Iterable[int]) -> Iterator[FileRow]:
        for position, row in product(positions, self.tables):
            if not 0 < row.dropped <= position:
                yield from self.reads.files(row.table, position=position)

    def needed(self, since: int) -> set[tuple[int, str]]:
        """Return every path, there by `since`, that is live or that an open txn may read."""
        shown = self.shown([*self.opened, self.now])
        return {(each.table, each.path) for each in shown if each.added <= since}


@FEW
@given(history=filings(), more=filings(5, 15))
def test_what_may_go_is_needed_by_nobody(history: list[Step], more: list[Step]) -> None:
    writers = filed(history)
    before = Read(writers)
    free = before.released()
    for step in more:
        writers.play(step)

    assert not free & before.needed(before.now)
    assert not free & Read(writers).needed(before.now)


@FEW
@given(history=filings())
def test_all_may_go_once_nobody_reads(history: list[Step]) -> None:
    writers = filed(history)
    writers.tidy(txns=list(writers.state.txns.open))
    read = Read(writers)
    ever = list(read.shown(range(1, read.now + 1)))
    left = {(each.table, each.path) for each in ever if not each.removed}
    gone = {(each.table, each.path) for each in ever} - left
    there = {row.table for row in read.tables if not row.dropped}
    free = read.released()

    assert not read.opened
    # A txn may add to the table that it drops: that file is live, though nobody ever sees it.
    assert free <= gone
    assert {each for each in free if each[0] in there} == {
        each for each in gone if each[0] in there
    }
