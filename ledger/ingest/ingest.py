"""One process of an ingest: it takes records, and commits them with the offsets behind them.

A batch is committed whole or not at all. If a commit is refused, or its outcome stays unknown, the
process asks the ledger where its partitions are, drops what the ledger has, and continues.
So nothing is guessed: rows and offsets are in one commit, and an offset moves by compare and set.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event as Signal
from typing import Final, TypeVar

from ledger.client import Ledger
from ledger.clock import Clock, SystemClock
from ledger.errors import (
    AppVersionsDisagreeError,
    ConcurrentTransactionException,
    LedgerError,
    OffsetGoneError,
    OutcomeUnknownError,
    SessionExpiredError,
    TxnNotOpenError,
)
from ledger.ingest.batch import PendingRecords
from ledger.ingest.mapping import IngestMapping
from ledger.ingest.offsets import LedgerOffsets, PartitionNote
from ledger.ingest.source import Assignment, Partition, TopicSource
from ledger.ingest.starting import PartitionStarts
from ledger.ingest.tables import Formats, TopicTable
from ledger.ingest.tally import IngestTally
from ledger.ingest.values.rows import TopicRows
from ledger.log_lines import LogLines
from ledger.session.receipt import Receipt
from ledger.transaction.retry import Pace
from ledger.transaction.transaction import Transaction

IDLE_S: Final = 0.25
LOOK_S: Final = 2.0
"""So often the brokers of the topics are asked whether they are there."""

COMMIT_ATTEMPTS: Final = 3
REFUSALS_MAX: Final = 50
PACE: Final = Pace(REFUSALS_MAX, longest_pause_s=2.0)
OVERTAKEN: Final = (
    *(AppVersionsDisagreeError, ConcurrentTransactionException, OutcomeUnknownError),
    *(SessionExpiredError, TxnNotOpenError),
)
"""After these the ledger says where the partitions are."""

log_lines = LogLines("lakeledger.ingest")
Result = TypeVar("Result")


class Ingest:
    """A process of an ingest.

    Attributes:
        tally: what it did so far.
    """

    def __init__(
        self,
        ledger: Ledger,
        mapping: IngestMapping,
        open_source: Callable[[Assignment], TopicSource],
        formats: Formats,
        *,
        clock: Clock | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.mapping, self.tally = mapping, IngestTally.of(topic.topic for topic in mapping.topics)
        self._ledger, self._clock, self._draw = ledger, clock or SystemClock(), draw
        self._offsets = LedgerOffsets(ledger, mapping.name)
        self._tables = {topic.topic: TopicTable(ledger, topic, formats) for topic in mapping.topics}
        self._pending = PendingRecords()
        self._stop = Signal()
        self._refusals = 0
        # Why partitions that came could not be begun: the source raises it where they came.
        self._unowned: LedgerError | None = None
        self._waiting_since_s: float | None = None
        self._due_s = self._look_s = float("-inf")
        self._open_source = open_source
        self._opened: TopicSource | None = None
        self._starts: PartitionStarts

    def run(self, stop: Signal, tell: Callable[["Ingest"], object] = lambda _: None) -> None:
        """Take and commit records until it is stopped; what is taken then is committed first.

        `tell` hears of each round.

        Raises SettingsError for a mapping that does not fit its tables, RoleEndedError for a bad
        record that stops the ingest, and OffsetGoneError for records that were deleted unread.
        """
        self._stop = stop
        self.prepare()
        while not stop.is_set():
            self.gather()
            self.commit()
            tell(self)

    def prepare(self) -> None:
        """Compare the mapping with its tables, make the tables of bad records, join the topics.

        A process whose mapping does not fit takes no partition from another one.
        """
        for table in self._tables.values():
            self._patiently(table.prepare)
        self._opened = self._open_source(self)
        self._starts = PartitionStarts(
            self._ledger, self.mapping, self._offsets, self._opened, self.tally.lost
        )

    @property
    def source(self) -> TopicSource:
        """Return the topics, of which this process has some partitions."""
        assert self._opened is not None, "prepare opens the source"
        return self._opened

    def came(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Return where partitions go on that came to this process."""
        try:
            found = self._patiently(lambda: self._starts.of(partitions))
        except LedgerError as problem:
            self._unowned = problem
            raise
        self._pending.own(found)
        log_lines.info("partitions came", partitions=[*map(str, partitions)])
        return {partition: known.offset for partition, known in found.items()}

    def went(self, partitions: Iterable[Partition]) -> None:
        """Forget the records of partitions that went to another process."""
        gone = list(partitions)
        self._pending.drop(gone)
        for partition in gone:
            self.tally.lag.pop(partition, None)
        log_lines.info("partitions went", partitions=[*map(str, gone)])

    def gather(self) -> None:
        """Take records until a batch is full or due; return early without any.

        A batch is due a while after the last one. So a record that comes alone waits for none.
        """
        batch, pending = self.mapping.batch, self._pending
        while not self._stop.is_set():
            self._look()
            left_s = self._due_s - self._clock.monotonic_s()
            self._take(min(IDLE_S, max(0.0, left_s)) if pending.count else IDLE_S)
            if not pending.count:
                return
            now_s = self._clock.monotonic_s()
            self._waiting_since_s = self._waiting_since_s or now_s
            is_full = pending.count >= batch.rows or pending.bytes >= batch.bytes
            if is_full or now_s >= self._due_s:
                self._due_s = now_s + batch.seconds
                return

    def _look(self) -> None:
        """See now and then whether the topics can be read.

        A client waits in silence for brokers that are away, and for a topic that is missing.
        """
        if self._clock.monotonic_s() < self._look_s:
            return
        try:
            self._starts.look()
            self.tally.away = ""
        except LedgerError as problem:
            self._note_away(problem)
        self._look_s = self._clock.monotonic_s() + LOOK_S

    def _note_away(self, problem: LedgerError) -> None:
        """Note why the topics cannot be read until a look says that they can; raise what stays."""
        if not (problem.retry_unchanged or problem.retry_anew):
            raise problem
        if str(problem) != self.tally.away:
            log_lines.warning("topics not read", why=str(problem))
        self.tally.away = str(problem)

    def _take(self, wait_s: float) -> None:
        """Take what is there, at least one record: a source tells of partitions meanwhile."""
        pending = self._pending
        try:
            left = self.mapping.batch.rows - pending.count
            pending.add(self.source.take(max(1, left), wait_s))
        except LedgerError as problem:
            if problem is self._unowned:
                raise
            if isinstance(problem, OffsetGoneError):
                self._begin_again([*pending.known])
            else:
                self._note_away(problem)
                self._stop.wait(PACE.pause_s(1, self._draw()))

    def commit(self) -> Receipt | None:
        """Commit what was taken; None if there was nothing, or if the ledger has to be asked.

        Raises what ends the ingest: see `run`.
        """
        if not self._pending.count:
            self._waiting_since_s = None
            self._note_lag()
            return None
        began_s = self._clock.monotonic_s()
        try:
            if not self._pending.is_of_one_position:
                self._look_up()
            found = {
                topic: self._tables[topic].read(records)
                for topic, records in self._pending.by_topic().items()
            }
            if not found:
                return None
            receipt = self._committed(found)
        except LedgerError as problem:
            self._settle(problem)
            return None
        self._pending.done(receipt.position)
        self._refusals = 0
        self._waiting_since_s = None
        self._count(found, self._clock.monotonic_s() - began_s, receipt)
        return receipt

    def waited_s(self) -> float:
        """Return for how long records have waited for their commit; threads may ask."""
        since_s = self._waiting_since_s
        return 0.0 if since_s is None else self._clock.monotonic_s() - since_s

    def close(self) -> None:
        """Leave the topics; what is not committed stays unread for the next process."""
        if self._opened is not None:
            self._opened.close()

    def _committed(self, found: dict[str, TopicRows]) -> Receipt:
        """Return the receipt of a commit with rows and offsets; raises a skipped one as overtaken.

        `found` becomes what was written.

        A skipped commit says that the ledger has the offsets, not that it has these rows.
        """
        ends = self._pending.ends()
        ids = self._starts.ids({partition.topic for partition in ends})
        with self._ledger.begin() as txn:
            for topic, rows in found.items():
                found[topic] = self._tables[topic].write(txn, rows)
            self._offsets.record(txn, ends, self._notes(ids), self._pending.read_at())
            receipt = self._answered(txn)
        if receipt.skipped:
            raise ConcurrentTransactionException(
                "another process committed these records", reason="Skipped"
            )
        return receipt

    def _answered(self, txn: Transaction) -> Receipt:
        """Return the receipt of a commit; without an answer it is asked for again."""
        for _ in range(COMMIT_ATTEMPTS - 1):
            try:
                return txn.commit()
            except OutcomeUnknownError as problem:
                log_lines.warning("outcome unknown", txn=txn.id, why=str(problem))
        return txn.commit()

    def _settle(self, problem: LedgerError) -> None:
        """Go by what the ledger has after a commit that is not known to be done."""
        is_overtaken = isinstance(problem, OVERTAKEN) or problem.retry_anew
        if not (is_overtaken or problem.retry_unchanged):
            raise problem
        self._refusals += 1
        self.tally.repeats += 1
        if is_overtaken and self._refusals > REFUSALS_MAX:
            raise problem
        self._wait_out(problem, self._refusals)
        self._look_up()

    def _look_up(self) -> None:
        """Look up the offsets of all partitions, and drop the records that the ledger has."""
        found = self._patiently(lambda: self._offsets.read([*self._pending.known]))
        for partition in self._pending.settle(found):
            self.source.seek(partition, found[partition].offset)

    def _begin_again(self, partitions: Sequence[Partition]) -> None:
        """Let partitions go on where the ledger is, as if they had come now."""
        for partition, offset in self.came(partitions).items():
            self.source.seek(partition, offset)

    def _patiently(self, ask: Callable[[], Result]) -> Result:
        """Return an answer of the ledger or the topics; while they are away it is asked again."""
        failures = 0
        while True:
            try:
                return ask()
            except LedgerError as problem:
                if self._stop.is_set() or not (problem.retry_unchanged or problem.retry_anew):
                    raise
                failures += 1
                self._wait_out(problem, failures)

    def _wait_out(self, problem: LedgerError, failures: int) -> None:
        """Pause after a problem that may pass; raise another one."""
        if not (problem.retry_unchanged or problem.retry_anew or isinstance(problem, OVERTAKEN)):
            raise problem
        if str(problem) != self.tally.problem:
            log_lines.warning("not committed yet", why=str(problem))
        self.tally.problem = str(problem)
        self._stop.wait(PACE.pause_s(failures, self._draw()))

    def _notes(self, ids: Mapping[str, str]) -> dict[Partition, PartitionNote]:
        """Return what the commit notes of each partition, with the ids of the topics."""
        return {
            partition: PartitionNote(
                self.source.end(partition),
                ids[partition.topic],
                self._pending.newest(partition),
                self._pending.known[partition].lost,
            )
            for partition in self._pending.ends()
        }

    def _count(self, found: Mapping[str, TopicRows], seconds: float, receipt: Receipt) -> None:
        for topic, rows in found.items():
            self.tally.records[topic] += rows.read
            self.tally.rows[topic] += len(rows.records)
            self.tally.bad[topic] += len(rows.bad)
        self.tally.note_commit(seconds, receipt.position)
        self._note_lag()

    def _note_lag(self) -> None:
        """Note how many records of each partition are not committed."""
        for partition, known in self._pending.known.items():
            end = self.source.end(partition)
            self.tally.lag[partition] = max(0, end - known.offset)
        if not self._pending.count:
            self.tally.problem = ""
