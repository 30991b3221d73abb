"""The oracle: reads every record the moment it lands, and says what every other reader must hold.

It folds with the accept rule of the variant under test, so what it knows is what that rule makes of
the log; the history then judges whether that is lawful.
"""

from typing import Final, Protocol

from ledger.core.acceptance import NO_CHAIN, LogHead
from ledger.core.events.events import Event
from ledger.core.state.domain import DomainState
from ledger.errors import LogDamagedError
from ledger.log.acceptor import Acceptor, Rule
from ledger.log.checkpoints import digest
from tests.simulation.broken import BrokenError
from tests.simulation.history import History
from tests.simulation.lake import Lake
from tests.simulation.lake_model import LakeModel
from tests.simulation.mirror import Mirror

# A digest costs as much as folding twenty events, so states are compared now and then; chains,
# which cost nothing, are compared at every step.
SAMPLE_EVERY: Final = 128


class Sampled(Protocol):
    """A reader: its name, and the position of the last state compared."""

    name: str
    sampled: int


class Oracle:
    """The fold of the true log; `taken` holds all its records as (framed, appended at, counted)."""

    def __init__(self, rule: Rule, history: History, lake: Lake) -> None:
        self.acceptor = Acceptor(LogHead(), rule)
        self.state = DomainState()
        self.history = history
        self.mirror = Mirror()
        self.model = LakeModel(lake, self.mirror)
        self.taken: list[tuple[bytes, float, bool]] = []
        self._chains = {0: NO_CHAIN}
        self._digests: dict[int, str] = {}

    @property
    def position(self) -> int:
        """Return the position of the last event that counted."""
        return self.acceptor.head.position

    def take(self, framed: bytes, queued_s: float, *, is_passed: bool = False) -> Event | None:
        """Judge and fold one record; raises LogDamagedError as every reader would.

        What a cut passes over, and no reader could take, does not count.
        """
        try:
            event = self.acceptor.take(framed)
        except LogDamagedError:
            if not is_passed:
                raise
            event = None
        self.taken.append((framed, queued_s, event is not None))
        if event is None:
            return None
        self.history.take(event, framed, queued_s)
        self.mirror.take(self.state, event, self.acceptor.head)
        self.model.take(event)
        self._chains[self.position] = self.acceptor.head.chain
        if self.samples(event.control.position):
            self._digest_here()
        return event

    def samples(self, position: int) -> bool:
        """Tell whether the state at a position is kept for comparison."""
        return position % SAMPLE_EVERY == 0

    def holds(self, head: LogHead) -> bool:
        """Tell whether the log goes through `head`."""
        return self._chains.get(head.position) == head.chain

    def chain_at(self, position: int) -> bytes | None:
        """Return the chain of the log behind a position, None if it has no event there."""
        return self._chains.get(position)

    def has(self, event: Event) -> bool:
        """Tell whether the log holds an event, at its place."""
        return self.history.events.get(event.control.position) == event

    def agree(self, reader: Sampled, head: LogHead, state: DomainState | None) -> None:
        """Raise BrokenError unless a reader holds what the log says at its position."""
        position = head.position
        if not self.holds(head):
            raise BrokenError(
                "readers agree at equal positions",
                f"{reader.name} at position {position} has read another log",
            )
        if state is None or not self._is_due(reader, position):
            return
        reader.sampled = position
        self.must_equal(reader, head, state)

    def must_equal(self, reader: Sampled, head: LogHead, state: DomainState) -> None:
        """Raise BrokenError unless the states are equal, at a position this one has."""
        expected = self._digests.get(head.position) or self._digest_here()
        if digest(state, head) != expected:
            raise BrokenError(
                "states agree at equal positions",
                f"the state of {reader.name} at position {head.position} is another",
            )

    def _is_due(self, reader: Sampled, position: int) -> bool:
        if position in self._digests:
            return reader.sampled != position
        return position == self.position and position - reader.sampled >= SAMPLE_EVERY

    def _digest_here(self) -> str:
        found = digest(self.state, self.acceptor.head)
        self._digests[self.position] = found
        return found
