"""Damage: the faults after which a reader may stop, what it may not do then, and the way back.

A broker that lost acknowledged records and went on writing needs a human, and so do a copy that was
put in the place of the events, a record that no sequencer wrote, and a byte that changed. Until one
comes, a reader that had applied what is gone must stop by itself: it may neither apply anything
more nor wait for ever beside a log it has left.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ledger.core.acceptance import CHAIN_AT, LogHead, RecordKind
from ledger.core.events.events import Resigned
from ledger.errors import LogDamagedError
from ledger.log.port import Record, Topic
from ledger.log.wire.codec import frame_event, read_control
from tests.simulation.broken import BrokenError
from tests.simulation.faults import Fault, dice
from tests.simulation.operator import Operator

if TYPE_CHECKING:
    from tests.simulation.processes import Process
    from tests.simulation.world import World

STRIKES_S: Final = (5.0, 14.0)
LOST_MAX: Final = 20
# Where the first events of a log are damaged there is no ledger to go on from, only a backup.
GENESIS: Final = 3
ABSENT_S: Final = (0.0, 10.0)
AGAIN_S: Final = 0.2
# How often a topic of commands or checkpoints loses its end with the events.
WITH_COMMANDS: Final = 0.4
WITH_CHECKPOINTS: Final = 0.3
WITH_CATALOGS: Final = 0.3
WITH_BACKUP: Final = 0.5


class Damage:
    """The damage of one run, if there is any, and the operator who leads back from it.

    `halted` while a record stands in the log that ends every reader.
    """

    def __init__(self, world: "World") -> None:
        self.kind = world.faults.damage
        self.done = False
        self.done_s = 0.0
        self.halted = False
        self.operator = Operator(world)
        self._world = world
        self._chance = dice(world.seed, "damage", "strike")
        self._left_at: dict[str, LogHead] = {}
        self._acts: dict[Fault, Callable[[], bool]] = {
            Fault.LOST_SUFFIX: self._lose_suffix,
            Fault.RESTORED: self._restore,
            Fault.STRAY: self._stray,
            Fault.FLIPPED: self._flip_byte,
        }
        if self.kind is not None:
            world.timeline.after(self._chance.uniform(*STRIKES_S), self._strike)

    @property
    def is_hidden(self) -> bool:
        """Whether a byte has changed in a record that no reader has come to since."""
        return self.done and self.kind is Fault.FLIPPED and not self.operator.has_cut

    def stopped(self, process: "Process", error: LogDamagedError) -> None:
        """Judge a reader that stopped at damage; the operator comes if there was none yet."""
        starts_at = process.starts_at
        is_ahead = process.is_ahead or (starts_at and not self._world.oracle.holds(starts_at))
        if not self.done or (self.operator.has_cut and not is_ahead):
            raise BrokenError(
                "a reader stops only where the log was damaged", f"{process.name}: {error}"
            )
        if self.operator.has_cut and not process.needs_operator:
            process.give_up()
        else:
            self.operator.call()

    def look_at(self, process: "Process") -> None:
        """Raise BrokenError if a reader that has applied what was lost applies anything else.

        The very records that were lost may have come again, from a writer that sent them twice.
        """
        head = process.head
        if not process.is_ahead or head is None or head == self._left_at[process.name]:
            return
        if self._world.oracle.holds(head):
            process.is_ahead = False
        elif self._world.lost.holds(head):
            # What came behind a damaged record is there for whoever had read that one.
            self._left_at[process.name] = head.copy()
        else:
            raise BrokenError(
                "a reader ahead of a lost suffix applies nothing more",
                f"{process.name} was at {self._left_at[process.name]}, is at {head}",
            )

    def mark_ahead(self) -> bool:
        """Note which processes have applied what the log holds no more; tell whether any has."""
        oracle = self._world.oracle
        for process in self._world.processes:
            head = process.head
            if head is not None and not oracle.holds(head) and not process.is_ahead:
                process.is_ahead = True
                self._left_at[process.name] = head.copy()
        return any(process.is_ahead for process in self._world.processes)

    def check_all_told(self) -> None:
        """Raise BrokenError if a reader has left the log and was not told by the end."""
        for process in self._world.processes:
            head = process.head
            if process.is_ahead and head is not None and not self._world.oracle.holds(head):
                raise BrokenError(
                    "a reader ahead of a lost suffix stops",
                    f"{process.name} waits at {head} beside the log",
                )

    def _strike(self) -> None:
        world = self._world
        if self.kind is None or world.asked < world.commands_min:
            world.timeline.after(AGAIN_S, self._strike)
            return
        if self._chance.random() < WITH_BACKUP:
            # What is backed up now may be lost next.
            world.trims.back_up_now()
        if not self._acts[self.kind]():
            world.timeline.after(AGAIN_S, self._strike)
            return
        world.note("damage", f"{self.kind}")
        self.done = True
        self.done_s = world.timeline.now_s
        if self.mark_ahead() or self.kind is not Fault.LOST_SUFFIX:
            world.faults.strike(self.kind)

    def _place_to_cut(self) -> int | None:
        """Return the offset of a record near the end that counted, None where there is none.

        The beginning of the ledger is flushed before anything else of it is there.
        """
        taken = self._world.oracle.taken
        kept = self._world.network.topics[Topic.EVENTS].start
        first = max(1, kept, len(taken) - self._chance.randint(1, LOST_MAX))
        counted = [at for at in range(first, len(taken)) if taken[at][2]]
        return self._chance.choice(counted) if counted else None

    def _lose_suffix(self) -> bool:
        """Lose the end of the log from a record on that counted."""
        world = self._world
        cut = self._place_to_cut()
        if cut is None:
            return False
        world.network.cut(Topic.EVENTS, cut)
        world.lose_events(cut)
        if self._chance.random() < WITH_COMMANDS:
            world.losses.lose_commands(self._chance)
        if self._chance.random() < WITH_CHECKPOINTS:
            world.losses.lose_checkpoints(self._chance)
        if self._chance.random() < WITH_CATALOGS:
            # Marks of trims lie there, and a topic that is gone is noticed.
            world.network.recreate(Topic.CATALOGS)
            self.operator.call()
        self.mark_ahead()
        for process in world.processes:
            if process.is_ahead and self._chance.random() < 0.5:
                process.pause(self._chance.uniform(*ABSENT_S))
        if self._chance.random() < 0.5:
            # The whole machine failed. What it starts again is compared with the log first.
            self._fail()
            self.operator.compare()
        return True

    def _restore(self) -> bool:
        """Put a copy in the place of the events that holds less, in a cluster that is new or not.

        Its operator stopped the ledger for that, and clients nobody can stop.
        """
        world = self._world
        cut = self._place_to_cut()
        if cut is None:
            return False
        self._fail()
        world.network.restore(Topic.EVENTS, cut)
        world.lose_events(cut)
        if self._chance.random() < 0.5:
            world.losses.recreate_commands()
            for topic in (Topic.CHECKPOINTS, Topic.BEATS, Topic.HEARTBEATS):
                world.network.recreate(topic)
        self.operator.call()
        return True

    def _stray(self) -> bool:
        """Let a record come in that no sequencer wrote."""
        network = self._world.network
        value = self._stray_value()
        record = Record(network.topics[Topic.EVENTS].end(), b"", value, 0)
        network.topics[Topic.EVENTS].records.append(record)
        self.done = True
        self._world.landed(Topic.EVENTS, record, self._world.timeline.now_s)
        return True

    def _stray_value(self) -> bytes:
        """Return bytes that are no event, half of one, or one of another log."""
        taken = self._chance.choice(self._world.oracle.taken)[0]
        head = self._world.oracle.acceptor.head
        control, _ = read_control(self._ordinary()[1])
        place = control._replace(epoch=head.epoch, position=head.position + 1, cmd=head.last_cmd)
        later = place._replace(epoch=head.epoch + 3)
        foreign = bytes(reversed(head.chain))
        return self._chance.choice(
            (
                b"",
                b"what is this",
                self._chance.randbytes(self._chance.randint(1, 60)),
                taken[: len(taken) // 2],
                frame_event(place, Resigned("another"), foreign)[1],
                frame_event(later, Resigned("another"), head.chain)[1],
            )
        )

    def _flip_byte(self) -> bool:
        """Change a byte of an event that counted, and let some readers begin anew."""
        world = self._world
        true = world.network.topics[Topic.EVENTS]
        records, (at, framed) = true.records, self._ordinary()
        at -= true.start
        record = records[at]
        assert record is not None, "the events topic has no holes"
        changed = bytearray(framed)
        changed[self._chance.choice(flippable(framed))] ^= 1 << self._chance.randrange(8)
        records[at] = record._replace(value=bytes(changed))
        for process in self._chance.sample(world.processes, 3):
            process.crash()
            process.give_up()
        return True

    def _ordinary(self) -> tuple[int, bytes]:
        """Return the offset of a record that counted and is no claim, and its bytes."""
        taken = self._world.oracle.taken
        first = max(GENESIS + 1, self._world.network.topics[Topic.EVENTS].start)
        counted = [
            at
            for at, (framed, _, counts) in enumerate(taken)
            if counts and at >= first and read_control(framed)[1] is not RecordKind.FENCED
        ]
        at = self._chance.choice(counted)
        return at, taken[at][0]

    def _fail(self) -> None:
        """Let all processes of the machine end: sequencers and followers."""
        for follower in self._world.followers:
            if self._chance.random() < 0.5:
                follower.keep()
        for process in (*self._world.sequencers, *self._world.followers):
            process.crash()


def flippable(framed: bytes) -> list[int]:
    """Return the bytes whose change no reader may miss: the chain and the body.

    A changed epoch or position makes a record look like a zombie's; it is dropped like one.
    """
    control, _ = read_control(framed)
    _, empty = frame_event(control, Resigned(""), control.chain)
    body_at = len(empty) - 1
    return [*range(CHAIN_AT, CHAIN_AT + len(control.chain)), *range(body_at, len(framed))]
