"""Strikes: which process is killed or paused when, drawn from the seed of a run.

Each pair of a fault and a role comes once before any comes again, in an order that differs from run
to run, so the shares of a whole check strike all of them between them.
"""

import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, Protocol

import psutil

from tests.consistency.client import now
from tests.consistency.hosts import Host, wait

PAUSE_S: Final = (0.5, 4.0)
FIRST_S: Final = (3.0, 8.0)
EVERY_S: Final = (3.0, 10.0)
BATCHES_MAX: Final = 8
CLIENT: Final = "client"
CUT: Final = "cut"
LOG: Final = "log"

Target = tuple[str, str]


class Victims(Protocol):
    """The clients of a run and what they run on, until their time is over."""

    until: float

    def processes(self, role: str) -> Sequence[psutil.Process]:
        """Return the processes of a role that run now."""

    def look(self) -> None:
        """Start the next life of what ended."""


class Targets:
    """Draws pairs of a fault and a role, each once before any comes again."""

    def __init__(self, chance: Random, faults: Sequence[str], roles: Sequence[str]) -> None:
        self._chance = chance
        self._all = [(fault, role) for fault in faults if fault != CUT for role in roles]
        self._all += [(CUT, LOG)] * (CUT in faults)
        self._left: list[Target] = []

    def draw(self) -> Target:
        if not self._left:
            self._left = self._chance.sample(self._all, len(self._all))
            if (CUT, LOG) in self._left:  # It takes long, so a short run has to begin early.
                self._left.remove((CUT, LOG))
                self._left.insert(-1, (CUT, LOG))
        return self._left.pop()

    def put_back(self, target: Target) -> None:
        """Take a pair whose role had no process, to be drawn after all others."""
        self._left.insert(0, target)


def strike(seed: str, faults: Sequence[str], host: Host, victims: Victims) -> Mapping[str, int]:
    """Strike until the time is over; return how often each fault struck."""
    chance = Random(seed)  # noqa: S311 - repeatable on purpose
    targets = Targets(chance, faults, (CLIENT, *host.roles))
    strikes: Counter[str] = Counter()
    next_at = now() + chance.uniform(*FIRST_S)
    while now() < victims.until:
        wait(0.2)
        victims.look()
        host.look()
        if not faults or now() < next_at or victims.until - now() < max(PAUSE_S) + 1:
            continue
        next_at = now() + chance.uniform(*EVERY_S)
        fault, role = targets.draw()
        if fault == CUT:
            host.lose_end(chance.randint(1, BATCHES_MAX))
            strikes[CUT] += 1
            continue
        found = victims.processes(role)
        if found and hit(chance.choice(found), fault, chance):
            strikes[f"{fault} {role}"] += 1
        else:
            targets.put_back((fault, role))
    return dict(strikes)


def hit(victim: psutil.Process, fault: str, chance: Random) -> bool:
    """Kill a process, or pause it for a while; return whether it was there."""
    try:
        if fault == "kill":
            victim.kill()
            return True
        victim.send_signal(signal.SIGSTOP)
        wait(chance.uniform(*PAUSE_S))
        victim.send_signal(signal.SIGCONT)
    except psutil.Error:
        return False
    return True
