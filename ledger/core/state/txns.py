"""The txns of a domain: the open ones, the aborted ids that still matter, and the watermark.

Txn ids are dense and rise, and a later txn never sees a lower least open id when it opens. So the
oldest open txn has the minimum of the whole min history (HIVE-18747), and every look-up here takes
O(1), however long the history is.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ledger.core.commands import Footprint, TxnType
from ledger.core.limits import CLEAN_MAPPINGS_MAX, CLEAN_TXNS_MAX
from ledger.core.state.id_set import IdSet
from ledger.core.state.staged_progress import staged_weight

TxnStatus = Literal["open", "committed", "aborted", "forgotten", "unknown"]


@dataclass(slots=True)
class TxnInFlight:
    """A txn between its open and its end; `opened` is a position, `deadline` milliseconds.

    `write_ids`, `metadata` and `staged` are by table id: its write id, the number of its metadata
    events, and the staged chunks of its footprint.
    """

    txn: int
    type: TxnType
    session: int
    min_open: int
    opened: int
    deadline: int
    write_ids: dict[int, int] = field(default_factory=dict)
    metadata: dict[int, int] = field(default_factory=dict)
    staged: dict[int, list[Footprint]] = field(default_factory=dict)

    def stage(self, table: int, chunk: Footprint) -> None:
        """Keep a chunk of the footprint in one table."""
        self.staged.setdefault(table, []).append(chunk)

    def waiting_bytes(self) -> int:
        """Return the size of the staged chunks in memory."""
        return sum(staged_weight(chunk) for chunks in self.staged.values() for chunk in chunks)


@dataclass(slots=True)
class AbortedTxn:
    """An aborted txn not yet forgotten; `wrote` are the tables that may still hold its data."""

    write_ids: dict[int, int]
    wrote: set[int]

    def key(self, txn: int, table: int) -> int:
        """Return the key of this txn among the writers of a table: its write id, else -txn."""
        return self.write_ids.get(table, -txn)


@dataclass(slots=True)
class Txns:
    """All txns of a domain, except those committed long ago.

    `mappings` is TXN_TO_WRITE_ID of the ended txns, {txn: {table: write id}}. Open txns keep their
    own mappings; `mapped` is the number of both. No mapping is left of txns below `cleaned_below`.
    `writers` are the aborted txns with data in a table, by `AbortedTxn.key`.
    """

    next_txn: int = 1
    open: OrderedDict[int, TxnInFlight] = field(default_factory=OrderedDict)
    aborted: dict[int, AbortedTxn] = field(default_factory=dict)
    ended: OrderedDict[int, int] = field(default_factory=OrderedDict)
    watermark: int = 1
    mappings: dict[int, dict[int, int]] = field(default_factory=dict)
    cleaned_below: int = 1
    # Derived from the fields above, so that each look-up takes O(1) or the size of its result.
    open_visible: IdSet = field(default_factory=IdSet)
    aborted_ids: IdSet = field(default_factory=IdSet)
    pinning: IdSet = field(default_factory=IdSet)
    forgettable: IdSet = field(default_factory=IdSet)
    writers: dict[int, dict[int, int]] = field(default_factory=dict)
    open_ids: dict[int, IdSet] = field(default_factory=dict)
    mapped: int = 0
    digest: int = 0
    staged_bytes: int = 0

    def begin(self, txn: TxnInFlight) -> None:
        """Add an open txn; its id is the next one."""
        if txn.txn != self.next_txn:
            raise AssertionError(f"txn {txn.txn} opened, next is {self.next_txn}")
        self.next_txn += 1
        self.open[txn.txn] = txn
        if txn.type != "read_only":
            self.open_visible.add(txn.txn)
            self.digest ^= exception_hash(txn.txn, aborted=False)

    def oldest_open(self) -> TxnInFlight | None:
        """Return the open txn with the least id, or None."""
        return next(iter(self.open.values()), None)

    def min_open(self) -> int:
        """Return the least open id, or the next id: the entry of a new txn in the min history."""
        return next(iter(self.open), self.next_txn)

    def give(self, txn: TxnInFlight, table: int, write_id: int) -> None:
        """Give an open txn its write id in a table."""
        txn.write_ids[table] = write_id
        self.mapped += 1
        self.index_open(table, write_id)

    def index_open(self, table: int, write_id: int) -> None:
        """Add a write id of an open txn to the derived sets."""
        ids = self.open_ids.get(table)
        if ids is None:
            ids = self.open_ids[table] = IdSet()
        ids.add(write_id)

    def first_open(self, table: int, last_write_id: int) -> int:
        """Return the least write id of a table whose txn has not ended; it never falls."""
        ids = self.open_ids.get(table)
        return last_write_id + 1 if ids is None else ids.minimum(last_write_id + 1)

    def commit(self, txn: int, position: int, outcomes_max: int) -> TxnInFlight:
        """End an open txn as committed at `position` and return it."""
        ended = self._close(txn)
        self._remember(txn, position << 1 | 1, outcomes_max)
        return ended

    def map(self, txn: int, table: int, write_id: int) -> None:
        """Keep the mapping of an ended txn until the watermark has passed it."""
        self.mappings.setdefault(txn, {})[table] = write_id
        self.mapped += 1

    def clean(self) -> list[tuple[int, int, int]]:
        """Remove some mappings below the watermark; return them as (table, write id, txn)."""
        until = min(self.watermark, self.cleaned_below + CLEAN_TXNS_MAX)
        gone: list[tuple[int, int, int]] = []
        while self.cleaned_below < until and len(gone) < CLEAN_MAPPINGS_MAX:
            txn = self.cleaned_below
            write_ids = self.mappings.pop(txn, {})
            gone.extend((table, write_id, txn) for table, write_id in write_ids.items())
            self.cleaned_below += 1
        self.mapped -= len(gone)
        return gone

    def commit_at_once(self, txn: int, position: int, outcomes_max: int) -> None:
        """Give out the next id and commit it in one step."""
        if txn != self.next_txn:
            raise AssertionError(f"one-shot txn {txn}, next is {self.next_txn}")
        self.next_txn += 1
        self._remember(txn, position << 1 | 1, outcomes_max)

    def abort(
        self, txn: int, position: int, wrote: Iterable[int], outcomes_max: int
    ) -> TxnInFlight:
        """End an open txn as aborted; `wrote` are the tables that may hold its data."""
        ended = self._close(txn)
        self._remember(txn, position << 1, outcomes_max)
        if ended.type != "read_only":
            left = AbortedTxn(dict(sorted(ended.write_ids.items())), set(wrote))
            self.aborted[txn] = left
            self.index_aborted(txn, left)
            self.digest ^= exception_hash(txn, aborted=True)
        return ended

    def index_aborted(self, txn: int, left: AbortedTxn) -> None:
        """Add an aborted txn to the derived sets."""
        self.aborted_ids.add(txn)
        if left.wrote:
            self.pinning.add(txn)
        for table in left.wrote:
            self.writers.setdefault(table, {})[left.key(txn, table)] = txn

    def release(self, txn: int, table: int) -> None:
        """Note that `table` holds no more data of an aborted txn."""
        left = self.aborted[txn]
        if table not in left.wrote:
            raise AssertionError(f"txn {txn} has no data in table {table} to forget")
        left.wrote.discard(table)
        others = self.writers.get(table)
        if others is not None:
            others.pop(left.key(txn, table), None)
            if not others:
                del self.writers[table]
        if not left.wrote:
            self.pinning.discard(txn)

    def release_table(self, table: int) -> None:
        """Note that a table is gone, with all data of aborted txns in it."""
        for txn in self.writers.pop(table, {}).values():
            left = self.aborted[txn]
            left.wrote.discard(table)
            if not left.wrote:
                self.pinning.discard(txn)

    def forget(self, txn: int) -> None:
        """Forget an aborted txn without data; from now on its id counts as committed."""
        left = self.aborted.pop(txn)
        if left.wrote:
            raise AssertionError(f"txn {txn} forgotten with data in tables {sorted(left.wrote)}")
        self.aborted_ids.discard(txn)
        self.forgettable.discard(txn)
        self.digest ^= exception_hash(txn, aborted=True)

    def status(self, txn: int) -> tuple[TxnStatus, int]:
        """Return the status of a txn, and the position of its end or 0 if not remembered."""
        if txn in self.open:
            return "open", 0
        code = self.ended.get(txn)
        if code is not None:
            return ("committed" if code & 1 else "aborted"), code >> 1
        if txn in self.aborted:
            return "aborted", 0
        return ("forgotten" if 0 < txn < self.next_txn else "unknown"), 0

    def _close(self, txn: int) -> TxnInFlight:
        ended = self.open.pop(txn)
        if ended.write_ids:
            self.mappings[txn] = ended.write_ids
            self._end_ids(ended.write_ids)
        if ended.staged:
            self.staged_bytes -= ended.waiting_bytes()
        if ended.type != "read_only":
            self.open_visible.discard(txn)
            self.digest ^= exception_hash(txn, aborted=False)
        return ended

    def _end_ids(self, write_ids: dict[int, int]) -> None:
        for table, write_id in write_ids.items():
            ids = self.open_ids[table]
            ids.discard(write_id)
            if not ids:
                del self.open_ids[table]

    def _remember(self, txn: int, code: int, outcomes_max: int) -> None:
        self.ended[txn] = code
        if len(self.ended) > outcomes_max:
            self.ended.popitem(last=False)


def exception_hash(txn: int, *, aborted: bool) -> int:
    """Return a 63-bit hash of one exception; a list's digest is the xor over its exceptions.

    The digest detects a list of another position. It is no protection against forgery.
    """
    mixed = (txn * 2 + aborted) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    mixed ^= mixed >> 29
    return (mixed * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF) >> 1
