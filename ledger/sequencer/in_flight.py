"""The flight: what a leader appended and has not read back yet.

The log says what counts, not the leader. So every event it appended comes back to it, is compared
byte by byte with what was sent, in order, and is judged by the accept rule as any reader judges it.
"""

from collections import deque
from typing import NamedTuple

from ledger.core.acceptance import RecordKind
from ledger.core.events.events import Body, CommandsMoved, Control
from ledger.errors import FencedError
from ledger.log.acceptor import Acceptor
from ledger.log.codec import read_control
from ledger.log.port import LogReader, Record

EVENTS_PER_READ = 2_000


class Flying(NamedTuple):
    """An event appended and not yet read back."""

    control: Control
    kind: RecordKind
    framed: bytes


class Flight:
    """The events of one term on their way; `bytes` is what they hold together.

    `acceptor` stands behind the Fenced of the term, `events` reads on from there; `flying` has the
    oldest first. `offset` is the one behind the last record that counted.
    """

    def __init__(self, acceptor: Acceptor, events: LogReader, offset: int = 0) -> None:
        self.acceptor = acceptor
        self.offset = offset
        self.bytes = 0
        self._epoch = acceptor.head.epoch
        self.events = events
        self.flying: deque[Flying] = deque()

    def __len__(self) -> int:
        """Return how many events are on their way."""
        return len(self.flying)

    def add(self, control: Control, body: Body, framed: bytes) -> None:
        """Note an event that is appended."""
        self.flying.append(Flying(control, kind_of(body), framed))
        self.bytes += len(framed)

    def read_back(self, wait_s: float) -> None:
        """Check what came back against what was appended, waiting up to `wait_s` for some of it.

        Raises FencedError when another epoch began or an own record did not count.
        """
        for record in self.events.read(EVENTS_PER_READ, wait_s):
            self.take(record)

    def take(self, record: Record) -> None:
        """Check one record of the events topic; raises as `read_back`."""
        own = self.flying[0] if self.flying else None
        if own is None or record.value != own.framed:
            self._take_foreign(record)
            return
        if not self.acceptor.judge(*own):
            raise own_did_not_count(own.control)
        self.offset = record.offset + 1
        self.flying.popleft()
        self.bytes -= len(own.framed)

    def _take_foreign(self, record: Record) -> None:
        event = self.acceptor.take(record.value)
        if event is not None:
            raise FencedError(
                f"epoch {event.control.epoch} began at position {event.control.position}; this "
                f"sequencer led epoch {self._epoch} and has ended"
            )
        control, _ = read_control(record.value)
        # A second copy of an own record lies behind the head; one ahead of it means a hole.
        if control.epoch == self._epoch and control.position > self.acceptor.head.position:
            raise own_did_not_count(control)


def own_did_not_count(control: Control) -> FencedError:
    """Return the end of a term whose own event the log does not count."""
    return FencedError(
        f"the event at position {control.position} of epoch {control.epoch} did not count: one "
        "before it was lost, or another sequencer took over first. The next leader goes on"
    )


def kind_of(body: Body) -> RecordKind:
    """Return how an event of a leader takes part in the accept rule."""
    return RecordKind.COMMANDS_MOVED if isinstance(body, CommandsMoved) else RecordKind.ORDINARY
