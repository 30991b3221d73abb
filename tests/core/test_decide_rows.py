"""Decisions row by row: what a commit means after the winners since its read."""

from typing import Any

from ledger.core.commands import Moved, RowChanges
from ledger.core.conflicts.footprints import packed
from ledger.core.conflicts.row_changes import NO_ROWS
from ledger.core.events.events import TxnCommitted
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
