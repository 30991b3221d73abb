"""The plain form of what a part changed row by row, for checkpoints: bytes are hex digits."""

from typing import Any

from ledger.core.commands import AddedRows, Marks, Moved, RowChanges, ToldColumn

Plain = Any


def row_changes_form(rows: RowChanges | None) -> Plain:
    """Return the form of row changes, None for None."""
    if rows is None:
        return None
    return [
        [[path, marked.hex()] for path, marked in rows.marks],
        [[path, marked.hex()] for path, marked in rows.read],
        rows.scanned.hex(),
        [[*moved[:-1], moved.stayed.hex()] for moved in rows.moved],
        [[each.partition, [*map(list, each.columns)], *each[2:]] for each in rows.added],
    ]


def row_changes_from(form: Plain) -> RowChanges | None:
    """Return the row changes of a form."""
    if form is None:
        return None
    marks, read, scanned, moved, added = form
    return RowChanges(
        [Marks(path, bytes.fromhex(marked)) for path, marked in marks],
        [Marks(path, bytes.fromhex(marked)) for path, marked in read],
        bytes.fromhex(scanned),
        [Moved(*each)._replace(stayed=bytes.fromhex(each[-1])) for each in moved],
        [
            AddedRows(partition, [ToldColumn(*column) for column in columns], *rest)
            for partition, columns, *rest in added
        ],
    )
