"""A batch: changes of rows on their way into a store, and what the rows are with them.

An event is applied before the changes of those just before it are written. Whatever has to know how
a row stands then asks the batch, which has the store beneath it.
"""

from collections.abc import Callable, Iterable

from projections.store import RowChange

Lookup = Callable[[bytes], bytes | None]
"""Returns the value of a key, None if there is no such row."""


class Batch:
    """Changes over the rows that `beneath` finds; the last change of a key holds."""

    __slots__ = ("_beneath", "changes")

    def __init__(self, beneath: Lookup) -> None:
        self._beneath = beneath
        self.changes: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key` as it will be once the batch is written."""
        return self.changes[key] if key in self.changes else self._beneath(key)

    def put(self, key: bytes, value: bytes | None) -> None:
        """Change one row; None deletes it."""
        self.changes[key] = value

    def update(self, changes: Iterable[RowChange]) -> None:
        """Change several rows."""
        self.changes.update(changes)
