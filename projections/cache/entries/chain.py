"""Chains: the versions of a thing, the version that a reader sees, and the takers of names.

Versions are in the order of their commits, not of their write ids: the later commit wins, since its
conflict check saw the earlier one.
"""

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from ledger.core.lists.valid_lists import contains
from ledger.core.state.tables import name_key
from ledger.reads.metadata import Name
from projections.cache.entries.ids import ReaderIds

Content = TypeVar("Content")


class Version(NamedTuple, Generic[Content]):
    """The content of a thing from a position on.

    `write_id` 0 is for every reader; content None means that the thing is gone.
    """

    position: int
    write_id: int
    content: Content | None


class Chain(Generic[Content]):
    """The versions of one thing, oldest first; the oldest ones may be dropped."""

    __slots__ = ("versions",)

    def __init__(self, versions: Iterable[Version[Content]] = ()) -> None:
        self.versions = list(versions)

    def put(self, version: Version[Content]) -> None:
        """Add a version at its place; a version that every reader sees hides all before it."""
        at = len(self.versions)
        while at and self.versions[at - 1].position > version.position:
            at -= 1
        self.versions.insert(at, version)
        if not version.write_id:
            del self.versions[:at]

    def newest(self, ids: ReaderIds | None) -> Version[Content] | None:
        """Return the newest version that a reader sees; a reader without ids sees all."""
        if ids is None:
            return self.versions[-1] if self.versions else None
        hwm, exceptions = ids
        for version in reversed(self.versions):
            write_id = version.write_id
            if not write_id or (
                write_id <= hwm and not (exceptions and contains(exceptions, write_id))
            ):
                return version
        return None

    def last(self) -> Version[Content] | None:
        """Return the newest version of all."""
        return self.versions[-1] if self.versions else None

    def content(self) -> Content | None:
        """Return the content after all versions, None if the thing is gone or has none."""
        return self.versions[-1].content if self.versions else None

    def cut(self, ids: ReaderIds) -> bool:
        """Drop versions that no reader of at least these ids gets; return as `trim`.

        A reader that sees the oldest kept version needs no earlier one.
        """
        oldest = self.newest(ids)
        return oldest is not None and self.trim(len(self.versions) - self.versions.index(oldest))

    def trim(self, most: int) -> bool:
        """Keep the newest versions only; return whether any was dropped."""
        gone = max(0, len(self.versions) - most)
        del self.versions[:gone]
        return gone > 0


class TakenNames:
    """The tables that took each name, in the order in which they did.

    A name is no identity. The table of a name depends on the reader, so the mapping from names has
    versions too: it leads to every table that took the name, and the entry of each table decides
    which readers still find it there.
    """

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
