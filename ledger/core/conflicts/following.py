"""Following rows: what the winners since a read made of some rows of a file.

A row may be marked. Its file may be replaced by one that says where the row is now, and that file
again. A removal that does not say where its rows are counts as a change of all of them.
"""

from typing import NamedTuple

from ledger.core.conflicts.footprints import path_hash
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.positions import least
from ledger.core.limits import REWRITES_MAX, ROWS_TRANSLATED_MAX
from ledger.core.rows.bitmaps import RowSet, empty
from ledger.core.rows.moves import Move


class Followed(NamedTuple):
    """What became of rows; positions are 0 for nothing.

    `dead` are the rows that winners marked, by their numbers in the file that was asked for, and
    `marked` is the position of the first such mark. `replaced` is the position at which that file
    gave way to another, and `gone` the first at which rows went with a file to an unknown place.
    `places` are the rows that are left, by the path of their present file, if that is another.
    """

    dead: RowSet
    marked: int
    replaced: int
    gone: int
    places: dict[str, RowSet]


def follow(
    winners: TableWinners,
    file: bytes,
    rows: RowSet | None,
    since: int,
    rewrites: int = REWRITES_MAX,
) -> Followed:
    """Return what became of rows of a file after the position `since`; `rows` None = all rows."""
    dead, marked = empty(), 0
    known = winners.rows.files.get(file)
    if known is not None:
        marked, dead = known.touched(rows, since)
    replaced = winners.first_removal(file, since)
    if not replaced:
        return Followed(dead, marked, 0, 0, {})
    moves = winners.rows.moves_at(file, replaced)
    if not moves or not rewrites or is_too_much(moves, rows):
        return Followed(dead, marked, replaced, replaced, {})
    gone = 0
    places: dict[str, RowSet] = {}
    left = None if rows is None else rows - dead
    for move in moves:
        inside = born_live(winners, move, replaced) if left is None else move.forward(left)
        if not inside:
            continue
        after = follow(winners, path_hash(move.target), inside, replaced, rewrites - 1)
        dead |= move.back(after.dead)
        marked, gone = least(marked, after.marked), least(gone, after.gone)
        here = {move.target: inside - after.dead} if not after.replaced else after.places
        for path, found in here.items():
            if found:
                places[path] = places.get(path, empty()) | found
    if left is not None and (lost := left - union_of(moves)):
        # The rewrite left these rows out, so it changed them, or they were gone before.
        dead, marked = dead | lost, least(marked, replaced)
    return Followed(dead, marked, replaced, gone, places)


def born_live(winners: TableWinners, move: Move, position: int) -> RowSet:
    """Return the rows that a rewrite put into a file and that were live there from the first.

    A rewrite that began before a row was deleted copies it, and marks the copy.
    """
    known = winners.rows.files.get(path_hash(move.target))
    return move.landed() if known is None else move.landed() - known.at(position)


def union_of(moves: list[Move]) -> RowSet:
    """Return all rows of a file that its moves put elsewhere."""
    found = empty()
    for move in moves:
        found |= move.moved()
    return found


def is_too_much(moves: list[Move], rows: RowSet | None) -> bool:
    """Return whether to follow the rows would take too long."""
    stayed = max(len(move.stayed) for move in moves)
    return stayed > ROWS_TRANSLATED_MAX and (rows is None or len(rows) > ROWS_TRANSLATED_MAX)
