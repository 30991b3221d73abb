"""Row changes: whether what a part says row by row can be, how large it is, and chunks of it."""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from ledger.core.limits import ADDED_COLUMNS_MAX, CHAR_BYTES, HASH_BYTES
from ledger.core.partitions.names import partition_values
from ledger.core.rows.bitmaps import ROW_MAX, fault_of, rows_in
from ledger.core.rows.changes import AddedRows, Marks, Moved, RowChanges

ENTRY_BYTES: Final = 128
# A part that did nothing row by row.
NO_ROWS: Final = RowChanges((), (), b"", (), ())


def entries_of(rows: RowChanges) -> int:
    """Return how many entries the rows of a part have."""
    values = sum(1 + len(each.values) for each in rows.added)
    marks = len(rows.marks) + len(rows.read) + len(rows.moved)
    return values + marks + len(rows.scanned) // HASH_BYTES


def weight_of(rows: RowChanges) -> int:
    """Return about how many bytes the rows of a part take, in memory and in a record."""
    marks = sum(map(mark_bytes, chain(rows.marks, rows.read)))
    added = sum(map(added_bytes, rows.added))
    return marks + sum(map(moved_bytes, rows.moved)) + added + len(rows.scanned)


def mark_bytes(marks: Marks) -> int:
    """Return about how many bytes marks of a file take."""
    return ENTRY_BYTES + len(marks.path) + len(marks.rows)


def moved_bytes(moved: Moved) -> int:
    """Return about how many bytes moved rows of a file take."""
    return ENTRY_BYTES + len(moved.source) + len(moved.target) + len(moved.stayed)


def added_bytes(added: AddedRows) -> int:
    """Return about how many bytes what is stated of new rows takes."""
    texts = (added.partition, *added.values, added.lowest, added.highest)
    return ENTRY_BYTES + sum(CHAR_BYTES * len(text) + 1 for text in texts)


def fault_of_rows(rows: RowChanges) -> str:
    """Return what is wrong with the rows of a part, "" if they are valid."""
    if len(rows.scanned) % HASH_BYTES:
        return f"path hashes must have {HASH_BYTES} bytes each"
    for each in (rows.marks, rows.read):
        if len({marks.path for marks in each}) < len(each):
            return "the rows of a file must be marked in one bitmap, got several"
    problems = chain(
        map(fault_of_marks, chain(rows.marks, rows.read)),
        map(fault_of_moved, rows.moved),
        map(fault_of_added, rows.added),
    )
    return next(filter(None, problems), "")


def fault_of_marks(marks: Marks) -> str:
    """Return what is wrong with marks of a file."""
    if not marks.path or not marks.rows:
        return "marks must name a file and at least one row"
    problem = fault_of(marks.rows)
    return f"marks of file {marks.path[:200]!r}: {problem}" if problem else ""


def fault_of_moved(moved: Moved) -> str:
    """Return what is wrong with moved rows of a file."""
    if not moved.source or not moved.target or moved.source == moved.target:
        return f"rows must move from one file to another, got {moved.source[:200]!r} for both"
    problem = fault_of(moved.stayed) if moved.stayed else ""
    if problem:
        return f"moved rows of file {moved.source[:200]!r}: {problem}"
    if moved.first < 0 or moved.rows < 0 or moved.first + moved.rows > ROW_MAX:
        return (
            f"moved rows of file {moved.source[:200]!r} must have numbers from 0 to {ROW_MAX}, got "
            f"{moved.rows} rows from {moved.first} on"
        )
    stayed = rows_in(moved.stayed)
    if stayed and stayed.max() >= moved.rows + len(stayed):
        return (
            f"file {moved.source[:200]!r} must have {moved.rows + len(stayed)} rows, the moved "
            f"ones and the others, got row {stayed.max()}"
        )
    return ""


def fault_of_added(added: AddedRows) -> str:
    """Return what is wrong with what is known of new rows."""
    if partition_values(added.partition) is None:
        return f"a partition must be a JSON array of texts and nulls, got {added.partition[:80]!r}"
    count = len(added.columns)
    names = {column.name.lower() for column in added.columns}
    if count > ADDED_COLUMNS_MAX or len(names) < count:
        return f"new rows must tell {ADDED_COLUMNS_MAX} different columns at most, got {count}"
    for text in (*added.values, *filter(None, (added.lowest, added.highest))):
        values = partition_values(text)
        if values is None or len(values) != count:
            return f"values of new rows must be a JSON array of {count} texts, got {text[:80]!r}"
        # An empty partition value is NULL, and the empty text of a column is not.
        if "" in values:
            return f"values of new rows must not have an empty text, got {text[:80]!r}"
    return ""


def joined_rows(chunks: Sequence[RowChanges]) -> RowChanges | None:
    """Return the rows of all chunks of a part, None without any; a file is marked once."""
    if len(chunks) < 2:  # noqa: PLR2004 - none and one are whole
        return chunks[0] if chunks else None
    return RowChanges(
        list(chain.from_iterable(each.marks for each in chunks)),
        list(chain.from_iterable(each.read for each in chunks)),
        b"".join(each.scanned for each in chunks),
        list(chain.from_iterable(each.moved for each in chunks)),
        list(chain.from_iterable(each.added for each in chunks)),
    )
