"""In flight: the events that a leader appended and has not read back yet.

The log decides what counts, not the leader. So the leader reads back every event that it appended,
compares it byte by byte with the sent one, in order, and applies the accept rule as any reader.
"""

from collections import deque
from typing import NamedTuple

from ledger.core.acceptance import RecordKind
from ledger.core.events.events import Body, CommandsMoved, Control
from ledger.core.state.domain import DomainState
from ledger.errors import FencedError
from ledger.log.acceptor import Acceptor
from ledger.log.port import LogReader, Record
from ledger.log.wire.codec import read_control
from ledger.tracing import APPEND, DECIDE, NS_PER_MS, note, now_ns

EVENTS_PER_READ = 2_000


class Flying(NamedTuple):
    """An event appended and not yet read back; `sent_ns` is the time of that if it is traced."""

    control: Control
    kind: RecordKind
    framed: bytes
    sent_ns: int = 0


class Flight:
    """The events of one term in flight; `bytes` is their total size.

    `acceptor` is at the Fenced of the term, and `events` reads on from there. `flying` holds the
    oldest event first. `offset` follows the last record that counted. `state` names the ledger of
    the traces.
    """

    def __init__(
        self,
        acceptor: Acceptor,
        events: LogReader,
        offset: int = 0,
        state: DomainState | None = None,
    ) -> None:
        self.acceptor = acceptor
        self.offset = offset
        self.bytes = 0
        self._state = state or DomainState()
        self._epoch = acceptor.head.epoch
        self.events = events
        self.flying: deque[Flying] = deque()

    def __len__(self) -> int:
        """Return the number of events in flight."""
        return len(self.flying)

    def add(self, control: Control, body: Body, framed: bytes) -> None:
        """Note an event about to be appended."""
        sent_ns = now_ns()
        self.flying.append(Flying(control, kind_of(body), framed, sent_ns))
        self.bytes += len(framed)
        if sent_ns:
            # The leader stamps an event with the time at which it read the command.
            note(DECIDE, self._ledger(), control, control.at * NS_PER_MS)

    def read_back(self, wait_s: float) -> None:
        """Compare the records of the log with the appended ones, waiting up to `wait_s` for some.

        Raises FencedError if another epoch began or an own record did not count.
        """
        for record in self.events.read(EVENTS_PER_READ, wait_s):
            self.take(record)

    def take(self, record: Record) -> None:
        """Check one record of the events topic; raises as `read_back`."""
        own = self.flying[0] if self.flying else None
        if own is None or record.value != own.framed:
            self._take_foreign(record)
            return
        if not self.acceptor.judge(own.control, own.kind, own.framed):
            raise own_did_not_count(own.control)
        self.offset = record.offset + 1
        self.flying.popleft()
        self.bytes -= len(own.framed)
        if own.sent_ns:
            note(APPEND, self._ledger(), own.control, own.sent_ns)

    def _ledger(self) -> str:
        """Return the id of the ledger, "" before its first event."""
        return "" if self._state.genesis is None else self._state.genesis.ledger

    def _take_foreign(self, record: Record) -> None:
        event = self.acceptor.take(record.value)
        if event is not None:
            raise FencedError(
                f"epoch {event.control.epoch} began at position {event.control.position}; this "
                f"sequencer led epoch {self._epoch} and has ended"
            )
        control, _ = read_control(record.value)
        # A second copy of an own record is at or below the head; a record above it means a gap.
        if control.epoch == self._epoch and control.position > self.acceptor.head.position:
            raise own_did_not_count(control)


def own_did_not_count(control: Control) -> FencedError:
    """Return the error that ends a term because an own event did not count."""
    return FencedError(
        f"the event at position {control.position} of epoch {control.epoch} did not count: an "
        "earlier one was lost, or another sequencer took over first. The next leader continues"
    )


def kind_of(body: Body) -> RecordKind:
    """Return the kind of a leader's event for the accept rule."""
    return RecordKind.COMMANDS_MOVED if isinstance(body, CommandsMoved) else RecordKind.ORDINARY
