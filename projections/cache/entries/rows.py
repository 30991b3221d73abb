"""Entries made from rows: the cache of a process that reads another process's store.

The follower, or the feeder in Spark, writes what a cache needs in the same batch as its position,
so one refresh shows entries and position of one moment. An entry is made at its first read. Two
rows change with every event that lets the entry answer more, so equal rows mean that it is up to
date; they are read once for each table and position. An abort changes neither row, and makes an
entry only too careful: before a read goes to the store, the entry is brought up to date.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from threading import RLock
from time import monotonic, sleep
from typing import Any, Final

from ledger.errors import LogRewrittenError
from ledger.reads.lineage import Gap
from ledger.reads.metadata import MetadataAnswer
from ledger.reads.port import Identity, Reached
from projections.cache.entries import rows_as_entries
from projections.cache.entries.held import HeldTables, entry_bytes
from projections.cache.entries.ids import ReaderIds
from projections.cache.fold import CacheState
from projections.cache.ports import Entries, EntryRead
from projections.cache.store import known_identity
from projections.reads import lookups
from projections.rows.keys import TABLE, WRITE_IDS, number_key
from projections.store.port import RowReader

BYTES_MAX: Final = 256 << 20
PAUSE_S: Final = 0.002
REFRESH_S: Final = 0.1

Compare = Callable[[RowReader, Reached], object]
"""Raises LogRewrittenError for rows of another log than the one seen before."""

Stamp = tuple[bytes | None, ...]


class RowEntries(Entries):
    """Entries of the tables that were read, in at most `bytes_max` bytes; closes its reader.

    A read that need not wait is answered from rows that are at most `refresh_s` old. All users of
    the same rows share `turn`, a reentrant lock. `compare` checks replaced rows against the events
    seen before: a log without those events ends the entries.
    """

    def __init__(
        self,
        rows: RowReader,
        *,
        bytes_max: int = BYTES_MAX,
        refresh_s: float = REFRESH_S,
        turn: AbstractContextManager[Any] | None = None,
        compare: Compare = lookups.reached,
    ) -> None:
        self.tables = HeldTables(bytes_max)
        self._lost: LogRewrittenError | None = None
        self._compare = compare
        self._seen = Reached()
        self._is_compared = True
        self._gaps: tuple[int, Sequence[Gap]] = (0, ())
        self._rows = rows
        self._origin = rows.origin()
        self._cache = CacheState()
        self._stamps: dict[int, tuple[int, Stamp]] = {}
        self._refresh_s = refresh_s
        self._refreshed_s = 0.0
        self._turn = turn or RLock()
        self.advance(0.0)

    def identity(self) -> Identity | None:
        with self._turn:
            return known_identity(self._rows)

    def advance(self, timeout_s: float, beyond: int | None = None) -> None:
        """Refresh until there are new rows, or rows after `beyond`, for up to `timeout_s`."""
        until_s = monotonic() + timeout_s
        before = self.position() if beyond is None else beyond
        while not self._refresh(before) and monotonic() < until_s:
            sleep(PAUSE_S)

    def position(self) -> int:
        """Return the position of the last refresh."""
        return self._cache.position

    def at_ms(self) -> int:
        with self._turn:
            self._note_position()
            return lookups.at(self._rows, self._cache.position)

    def read_many(self, wanted: Sequence[EntryRead]) -> list[MetadataAnswer]:
        """Return answers as of the last refresh, which is a new one if that was long ago."""
        with self._turn:
            if monotonic() - self._refreshed_s > self._refresh_s:
                self._refresh(0)
            self._note_position()
            return [self._read(each) for each in wanted]

    def gaps(self) -> Sequence[Gap]:
        with self._turn:
            if self._gaps[0] != self._cache.position:
                self._gaps = self._cache.position, lookups.gaps(self._rows)
            return self._gaps[1]

    def held(self) -> Sequence[EntryRead]:
        """Return a read of each table whose entry was made."""
        with self._turn:
            return self._cache.newest_reads(self.tables.tables())

    def lengths(self) -> Mapping[int, int]:
        with self._turn:
            return {table: entry.length() for table, entry in self._cache.entries.items()}

    def aged(self) -> Sequence[int]:
        """Return the tables with history; the ids of a table come from its rows."""
        return [table for table, versions in self.lengths().items() if versions > 1]

    def cut(self, floors: Mapping[int, ReaderIds]) -> int:
        with self._turn:
            gone = sum(self._cache.cut(*floor) for floor in floors.items())
            for entry in [self._cache.entries[table] for table in floors if table in self._stamps]:
                self.tables.resize(entry.table, entry_bytes(entry))
            return gone

    def close(self) -> None:
        self._rows.close()

    def _refresh(self, before: int) -> bool:
        with self._turn:
            self._rows.refresh()
            self._refreshed_s = monotonic()
            self._note_position()
            return self._cache.position > before

    def _note_position(self) -> None:
        """Record how far the rows are; another user may have refreshed them.

        Rebuilt rows may hold another history with the same ids, so no stamp would show it. Raises
        LogRewrittenError if they do, and from then on.
        """
        if self._rows.origin() != self._origin:
            self._origin = self._rows.origin()
            self._forget()
            self._is_compared = False
        reached = lookups.reached(self._rows, Reached())
        if not self._is_compared and self._lost is None and reached.position >= self._seen.position:
            self._check_lineage()
        if self._lost is not None:
            raise copy(self._lost) from self._lost
        if self._is_compared:
            self._seen = reached
        self._cache.positions.last = reached.position

    def _check_lineage(self) -> None:
        try:
            self._compare(self._rows, self._seen)
        except LogRewrittenError as lost:
            self._lost = lost
        else:
            self._is_compared = True

    def _forget(self) -> None:
        for table in self.tables.tables():
            self.tables.release(table)
        self._cache.entries.clear()
        self._stamps.clear()

    def _read(self, wanted: EntryRead) -> MetadataAnswer:
        table = wanted.table
        if table is None and wanted.name is not None:
            table = rows_as_entries.table_named(self._rows, wanted.name, wanted.ids)
        if table is None or not lookups.is_row_number(table):
            return self._cache.read(wanted)
        by_id = wanted._replace(table=table)
        is_fresh = self._is_outdated(table)
        if is_fresh:
            self._renew(table)
        else:
            self.tables.touch(table)
        answer = self._answer(by_id)
        if answer.value is None and not is_fresh:
            self._renew(table)
            answer = self._answer(by_id)
        return answer

    def _renew(self, table: int) -> None:
        """Bring the entry of a table up to date, as the one read last, and evict others for it."""
        entry = self._cache.entries.get(table)
        if entry is not None:
            rows_as_entries.catch_up(self._rows, entry)
        else:
            entry = rows_as_entries.load(self._rows, table)
        if entry is None:
            return
        self._cache.entries[table] = entry
        self._stamps[table] = self._cache.position, self._stamp(table)
        self.tables.touch(table)
        for gone in self.tables.hold(table, entry_bytes(entry)):
            del self._cache.entries[gone], self._stamps[gone]

    def _answer(self, wanted: EntryRead) -> MetadataAnswer:
        """Answer from the entry, with the waiting changes of the reader's own txn."""
        entry = self._cache.entries.get(wanted.table or 0)
        if entry is not None:
            entry.waiting = rows_as_entries.waiting(self._rows, entry.table, wanted.own_txn)
        return self._cache.read(wanted)

    def _is_outdated(self, table: int) -> bool:
        """Return whether the entry of a table must be renewed; one look at a position is enough."""
        position, stamp = self._stamps.get(table, (-1, ()))
        if position == self._cache.position:
            return False
        if (present := self._stamp(table)) != stamp:
            return True
        self._stamps[table] = self._cache.position, present
        return False

    def _stamp(self, table: int) -> Stamp:
        keys = (number_key(kind, table) for kind in (WRITE_IDS, TABLE))
        return tuple(map(self._rows.get, keys))
