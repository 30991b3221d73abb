"""Steps 7 and 8 of the check: files and rows gone that the attempt read, or takes as well.

At the grain of rows only the same row counts, wherever rewrites have put it since. A file that is
read or removed as a whole meets any change of one of its rows.
"""

from collections.abc import Iterator

from ledger.core.commands import Footprint
from ledger.core.conflicts.attempts import Attempt, Hit
from ledger.core.conflicts.following import Followed, follow, union_of
from ledger.core.conflicts.footprints import hashes, is_backfill, path_hash
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.positions import least
from ledger.core.conflicts.row_changes import NO_ROWS
from ledger.core.conflicts.settling import settle
from ledger.core.conflicts.winners import ANY_FILE
from ledger.core.predicates.predicates import Predicates
from ledger.core.rows.bitmaps import rows_in
from ledger.core.rows.changes import Marks, RowChanges
from ledger.core.rows.moves import moves_by_source

# A conflict names this many rows at most.
ROWS_NAMED = 10
# Rows state more than the partitions and files of the documented steps, so they come before these.
ROW_STEP = 5


def removed_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Steps 7 and 8: files or rows gone that the attempt read, or also takes."""
    footprint = attempt.footprint
    if footprint is None:
        return
    read_at = attempt.read_at
    if footprint.reads_whole and (position := winners.first("removed", read_at)):
        yield Hit(position, 7, "file_read_removed", "table")
    if reads_unlocated(attempt, footprint) and (at := winners.first("coarse", read_at)):
        yield Hit(at, 7, "file_read_removed", "table")
    # A backfill reads files only to record them again. It leaves out files that are gone (a.4 step
    # 5), and so does every reader of its commit.
    read_files = b"" if is_backfill(footprint) else footprint.read_files
    if footprint.rows is not None and attempt.level == "Serializable" and not attempt.rearranges:
        read_files += footprint.rows.scanned
    for position, unit in removers(winners, read_at, read_files, is_read=not attempt.by_file):
        yield Hit(position, 7, "file_read_removed", unit)
    rows = footprint.rows or NO_ROWS
    whole = taken_whole(footprint, rows)
    for position, unit in removers(winners, read_at, whole, is_read=False):
        # Two commits that only rearrange also read what they remove. The documented answer is that
        # both removed it.
        both = attempt.rearranges and winners.parts[position].rearranges
        yield Hit(position, 6 if both else 8, "file_removed_twice", unit)
    if footprint.rows is not None or winners.rows:
        yield from row_hits(winners, attempt, footprint, rows)


def taken_whole(footprint: Footprint, rows: RowChanges) -> bytes:
    """Return the hashes of the files removed of which the part does not say what became of rows."""
    known = {path_hash(marks.path) for marks in rows.marks}
    known.update(path_hash(moved.source) for moved in rows.moved)
    if not known:
        return footprint.removes
    return b"".join(file for file in hashes(footprint.removes) if file not in known)


def removers(
    winners: TableWinners, read_at: int, row: bytes, *, is_read: bool
) -> Iterator[tuple[int, str]]:
    """Return the first winner that changed each of these files, with the unit where both met.

    Rows that are only read may be in another file by now. A file that is removed must be there.
    """
    if row and (position := winners.first(ANY_FILE, read_at)):
        yield position, "files"
    if not winners.rows:
        for path in hashes(row):
            if position := winners.first(path, read_at):
                yield position, f"file {path.hex()}"
        return
    for path in hashes(row):
        found = follow(winners, path, None, read_at)
        if position := least(found.marked, found.gone, 0 if is_read else found.replaced):
            yield position, f"file {path.hex()}"


def row_hits(
    winners: TableWinners, attempt: Attempt, footprint: Footprint, rows: RowChanges
) -> Iterator[Hit]:
    """Return a hit for each file of which the attempt and a winner changed the same rows."""
    for marks in rows.read:
        yield from marked_hits(winners, attempt.read_at, marks, is_read=True)
    for marks in rows.marks:
        yield from marked_hits(winners, attempt.read_at, marks, is_read=False)
    if not attempt.rearranges:
        for source, moves in moves_by_source(rows.moved).items():
            file = path_hash(source)
            found = follow(winners, file, union_of(moves), attempt.read_at)
            if found.gone:
                yield Hit(found.gone, 8, "file_removed_twice", f"file {file.hex()}")
    settled = settle(winners, footprint, attempt.read_at, rearranges=attempt.rearranges)
    if settled.is_too_large and (position := winners.first("removed", attempt.read_at)):
        yield Hit(position, 8, "file_removed_twice", "files")


def marked_hits(
    winners: TableWinners, read_at: int, marks: Marks, *, is_read: bool
) -> Iterator[Hit]:
    """Return the hits of rows of one file that the attempt marks, or matched and left."""
    file = path_hash(marks.path)
    found = follow(winners, file, rows_in(marks.rows), read_at)
    step, names = (7, READ_RULES) if is_read else (8, TAKEN_RULES)
    if found.marked:
        yield Hit(found.marked, ROW_STEP, names[0], rows_unit(file, found))
    if found.gone:
        yield Hit(found.gone, step, names[1], f"file {file.hex()}")


READ_RULES = "row_read_changed", "file_read_removed"
TAKEN_RULES = "row_changed_twice", "file_removed_twice"


def rows_unit(file: bytes, found: Followed) -> str:
    """Return the name of rows of a file, by their numbers."""
    numbers = [str(row) for row, _ in zip(found.dead, range(ROWS_NAMED), strict=False)]
    more = len(found.dead) - len(numbers)
    shown = ", ".join(numbers) + (f" and {more} more" if more else "")
    return f"rows {shown} of file {file.hex()}"


def reads_unlocated(attempt: Attempt, footprint: Footprint) -> bool:
    """Tell whether files were read whose partitions no other step checks for coarse writes.

    Step 6 checks the partitions of the scans, except at SnapshotIsolation. Step 8 checks the
    partitions of removed files.
    """
    if not footprint.reads:
        return bool(footprint.read_files)
    if attempt.level != "SnapshotIsolation":
        return False
    return bool(set(hashes(footprint.read_files)).difference(hashes(footprint.removes)))
