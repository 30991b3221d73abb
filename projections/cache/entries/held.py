"""The tables whose objects a cache holds: their bytes, and which table is evicted first."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from ledger.core.commands import TableDefinition
from ledger.reads.metadata import Objects
from projections.cache.entries.entry import Entry, Weighed


class HeldTables:
    """The held tables with their bytes, in the order of their last reads.

    They take at most `bytes_max` bytes, except for a single table that takes more.
    """

    def __init__(self, bytes_max: int) -> None:
        self.bytes_used = 0
        self.evictions = 0
        self.bytes_max = bytes_max
        self._sizes: OrderedDict[int, int] = OrderedDict()

    def touch(self, table: int) -> None:
        """Record a read of a table."""
        if table in self._sizes:
            self._sizes.move_to_end(table)

    def hold(self, table: int, size: int) -> list[int]:
        """Record how many bytes a table takes; return the tables to evict for it."""
        self.bytes_used += size - self._sizes.get(table, 0)
        self._sizes[table] = size
        gone: list[int] = []
        while self.bytes_used > self.bytes_max and len(self._sizes) > 1:
            gone.append(next(iter(self._sizes)))
            self.release(gone[-1])
        self.evictions += len(gone)
        return gone

    def resize(self, table: int, size: int) -> None:
        """Record that a table takes fewer bytes now; that does not count as a read."""
        self.bytes_used += size - self._sizes[table]
        self._sizes[table] = size

    def release(self, table: int) -> None:
        """Record that a table is not held any more."""
        self.bytes_used -= self._sizes.pop(table, 0)

    def tables(self) -> list[int]:
        """Return the held tables, the one read last at the end."""
        return list(self._sizes)


def entry_bytes(entry: Entry) -> int:
    """Return about how many bytes the objects of an entry take, 0 without objects.

    Known sizes are reused: each change adds one version.
    """
    states = [] if entry.states is None else [version.content for version in entry.states.versions]
    held = [*states, *(exact.objects for exact in entry.exact.values())]
    entry.weighed = weighed(held, entry.weighed)
    return bytes_of(held, entry.weighed)


def objects_bytes(objects: Objects | None) -> int:
    """Return about how many bytes one state of a table takes."""
    return bytes_of([objects], weighed([objects], {}))


def weighed(states: Iterable[Objects | None], before: Mapping[int, Weighed]) -> dict[int, Weighed]:
    """Return the objects of states with their bytes, by identity: equal ones count once."""
    distinct = {id(value): value for objects in states if objects for value in objects.values()}
    return {
        key: before.get(key) or Weighed(value, value_bytes(value))
        for key, value in distinct.items()
    }


def bytes_of(states: Iterable[Objects | None], objects: Mapping[int, Weighed]) -> int:
    """Return the bytes of objects and states; the name of an object takes memory in every state."""
    names = sum(len(objects or ()) for objects in states)
    return sum(held.size for held in objects.values()) + 100 * names


def value_bytes(value: TableDefinition | str) -> int:
    """Return about how many bytes one object takes: a column or property is a few small strings."""
    if isinstance(value, str):
        return 50 + len(value)
    texts = len(value.location) + sum(
        len(column.type) + len(column.metadata) for column in value.columns
    )
    texts += sum(len(pair.key) + len(pair.value) for pair in value.properties)
    return 500 + 300 * len(value.columns) + 200 * len(value.properties) + texts
