"""Files: what is live, what was live as of any position or version, and what cannot be."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given

from ledger.core.commands import TableWrite
from ledger.core.conflicts.footprints import path_hash
from ledger.errors import ReaderBehindError, UnknownTableError, UnknownVersionError
from ledger.reads.port import AnomalyRow, FileRow
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from projections.store.port import Row
from tests.core.histories import Step
from tests.core.parts import footprint
from tests.projections.filing import (
    Filers,
    commit,
    filed,
    files_of,
    filings,
    stage,
    texts,
    unreadable,
    writing,
)
from tests.projections.followed import PATIENT, Followed, rows_of

Play = Callable[[Followed, int, int], object]
FLIGHTS = 1
CREATED = 5


def flights_after(domain: Followed, play: Play) -> StoreReads:
    session = domain.open_session()
    play(domain, session, domain.create_table(session, "flights"))
    return domain.reads


def nothing(_domain: Followed, _session: int, _table: int) -> None:
    """Leave the table as it is."""


def add_two(domain: Followed, session: int, table: int) -> None:
    commit(domain, session, table, ["b", "a"])


def rewrite(domain: Followed, session: int, table: int) -> None:
    add_two(domain, session, table)
    commit(domain, session, table, ["c"], ["a", "b"])


def mark_deleted(domain: Followed, session: int, table: int) -> None:
    """Add a file, then give it a deletion vector, then another one."""
    commit(domain, session, table, ["a"])
    commit(domain, session, table, ["a#1"], ["a"])
    commit(domain, session, table, ["a#2"], ["a#1"])


def come_back(domain: Followed, session: int, table: int) -> None:
    """Add a file, remove it, and add it again."""
    commit(domain, session, table, ["a"])
    commit(domain, session, table, [], ["a"])
    commit(domain, session, table, ["a"])


def in_place(domain: Followed, session: int, table: int) -> None:
    """Remove a file and add it again in one commit."""
    commit(domain, session, table, ["a"])
    commit(domain, session, table, ["a"], ["a"])


def in_chunks(domain: Followed, session: int, table: int) -> None:
    add_two(domain, session, table)
    txn = domain.open_txn(session)
    chunks = stage(domain, session, txn, table, files_of(["c"], ["a"]), files_of(["d", "a"], ["b"]))
    domain.commit(session, txn, writing(domain, table, ["e"], chunks=chunks))


def abort_chunks(domain: Followed, session: int, table: int) -> None:
    txn = domain.open_txn(session)
    stage(domain, session, txn, table, files_of(["a"]))
    domain.abort(session, txn)


def only_read(domain: Followed, session: int, table: int) -> None:
    other = domain.create_table(session, "planes")
    read = TableWrite(table, domain.head.position, (), footprint("", reads_whole=True))
    domain.commit(session, 0, writing(domain, other, ["a"]), read)


@pytest.mark.parametrize(
    ("play", "live"),
    [
        (nothing, []),
        (add_two, ["a", "b"]),
        (rewrite, ["c"]),
        (mark_deleted, ["a#2"]),
        (come_back, ["a"]),
        (in_place, ["a"]),
        (in_chunks, ["a", "c", "d", "e"]),
        (abort_chunks, []),
        (only_read, []),
    ],
)
def test_live(domain: Followed, play: Play, live: list[str]) -> None:
    """What was added and not removed is live, by path and vector."""
    reads = flights_after(domain, play)

    assert texts(reads.files(FLIGHTS)) == live
    assert reads.anomalies(None, 9) == []


@pytest.mark.parametrize(
    ("play", "by_position"),
    [
        (nothing, [[]]),
        (rewrite, [[], ["a", "b"], ["c"]]),
        (mark_deleted, [[], ["a"], ["a#1"], ["a#2"]]),
        (come_back, [[], ["a"], [], ["a"]]),
        (in_place, [[], ["a"], ["a"]]),
        (in_chunks, [[], *[["a", "b"]] * 4, ["a", "c", "d", "e"]]),
    ],
)
def test_as_of_a_position(domain: Followed, play: Play, by_position: list[list[str]]) -> None:
    """Every position from the creation on shows what was live then."""
    reads = flights_after(domain, play)
    positions = range(CREATED, domain.head.position + 1)

    found = [texts(reads.files(FLIGHTS, position=position)) for position in positions]
    assert found == by_position


@pytest.mark.parametrize("play", [rewrite, mark_deleted, come_back, in_place, in_chunks])
def test_a_version_shows_what_its_position_shows(domain: Followed, play: Play) -> None:
    reads = flights_after(domain, play)
    versions = reads.versions(FLIGHTS, 9)

    found = [reads.files(FLIGHTS, version=row.version) for row in versions]
    assert found == [reads.files(FLIGHTS, position=row.position) for row in versions]


def test_a_row_of_a_file_says_what_its_writer_said(domain: Followed) -> None:
    reads = flights_after(domain, in_place)

    said = (FLIGHTS, "a", "", ("1",), 10, 7, '{"numRecords":1}')
    assert reads.files(FLIGHTS) == [FileRow(*said, added=7, version=2, removed=0)]
    assert reads.files(FLIGHTS, position=6) == [FileRow(*said, added=6, version=1, removed=7)]


def remove_unknown(domain: Followed, session: int, table: int) -> None:
    """Remove a file that never was, and another twice."""
    commit(domain, session, table, ["a"])
    commit(domain, session, table, ["b"], ["x", "a", "a"])


def add_again(domain: Followed, session: int, table: int) -> None:
    commit(domain, session, table, ["a"])
    commit(domain, session, table, ["b", "a"])


def add_twice(domain: Followed, session: int, table: int) -> None:
    """Put a file in place of itself, twice in one commit."""
    commit(domain, session, table, ["a#1"])
    commit(domain, session, table, ["a#1", "a#1"], ["a#1"])


def wrong_vector(domain: Followed, session: int, table: int) -> None:
    """Remove a file without saying its vector."""
    commit(domain, session, table, ["a#1"])
    commit(domain, session, table, [], ["a"])


def not_readable(domain: Followed, session: int, table: int) -> None:
    """Commit a list that nobody can read between two that are read."""
    commit(domain, session, table, ["a"])
    unreadable(domain, session, table)
    commit(domain, session, table, ["b"])


@pytest.mark.parametrize(
    ("play", "anomalies", "live"),
    [
        (
            remove_unknown,
            [(7, "removed_not_live", "x", ""), (7, "removed_not_live", "a", "")],
            ["b"],
        ),
        (add_again, [(7, "added_live", "a", "")], ["a", "b"]),
        (add_twice, [(7, "added_live", "a", "1")], ["a#1"]),
        (wrong_vector, [(7, "removed_not_live", "a", "")], ["a#1"]),
        (not_readable, [(7, "unreadable_list", "", "")], ["a", "b"]),
    ],
)
def test_what_cannot_be_is_noted_with_its_position_and_the_fold_goes_on(
    domain: Followed, play: Play, anomalies: list[tuple[int, str, str, str]], live: list[str]
) -> None:
    reads = flights_after(domain, play)
    rows = [AnomalyRow(position, FLIGHTS, *said) for position, *said in anomalies]

    assert reads.anomalies(None, 9) == reads.anomalies(FLIGHTS, 9) == rows
    assert texts(reads.files(FLIGHTS)) == live


@pytest.mark.parametrize(
    ("play", "before"),
    [
        (remove_unknown, ["a"]),
        (add_again, ["a"]),
        (add_twice, ["a#1"]),
        (wrong_vector, ["a#1"]),
        (not_readable, ["a"]),
    ],
)
def test_before_an_anomaly(domain: Followed, play: Play, before: list[str]) -> None:
    """Whatever a commit says, positions before it show what they showed."""
    reads = flights_after(domain, play)

    assert texts(reads.files(FLIGHTS, position=6)) == before
    assert texts(reads.files(FLIGHTS, version=1)) == before


def test_an_add_of_a_live_file_takes_its_place(domain: Followed) -> None:
    reads = flights_after(domain, add_again)

    (before,), (after, _) = reads.files(FLIGHTS, position=6), reads.files(FLIGHTS)
    assert (before.added, before.removed) == (6, 7)
    assert (after.added, after.removed) == (7, 0)


def test_anomalies_are_listed_by_position_up_to_a_limit(domain: Followed) -> None:
    session = domain.open_session()
    tables = [domain.create_table(session, name) for name in ("a", "b")]
    for table in (*tables, *tables):
        commit(domain, session, table, [], ["x"])
    reads = domain.reads

    assert [row.table for row in reads.anomalies(None, 9)] == [1, 2, 1, 2]
    assert [row.table for row in reads.anomalies(None, 3)] == [1, 2, 1]
    assert [row.position for row in reads.anomalies(2, 9)] == [8, 10]
    assert [row.position for row in reads.anomalies(2, 9, after=8)] == [10]
    assert [row.table for row in reads.anomalies(None, 9, after=9)] == [2]
    assert reads.anomalies(None, 9, after=2**63 - 1) == []
    assert reads.anomalies(7, 9) == reads.anomalies(-1, 9) == []


def test_every_path_that_was_named_is_found_by_its_hash(domain: Followed) -> None:
    reads = flights_after(domain, remove_unknown)

    found = [reads.file_paths(FLIGHTS, path_hash(path)) for path in "abxy"]
    assert found == [["a"], ["b"], ["x"], []]
    assert reads.file_paths(2, path_hash("a")) == []


@pytest.mark.parametrize("odd", [b"", path_hash("a")[:4], path_hash("a") + b"a"])
def test_by_what_is_no_hash_no_path_goes(domain: Followed, odd: bytes) -> None:
    assert flights_after(domain, remove_unknown).file_paths(FLIGHTS, odd) == []


def test_a_path_belongs_to_the_table_it_was_added_to(domain: Followed) -> None:
    session = domain.open_session()
    tables = [domain.create_table(session, name) for name in ("a", "b")]
    domain.commit(session, 0, *(writing(domain, table, ["x", str(table)]) for table in tables))
    commit(domain, session, tables[0], [], ["x"])
    reads = domain.reads

    assert [texts(reads.files(table)) for table in tables] == [["1"], ["2", "x"]]
    assert texts(reads.files(1, position=7)) == ["1", "x"]


def test_a_dropped_table_has_no_files_any_more(domain: Followed) -> None:
    reads = flights_after(domain, rewrite)
    domain.drop_table(4, FLIGHTS)
    domain.follow()

    assert (
        texts(reads.files(FLIGHTS, position=7)) == texts(reads.files(FLIGHTS, version=2)) == ["c"]
    )
    with pytest.raises(UnknownTableError, match="dropped at position 8"):
        reads.files(FLIGHTS)
    with pytest.raises(UnknownTableError, match="dropped at position 8"):
        reads.files(FLIGHTS, position=8)


def test_what_is_not_there_is_refused_and_not_guessed(domain: Followed) -> None:
    reads = flights_after(domain, add_two)

    with pytest.raises(UnknownTableError, match="no table 9"):
        reads.files(9)
    with pytest.raises(ReaderBehindError):
        reads.files(FLIGHTS, position=7)
    with pytest.raises(UnknownVersionError, match="no version 2; its versions are 0 to 1"):
        reads.files(FLIGHTS, version=2)


def test_a_file_that_one_event_adds_is_live_for_the_next() -> None:
    at_once, one_by_one = Followed(), Followed()
    flights_after(at_once, come_back)
    session = one_by_one.open_session()
    come_back(one_by_one, session, one_by_one.create_table(session, "flights"))
    for record in one_by_one.records:
        one_by_one.fold.feed([record])

    assert at_once.reads.files(FLIGHTS) == one_by_one.reads.files(FLIGHTS)
    assert at_once.reads.anomalies(None, 9) == one_by_one.reads.anomalies(None, 9) == []


class CountingStore(MemoryStore):
    """A store that counts the rows it gives out."""

    rows = 0

    def get(self, key: bytes) -> bytes | None:
        self.rows += 1
        return super().get(key)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        for row in super().scan(start, end, limit=limit, reverse=reverse):
            self.rows += 1
            yield row

    def cost(self, ask: Callable[[], object]) -> int:
        """Return how many rows a question reads."""
        before = self.rows
        ask()
        return self.rows - before


ROWS_BESIDES = 12


@pytest.mark.parametrize("commits", [20, 200])
def test_a_listing_of_now_reads_what_is_live_and_no_history(commits: int) -> None:
    store = CountingStore()
    domain = Followed(store)
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    commit(domain, session, table, ["0", "a", "b"])
    for number in range(commits):
        commit(domain, session, table, [str(number + 1)], [str(number)])
    reads, newest = domain.reads, domain.head.position

    assert store.cost(lambda: reads.files(table)) <= 3 + ROWS_BESIDES
    assert store.cost(lambda: reads.files(table, position=newest - 5)) <= 8 + ROWS_BESIDES
    assert store.cost(lambda: reads.version_row(table, position=9)) <= 2 * 8 + ROWS_BESIDES


def listings(filers: Filers) -> dict[int, list[list[str]]]:
    """Return the files of every table as of every position at which it was not dropped yet."""
    reads = StoreReads(rows_of(filers))
    ends = {
        row.table: (row.dropped or filers.head.position + 1)
        for row in reads.tables(include_dropped=True)
    }
    return {
        table: [texts(reads.files(table, position=position)) for position in range(1, end)]
        for table, end in ends.items()
    }


@PATIENT
@given(history=filings(), more=filings(5, 15))
def test_the_past_stays(history: list[Step], more: list[Step]) -> None:
    """What a position shows depends on nothing that came later (law 6)."""
    filers = filed(history)
    before = listings(filers)
    for step in more:
        filers.play(step)
    after = listings(filers)

    assert {table: after[table][: len(found)] for table, found in before.items()} == before
