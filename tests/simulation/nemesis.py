"""The nemesis: lets the sudden faults of a plan strike the processes and the network of a world."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from ledger.log.port import Topic
from tests.simulation.faults import PRODUCE, Fault, dice
from tests.simulation.processes import Process, SequencerProcess

if TYPE_CHECKING:
    from tests.simulation.world import World

AGAIN_S: Final = 0.1
PAUSE_S: Final = (0.3, 6.0)
STALE_S: Final = (0.3, 4.0)
SILENCE_S: Final = (0.2, 2.5)
HEARTBEATS_S: Final = (1.0, 9.0)
JUMP_S: Final = (6.0, 9_000.0)


class Nemesis:
    """Everything bad that happens suddenly; what finds no victim tries again a little later."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._chance = dice(world.seed, "nemesis")
        self._acts: dict[Fault, Callable[[], bool]] = {
            Fault.CRASH: self._crash,
            Fault.PAUSE: self._pause,
            Fault.SKIPPED: self._skip,
            Fault.STALE: self._freeze,
            Fault.SILENCE: self._silence,
            Fault.JUMP: self._jump,
            Fault.OVERTAKEN: self._overtake,
            Fault.RECREATED: self._recreate,
            Fault.HOLE: self._hole,
            Fault.HEARTBEATS: self._freeze_heartbeats,
            Fault.POWER: self._cut_power,
            Fault.LOST_COMMANDS: self._lose_commands,
            Fault.LOST_CHECKPOINTS: self._lose_checkpoints,
            **{kind: partial(self._arm, kind) for kind in PRODUCE},
        }
        for at_s, kind in world.faults.times():
            world.timeline.after(at_s, partial(self._strike, kind))
        if self._chance.random() < 0.3:
            world.timeline.after(self._chance.uniform(2, 15), self._resign)

    def _strike(self, kind: Fault) -> None:
        if not self._world.is_active:
            return
        if self._acts[kind]():
            self._world.note("fault", kind)
        else:
            self._world.timeline.after(AGAIN_S, partial(self._strike, kind))

    def _leader(self) -> SequencerProcess | None:
        leaders = self._world.leaders()
        return self._chance.choice(leaders) if leaders else None

    def _victim(self) -> Process:
        """Return a process, the leader more often than others."""
        leader = self._leader()
        if leader is not None and self._chance.random() < 0.5:
            return leader
        return self._chance.choice(self._world.processes)

    def _crash(self) -> bool:
        victim = self._victim()
        self._world.note(victim.name, "crashes")
        victim.crash()
        victim.rest(self._chance.uniform(0.1, 1.5))
        self._world.faults.strike(Fault.CRASH)
        return True

    def _pause(self) -> bool:
        victim = self._victim()
        self._world.note(victim.name, "pauses")
        victim.pause(self._chance.uniform(*PAUSE_S))
        self._world.faults.strike(Fault.PAUSE)
        return True

    def _arm(self, kind: Fault) -> bool:
        topic = self._chance.choices((Topic.EVENTS, Topic.COMMANDS, Topic.CHECKPOINTS), (12, 6, 1))[
            0
        ]
        self._world.faults.arm(topic, kind)
        return True

    def _skip(self) -> bool:
        leader = self._leader()
        if leader is not None:
            leader.log.skips += 1
        return leader is not None

    def _freeze(self) -> bool:
        victim = self._victim()
        topic = self._chance.choice((Topic.EVENTS, Topic.EVENTS, Topic.COMMANDS, Topic.BEATS))
        victim.log.freeze(topic, self._chance.uniform(*STALE_S))
        self._world.faults.strike(Fault.STALE)
        return True

    def _freeze_heartbeats(self) -> bool:
        leader = self._leader()
        if leader is None:
            return False
        leader.log.freeze(Topic.HEARTBEATS, self._chance.uniform(*HEARTBEATS_S))
        self._world.faults.strike(Fault.HEARTBEATS)
        return True

    def _silence(self) -> bool:
        now_s = self._world.timeline.now_s
        self._world.network.silent_until_s = now_s + self._chance.uniform(*SILENCE_S)
        self._world.faults.strike(Fault.SILENCE)
        return True

    def _jump(self) -> bool:
        victim = self._leader() or self._victim()
        victim.clock.error_s += self._chance.choice((-1, 1)) * self._chance.uniform(*JUMP_S)
        self._world.faults.strike(Fault.JUMP)
        return True

    def _overtake(self) -> bool:
        """Let retention remove commands that nobody has decided yet, once there are some."""
        return self._world.losses.overtake_commands(self._chance)

    def _recreate(self) -> bool:
        self._world.losses.recreate_commands()
        return True

    def _hole(self) -> bool:
        self._world.network.add_hole(Topic.COMMANDS)
        return True

    def _cut_power(self) -> bool:
        self._silence()
        self._world.losses.cut_power(self._chance)
        return True

    def _lose_commands(self) -> bool:
        return self._world.losses.lose_commands(self._chance)

    def _lose_checkpoints(self) -> bool:
        return self._world.losses.lose_checkpoints(self._chance)

    def _resign(self) -> None:
        leader = self._leader()
        if leader is not None and self._world.is_active:
            leader.rest(leader.attempt(leader.resign))
