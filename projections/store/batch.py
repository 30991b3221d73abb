"""A batch: changes of rows not yet written to a store, and the rows as they will be.

An event is applied before the changes of the events just before it are written. So lookups of rows
go to the batch, which falls back to the store. A row that many events of a batch change need not be
made for each of them: its value may be a call, made at the end.
"""

from collections.abc import Callable, Iterable, Mapping

from projections.store.port import RowChange

Lookup = Callable[[bytes], bytes | None]
"""Returns the value of a key, None if there is no such row."""

LateChange = tuple[bytes, bytes | Callable[[], bytes] | None]
"""A key and its new value, or a call that makes the value from state that still changes.

Every event that changes the result of the call must return the row again: then the rows do not
depend on where a batch ends.
"""


Changes = Mapping[bytes, bytes | Callable[[], bytes] | None]
"""New values of rows by key, as of `LateChange`."""


class Batch:
    """Changes over the rows that `beneath` finds; the last change of a key holds."""

    __slots__ = ("_beneath", "changes")

    def __init__(self, beneath: Lookup) -> None:
        self._beneath = beneath
        self.changes: dict[bytes, bytes | Callable[[], bytes] | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key` as if the batch was written now."""
        return _made(self.changes[key]) if key in self.changes else self._beneath(key)

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
