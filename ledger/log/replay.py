"""Replay: the accepted events of a log from its beginning to its present end.

`verify` checks accept rule, chain and fold of every record. `what_if` judges each commit again at
another isolation level. Readers of the present state follow the log from a checkpoint instead.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple

from ledger.core.acceptance import LogHead, Verdict
from ledger.core.commands import IsolationLevel
from ledger.core.decide.whatif import Redecided, redecide
from ledger.core.events.events import Event
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.errors import LogDamagedError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.beginning import check_not_lost
from ledger.log.checkpoints import digest
from ledger.log.port import PATIENCE_S, READ_MAX, Log, LogReader, Record, Topic
from ledger.log.trimmed import LogStart, check_whole, start_of

Progress = Callable[[int, int], None]


class Replay:
    """One pass over a log; iterate it once.

    `acceptor` counts dropped records, `end` is the offset at which the pass stops. `progress` is
    called with the offset reached and the end, after each batch. Records at the offsets `passed` do
    not count; `dropped` is called with each record that does not count, and the position before it.
    It begins with the first event of the ledger, or where a trimmed log begins, if that is `begun`.
    """

    def __init__(
        self,
        log: Log,
        progress: Progress = lambda _done, _end: None,
        passed: Container[int] = (),
        dropped: Callable[[Record, int], None] = lambda _record, _position: None,
        *,
        begun: LogStart | None = None,
    ) -> None:
        self.begun = begun or LogStart(0, LogHead())
        self.acceptor = Acceptor(self.begun.head.copy())
        self._batches = BatchAcceptor(log, self.acceptor, self.begun.offset, passed)
        self._log = log
        self._progress = progress
        self._dropped = dropped
        self.end = log.ends(Topic.EVENTS)[1]

    def __iter__(self) -> Iterator[Event]:
        """Yield the events that count, in order.

        Raises LogDamagedError with its position at the first record that no sequencer can have
        written, LogTrimmedError if the first events were trimmed, EventsLostError if there are no
        events but traces of the ledger, LogUnavailableError if the broker becomes unreachable.
        """
        if self.begun.mark is None:
            check_whole(self._log)
        if self.end == 0:
            check_not_lost(self._log)
        reader = self._log.reader(Topic.EVENTS, self.begun.offset)
        try:
            while reader.next_offset() < self.end:
                yield from self._batch(reader)
                self._progress(reader.next_offset(), self.end)
        finally:
            reader.close()

    def _batch(self, reader: LogReader) -> Iterator[Event]:
        records = read_batch(self._log, reader, self.end, self.acceptor.head.position)
        for record, event in self._batches.events(records):
            if event is not None:
                yield event
            else:
                self._dropped(record, self.acceptor.head.position)


def read_batch(
    log: Log, reader: LogReader, end: int, position: int, *, limit: int = READ_MAX
) -> Sequence[Record]:
    """Return the next records of the events before `end`, at least one.

    Raises LogDamagedError after `position` if the broker delivers no record before `end`, and
    LogUnavailableError if the broker is unreachable.
    """
    records = reader.read(limit, PATIENCE_S)
    if not records and reader.next_offset() < end:
        # A reader cannot tell an unreachable broker from an empty topic; `ends` raises.
        log.ends(Topic.EVENTS)
        raise LogDamagedError(
            position + 1,
            f"no record can be read from offset {reader.next_offset()} on, the end is {end}",
        )
    return records


class VerifiedLog(NamedTuple):
    """The content of a log: its head, dropped records by verdict, and accepted events by type.

    `begun` is where the log begins. Of a trimmed log no state is known there, so `digest` is "".
    """

    begun: LogStart
    head: LogHead
    records: int
    dropped: Counter[Verdict]
    events: Counter[str]
    digest: str


def verify(log: Log, progress: Progress = lambda _done, _end: None) -> VerifiedLog:
    """Return the content of the log up to its present end.

    `progress` is called with the offset reached and the end. Raises LogDamagedError with its
    position at the first record that no sequencer can have written, and LogUnavailableError if the
    broker is unreachable.
    """
    begun = start_of(log)
    replay, state = Replay(log, progress, begun=begun), DomainState()
    events: Counter[str] = Counter()
    for event in replay:
        if begun.mark is None:
            evolve(state, event)
        events[type(event.body).__name__] += 1
    head = replay.acceptor.head
    digested = digest(state, head) if begun.mark is None else ""
    records = replay.end - begun.offset
    return VerifiedLog(begun, head, records, replay.acceptor.dropped, events, digested)


def what_if(
    log: Log,
    level: IsolationLevel | None,
    *,
    since: int = 0,
    by_file: bool = False,
    progress: Progress = lambda _done, _end: None,
) -> Iterator[Redecided]:
    """Yield every commit and lost conflict from position `since` on, judged again at `level`.

    `by_file` and a `level` of None are as for `redecide`. The log is read, never written. Raises
    LogDamagedError if it is damaged.
    """
    state = DomainState()
    for event in Replay(log, progress):
        if event.control.position >= since:
            found = redecide(state, event, level, by_file=by_file)
            if found is not None:
                yield found
        evolve(state, event)
