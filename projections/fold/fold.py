"""The fold: events in, rows out, one atomic write per batch of records, or several of a large one.

With the rows of a write goes one row that names the last event they come from. After any crash the
rows are those of one prefix of the log, and two stores of one prefix hold the same bytes (law 10).
The checkpoint row is the exception: it is written every 50,000 positions, more rarely if the state
is large, and by each call of `store_checkpoint`.

The state lives in memory only. A restart loads the newest checkpoint and reads the log from there.
Up to the end of the rows, events change the state and no row. The chain at that place must match
the stored one; otherwise the log was rewritten, and the fold stops.
"""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final, NamedTuple, Self

from ledger.core.acceptance import LogHead
from ledger.core.events.events import Body, Event
from ledger.core.evolve.evolve import evolve
from ledger.core.invariants import assert_invariants
from ledger.core.state.domain import DomainState
from ledger.errors import LogDamagedError, OffsetGoneError
from ledger.log import checkpoints
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log, Record, Topic
from ledger.log.trimmed import read_trim_mark, trimmed
from ledger.log_lines import CommandLines
from ledger.tracing import APPLY, note, now_ns
from projections.errors import StoreForeignError
from projections.fold.tally import Tally
from projections.rows import catalogs, counts, namespaces
from projections.rows.applied import Applied
from projections.rows.applying import apply
from projections.rows.keys import CHECKPOINT, LOG, read_value, value
from projections.rows.projection import EVERY, Projection, Rows
from projections.rows.tables import files, gone_blocks, metadata, protocols, tables, versions
from projections.rows.txns import conflicts, history, sessions, txns, watermarks, write_ids
from projections.store.batch import Batch, LateChange
from projections.store.port import Row, RowStore, prefix_end

# Reading 50,000 events again takes a second, as does writing out a state of 100 MB.
CHECKPOINT_EVERY: Final = 50_000
# A batch is bounded by the packed size of its records, but 16 MB of long file lists make a million
# rows, which took 700 MB of memory. 100,000 rows take about 50 MB.
ROWS_PER_WRITE: Final = 100_000
PROJECTIONS: Final[Sequence[Projection]] = (
    txns,
    write_ids,
    tables,
    metadata,
    files,
    gone_blocks,
    versions,
    protocols,
    conflicts,
    watermarks,
    counts,
    sessions,
    catalogs,
    namespaces,
    history,
)
ROWS: Final[Mapping[type, Sequence[Rows]]] = {
    kind: [projection.ROWS[kind] for projection in PROJECTIONS if kind in projection.ROWS]
    for kind in EVERY
}


class Fed(NamedTuple):
    """The result of a batch: the position reached, and the records applied and dropped."""

    position: int
    applied: int
    dropped: int


class FoldMark(NamedTuple):
    """The last record in the rows: position and chain of its event, next offset, topic."""

    position: int
    chain: str
    offset: int
    topic: str


RowsOf = Callable[[Applied, Body], list[LateChange]]
"""Returns the rows of an applied event."""


def rows_of(applied: Applied, body: Body) -> list[LateChange]:
    """Return the rows that all projections make of an applied event."""
    return [row for rows in ROWS[type(body)] for row in rows(applied, body)]


class Fold:
    """A domain's state and the store its rows go to.

    `offset` is the next offset to feed, `mark` the end of the rows, `state` the live state. While
    the log is read again, `state` is behind `mark`. `tally` counts the events that became rows. A
    restart begins at position `checkpointed`.
    """

    def __init__(
        self,
        store: RowStore,
        log: Log,
        resumed: checkpoints.Checkpoint,
        mark: FoldMark,
        *,
        rows_of: RowsOf,
        checkpoint_every: int,
        rows_per_write: int,
        checks_state: bool,
    ) -> None:
        self.state, head, offset = resumed
        # The parts of the mark that change with every event; `mark` builds the rest on demand.
        self._end = mark.position, bytes.fromhex(mark.chain), mark.offset
        self.tally = Tally()
        # A checkpoint ends with an accepted record. It is read once more, to compare the chain.
        self.offset = max(0, offset - 1)
        self._is_confirmed = offset == 0
        # Set by a write of rows that failed.
        self._lacks_rows = False
        self._stored = mark
        self.checkpointed = head.position
        self._acceptor = Acceptor(head)
        self._log, self._batches = log, BatchAcceptor(log, self._acceptor, offset)
        self._store = store
        self._rows_of = rows_of
        self._checkpoint_every = checkpoint_every
        self._checkpoint_after = checkpoint_every
        self._rows_per_write = rows_per_write
        self._checks_state = checks_state
        self._lines = CommandLines("lakeledger.follower")

    @classmethod
    def load(
        cls,
        store: RowStore,
        log: Log,
        *,
        rows_of: RowsOf = rows_of,
        checkpoint_every: int = CHECKPOINT_EVERY,
        rows_per_write: int = ROWS_PER_WRITE,
        checks_state: bool = False,
    ) -> Self:
        """Resume where the rows of a store end; the records to feed must come from `log`.

        `rows_of` makes the rows. A write ends with the first event that brings it to
        `rows_per_write` rows. With `checks_state` no state is stored that breaks an invariant.
        Raises EventsLostError for rows of a ledger whose events are gone, StoreForeignError for
        rows of another topic, IncompatibleError for a checkpoint of a later version,
        LogUnavailableError if the broker does not return the id of the topic.
        """
        topic = log.topic_id(Topic.EVENTS)
        stored, data = store.get(LOG), store.get(CHECKPOINT)
        mark = FoldMark(*read_value(stored)) if stored is not None else FoldMark(0, "", 0, topic)
        if mark.topic != topic:
            # Rows may be the last copy of lost events: an empty log must not replace them.
            check_not_lost(log, rows=[f"these rows go up to position {mark.position}"])
            raise StoreForeignError(mark.topic, topic)
        start = checkpoints.Checkpoint(DomainState(), LogHead(), 0)
        resumed = checkpoints.load(data) if data is not None else start
        return cls(
            store,
            log,
            resumed,
            mark,
            rows_of=rows_of,
            checkpoint_every=checkpoint_every,
            rows_per_write=rows_per_write,
            checks_state=checks_state,
        )

    @property
    def mark(self) -> FoldMark:
        """The end of the rows."""
        position, chain, offset = self._end
        return FoldMark(position, chain.hex(), offset, self._stored.topic)

    @property
    def position(self) -> int:
        """The position of the state."""
        return self.state.position

    def stored(self, key: bytes) -> bytes | None:
        """Return a row as of the last write; any thread may call."""
        return self._store.get(key)

    def stored_under(self, prefix: bytes) -> Sequence[Row]:
        """Return the rows whose keys begin so, as of the last write; any thread may call."""
        return list(self._store.scan(prefix, prefix_end(prefix)))

    def check_log(self, first: int, end: int) -> None:
        """Check that the log, which holds offsets `first` to `end` - 1, still covers the rows.

        Raises LogTrimmedError if records to read were trimmed, OffsetGoneError if they are missing
        otherwise, LogDamagedError if the log ends before the rows do. `feed` compares the records
        themselves.
        """
        if first > self.offset:
            if (mark := read_trim_mark(self._log)) is not None:
                raise trimmed(mark)
            raise OffsetGoneError(
                f"the events topic begins at offset {first}, records from {self.offset} on are "
                "needed. Restore it from a copy, or follow another log with --rebuild",
                wanted=self.offset,
                earliest=first,
            )
        if end < self._stored.offset:
            raise LogDamagedError(
                self._stored.position,
                f"the log ends at offset {end}, rows were made up to {self._stored.offset}",
            )

    def check_rows(self) -> None:
        """Check that the log still holds the last event that was fed.

        Raises LogDamagedError if not, LogUnavailableError if the broker does not answer.
        """
        self._batches.open().close()

    def feed(self, records: Sequence[Record]) -> Fed:
        """Apply records and store the rows of all their events, in one write unless they are many.

        Raises LogDamagedError and IncompatibleError at the record concerned. The rows of the events
        before it are stored; the fold cannot go on. Raises LogUnavailableError if the broker does
        not answer whether the log still holds the records read before; feed again from `offset`. If
        applying an event raises another error, a fault of the program, the state is between two
        positions and nothing is stored since the last write.
        """
        batch, began_s = Batch(self._store), monotonic()
        position, dropped = self.position, self._acceptor.dropped.total()
        try:
            rest = records if self._is_confirmed else self._confirm(records)
            for record, event in self._batches.events(rest):
                self._take(record, event, batch)
                if len(batch.changes) >= self._rows_per_write:
                    began_s = self._write(batch, began_s)
        finally:
            if batch.changes and self.position == self._end[0]:
                self._write(batch, began_s)
        return Fed(
            self.position, self.position - position, self._acceptor.dropped.total() - dropped
        )

    def store_checkpoint(self) -> int:
        """Store the state, so that a restart reads on from here; return its size, 0 if not stored.

        Nothing is stored if the newest checkpoint is of this position. Nor is a state stored whose
        rows are not: while the log is read again, or after a failed write. A restart from there
        would leave rows out.
        """
        head = self._acceptor.head
        if head.position in {self.checkpointed, 0} or head.position != self.mark.position:
            return 0
        if self._lacks_rows:
            return 0
        data = self._dumped(self._batches.offset)
        # Events that make no rows move no mark, and the rows must not end before the state.
        self._store.write([(CHECKPOINT, data), (LOG, value(self.mark))])
        self._note_checkpoint(len(data))
        return len(data)

    def _confirm(self, records: Sequence[Record]) -> Sequence[Record]:
        if not records:
            return records
        if not self._acceptor.confirms(records[0].value):
            raise self._rewritten()
        self._is_confirmed = True
        self.offset = records[0].offset + 1
        return records[1:]

    def _take(self, record: Record, event: Event | None, batch: Batch) -> None:
        self.offset = record.offset + 1
        if self.offset <= self._stored.offset:
            self._repeat(event)
        elif event is not None:
            began_ns = now_ns()
            applied = apply(self.state, event, batch)
            rows = self._rows_of(applied, event.body)
            self.tally.note(applied, event.body, rows)
            head = self._acceptor.head
            if head.position - self.checkpointed >= self._checkpoint_after:
                data = self._dumped(self.offset)
                rows.append((CHECKPOINT, data))
                self._note_checkpoint(len(data))
            batch.update(rows)
            if self._lines.are_on:
                self._lines.note("rows made", event)
            if began_ns and (genesis := self.state.genesis) is not None:
                note(APPLY, genesis.ledger, event.control, began_ns)
            self._end = head.position, head.chain, self.offset

    def _write(self, batch: Batch, began_s: float) -> float:
        """Store the rows of a batch and empty it; return the time at which the next one begins."""
        batch.put(LOG, value(self.mark))
        self._lacks_rows = True
        self._store.write(batch.settled())
        self._lacks_rows = False
        batch.changes.clear()
        now_s = monotonic()
        self.tally.note_batch(now_s - began_s)
        return now_s

    def _dumped(self, offset: int) -> bytes:
        """Return the checkpoint of the state; with `checks_state` raises StateBrokenError."""
        if self._checks_state:
            assert_invariants(self.state)
        return checkpoints.dump(self.state, self._acceptor.head, offset)

    def _note_checkpoint(self, size: int) -> None:
        self.checkpointed = self.position
        self._checkpoint_after = checkpoints.positions_after(size, self._checkpoint_every)

    def _repeat(self, event: Event | None) -> None:
        """Apply an event whose rows are stored; the chain of the last one must match the rows."""
        if event is not None:
            evolve(self.state, event)
        head = self._acceptor.head
        reached = head.position, head.chain.hex()
        if self.offset == self._stored.offset and reached != self._stored[:2]:
            raise self._rewritten()

    def _rewritten(self) -> LogDamagedError:
        return LogDamagedError(
            self._stored.position,
            "the log differs from the one that the rows were made from: its end was lost and other "
            "events were written in its place",
        )
