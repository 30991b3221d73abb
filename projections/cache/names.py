"""Names in a cache: the tables that ever took a name, newest first.

A name is no identity. The table of a name depends on the reader, so the mapping from names has
versions too: it leads to every table that took the name, and the entry of each table decides which
readers still find it there.
"""

from ledger.core.state.tables import name_key
from ledger.reads.metadata import Name


class TakenNames:
    """The tables that took each name, in the order in which they did."""

    __slots__ = ("_takers",)

    def __init__(self) -> None:
        self._takers: dict[Name, list[int]] = {}

    def take(self, name: Name, table: int) -> None:
        """Record that a table took a name; waiting names are found by the id of the table."""
        takers = self._takers.setdefault(name_key(*name), [])
        if table in takers:
            takers.remove(table)
        takers.append(table)

    def takers(self, key: Name) -> tuple[int, ...]:
        """Return the tables that took a name, by its key, the last one first."""
        return tuple(reversed(self._takers.get(key, ())))

    def forget(self, name: Name, table: int) -> None:
        """Record that no reader can find a table under a name any more."""
        key = name_key(*name)
        takers = self._takers.get(key, [])
        if table in takers:
            takers.remove(table)
        if not takers:
            self._takers.pop(key, None)
