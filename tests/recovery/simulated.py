"""Simulated logs that lose their end: cut, led again, and compared with what they had given.

Histories of the simulation, with all its faults, are the logs. Each loses its end, and some take a
record that no sequencer wrote.
"""

import random

from ledger.core.decide.cut import Seen, seen_in
from ledger.core.evolve.evolve import evolve
from ledger.errors import LogDamagedError
from ledger.log.batches import BatchAcceptor
from ledger.log.memory import MemoryLog
from ledger.log.port import Record, Topic
from ledger.recovery.cutting import append_cut
from ledger.recovery.survey import survey
from tests.core.cutting import ids_given
from tests.core.histories import random_steps
from tests.core.invariants import check_invariants
from tests.core.test_cut import follows, going_on
from tests.driver import Driver
from tests.simulation.world import World

STRAY = b"what is this"
STEPS = 20


class LineageError(AssertionError):
    """A cut log gave something again, or cannot be read."""


def run(seed: int) -> None:
    """Run a seed, cut what is left of its log, and go on; raises LineageError or what it meets."""
    chance = random.Random(seed)  # noqa: S311 - a seed must come back
    world = World(seed)
    world.run()
    found_there = world.network.topics[Topic.EVENTS].records
    records = sound([each for each in found_there if each is not None])
    whole = read(records)
    keep = chance.randrange(first_of(records), len(records) + 1)
    log, passed = MemoryLog(), []
    writer = log.writer(Topic.EVENTS)
    for record in records[:keep]:
        writer.append(record.key, record.value)
    if chance.random() < 0.3:
        passed.append(keep)
        writer.append(b"", STRAY)
    found = survey(log, None, margin=0, passed=passed)
    seen = most_of(found.seen, seen_in(whole.state, whole.head.epoch))
    append_cut(log, found._replace(seen=seen), "power cut", passed)
    short = driver_of(log)
    before = len(short.events)
    player = going_on(short)
    for step in random_steps(seed, STEPS):
        player.play(step)
    check_invariants(short.state)
    gone = ids_given(whole.events[before - 1 :])
    again = gone & ids_given(each for each in short.events if follows(short, each))
    if again:
        raise LineageError(f"seed {seed}, {keep} of {len(records)} records: {sorted(again)[:3]}")
    if driver_of(log).head != short.head:
        raise LineageError(f"seed {seed}: a reader from the beginning comes to another head")


def most_of(one: Seen, other: Seen) -> Seen:
    """Return the most of both."""
    return other._replace(
        position=max(one.position, other.position), epoch=max(one.epoch, other.epoch)
    )


def sound(records: list[Record]) -> list[Record]:
    """Return the records up to one whose bytes a fault has damaged."""
    driver = Driver.empty(0)
    for count, record in enumerate(records):
        try:
            driver.acceptor.take(record.value)
        except LogDamagedError:
            return records[:count]
    return records


def first_of(records: list[Record]) -> int:
    """Return how many records it takes until there is a ledger."""
    for count in range(1, len(records) + 1):
        if read(records[:count]).state.genesis is not None:
            return count
    raise LineageError("the simulation made no ledger")


def read(records: list[Record]) -> Driver:
    """Return a driver of a log that holds these records."""
    log = MemoryLog()
    writer = log.writer(Topic.EVENTS)
    for record in records:
        writer.append(record.key, record.value)
    return driver_of(log)


def driver_of(log: MemoryLog) -> Driver:
    """Return a driver that goes on with a log, read as every reader does."""
    driver = Driver.empty(0)
    driver.go_on_with(log)
    batches = BatchAcceptor(log, driver.acceptor, 0)
    records = log.topics[Topic.EVENTS].records
    for _, event in batches.events(list(records)):
        if event is not None:
            evolve(driver.state, event)
            driver.events.append(event)
    driver.now = driver.state.at
    return driver
