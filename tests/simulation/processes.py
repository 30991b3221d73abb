"""Processes that read the events topic: what a crash, a pause and a restart mean for each.

A process is stepped by the timeline, ends at an error as the real one would, and starts again with
what survives it. What it folds is held against the oracle after every step.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, Final

from ledger.core.acceptance import LogHead
from ledger.core.state.domain import DomainState
from ledger.errors import (
    FencedError,
    LogDamagedError,
    LogTrimmedError,
    LogUnavailableError,
    OffsetGoneError,
)
from ledger.log.checkpoints import read_newest_head
from ledger.sequencer.sequencer import Sequencer
from tests.simulation.clock import ProcessClock
from tests.simulation.faults import Fault, dice
from tests.simulation.faulty_log import ProcessLog
from tests.simulation.lease_law import Term
from tests.simulation.variant import other_version

if TYPE_CHECKING:
    from tests.simulation.world import World

RESTART_S: Final = (0.1, 1.2)
# A reader that is not registered may be overtaken by a trim.
ENDS: Final = (FencedError, LogTrimmedError, LogUnavailableError, OffsetGoneError)


class Process(ABC):
    """One process of a machine: `step` does a round and returns the seconds until the next.

    `is_ahead` is set while it has applied records that the log has lost since.
    """

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = name
        self.chance = dice(world.seed, name)
        error_s = self.chance.uniform(-2, 2) if Fault.SKEW in world.faults.on else 0.0
        self.clock = ProcessClock(world.timeline, error_s, self.chance.uniform(0, 1e6))
        self.log = ProcessLog(world.network, self.chance)
        self.paused_until_s = 0.0
        self.is_ahead = False
        self.sampled = 0
        self._sleeps = False
        world.timeline.after(self.chance.uniform(0, 0.2), self._wake)

    def _wake(self) -> None:
        paused_s = self.paused_until_s - self.world.timeline.now_s
        delay_s = paused_s if paused_s > 0 else self._round()
        self._sleeps = delay_s == inf
        if not self._sleeps:
            self.world.timeline.after(delay_s, self._wake)

    def _round(self) -> float:
        delay_s = self.attempt(self.step)
        self.world.damage.look_at(self)
        head = self.head
        if head is not None and not self.is_ahead:
            self.world.oracle.agree(self, head, self.settled_state())
        return delay_s

    def attempt(self, act: Callable[[], float]) -> float:
        """Do something of which a process may end; return the seconds until its next round."""
        try:
            return act()
        except LogDamagedError as error:
            self.world.note(self.name, f"stops: {error}")
            self.world.damage.stopped(self, error)
        except ENDS as error:
            self.world.note(self.name, f"ends: {error}")
        self.crash()
        return self.chance.uniform(*RESTART_S)

    @abstractmethod
    def step(self) -> float:
        """Do a round, starting if need be."""

    @abstractmethod
    def stop(self) -> None:
        """Forget everything that does not survive the end of the process."""

    @property
    @abstractmethod
    def head(self) -> LogHead | None:
        """Return where the log ends as far as it was read, None while nothing runs."""

    @abstractmethod
    def settled_state(self) -> DomainState | None:
        """Return the state at `head`, or None if it is none or not settled."""

    def crash(self) -> None:
        """End at once; what was queued lands later, in part. The next step is a new start."""
        self.log.abandon()
        self.log = ProcessLog(self.world.network, self.chance)
        self.stop()
        self.is_ahead = False
        self.sampled = 0

    def rest(self, duration_s: float) -> None:
        """Do nothing for a while, or with infinity until `resume`."""
        self.paused_until_s = self.world.timeline.now_s + duration_s

    def resume(self) -> None:
        """Go on after a rest for ever."""
        self.rest(0.0)
        if self._sleeps:
            self._sleeps = False
            self.world.timeline.after(self.chance.uniform(*RESTART_S), self._wake)

    @property
    def starts_at(self) -> LogHead | None:
        """Return where the log ended of which something was kept, None if nothing was."""
        return None

    @property
    def needs_operator(self) -> bool:
        """Tell whether it can begin anew only once an operator has written a checkpoint."""
        return False

    def give_up(self) -> None:  # noqa: B027 - most processes keep nothing
        """Give up what was kept of the log and the log does not hold: begin from its beginning."""

    def pause(self, duration_s: float) -> None:
        """Stand still, and whatever is queued with it."""
        self.rest(duration_s)
        self.log.held_until_s = max(self.log.held_until_s, self.paused_until_s)


class SequencerProcess(Process):
    """A sequencer: the real one, restarted whenever it ends."""

    def __init__(self, world: "World", name: str, *, other: bool) -> None:
        super().__init__(world, name)
        self.sequencer: Sequencer | None = None
        self._term: object = None
        self._other = other

    @property
    def head(self) -> LogHead | None:
        """Return the head of what was read back."""
        return self.sequencer.acceptor.head if self.sequencer is not None else None

    @property
    def leads(self) -> bool:
        """Tell whether it believes that it leads."""
        return self.sequencer is not None and self.sequencer.leader is not None

    def settled_state(self) -> DomainState | None:
        """Return the folded state; a leader's is settled while nothing is in flight."""
        if self.sequencer is None:
            return None
        leader = self.sequencer.leader
        return self.sequencer.state if leader is None or not leader.flight else None

    @property
    def starts_at(self) -> LogHead | None:
        """Return the head of the newest checkpoint there is."""
        found = read_newest_head(self.log, self.world.created.domain)
        return found[0] if found is not None else None

    @property
    def needs_operator(self) -> bool:
        """Tell that it starts from checkpoints, of which the operator's may have been lost."""
        return True

    def step(self) -> float:
        """Do one round of the sequencer."""
        if self.sequencer is None:
            self._start()
            return self.chance.uniform(0.01, 0.1)
        self.sequencer.step(0.0)
        leader = self.sequencer.leader
        if leader is None:
            return self.chance.uniform(0.02, 0.25)
        if leader is not self._term:
            self._term = leader
            began_s = self.world.timeline.now_s
            self.world.leases.terms[leader.epoch] = Term(began_s, self.clock.error_s)
            self.world.note(self.name, f"leads epoch {leader.epoch}")
        return self.chance.uniform(0.01, 0.12)

    def resign(self) -> float:
        """End cleanly, to start again later."""
        if self.sequencer is not None:
            self.world.note(self.name, "resigns")
            self.sequencer.resign()
            self.crash()
        return 0.0

    def stop(self) -> None:
        """Forget the sequencer; its state lives on in the log alone."""
        self.sequencer = None

    def _start(self) -> None:
        world = self.world
        decisions: dict[str, Any] = {}
        if self._other:
            decisions = {"decisions": other_version(lambda: world.faults.strike(Fault.VERSIONS))}
        self.sequencer = world.variant.sequencer(
            self.log,
            world.created,
            name=self.name,
            settings=world.settings_of(self.chance),
            clock=self.clock,
            rule=world.variant.rule,
            nonce=lambda: self.chance.randbytes(16),
            **decisions,
        )
        if world.damage.done:
            world.damage.mark_ahead()
        started_at = self.sequencer.acceptor.head.position
        world.note(self.name, f"starts at position {started_at}")
        if started_at:
            world.faults.strike(Fault.CHECKPOINT)
