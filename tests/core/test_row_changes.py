"""Row changes: what a commit is refused for, and what is no conflict because no row meets."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from ledger.core.commands import CommitTxn, StageWrites, TableWrite
from ledger.core.conflicts.footprints import packed, path_hash
from ledger.core.conflicts.row_changes import entries_of, joined_rows, weight_of
from ledger.core.events.events import TxnCommitted
from ledger.core.limits import ADDED_COLUMNS_MAX, FOOTPRINT_ENTRIES_MAX
from ledger.core.refusals import Reason
from ledger.core.rows.bitmaps import ROW_MAX
from ledger.core.rows.changes import AddedRows, Marks, Moved, ToldColumn
from tests.core.arena import BY_DAY, DAY_1, Arena, serializable
from tests.core.lost import DELAY_7, MOVED, bits, marked, marks, moves, told
from tests.core.parts import NO_ROWS, after, footprint, partition
from tests.core.scene import Refusal, Scene, last, refuses

A_ROW = bits(7)
IDS = [ToldColumn("id", "int")]


def commits(says: str, *, remove: Sequence[str] = (), **changes: Any) -> Refusal:
    """Return a row: a commit that says this row by row is refused."""
    return Refusal(
        Reason.COMMAND_INVALID,
        says,
        lambda s: CommitTxn(
            *(*s.asks(s.ada), 0),
            [of_flights(s, footprint("UPDATE", remove=remove, rows=NO_ROWS._replace(**changes)))],
            "",
        ),
        lambda s: s.flights,
    )


def of_flights(scene: Scene, said: Any) -> TableWrite:
    return TableWrite(scene.flights, scene.seen, [], said)


def adds(*texts: str, columns: Sequence[ToldColumn] = IDS, **others: str) -> list[AddedRows]:
    bounds = {"lowest": "", "highest": "", **others}
    return [AddedRows("[]", columns, list(texts), **bounds)]


REFUSALS = [
    commits("hashes must have 8 bytes", scanned=b"seven b"),
    commits("in one bitmap, got several", marks=[Marks("a", A_ROW), Marks("a", A_ROW)]),
    commits("in one bitmap, got several", read=[Marks("a", A_ROW), Marks("a", A_ROW)]),
    commits("must name a file", marks=[Marks("", A_ROW)]),
    commits("at least one row", marks=[Marks("a", b"")]),
    commits("at least one row", read=[Marks("a", b"")]),
    commits("marks of file 'a': a bitmap must begin", marks=[Marks("a", b"no bitmap")]),
    commits("marks of file 'a': 1 bytes follow", read=[Marks("a", A_ROW + b"\0")]),
    commits("from one file to another", remove=["a"], moved=[Moved("", "b", 0, 1, b"")]),
    commits("from one file to another", remove=["a"], moved=[Moved("a", "", 0, 1, b"")]),
    commits("from one file to another", remove=["a"], moved=[Moved("a", "a", 0, 1, b"")]),
    commits("moved rows of file 'a': ", remove=["a"], moved=[Moved("a", "b", 0, 1, b"no")]),
    commits("got 1 rows from -1 on", remove=["a"], moved=[Moved("a", "b", -1, 1, b"")]),
    commits("got -1 rows from 0 on", remove=["a"], moved=[Moved("a", "b", 0, -1, b"")]),
    commits("rows from 9 on", remove=["a"], moved=[Moved("a", "b", 9, ROW_MAX, b"")]),
    commits("must have 8 rows", remove=["a"], moved=[Moved("a", "b", 0, 7, bits(8))]),
    commits("'b' must be removed", remove=["a"], moved=[Moved("b", "c", 0, 1, b"")]),
    commits("a partition must be", added=[AddedRows("1", [], [], "", "")]),
    commits(
        f"must tell {ADDED_COLUMNS_MAX} different columns",
        added=adds(columns=[ToldColumn(f"c{at}", "int") for at in range(ADDED_COLUMNS_MAX + 1)]),
    ),
    commits("columns at most, got 2", added=adds(columns=[*IDS, ToldColumn("ID", "int")])),
    commits("array of 1 texts, got '7'", added=adds("7")),
    commits("array of 1 texts, got '[]'", added=adds("[]")),
    commits("array of 1 texts", added=adds('["1","2"]')),
    commits("array of 0 texts", added=adds('["1"]', columns=[])),
    commits("array of 1 texts", added=adds(lowest="[7]")),
    commits("array of 1 texts", added=adds(highest='["1","2"]')),
    commits("must not have an empty text", added=adds('[""]')),
    commits("must not have an empty text", added=adds(lowest='[""]')),
    commits(
        f"must be {FOOTPRINT_ENTRIES_MAX} at most",
        scanned=bytes(8 * (FOOTPRINT_ENTRIES_MAX + 1)),
    ),
]  # fmt: skip
test_refused = refuses(REFUSALS)


def staged(scene: Scene, *chunks: Any) -> Any:
    """Return what becomes of a commit in chunks, of which the last comes with the commit."""
    *before, final = chunks
    for number, chunk in enumerate(before, 1):
        event = scene.ask(
            StageWrites(*scene.asks(scene.ada), scene.mine, scene.flights, number, chunk)
        )
        if hasattr(event.body, "reason"):
            return event.body
    return scene.commit(scene.ada, scene.mine, of_flights(scene, after(before, final))).body


def test_chunks_are_checked_one_by_one_and_then_together() -> None:
    first = footprint("UPDATE", remove=["a"], rows=marks(a=[1]))
    again = footprint("UPDATE", rows=marks(a=[2]))
    moved = footprint("UPDATE", rows=moves(Moved("a", "b", 0, 1, b"")))
    damaged = footprint("UPDATE", rows=NO_ROWS._replace(marks=[Marks("a", b"no")]))

    assert "got several" in staged(Scene(), first, again).message
    assert "'a': a bitmap" in staged(Scene(), damaged, first).message
    assert isinstance(staged(Scene(), moved, first), TxnCommitted)
    assert (
        "'b' must be removed"
        in staged(
            Scene(), first, footprint("UPDATE", rows=moves(Moved("b", "c", 0, 1, b"")))
        ).message
    )


def test_the_rows_of_all_chunks_are_those_of_the_commit() -> None:
    one = marks(a=[1])._replace(read=marked(b=[2]), scanned=path_hash("a"))
    two = moves(MOVED)._replace(added=told("7").added, scanned=path_hash("b"))

    assert joined_rows([]) is None
    assert joined_rows([one]) is one
    assert joined_rows([one, two]) == (
        one.marks, one.read, packed("ab"), [MOVED], told("7").added
    )  # fmt: skip


def test_what_a_part_says_row_by_row_has_a_weight() -> None:
    large = marks(a=range(0, 9_000, 2))

    assert entries_of(large._replace(added=told("7", "8").added, scanned=path_hash("a"))) == 5
    assert weight_of(large) > weight_of(marks(a=[1])) > weight_of(NO_ROWS) == 0


class Kept(NamedTuple):
    """A row: two that do not conflict, and why."""

    why: str
    wins: Callable[[Arena], Any]
    follows: Callable[[Arena], Any]
    made: Any = BY_DAY


NOT_BLIND: dict[str, Any] = {"not_blind": True}
KEPT = [
    Kept(
        "other rows of a file",
        lambda a: a.wins(a.part("UPDATE", rows=marks(a=[5, 7]))),
        lambda a: a.follows(a.part("DELETE", rows=marks(a=[6, 8]))),
    ),
    Kept(
        "the same numbers in another file",
        lambda a: a.wins(a.part("UPDATE", rows=marks(a=[5]))),
        lambda a: a.follows(a.part("DELETE", rows=marks(b=[5]))),
    ),
    Kept(
        "rows that both only matched",
        lambda a: a.wins(a.part("MERGE", rows=marks(a=[5])._replace(read=marked(a=[7])))),
        lambda a: a.follows(a.part("MERGE", rows=marks(a=[6])._replace(read=marked(a=[7])))),
    ),
    Kept(
        "a rewrite of files under a statement",
        lambda a: a.wins(a.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED))),
        lambda a: a.follows(a.part("DELETE", rows=marks(a=[6, 8]))),
    ),
    Kept(
        "a statement under a rewrite of files",
        lambda a: a.wins(a.part("DELETE", rows=marks(a=[6, 8]))),
        lambda a: a.follows(a.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED))),
    ),
    Kept(
        "two rewrites of one file",
        lambda a: a.wins(a.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED))),
        lambda a: a.follows(a.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED))),
    ),
    Kept(
        "a file that is gone under a rewrite",
        lambda a: a.wins(a.part("TRUNCATE", remove=["a"])),
        lambda a: a.follows(a.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED))),
    ),
    Kept(
        "a rewrite under a scan that read the file as a whole",
        lambda a: a.wins(a.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED))),
        lambda a: a.follows(a.part("WRITE", read=["a"], **NOT_BLIND)),
    ),
    Kept(
        "a scan by row",
        lambda a: a.wins(a.part("UPDATE", rows=marks(a=[7]))),
        lambda a: a.follows(a.part("UPDATE", rows=marks(a=[8])._replace(scanned=path_hash("a")))),
    ),
    Kept(
        "another value than the one that is asked for",
        lambda a: a.wins(a.part("WRITE", adds=[partition("1")], rows=told("8"), **NOT_BLIND)),
        lambda a: a.follows(a.part("UPDATE", reads=[DELAY_7])),
    ),
    Kept(
        "another value, where blind appends count as well",
        lambda a: a.wins(a.part("WRITE", adds=[partition("1")], rows=told("8"))),
        lambda a: a.follows(a.part("UPDATE", reads=[DELAY_7])),
        made=serializable(),
    ),
    Kept(
        "rows that a rewrite put into the partition of the scan",
        lambda a: a.wins(
            a.part("UPDATE", adds=[partition("1")], remove=["a"], rows=moves(MOVED), **NOT_BLIND)
        ),
        lambda a: a.follows(a.part("UPDATE", reads=[DAY_1])),
    ),
    Kept(
        "a statement over rows that were marked before it read",
        lambda a: last(a.wins(a.part("UPDATE", rows=marks(a=[7]))), a.wins(a.part())),
        lambda a: a.follows(a.part("DELETE", rows=marks(a=[7]))._replace(read_at=a.state.position)),
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", KEPT, ids=lambda row: row.why)
def test_commits_that_meet_in_no_row_are_kept(row: Kept) -> None:
    arena = Arena(row.made)
    row.wins(arena)

    assert isinstance(row.follows(arena), TxnCommitted)


def test_a_commit_says_where_its_rows_are_by_now() -> None:
    arena = Arena()
    optimize = arena.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED))
    arena.wins(optimize)
    body: Any = arena.follows(arena.part("DELETE", rows=marks(a=[2, 6])))
    again: Any = arena.follows(arena.part("DELETE", rows=marks(c=[15])))

    assert (list(body.parts[0].translated), body.parts[0].left_out) == (marked(c=[12, 15]), ["a"])
    assert again.evidence.rule == "row_changed_twice"


def test_a_rewrite_that_came_too_late_says_what_it_left_out() -> None:
    arena = Arena()
    other = Moved("b", "d", 0, 5, b"")
    arena.wins(arena.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED)))
    arena.wins(arena.part("DELETE", rows=marks(b=[2])))
    both = moves(MOVED._replace(target="e"), other)
    body: Any = arena.follows(
        arena.part("OPTIMIZE", remove=["a", "b"], data_change=False, rows=both)
    )
    part = body.parts[0]

    assert sorted(part.left_out) == ["a", "e"]
    assert list(part.translated) == marked(d=[2])
    assert list(part.footprint.rows.moved) == list(both.moved)


def test_a_replica_is_taken_as_its_source_said_it() -> None:
    arena = Arena()
    txn = arena.open_txn(arena.ada, "replicated")
    arena.wins(arena.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED)))
    body: Any = arena.commit(
        arena.ada, txn, arena.part("DELETE", rows=marks(a=[6]), read_at=arena.base)
    ).body

    assert isinstance(body, TxnCommitted)
    assert not body.parts[0].translated
