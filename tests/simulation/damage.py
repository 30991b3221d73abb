"""Damage: the two faults after which a reader may stop, and what it may not do then.

A broker that lost acknowledged records and went on writing needs a human. Until one comes, a reader
that had applied what was lost must stop by itself: it may neither apply anything more nor wait for
ever beside a log it has left. A byte that changed in the log must stop whoever reads it later.
"""

from math import inf
from typing import TYPE_CHECKING, Final

from ledger.core.acceptance import CHAIN_AT, LogHead, RecordKind
from ledger.core.events.events import Resigned
from ledger.errors import LogDamagedError
from ledger.log.codec import frame_event, read_control
from ledger.log.port import Topic
from tests.simulation.broken import BrokenError
from tests.simulation.faults import Fault, dice

if TYPE_CHECKING:
    from tests.simulation.processes import Process
    from tests.simulation.world import World

STRIKES_S: Final = (5.0, 14.0)
LOST_MAX: Final = 40
ABSENT_S: Final = (0.0, 6.0)
AGAIN_S: Final = 0.2


class Damage:
    """The damage of one run, if there is any; `halted` once nobody can go on."""

    def __init__(self, world: "World") -> None:
        self.kind = world.faults.damage
        self.done = False
        self.done_s = 0.0
        self.halted = False
        self._world = world
        self._chance = dice(world.seed, "damage", "strike")
        self._left_at: dict[str, tuple[LogHead, int]] = {}
        if self.kind is not None:
            world.timeline.after(self._chance.uniform(*STRIKES_S), self._strike)

    def stopped(self, process: "Process", error: LogDamagedError) -> None:
        """Judge a reader that stopped at damage; an operator rebuilds it where that helps."""
        if not self.done:
            raise BrokenError(
                "a reader stops only where the log was damaged", f"{process.name}: {error}"
            )
        if self.kind is Fault.FLIPPED:
            process.rest(inf)
        else:
            self._world.rebuild(process)

    def look_at(self, process: "Process") -> None:
        """Raise BrokenError if a reader that has applied what was lost applies anything more.

        The very records that were lost may have come again, from a writer that sent them twice.
        """
        head = process.head
        if not process.is_ahead or head is None or head == self._left_at[process.name][0]:
            return
        if self._world.oracle.holds(head):
            process.is_ahead = False
        else:
            raise BrokenError(
                "a reader ahead of a lost suffix applies nothing more",
                f"{process.name} was at {self._left_at[process.name][0]}, is at {head}",
            )

    def check_all_told(self) -> None:
        """Raise BrokenError if a reader has left the log, and the log grew, and it was not told."""
        if self.halted:
            return
        end = self._world.network.topics[Topic.EVENTS].end()
        for process in self._world.processes:
            head = process.head
            if not process.is_ahead or head is None or self._world.oracle.holds(head):
                continue
            if end > self._left_at[process.name][1]:
                raise BrokenError(
                    "a reader ahead of a lost suffix stops",
                    f"{process.name} waits at {head} beside the log",
                )

    def _strike(self) -> None:
        world = self._world
        act = self._lose_suffix if self.kind is Fault.LOST_SUFFIX else self._flip_byte
        if world.asked < world.commands_min or not act():
            world.timeline.after(AGAIN_S, self._strike)
            return
        world.note("damage", f"{self.kind}")
        self.done_s = world.timeline.now_s

    def _lose_suffix(self) -> bool:
        """Lose the end of the log from a record on that counted."""
        world = self._world
        taken = world.oracle.taken
        first = len(taken) - self._chance.randint(1, LOST_MAX)
        counted = [at for at in range(first, len(taken)) if taken[at][2]]
        if not counted:
            return False
        cut = self._chance.choice(counted)
        end = world.network.topics[Topic.EVENTS].end()
        world.network.cut(Topic.EVENTS, cut)
        self.done = True
        world.fold_again(cut)
        for process in world.processes:
            head = process.head
            if head is not None and head.position > world.oracle.position:
                process.is_ahead = True
                self._left_at[process.name] = (head.copy(), end)
                if self._chance.random() < 0.5:
                    process.pause(self._chance.uniform(*ABSENT_S))
        if self._chance.random() < 0.5:
            # The whole cluster failed, and the leader with it.
            for leader in world.leaders():
                leader.crash()
        if self._left_at:
            world.faults.strike(Fault.LOST_SUFFIX)
        return True

    def _flip_byte(self) -> bool:
        """Change a byte of an event that counted, and let some readers begin anew."""
        world = self._world
        records = world.network.topics[Topic.EVENTS].records
        taken = world.oracle.taken
        counted = [
            at
            for at, (framed, _, counts) in enumerate(taken)
            if counts and read_control(framed)[1] is not RecordKind.FENCED
        ]
        at = self._chance.choice(counted)
        record = records[at]
        assert record is not None, "the events topic has no holes"
        framed = bytearray(record.value)
        framed[self._chance.choice(flippable(record.value))] ^= 1 << self._chance.randrange(8)
        records[at] = record._replace(value=bytes(framed))
        for process in self._chance.sample(world.processes, 3):
            world.rebuild(process)
            process.crash()
        self.done = True
        world.faults.strike(Fault.FLIPPED)
        return True


def flippable(framed: bytes) -> list[int]:
    """Return the bytes whose change no reader may miss: the chain and the body.

    A changed epoch or position makes a record look like a zombie's; it is dropped like one.
    """
    control, _ = read_control(framed)
    _, empty = frame_event(control, Resigned(""), control.chain)
    body_at = len(empty) - 1
    return [*range(CHAIN_AT, CHAIN_AT + len(control.chain)), *range(body_at, len(framed))]
