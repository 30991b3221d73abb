"""Marked files: rows of a host and published logs show marks as vectors, at every position."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.commands import Footprint, TableWrite
from ledger.core.events.events import TxnCommitted
from ledger.core.rows.changes import Moved, RowChanges
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import EMPTY, AddFile, FileList, RemoveFile, listed
from ledger.reads.port import AnomalyRow, FileChange
from tests.core.lost import marks, moves
from tests.core.parts import footprint
from tests.projections.digests import digest
from tests.projections.followed import Followed, rows_of
from tests.projections.marked_lake import MarkedLake, replayed
from tests.projections.marked_lake import rows_of as rows_in
from tests.projections.published import outcomes, stops, versions
from tests.projections.test_delta_kept_state import outcomes_in_parts, plain
from tests.projections.test_delta_publication import PLAIN

SEEDS = st.integers(0, 2**32)
PATIENT = settings(deadline=None, max_examples=20)
COMMITS = 12
TEN = '{"numRecords":10,"minValues":{"id":1}}'


class Table:
    """A published table, to which one session commits files and rows."""

    def __init__(self, *adds: AddFile) -> None:
        self.domain = Followed()
        self.session = self.domain.open_session()
        made = PLAIN._replace(location="/lake/t")
        self.number = self.domain.create_table(self.session, "t", made=made)
        self.commit(FileList(adds))

    def commit(self, files: FileList = EMPTY, rows: RowChanges | None = None) -> None:
        """Commit files and changes of rows, planned as of now."""
        said: Footprint = listed(footprint("UPDATE"), files)._replace(rows=rows)
        part = TableWrite(self.number, self.domain.head.position, [], said)
        body = self.domain.commit(self.session, 0, part).body
        assert isinstance(body, TxnCommitted), f"the commit lost: {body}"

    @property
    def files(self) -> dict[str, set[int]]:
        """The deleted rows of the live files."""
        rows = self.domain.reads.files(self.number)
        return {row.path: set(rows_in(row.deletion_vector)) for row in rows}

    @property
    def odd(self) -> list[tuple[str, str]]:
        """The kind and the path of each anomaly."""
        return [(row.kind, row.path) for row in self.domain.reads.anomalies(self.number, 9)]

    def changes(self, version: int) -> list[FileChange]:
        return list(self.domain.reads.file_changes(self.number, version, version, 99))


def file(path: str = "a", stats: str = TEN, **others: Any) -> AddFile:
    return AddFile(path, (), 10, 7, stats=stats, **others)


def test_marks_of_several_commits_are_one_vector() -> None:
    table = Table(file("a"), file("b"))
    table.commit(rows=marks(a=[3]))
    table.commit(rows=marks(a=[7, 1], b=[0]))

    assert table.files == {"a": {1, 3, 7}, "b": {0}}
    assert table.odd == []


def test_a_mark_is_a_removal_and_an_add_of_its_file() -> None:
    table = Table(file("a"), file("b"))
    table.commit(rows=marks(a=[3]))
    table.commit(rows=marks(a=[7]))
    gone, after = table.changes(3)

    assert [gone.added, gone.data_change, after.added, after.data_change] == [
        *(False, True, True, True)
    ]
    assert rows_in(gone.file.deletion_vector) == {3}
    assert rows_in(after.file.deletion_vector) == {3, 7}
    assert after.file._replace(vector="", deletion_vector=None, added=0, version=0) == (
        gone.file._replace(vector="", deletion_vector=None, added=0, version=0, removed=0)
    )


def test_deleted_rows_do_not_count() -> None:
    table = Table(file("a"), file("b"))
    table.commit(rows=marks(a=[3, 4]))
    (partition,) = table.domain.reads.partitions(table.number, limit=9)

    assert (partition.files, partition.rows) == (2, 18)


def test_bounds_of_a_marked_file_are_no_longer_those_of_its_rows() -> None:
    table = Table(file())
    table.commit(rows=marks(a=[3]))
    (row,) = table.domain.reads.files(table.number)

    assert json.loads(row.stats) == {**json.loads(TEN), "tightBounds": False}


def test_a_file_that_a_commit_adds_has_the_marks_of_that_commit() -> None:
    table = Table(file())
    table.commit(FileList([file("c")]), marks(c=[2]))

    assert table.files == {"a": set(), "c": {2}}


def test_a_file_that_was_written_anew_goes_under_the_vector_that_it_has() -> None:
    """The writer read it without the mark."""
    table = Table(file())
    table.commit(rows=marks(a=[3]))
    table.commit(FileList([file("c")], [RemoveFile("a")]), moves(Moved("a", "c", 0, 9, b"")))

    assert table.files == {"c": set()}
    assert table.odd == []


ODD: list[tuple[str, AddFile, FileList, RowChanges, list[tuple[str, str]], dict[str, set[int]]]] = [
    (
        "a mark of a file that is not live",
        file(), FileList(), marks(x=[1]), [("marked_not_live", "x")], {"a": set()},
    ),
    (
        "a row that the file has not",
        file(), FileList(), marks(a=[3, 10]), [("marked_beyond_rows", "a")], {"a": {3, 10}},
    ),
    (
        "the last row of a file", file(), FileList(), marks(a=[9]), [], {"a": {9}},
    ),
    (
        "a row of a file without statistics",
        file(stats=""), FileList(), marks(a=[1_000]), [], {"a": {1_000}},
    ),
    (
        "a file whose vector is not described",
        file(vector="u7"), FileList(), marks(a=[1]), [("marked_unreadable", "a")], {"a": set()},
    ),
    (
        "a file that is written anew and not live",
        file(), FileList([], [RemoveFile("x")]), moves(Moved("x", "y", 0, 1, b"")),
        [("removed_not_live", "x")], {"a": set()},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("added", "files", "rows", "odd", "live"), [row[1:] for row in ODD], ids=[row[0] for row in ODD]
)
def test_what_cannot_be_is_an_anomaly(
    added: AddFile,
    files: FileList,
    rows: RowChanges,
    odd: list[tuple[str, str]],
    live: dict[str, set[int]],
) -> None:
    table = Table(added)
    table.commit(files, rows)

    assert table.odd == odd
    assert table.files == live


def test_a_file_with_a_vector_in_a_file_keeps_its_rows_and_stops_its_published_log() -> None:
    vector = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)
    table = Table(file(vector=vector.id, deletion_vector=vector))
    table.commit(rows=marks(a=[1]))
    (stop,) = stops(table.domain.events)

    assert table.odd == [("marked_unreadable", "a")]
    assert "its vector is in a file; write the file anew" in stop.reason


def test_an_anomaly_says_where_it_came_from() -> None:
    table = Table(file())
    table.commit(rows=marks(a=[10]))
    (row,) = table.domain.reads.anomalies(table.number, 9)

    assert isinstance(row, AnomalyRow)
    assert (row.position, row.kind) == (table.domain.head.position, "marked_beyond_rows")


@given(seed=SEEDS)
@PATIENT
def test_rows_are_deleted_as_the_model_says_at_every_position(seed: int) -> None:
    lake = MarkedLake.after(seed, COMMITS)

    assert [lake.shown(position) for position in lake.positions] == lake.model.versions
    assert lake.shown() == lake.model.live
    assert lake.domain.reads.anomalies(lake.table, 9) == []
    assert digest(rows_of(lake.domain)) == digest(lake.domain.rows)


@given(seed=SEEDS)
@PATIENT
def test_published_versions_have_the_rows_of_the_model(seed: int) -> None:
    lake = MarkedLake.after(seed, COMMITS)
    _, *found = replayed(versions(lake.domain.events))

    assert found == lake.model.versions


@given(seed=SEEDS, cuts=st.sets(st.integers(0, 30), max_size=6))
@PATIENT
def test_a_publisher_that_starts_anywhere_writes_the_same_bytes(seed: int, cuts: set[int]) -> None:
    domain = MarkedLake.after(seed, COMMITS).domain

    assert outcomes_in_parts(domain.log, cuts) == [plain(each) for each in outcomes(domain.events)]
