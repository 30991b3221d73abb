"""The data files that one txn has written, until its end says which of them stay.

The files of a txn that was aborted are deleted. So are the files that later statements of the txn
wrote anew, once it is committed. While an outcome is unknown nothing is deleted.
"""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Literal, Protocol

from ledger.core.commands import Column, TableDefinition
from ledger.properties.field_ids import lost_field


class FileStore(Protocol):
    """A place from which files are deleted."""

    def delete(self, path: str) -> bool:
        """Delete a file; return False if it was absent."""
        ...


class WrittenFiles:
    """The files of one txn; threads may share it."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, str], tuple[FileStore, str]] = {}
        self._replaced: set[tuple[str, str]] = set()
        self._definitions: dict[tuple[str, str], TableDefinition] = {}
        self._turn = Lock()

    def note(
        self, location: str, store: FileStore, paths: Iterable[str], definition: TableDefinition
    ) -> None:
        """Note files that a statement has written below a location, for a table as it then was."""
        paths = list(paths)
        with self._turn:
            self._definitions.update(((location, path), definition) for path in paths)
            self._written.update(((location, path), (store, path)) for path in paths)

    def definition(self, location: str, path: str) -> TableDefinition | None:
        """Return the table for which a file was written, None for a file of another writer."""
        return self._definitions.get((location, path))

    def check_alter(self, name: str, before: TableDefinition, after: TableDefinition) -> None:
        """Raise ValueError for a change under which rows of this txn would be read as others.

        A reader takes the table as of the commit for the table for which the files were written.
        """
        with self._turn:
            made = [
                each
                for (location, _), each in self._definitions.items()
                if location == before.location
            ]
        columns = {column.id: column for column in after.columns}
        for each in made:
            renamed = [lost_name(known, columns.get(known.id)) for known in each.columns]
            renamed = [name for name in renamed if name]
            if renamed:
                what = f"column {renamed[0]} of"
            elif list(each.partition_columns) != list(after.partition_columns):
                what = "the partition columns of"
            elif before.location != after.location:
                what = "the location of"
            else:
                continue
            raise ValueError(
                f"{what} table {name} must be changed before the txn writes rows into the table: "
                "alter the table first, or in another txn"
            )

    def replace(self, location: str, paths: Iterable[str]) -> None:
        """Note files of the txn whose rows are in other files now: no commit names them."""
        with self._turn:
            self._replaced.update((location, path) for path in paths)

    def leave_out(self, paths: Iterable[str]) -> None:
        """Note paths that the commit leaves out: its winners replaced the files they stand for."""
        gone = set(paths)
        with self._turn:
            self._replaced.update(key for key in self._written if key[1] in gone)

    def end(self, status: Literal["open", "committed", "aborted", "unknown"]) -> None:
        """Delete what no commit names, once the txn is committed or aborted."""
        if status not in {"committed", "aborted"}:
            return
        with self._turn:
            gone = self._written if status == "aborted" else self._replaced
            files = [self._written[key] for key in gone if key in self._written]
            self._written, self._replaced = {}, set()
        for store, path in files:
            delete_quietly(store.delete, path)


def lost_name(before: Column, after: Column | None) -> str:
    """Return the name of a column, or of a field within it, that another definition has not."""
    if after is None or after.name != before.name:
        return before.name
    field = lost_field(before, after)
    return f"{before.name}.{field}" if field else ""


def discard(store: FileStore, paths: Iterable[str]) -> None:
    """Delete files that no commit names; a file that cannot be deleted now is left to vacuum."""
    for path in paths:
        delete_quietly(store.delete, path)


def delete_quietly(delete: Callable[[str], bool], path: str) -> None:
    """Delete a file; a failure must not hide the result of the txn."""
    try:
        delete(path)
    except Exception:  # noqa: BLE001 - a file that stays is an orphan, which vacuum finds
        return
