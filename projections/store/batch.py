"""A batch: changes of rows on their way into a store, and what the rows are with them.

An event is applied before the changes of those just before it are written. Whatever has to know how
a row stands then asks the batch, which has the store beneath it. A row that many events of a batch
would write again need not be made for each of them: its value may be a call, made at the end.
"""

from collections.abc import Callable, Iterable

from projections.store.port import RowChange

Lookup = Callable[[bytes], bytes | None]
"""Returns the value of a key, None if there is no such row."""

LateChange = tuple[bytes, bytes | Callable[[], bytes] | None]
"""A key and its new value, or the call that makes it of what still changes within the batch.

Every event that changes what the call returns must give the row again: then it does not matter
where the batch ends.
"""


class Batch:
    """Changes over the rows that `beneath` finds; the last change of a key holds."""

    __slots__ = ("_beneath", "changes")

    def __init__(self, beneath: Lookup) -> None:
        self._beneath = beneath
        self.changes: dict[bytes, bytes | Callable[[], bytes] | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key` as it would be if the batch was written now."""
        return _made(self.changes[key]) if key in self.changes else self._beneath(key)

    def put(self, key: bytes, value: bytes | None) -> None:
        """Change one row; None deletes it."""
        self.changes[key] = value

    def update(self, changes: Iterable[LateChange]) -> None:
        """Change several rows."""
        self.changes.update(changes)

    def settled(self) -> list[RowChange]:
        """Return what to write, with all values made."""
        return [(key, _made(value)) for key, value in self.changes.items()]


def _made(value: bytes | Callable[[], bytes] | None) -> bytes | None:
    return value() if callable(value) else value
