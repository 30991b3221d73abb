"""The faulty log: for every process a view of the one true log, which may lag and lose.

It keeps the contract of the port as Kafka keeps it: what is appended lands later, in order, if at
all; reads are never out of order but may be stale; the ends of a topic are true.
"""

from collections import deque
from collections.abc import Sequence
from math import inf
from random import Random
from typing import Final

from ledger.errors import LogUnavailableError, OffsetGoneError
from ledger.log.port import Record, Topic
from tests.simulation.faults import Fault
from tests.simulation.network import LATE_S, Network, Queued

LANDING_S: Final = (0.004, 0.06)
NOTICED_S: Final = (0.0, 0.5)
# How many records one read returns at most: readers see batches of every size.
BATCHES: Final = (2, 7, 40, 1000)


class ProcessLog:
    """The log as one process has it, from its start to its end."""

    def __init__(self, network: Network, chance: Random) -> None:
        self.network = network
        self.chance = chance
        self.held_until_s = 0.0
        self.skips = 0
        self._writers: list[ProcessWriter] = []
        self._frozen: dict[Topic, tuple[int, float]] = {}

    def reader(self, topic: Topic, offset: int) -> "ProcessReader":
        return ProcessReader(self, topic, offset)

    def writer(self, topic: Topic) -> "ProcessWriter":
        writer = ProcessWriter(self, topic)
        self._writers.append(writer)
        return writer

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:  # noqa: ARG002
        """Return the first offset and the end offset, which are true even if reads are stale."""
        self.check_broker()
        true = self.network.topics[topic]
        return true.start, true.end()

    def topic_id(self, topic: Topic) -> str:
        self.check_broker()
        return self.network.topics[topic].identity()

    def close(self) -> None:
        """Nothing is held."""

    def check_broker(self) -> None:
        """Raise LogUnavailableError while the broker is silent."""
        if self.network.is_silent:
            raise LogUnavailableError("the broker is silent")

    def freeze(self, topic: Topic, duration_s: float) -> None:
        """Show no newer records of a topic for a while."""
        until_s = self.network.timeline.now_s + duration_s
        self._frozen[topic] = (self.network.topics[topic].end(), until_s)

    def thaw(self) -> None:
        """Show everything again."""
        self._frozen.clear()

    def visible_end(self, topic: Topic) -> int:
        """Return the offset up to which this process sees records."""
        end = self.network.topics[topic].end()
        if topic in self._frozen:
            frozen, until_s = self._frozen[topic]
            if self.network.timeline.now_s < until_s:
                return min(end, frozen)
            del self._frozen[topic]
        return end

    def commands_in_a_row(self, offset: int) -> int:
        """Return how many commands this process sees from `offset` on without a hole."""
        if self.network.is_silent:
            return 0
        true = self.network.topics[Topic.COMMANDS]
        until = self.visible_end(Topic.COMMANDS) - true.start
        at = begin = offset - true.start
        while begin >= 0 and at < until and true.records[at] is not None:
            at += 1
        return at - begin

    def skip(self) -> None:
        """Use up one skip of the inbox."""
        self.skips -= 1
        self.network.faults.strike(Fault.SKIPPED)

    def abandon(self) -> None:
        """End with the process: of what each writer queued, a part from its beginning lands."""
        until_s = self.network.timeline.now_s + self.chance.uniform(*LATE_S)
        self.held_until_s = max(self.held_until_s, until_s)
        for writer in self._writers:
            writer.close()


class ProcessReader:
    """Reads one topic forward, in batches of any size."""

    def __init__(self, view: ProcessLog, topic: Topic, offset: int) -> None:
        self._view = view
        self._topic = topic
        self._next = offset

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records; one that waits for them waits out whatever makes it lag."""
        view, topic = self._view, self._topic
        true = view.network.topics[topic]
        end = true.end()
        if not true.start <= self._next <= end:
            raise OffsetGoneError(
                f"offset {self._next} of {topic} is not there, it holds {true.start} to {end}",
                wanted=self._next,
                earliest=true.start,
            )
        visible = end if timeout_s > 0 else view.visible_end(topic)
        if self._next >= visible or view.network.is_silent:
            return ()
        begin = self._next - true.start
        most = min(limit, visible - self._next, view.chance.choice(BATCHES))
        found = [record for record in true.records[begin : begin + most] if record is not None]
        if found:
            self._next = found[-1].offset + 1
        elif begin + most < len(true.records):
            # Only holes so far: the fetch goes on behind them.
            self._next += most
        return found

    def pass_holes(self) -> None:
        """Go on behind holes at the end, as a consumer does that waited in vain."""
        true = self._view.network.topics[self._topic]
        if not any(true.records[max(0, self._next - true.start) :]):
            self._next = max(self._next, true.end())

    def next_offset(self) -> int:
        """Return the offset of the first record not yet returned."""
        return self._next

    def close(self) -> None:
        """Nothing is held."""


class ProcessWriter:
    """Appends to one topic in order; what is queued lands after a while, or meets a fault."""

    def __init__(self, view: ProcessLog, topic: Topic) -> None:
        self.queue: deque[Queued] = deque()
        self._view = view
        self._topic = topic
        self._network = view.network
        self._failed_s = inf
        self._landed = (-1, 0.0)
        self._closed = False

    def append(self, key: bytes, value: bytes) -> None:
        """Queue a record."""
        self.check()
        self.queue.append(Queued(key, value, self._network.timeline.now_s))
        self._network.on_the_way[self._topic] += 1
        self._network.timeline.after(self._view.chance.uniform(*LANDING_S), self._deliver)

    def check(self) -> None:
        """Raise LogUnavailableError once a failed delivery is known."""
        if self._network.timeline.now_s >= self._failed_s:
            raise LogUnavailableError(f"a record of {self._topic} was not delivered")

    def flush(self, timeout_s: float) -> None:  # noqa: ARG002
        """Deliver everything now, or raise LogUnavailableError."""
        self._view.check_broker()
        while self.queue:
            self._deliver_one()
        if self._failed_s < inf:
            raise LogUnavailableError(f"a record of {self._topic} was not delivered")

    def unwritten(self, value: bytes) -> int:  # noqa: ARG002
        """What became of a record is not known."""
        return 0

    def close(self) -> None:
        """Let go: of what is queued some still lands, from the beginning and without a hole."""
        if self._closed:
            return
        self._closed = True
        keep = self._view.chance.randint(0, len(self.queue))
        while len(self.queue) > keep:
            self._unqueue(self.queue.pop())

    def _deliver(self) -> None:
        """Deliver the oldest record unless the process or the broker is held up just now."""
        if not self.queue:
            return
        timeline = self._network.timeline
        held_until_s = max(self._view.held_until_s, self._network.silent_until_s)
        if timeline.now_s < held_until_s:
            timeline.after(held_until_s - timeline.now_s, self._deliver)
        else:
            self._deliver_one()

    def _deliver_one(self) -> None:
        network, topic = self._network, self._topic
        queued = self._unqueue(self.queue.popleft())
        if network.has_lost(topic, *self._landed):
            self._failed_s = network.timeline.now_s
            while self.queue:
                self._unqueue(self.queue.popleft())
            return
        kind = network.faults.meets(topic)
        if kind in (Fault.FAILED, Fault.LATE):
            noticed_s = self._view.chance.uniform(*NOTICED_S)
            self._failed_s = min(self._failed_s, network.timeline.now_s + noticed_s)
        before = self._landed
        if kind in (None, Fault.DOUBLED):
            self._landed = (network.land(topic, queued), network.timeline.now_s)
        if kind in (Fault.LATE, Fault.DOUBLED):
            network.land_late(topic, queued, before)

    def _unqueue(self, queued: Queued) -> Queued:
        self._network.on_the_way[self._topic] -= 1
        return queued
