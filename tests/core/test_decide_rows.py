"""Decisions row by row: what a commit means after the winners since its read."""

from typing import Any

from ledger.core.conflicts.footprints import packed
from ledger.core.conflicts.row_changes import NO_ROWS
from ledger.core.events.events import TxnCommitted
from ledger.core.rows.bitmaps import bytes_of, rows_from
from ledger.core.rows.changes import Marks, Moved, RowChanges
from tests.core.arena import Arena
from tests.core.parts import partition


def rewritten(*moved: Moved) -> dict[str, Any]:
    """Return what a footprint says of files whose rows it only puts elsewhere."""
    rows: RowChanges = NO_ROWS._replace(moved=list(moved))
    return {
        "remove": [each.source for each in moved],
        "adds": [partition("1")],
        "removes_in": [partition("1")],
        "data_change": False,
        "rows": rows,
    }


def test_a_rewrite_leaves_out_files_that_a_commit_removed_without_a_word_on_rows() -> None:
    """Else the copies would bring back the rows that this commit deleted."""
    arena = Arena()
    arena.wins(arena.part("DELETE", remove=["a"], removes_in=[partition("1")]))
    moved = Moved("a", "a2", 0, 3, b""), Moved("b", "b2", 0, 3, b"")
    body = arena.follows(arena.part("OPTIMIZE", **rewritten(*moved)))
    assert isinstance(body, TxnCommitted)
    assert sorted(body.parts[0].left_out) == ["a", "a2"]
    winner = arena.state.winners.parts[-1]
    assert winner.footprint is not None
    assert winner.footprint.removes == packed(["b"])


def test_a_read_file_is_not_changed_by_rewrites_of_rows_that_were_deleted_before() -> None:
    """The first rewrite copies such a row, since it began before, and the second leaves it out."""
    arena = Arena()
    row = bytes_of(rows_from(0, 1))
    arena.wins(arena.part("DELETE", rows=NO_ROWS._replace(marks=[Marks("a", row)])))
    read_at = arena.state.position
    stale = rewritten(Moved("a", "b", 0, 1, b""))
    arena.follows(arena.part("OPTIMIZE", read_at=arena.base, **stale))
    arena.wins(arena.part("OPTIMIZE", **rewritten(Moved("b", "c", 0, 0, row))))
    body = arena.follows(arena.part("MERGE", read_at=read_at, read=["a"]))
    assert isinstance(body, TxnCommitted)
