"""Faults: what goes wrong in a run, when, and how often each kind has struck.

Every kind has a source of chance of its own, made from the seed, so leaving one kind out leaves the
plan of the others as it was. Nothing here does any harm itself: the world does, at the times named.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final

from ledger.log.port import Topic

# Faults strike in the first part of a run; afterwards everything has to come to rest.
FAULTS_FROM_S: Final = 1.5
FAULTS_UNTIL_S: Final = 17.0
DAMAGED_SHARE: Final = 0.25
OFTEN_SHARE: Final = 0.5


class Fault(StrEnum):
    """The kinds of faults, as a report names them."""

    CRASH = "crash"
    PAUSE = "pause"
    LOST = "lost produce"
    FAILED = "failed produce"
    DOUBLED = "doubled produce"
    LATE = "late produce"
    SKIPPED = "skipping inbox"
    VERSIONS = "two code versions"
    STALE = "stale reads"
    SILENCE = "silent broker"
    JUMP = "clock jump"
    SKEW = "clock skew"
    OVERTAKEN = "commands overtaken"
    RECREATED = "commands re-created"
    HOLE = "hole in commands"
    CHECKPOINT = "start from checkpoint"
    HEARTBEATS = "heartbeat reader paused"
    POWER = "power cut"
    LOST_COMMANDS = "lost commands"
    LOST_CHECKPOINTS = "lost checkpoints"
    LOST_SUFFIX = "lost suffix"
    RESTORED = "restored copy"
    STRAY = "stray record"
    FLIPPED = "flipped byte"
    TRIMMED = "trimmed log"


PRODUCE: Final = (Fault.LOST, Fault.FAILED, Fault.DOUBLED, Fault.LATE)
# At most one of these strikes in a run; after it an operator leads the ledger back.
DAMAGE: Final = (Fault.LOST_SUFFIX, Fault.RESTORED, Fault.STRAY, Fault.FLIPPED)
# These empty the whole machine, or a topic; with them in each second run others would find less.
SELDOM: Final = (Fault.POWER, Fault.LOST_COMMANDS, Fault.LOST_CHECKPOINTS)
SELDOM_SHARE: Final = 0.2
# These hold for a whole run; the world asks whether they are on.
LASTING: Final = (Fault.VERSIONS, Fault.SKEW, Fault.CHECKPOINT, Fault.TRIMMED)
SUDDEN: Final = tuple(kind for kind in Fault if kind not in LASTING + DAMAGE)


def dice(*parts: object) -> Random:
    """Return a source of chance of its own for these parts, the same in every process."""
    return Random("/".join(map(str, parts)))  # noqa: S311 - repeatable on purpose


@dataclass(slots=True)
class Faults:
    """The faults of one seed; kinds in `without` never strike."""

    seed: int
    without: frozenset[Fault] = frozenset()
    on: frozenset[Fault] = field(init=False)
    strikes: Counter[Fault] = field(default_factory=Counter)
    _armed: dict[Topic, deque[Fault]] = field(init=False)

    def __post_init__(self) -> None:
        chosen = {
            kind
            for kind in SUDDEN + LASTING
            if dice(self.seed, kind).random() < (SELDOM_SHARE if kind in SELDOM else OFTEN_SHARE)
        }
        drawn = dice(self.seed, "damage")
        if drawn.random() < DAMAGED_SHARE:
            chosen.add(drawn.choice(DAMAGE))
        self.on = frozenset(chosen - self.without)
        self._armed = {topic: deque() for topic in Topic}

    @property
    def damage(self) -> Fault | None:
        """Return how the events topic is damaged in this run, if it is."""
        return next((kind for kind in DAMAGE if kind in self.on), None)

    def times(self) -> Iterator[tuple[float, Fault]]:
        """Yield when sudden faults strike, in seconds of virtual time."""
        for kind in SUDDEN:
            if kind in self.on:
                drawn = dice(self.seed, kind, "times")
                for _ in range(drawn.randint(1, 3)):
                    yield drawn.uniform(FAULTS_FROM_S, FAULTS_UNTIL_S), kind

    def strike(self, kind: Fault) -> None:
        """Count a fault that has done its harm."""
        self.strikes[kind] += 1

    def arm(self, topic: Topic, kind: Fault) -> None:
        """Let a produce fault meet the next record of a topic."""
        self._armed[topic].append(kind)

    def meets(self, topic: Topic) -> Fault | None:
        """Return the produce fault that meets this record, if one does, and count it."""
        armed = self._armed[topic]
        if not armed:
            return None
        kind = armed.popleft()
        self.strike(kind)
        return kind

    def disarm(self) -> None:
        """Let no more faults meet anything."""
        for armed in self._armed.values():
            armed.clear()


def struck(strikes: Counter[Fault], kinds: Sequence[Fault] = tuple(Fault)) -> list[str]:
    """Return the kinds that have struck, with their counts, in one fixed order."""
    return [f"{kind} {strikes[kind]}" for kind in kinds if strikes[kind]]
