"""Replay: the events of a log from its beginning to where it ends now, as every reader takes them.

For whoever asks a question of the whole history: verification, and what another isolation level
would have decided. Whoever needs the present follows the log from a checkpoint instead.
"""

from collections.abc import Callable, Container, Iterator, Sequence

from ledger.core.acceptance import LogHead
from ledger.core.events.events import Event
from ledger.errors import LogDamagedError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor, check_beginning
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log, LogReader, Record, Topic

READ_MAX = 5_000
PATIENCE_S = 10.0

Progress = Callable[[int, int], None]


class Replay:
    """One pass over a log; iterate it once.

    `acceptor` tells what counted and what did not, `end` is the offset at which the pass stops.
    `progress` is told offsets read and the end, batch by batch. Records at the offsets `passed` do
    not count; `dropped` is told of each record that does not.
    """

    def __init__(
        self,
        log: Log,
        progress: Progress = lambda _done, _end: None,
        passed: Container[int] = (),
        dropped: Callable[[Record], None] = lambda _record: None,
    ) -> None:
        self.acceptor = Acceptor(LogHead())
        self._batches = BatchAcceptor(log, self.acceptor, 0, passed)
        self._log = log
        self._progress = progress
        self._dropped = dropped
        self._start, self.end = log.ends(Topic.EVENTS)

    def __iter__(self) -> Iterator[Event]:
        """Return the events that count, in order.

        Raises LogDamagedError at the first record no sequencer can have written, with its position,
        EventsLostError if there is none although the ledger was there before, LogUnavailableError
        if the broker is away meanwhile.
        """
        check_beginning(self._start)
        if self.end == 0:
            check_not_lost(self._log)
        reader = self._log.reader(Topic.EVENTS, 0)
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
                self._dropped(record)


def read_batch(
    log: Log, reader: LogReader, end: int, position: int, *, limit: int = READ_MAX
) -> Sequence[Record]:
    """Return the next records of the events before `end`, of which there are some.

    Raises LogDamagedError behind `position` if nothing comes of what is there, LogUnavailableError
    if the broker is away.
    """
    records = reader.read(limit, PATIENCE_S)
    if not records and reader.next_offset() < end:
        # A broker that is away looks to readers like one that has nothing; this tells it.
        log.ends(Topic.EVENTS)
        raise LogDamagedError(
            position + 1,
            f"nothing can be read from offset {reader.next_offset()}, the end is {end}",
        )
    return records
