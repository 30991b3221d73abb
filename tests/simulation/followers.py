"""Followers: they fold the log into a state, and keep of it what rows keep."""

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ledger.backup.images.starting import BY_TRIM, start_at
from ledger.core.acceptance import LogHead
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.errors import LogTrimmedError, LogUnavailableError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import Checkpoint, dump, load
from ledger.log.consumers import Consumer, register
from ledger.log.port import LogReader
from tests.simulation.faults import Fault
from tests.simulation.processes import Process

if TYPE_CHECKING:
    from tests.simulation.world import World

# The position from which the rows of a host may be that was off for long.
OLD: Final = 5


class FollowerProcess(Process):
    """A follower: folds the log into a state, and keeps a checkpoint of its own now and then."""

    def __init__(self, world: "World", name: str) -> None:
        super().__init__(world, name)
        self._kept: bytes | None = None
        self._old: bytes | None = None
        self._former: Checkpoint | None = None
        self._state = DomainState()
        self._batches: BatchAcceptor | None = None
        self._events: LogReader | None = None

    @property
    def head(self) -> LogHead | None:
        return self._batches.acceptor.head if self._batches is not None else None

    def settled_state(self) -> DomainState | None:
        return self._state

    def step(self) -> float:
        """Fold the next batch."""
        if self._batches is None or self._events is None:
            self._start()
            return self.chance.uniform(0.01, 0.1)
        head = self._batches.acceptor.head
        for _, event in self._batches.events(self._events.read(500, 0.0)):
            if event is None:
                continue
            evolve(self._state, event)
            if not self.is_ahead and self.world.oracle.samples(event.control.position):
                self.world.oracle.agree(self, head, self._state)
        if self._old is None and head.position > OLD:
            self._old = dump(self._state, head, self._batches.offset)
        if self.chance.random() < 0.02:
            self.keep()
        return self.chance.uniform(0.05, 0.5)

    def keep(self) -> None:
        """Keep a checkpoint of what was folded."""
        if self._batches is not None:
            self._kept = dump(self._state, self._batches.acceptor.head, self._batches.offset)
            self._register(self._batches.acceptor.head.position)

    def come_back(self) -> None:
        """Begin with the first rows, as a host does that was off, and forgotten, for long."""
        self.crash()
        self._kept = self._old or self._kept

    def _register(self, position: int) -> None:
        """Say from where it would begin again, as real ones do; that may fail."""
        if Fault.TRIMMED in self.world.faults.on and position:
            said = Consumer("follower", self.name, "host", position, self.clock.now_ms())
            with suppress(LogUnavailableError):
                register(self.log, 0, said)

    def stop(self) -> None:
        """Forget the fold; its checkpoint stays, and what the rows held last."""
        self._former = self.rows
        self._batches = None
        self._events = None

    @property
    def rows(self) -> Checkpoint | None:
        """Return the rows that went furthest, those of now or some that were set aside."""
        former, batches = self._former, self._batches
        if batches is None or (former and former.head.position > batches.acceptor.head.position):
            return former
        return Checkpoint(self._state, batches.acceptor.head, batches.offset)

    @property
    def starts_at(self) -> LogHead | None:
        return load(self._kept).head if self._kept else None

    def give_up(self) -> None:
        """Give up the checkpoint: the next start folds the log from its beginning."""
        self._kept = None

    def _start(self) -> None:
        kept = load(self._kept) if self._kept else start_at(self.log, None, BY_TRIM)
        acceptor = Acceptor(kept.head, self.world.variant.rule)
        batches = self.world.variant.batches(self.log, acceptor, kept.offset)
        try:
            self._events = batches.open()
        except LogTrimmedError:
            # As with --rebuild, the next start begins with an image.
            self.world.oracle.model.met["followers that a trim overtook"] += 1
            self.give_up()
            raise
        if not self._kept:
            self._register(kept.head.position)
        self._state, self._batches = kept.state, batches
        if self.world.damage.done:
            self.world.damage.mark_ahead()
        if kept.offset:
            self.world.faults.strike(Fault.CHECKPOINT)
