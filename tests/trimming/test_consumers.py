"""Each process that follows the log says how far it is, and says it again once it was forgotten."""

import signal
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event as Signal
from time import monotonic
from typing import Any, Final

import pytest
from structlog.typing import EventDict

from ledger.errors import AccessDeniedError, TopicMissingError
from ledger.log.consumers import CACHE, Consumer, forget, registered
from ledger.log.log_end import last_position
from ledger.log.memory import MemoryLog, MemoryLogReader, MemoryWriter
from ledger.log.port import Log, Topic
from ledger.machine.process import ExitCode
from ledger.testing import FixedClock
from projections.cache.following import FollowedEntries
from projections.fold.follower import Follower, follow, rebuild
from projections.fold.registering import AGAIN_S, MOVED_S, STILL_S, Registration, name_of
from projections.store.memory import MemoryStore
from projections.web.roles.health import registered_check
from tests.driver import Driver
from tests.trimming.conftest import PATIENCE_S, TrimBench

LOOK_S: Final = 0.05
NAME: Final = "rows"
# The options of each role, beside the folder of what it keeps, in the folder of the ledger.
ROLES: Final = {
    "follower": ("--no-http", "--set", "follower.checkpoint_s=1"),
    "publisher": ("--no-http", "--set", "publisher.checkpoint_s=1"),
    "cache": ("--http", "127.0.0.1:0"),
    "notifier": ("--no-http", "--set", "notifier.openlineage={}/told.jsonl"),
    "feeder": ("--set", "feeder.checkpoint_s=1"),
}
WITH_MARKS: Final = [
    pytest.param(role, marks=[pytest.mark.kafka, *([pytest.mark.spark] * (role == "feeder"))])
    for role in ROLES
]


def entry_of(bench: TrimBench, role: str) -> Any:
    """Return the entry of a role once it has come on, while the ledger has more events."""
    until_s = monotonic() + PATIENCE_S
    found = bench.answer("consumers", "list")
    while not any(each["position"] for each in found):
        assert monotonic() < until_s, f"no {role} registered"
        bench.work()
        found = bench.answer("consumers", "list")
        Signal().wait(LOOK_S)
    (entry,) = found
    assert entry["role"] == role
    return entry


@pytest.mark.parametrize("role", WITH_MARKS)
def test_a_role_is_among_the_consumers_and_comes_back_once_it_was_forgotten(
    bench: TrimBench, role: str
) -> None:
    options = [option.format(bench.folder) for option in ROLES[role]]
    serve = (role, "--store", str(bench.folder / NAME), *options)
    with bench.led():
        bench.work()
        entries = []
        for _ in range(2):
            with bench.serve(*serve) as process:
                entry = entry_of(bench, role)
                assert 0 < entry["position"] <= last_position(bench.log, 0)
                assert process.end(signal.SIGTERM) == ExitCode.DONE
            entries.append(entry)
            if role == CACHE:  # It begins anew each time, so it leaves as it ends.
                assert bench.answer("consumers", "list") == []
                continue
            forgotten = bench.run("consumers", "forget", role, entry["name"])
            assert forgotten.returncode == ExitCode.DONE, forgotten.stderr
            assert bench.answer("consumers", "list") == []
        assert len({entry["name"] for entry in entries}) == 1
        assert entries[0]["position"] <= entries[1]["position"]
        again = bench.run("consumers", "forget", role, entries[0]["name"])
        assert again.returncode == ExitCode.USAGE
        assert "there is no consumer" in again.stderr


class Followed:
    """A follower in steps, which has a state checkpoint behind each event."""

    def __init__(self) -> None:
        self.driver, self.clock, self.store = Driver(), FixedClock(), MemoryStore()
        self.session = self.driver.open_session()

    def follow(self) -> None:
        """Follow the log to its end in a process of its own."""
        self.follower().catch_up(Signal())

    def registration(self) -> Registration:
        return Registration(self.driver.log, "follower", NAME, self.clock)

    def follower(self) -> Follower:
        return Follower(
            self.driver.log,
            self.store,
            checkpoint_s=0.0,
            clock=self.clock,
            entry=self.registration(),
        )


def test_a_follower_registers_the_place_of_its_checkpoint_and_a_restart_is_the_same() -> None:
    followed = Followed()
    for _ in range(2):
        followed.follow()
        (entry,) = registered(followed.driver.log) or []
        assert (entry.role, entry.name) == ("follower", NAME)
        assert entry.position == followed.driver.head.position
        forget(followed.driver.log, 0, "follower", NAME)
        followed.driver.open_txn(followed.session)


@pytest.mark.parametrize(("moved", "every_s"), [(1, MOVED_S), (0, STILL_S)])
def test_a_forgotten_process_comes_back_with_its_next_word(moved: int, every_s: float) -> None:
    log, clock = MemoryLog(), FixedClock()
    entry = Registration(log, "follower", NAME, clock)
    for position in (6, 7):
        entry.note(position)
    forget(log, 0, "follower", NAME)
    clock.advance(every_s - 1)
    entry.note(7 + moved)
    assert registered(log) == []
    clock.advance(1)
    entry.note(7 + moved)
    (said,) = registered(log) or []
    assert (said.position, said.at) == (7 + moved, clock.now_ms())


class FirstRead(MemoryLog):
    """A log that keeps which consumers there are as its events are read first."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__()
        self.topics = log.topics
        self.seen: list[Consumer] | None = None

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        """Return a reader, and look at the consumers."""
        if topic is Topic.EVENTS and self.seen is None:
            self.seen = registered(self)
        return super().reader(topic, offset)


def follow_once(log: Log, root: Path, *, rebuild: bool = False) -> None:
    """Follow a log to its end with rows in a folder."""
    stop = Signal()
    follow(log, root, stop, rebuild=rebuild, progress=lambda _read, _end: stop.set())


def make_anew(log: Log, root: Path) -> None:
    """Make rows anew, as a feeder does before it feeds."""
    rebuild(log, root, Signal(), entry=Registration(log, "feeder", NAME, FixedClock()))


def cache(log: Log, _root: Path) -> None:
    """Let a cache follow a log, and close it."""
    entry = Registration(log, CACHE, NAME, FixedClock())
    with closing(FollowedEntries(log, entry=entry).start()) as entries:
        entries.advance(PATIENCE_S, beyond=0)


BEGINS: Final = {
    "new rows": follow_once,
    "rows made anew": partial(follow_once, rebuild=True),
    "a feeder's rows": make_anew,
    "a cache": cache,
}


@pytest.mark.parametrize("begin", BEGINS.values(), ids=BEGINS)
def test_a_process_is_registered_before_its_first_read(
    begin: Callable[[Log, Path], None], tmp_path: Path
) -> None:
    driver = Driver()
    driver.open_txn(driver.open_session())
    log = FirstRead(driver.log)
    begin(log, tmp_path / "rows")
    assert [each.position for each in log.seen or ()] == [0]


def test_a_process_says_nothing_before_the_first_event() -> None:
    """The first sequencer takes a record in any other topic for a trace of lost events."""
    log = MemoryLog()
    entry = Registration(log, "follower", NAME, FixedClock())
    entry.hold()
    assert log.ends(Topic.CONSUMERS)[1] == 0
    driver = Driver()
    Registration(driver.log, "follower", NAME, FixedClock()).hold()
    assert [each.position for each in registered(driver.log) or ()] == [0]


def test_a_cache_that_is_closed_leaves(tmp_path: Path) -> None:
    driver = Driver()
    driver.open_txn(driver.open_session())
    log = FirstRead(driver.log)
    cache(log, tmp_path)
    assert (len(log.seen or ()), registered(log)) == (1, [])


class Refusing(MemoryLog):
    """A log whose broker refuses words of consumers for a while."""

    is_refusing = True

    def writer(self, topic: Topic) -> MemoryWriter:
        """Refuse as a broker does to a user without the right."""
        if topic is Topic.CONSUMERS and self.is_refusing:
            raise AccessDeniedError("no right to write", topic=topic, right="WRITE")
        return super().writer(topic)


def test_a_word_that_was_refused_is_said_again_soon(log_lines: Sequence[EventDict]) -> None:
    log, clock = Refusing(), FixedClock()
    entry = Registration(log, "follower", NAME, clock)
    for _ in range(3):
        entry.note(7)
        assert "no right to write" in registered_check(entry).detail
        clock.advance(AGAIN_S)
    entry.note(7)
    log.is_refusing = False
    clock.advance(AGAIN_S - 1)
    entry.note(7)
    assert (registered(log), entry.problem) == ([], "no right to write")
    clock.advance(1)
    entry.note(7)
    assert [each.position for each in registered(log) or ()] == [7]
    assert "no right" not in registered_check(entry).detail
    assert [line["event"] for line in log_lines] == ["not registered", "registered"]


class WithoutConsumers(MemoryLog):
    """The log of a ledger that has no topic of consumers."""

    def topic_id(self, topic: Topic) -> str:
        """Refuse as a broker that has never heard of it."""
        if topic is Topic.CONSUMERS:
            raise TopicMissingError("there is no such topic", topic=topic)
        return super().topic_id(topic)


def test_a_ledger_without_the_topic_is_told_of_once(log_lines: Sequence[EventDict]) -> None:
    log, clock = WithoutConsumers(), FixedClock()
    entry = Registration(log, "follower", NAME, clock)
    for position in range(1, 4):
        entry.note(position)
        clock.advance(MOVED_S)
    assert registered(log) is None
    assert [line["event"] for line in log_lines] == ["not registered"]


def test_the_name_of_a_consumer_is_that_of_its_folder(tmp_path: Path) -> None:
    here, there = tmp_path / NAME, tmp_path / "other" / NAME
    assert name_of(here) == name_of(here)
    assert name_of(here).startswith(f"{NAME}-")
    assert name_of(here) != name_of(there)
