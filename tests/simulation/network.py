"""The network: the topics as they really are, and what is on its way to them.

Every record lands here in the end, late or twice or not at all; what a process sees of it is its
own view, in `faulty_log`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

from ledger.log.port import Record, Topic
from tests.simulation.clock import STARTED_AT_S, Timeline
from tests.simulation.faults import Faults

LATE_S: Final = (0.3, 6.0)


@dataclass(slots=True)
class TrueTopic:
    """A topic as it really is; None is an offset that holds no record."""

    name: Topic
    incarnation: int = 0
    start: int = 0
    records: list[Record | None] = field(default_factory=list)

    def end(self) -> int:
        """Return the offset after the last record."""
        return self.start + len(self.records)

    def identity(self) -> str:
        """Return the broker's id of the topic."""
        return f"{self.name}-{self.incarnation}"


class Queued(NamedTuple):
    """A record a process has appended, and when."""

    key: bytes
    value: bytes
    queued_s: float


class Network:
    """The topics and what is on its way to them; `landed` is told of every record that lands."""

    def __init__(
        self,
        timeline: Timeline,
        faults: Faults,
        chance: Random,
        landed: Callable[[Topic, Record, float], None],
    ) -> None:
        self.timeline = timeline
        self.faults = faults
        self.chance = chance
        self.topics = {topic: TrueTopic(topic) for topic in Topic}
        self.lost_from: dict[Topic, list[tuple[int, float]]] = {topic: [] for topic in Topic}
        self.silent_until_s = 0.0
        self.on_the_way: Counter[Topic] = Counter()
        self._landed = landed

    @property
    def is_silent(self) -> bool:
        """Tell whether the broker answers nobody at the moment."""
        return self.timeline.now_s < self.silent_until_s

    def land(self, topic: Topic, queued: Queued) -> int:
        """Append a record to the true topic and return its offset."""
        true = self.topics[topic]
        timestamp = int((STARTED_AT_S + self.timeline.now_s) * 1000)
        record = Record(true.end(), queued.key, queued.value, timestamp)
        true.records.append(record)
        self._landed(topic, record, queued.queued_s)
        return record.offset

    def land_late(self, topic: Topic, queued: Queued, before: tuple[int, float]) -> None:
        """Let a record land some seconds from now, whoever has gone by then.

        `before` is where and when the record before it of its writer landed; if the broker has lost
        that by then, it refuses this one, whose number does not follow.
        """
        self.on_the_way[topic] += 1

        def arrive() -> None:
            self.on_the_way[topic] -= 1
            if not self.has_lost(topic, *before):
                self.land(topic, queued)

        self.timeline.after(self.chance.uniform(*LATE_S), arrive)

    def remove_below(self, topic: Topic, offset: int) -> None:
        """Remove records as retention does."""
        true = self.topics[topic]
        del true.records[: offset - true.start]
        true.start = offset

    def recreate(self, topic: Topic) -> None:
        """Replace a topic by an empty one of the same name; readers are told nothing, as ever."""
        self.topics[topic] = TrueTopic(topic, self.topics[topic].incarnation + 1)

    def cut(self, topic: Topic, offset: int) -> None:
        """Lose the records from `offset` on.

        Their writers fail, since the broker knows another number of their last record; what they
        have queued goes nowhere.
        """
        true = self.topics[topic]
        del true.records[offset - true.start :]
        self.lost_from[topic].append((offset, self.timeline.now_s))

    def restore(self, topic: Topic, offset: int) -> None:
        """Put a copy in the place of a topic, which holds what came before `offset`."""
        former = self.topics[topic]
        self.cut(topic, offset)
        self.topics[topic] = TrueTopic(
            topic, former.incarnation + 1, former.start, former.records.copy()
        )

    def has_lost(self, topic: Topic, offset: int, landed_s: float) -> bool:
        """Tell whether a record that landed then at `offset` was lost since."""
        return any(
            offset >= lost_from and landed_s <= lost_s
            for lost_from, lost_s in self.lost_from[topic]
        )

    def add_hole(self, topic: Topic) -> None:
        """Use up an offset without a record, as a marker of a stray transaction does."""
        self.topics[topic].records.append(None)
