"""The parts of a cache: entries that answer from memory, and a store behind them.

Entries follow the log in this process (`following`) or the rows of another process (`rows`). Both
have a bound on their bytes, and evict the tables that were not read for the longest time.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any, Protocol

from ledger.core.commands import TableDefinition
from ledger.core.lists.valid_lists import ValidTxnList
from ledger.errors import ReaderBehindError
from ledger.reads.lineage import Gap
from ledger.reads.metadata import MetadataAnswer, Objects
from ledger.reads.port import Identity
from projections.cache.entry import Entry, Weighed, is_external
from projections.cache.fold import CacheState, Stored, Wanted
from projections.cache.ids import ReaderIds
from projections.cache.rows_as_entries import stored
from projections.fold.lag import Lag
from projections.reads import lookups, snapshots
from projections.store.port import RowReader


class Entries(Protocol):
    """The entries of a cache; threads may share them. `tables` are the held tables."""

    tables: "HeldTables"

    def identity(self) -> Identity | None:
        """Return which ledger the entries are of, None while that is not known."""
        ...

    def advance(self, timeout_s: float, beyond: int | None = None) -> None:
        """Catch up, waiting up to `timeout_s` for something new.

        `beyond` is the position of the answers that were not enough: more may have come since.
        """
        ...

    def position(self) -> int:
        """Return the position the entries have reached."""
        ...

    def at_ms(self) -> int:
        """Return the time of the event at that position."""
        ...

    def gaps(self) -> Sequence[Gap]:
        """Return the gaps that cuts left in the log, as far as it was read."""
        ...

    def read_many(self, wanted: Sequence[Wanted]) -> list[MetadataAnswer]:
        """Return answers as of one position; an answer without a value must come from the store.

        Raises LogRewrittenError once the log is known to have lost events of earlier answers.
        """
        ...

    def fill(self, wanted: Wanted, found: Stored) -> bool:
        """Keep the store's answer; return whether it was kept."""
        ...

    def held(self) -> Sequence[Wanted]:
        """Return a read of each table whose objects are held, with its newest list."""
        ...

    def lengths(self) -> Mapping[int, int]:
        """Return how many versions are held of each table."""
        ...

    def aged(self) -> Sequence[int]:
        """Return the tables with history that a cut may drop."""
        ...

    def cut(self, floors: Mapping[int, ReaderIds]) -> int:
        """Drop history that only readers need that do not see all of a table's floor.

        Returns how many versions were dropped.
        """
        ...

    def close(self) -> None:
        """Release the source of the entries."""
        ...


class ServedEntries(Entries, Protocol):
    """The entries of a process, which load while it answers already.

    `remedy` names the process to check when they are behind the log, "" if there is no other one.
    """

    remedy: str

    def is_loading(self) -> bool:
        """Return whether they answer no read yet; raises the error that ended them."""
        ...

    def check(self) -> None:
        """Do periodic work, several times a second; raises the error that ended them."""
        ...

    def problem(self) -> str:
        """Return why they do not follow the log, "" if they do."""
        ...

    def lag(self) -> Lag | None:
        """Return how far they are behind the log, None before they have begun to follow."""
        ...


class MetadataStore(Protocol):
    """Answers reads of any list; threads may share it."""

    def identity(self) -> Identity | None:
        """Return which ledger the store is of, None while that is not known."""
        ...

    def position(self) -> int:
        """Return the position the store has reached now."""
        ...

    def read_many(self, wanted: Sequence[Wanted]) -> list[Stored]:
        """Return answers as of one position."""
        ...

    def floors(self, tables: Iterable[int]) -> Mapping[int, ReaderIds]:
        """Return the ids of each table that every reader protected by the watermark sees.

        Such a reader sees all txns below the cleanup watermark as ended.
        """
        ...

    def close(self) -> None:
        """Close the store."""
        ...


class RowMetadataStore(MetadataStore):
    """The store over the rows of a follower, or of a feeder; `turn` is as for `RowEntries`."""

    def __init__(self, rows: RowReader, *, turn: AbstractContextManager[Any] | None = None) -> None:
        self._rows = rows
        self._turn = turn or RLock()

    def identity(self) -> Identity | None:
        with self._turn:
            return known_identity(self._fresh())

    def position(self) -> int:
        """Return the position of the newest whole batch of rows."""
        with self._turn:
            return lookups.position(self._fresh())

    def read_many(self, wanted: Sequence[Wanted]) -> list[Stored]:
        """Return answers from the newest whole batch of rows."""
        with self._turn:
            rows = self._fresh()
            return [stored(rows, each) for each in wanted]

    def floors(self, tables: Iterable[int]) -> Mapping[int, ReaderIds]:
        with self._turn:
            return dict(protected(self._fresh(), tables))

    def close(self) -> None:
        """Close the reader."""
        self._rows.close()

    def _fresh(self) -> RowReader:
        self._rows.refresh()
        return self._rows


def known_identity(rows: RowReader) -> Identity | None:
    """Return which ledger rows are of, None before its creation."""
    try:
        return lookups.identity(rows)
    except ReaderBehindError:
        return None


def protected(rows: RowReader, tables: Iterable[int]) -> Iterator[tuple[int, ReaderIds]]:
    """Yield the floor of each managed table: its valid ids if only txns below the mark ended."""
    txns = ValidTxnList(lookups.watermark(rows).watermark - 1, (), (), None)
    for number in tables:
        table = lookups.table(rows, number)
        if table is not None and table.definition.kind == "managed":
            yield number, ReaderIds.of(snapshots.valid_write_ids(rows, table, txns))


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


def newest_reads(cache: CacheState, tables: Iterable[int]) -> list[Wanted]:
    """Return a read of each of the tables for a reader that sees all that is committed."""
    reads: list[Wanted] = []
    for table in tables:
        entry = cache.entries.get(table)
        if entry is not None and entry.states is not None:
            ids = None if is_external(entry.states.content()) else ReaderIds.of(entry.ids.listed())
            reads.append(Wanted(None, ids, table))
    return reads


def entry_bytes(entry: Entry) -> int:
    """Return about how many bytes the objects of an entry take, 0 without objects.

    Known sizes are reused: each change adds one version.
    """
    states = [] if entry.states is None else [each.content for each in entry.states.versions]
    held = [*states, *(each.objects for each in entry.exact.values())]
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
    names = sum(len(each or ()) for each in states)
    return sum(each.size for each in objects.values()) + 100 * names


def value_bytes(value: TableDefinition | str) -> int:
    """Return about how many bytes one object takes: a column or property is a few small strings."""
    if isinstance(value, str):
        return 50 + len(value)
    texts = len(value.location) + sum(len(each.type) + len(each.metadata) for each in value.columns)
    texts += sum(len(each.key) + len(each.value) for each in value.properties)
    return 500 + 300 * len(value.columns) + 200 * len(value.properties) + texts
