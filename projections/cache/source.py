"""What a cache for readers is made of: entries that answer from memory, and a store behind them.

Entries are fed by the log in this process (`following`) or by the rows that another one keeps
(`rows`). Both hold no more bytes than they are told to, and let go of the tables nobody read
for the longest time.
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
from ledger.reads.metadata import Answer, Objects
from ledger.reads.port import Identity
from projections.cache.entry import Entry, Weighed, is_external
from projections.cache.fold import CacheState, Stored, Wanted
from projections.cache.ids import ReaderIds
from projections.cache.rows_as_entries import stored
from projections.fold.lag import Lag
from projections.reads import lookups, snapshots
from projections.store.port import RowReader


class Entries(Protocol):
    """What answers from a cache; threads may share it. `tables` are those that are held."""

    tables: "HeldTables"

    def identity(self) -> Identity | None:
        """Return which ledger the entries are of, None while that is not known."""
        ...

    def advance(self, timeout_s: float, beyond: int | None = None) -> None:
        """Catch up with what there is, waiting up to `timeout_s` for more than before.

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
        """Return what cuts left out of the log, as far as it was read."""
        ...

    def read_many(self, wanted: Sequence[Wanted]) -> list[Answer]:
        """Return answers as of one position; who gets no value is to ask the store.

        Raises LogRewrittenError from when on the log is known not to hold what was answered from.
        """
        ...

    def fill(self, wanted: Wanted, found: Stored) -> bool:
        """Keep what the store answered; tell whether that is of use."""
        ...

    def held(self) -> Sequence[Wanted]:
        """Return a read of each table whose objects are held, with its newest list."""
        ...

    def lengths(self) -> Mapping[int, int]:
        """Return how many versions are held of each table."""
        ...

    def aged(self) -> Sequence[int]:
        """Return the tables of which a cut may let something go."""
        ...

    def cut(self, floors: Mapping[int, ReaderIds]) -> int:
        """Let go of what only readers need who do not see all of a table's floor.

        Returns how many versions went.
        """
        ...

    def close(self) -> None:
        """Let go of what the entries come from."""
        ...


class ServedEntries(Entries, Protocol):
    """The entries of a process, which come to be while it answers already.

    `remedy` says whom to look after when they are behind the log, "" if there is nobody else.
    """

    remedy: str

    def is_loading(self) -> bool:
        """Tell whether nobody is answered from them yet; raises what ended them for good."""
        ...

    def check(self) -> None:
        """Do what is due, several times a second; raises what ended them for good."""
        ...

    def problem(self) -> str:
        """Return why they do not follow, "" if they do."""
        ...

    def lag(self) -> Lag | None:
        """Return how far they are behind the log, None before they have begun to follow."""
        ...


class MetadataStore(Protocol):
    """What answers every list; threads may share it."""

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
        """Return the ids of each table that every reader sees whom the watermark protects.

        Such a reader sees all txns below the cleanup watermark as ended.
        """
        ...

    def close(self) -> None:
        """Let go of the store."""
        ...


class RowMetadataStore(MetadataStore):
    """The store over the rows of a follower, or of a feeder; `turn` is as for `RowEntries`."""

    def __init__(self, rows: RowReader, *, turn: AbstractContextManager[Any] | None = None) -> None:
        self._rows = rows
        self._turn = turn or RLock()

    def identity(self) -> Identity | None:
        """Return whose rows they are, None before its creation."""
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
        """Return the ids of each table that every reader sees whom the watermark protects."""
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
    """Yield the floor of each managed table: what is valid if only txns below the mark ended."""
    txns = ValidTxnList(lookups.watermark(rows).watermark - 1, (), (), None)
    for number in tables:
        table = lookups.table(rows, number)
        if table is not None and table.definition.kind == "managed":
            yield number, ReaderIds.of(snapshots.valid_write_ids(rows, table, txns))


class HeldTables:
    """Which tables are held, how many bytes each takes, and who was read last.

    No more than `bytes_max` bytes are held, but for a single table that takes more.
    """

    def __init__(self, bytes_max: int) -> None:
        self.bytes_used = 0
        self.evictions = 0
        self.bytes_max = bytes_max
        self._sizes: OrderedDict[int, int] = OrderedDict()

    def touch(self, table: int) -> None:
        """Note that a table was read."""
        if table in self._sizes:
            self._sizes.move_to_end(table)

    def hold(self, table: int, size: int) -> list[int]:
        """Note how many bytes a table takes; return the tables that have to go for it."""
        self.bytes_used += size - self._sizes.get(table, 0)
        self._sizes[table] = size
        gone: list[int] = []
        while self.bytes_used > self.bytes_max and len(self._sizes) > 1:
            gone.append(next(iter(self._sizes)))
            self.release(gone[-1])
        self.evictions += len(gone)
        return gone

    def resize(self, table: int, size: int) -> None:
        """Note that a table takes fewer bytes now; that counts as no read of it."""
        self.bytes_used += size - self._sizes[table]
        self._sizes[table] = size

    def release(self, table: int) -> None:
        """Note that a table is not held any more."""
        self.bytes_used -= self._sizes.pop(table, 0)

    def tables(self) -> list[int]:
        """Return the tables that are held, the one read last at the end."""
        return list(self._sizes)


def newest_reads(cache: CacheState, tables: Iterable[int]) -> list[Wanted]:
    """Return a read of each of the tables for a reader who sees all that is committed."""
    reads: list[Wanted] = []
    for table in tables:
        entry = cache.entries.get(table)
        if entry is not None and entry.states is not None:
            ids = None if is_external(entry.states.content()) else ReaderIds.of(entry.ids.listed())
            reads.append(Wanted(None, ids, table))
    return reads


def entry_bytes(entry: Entry) -> int:
    """Return about how many bytes the objects of an entry take, 0 if it holds none.

    What was weighed before is not looked at again: with every change there is one new version.
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
    """Return the bytes of objects and states; what names an object takes memory in every state."""
    names = sum(len(each or ()) for each in states)
    return sum(each.size for each in objects.values()) + 100 * names


def value_bytes(value: TableDefinition | str) -> int:
    """Return about how many bytes one object takes: a column or property is some small strings."""
    if isinstance(value, str):
        return 50 + len(value)
    texts = len(value.location) + sum(len(each.type) + len(each.metadata) for each in value.columns)
    texts += sum(len(each.key) + len(each.value) for each in value.properties)
    return 500 + 300 * len(value.columns) + 200 * len(value.properties) + texts
