"""A batch: changes of rows not yet written to a store, and the rows as they will be.

An event is applied before the changes of the events just before it are written. So lookups of rows
go to the batch, which falls back to the store. A row that many events of a batch change need not be
made for each of them: its value may be a call, made at the end.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from projections.store.port import RowChange


class StoredRows(Protocol):
    """Rows that a projection may look up: those of a store, or of a batch over them."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, None if there is no such row."""
        ...

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """Return the values of several keys, in their order."""
        ...


LateChange = tuple[bytes, bytes | Callable[[], bytes] | None]
"""A key and its new value, or a call that makes the value from state that still changes.

Every event that changes the result of the call must return the row again: then the rows do not
depend on where a batch ends.
"""


Changes = Mapping[bytes, bytes | Callable[[], bytes] | None]
"""New values of rows by key, as of `LateChange`."""


class Batch(StoredRows):
    """Changes over the rows `beneath`; the last change of a key holds."""

    __slots__ = ("_beneath", "_fetched", "changes")

    def __init__(self, beneath: StoredRows) -> None:
        self._beneath = beneath
        self._fetched: dict[bytes, bytes | None] = {}
        self.changes: dict[bytes, bytes | Callable[[], bytes] | None] = {}

    def fetch(self, keys: Sequence[bytes]) -> None:
        """Look up rows that are needed soon, at once; rows fetched before are dropped."""
        ordered = sorted(keys)
        found = self._beneath.get_many(ordered)
        self._fetched = dict(zip(ordered, found, strict=True))

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key` as if the batch was written now."""
        if key in self.changes:
            return _made(self.changes[key])
        return self._fetched[key] if key in self._fetched else self._beneath.get(key)

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """Return the values of several keys as if the batch was written now."""
        if self.changes.keys().isdisjoint(keys):
            return self._beneath.get_many(keys)
        return [self.get(key) for key in keys]

    def put(self, key: bytes, value: bytes | None) -> None:
        """Change one row; None deletes it."""
        self.changes[key] = value

    def update(self, changes: Iterable[LateChange]) -> None:
        """Change several rows."""
        self.changes.update(changes)

    def settled(self) -> list[RowChange]:
        """Return the changes to write, with all values made."""
        return [(key, _made(value)) for key, value in self.changes.items()]


def _made(value: bytes | Callable[[], bytes] | None) -> bytes | None:
    return value() if callable(value) else value
