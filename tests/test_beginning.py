"""A ledger begins where nothing of it is there, and nowhere else, whatever was lost or made anew.

Each topic is made anew, alone and with every other. Where the events are among them, whoever needs
them says that they are lost; otherwise the ledger goes on with all it had.
"""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from itertools import combinations
from typing import Final

import pytest

from ledger.config.settings import Genesis
from ledger.core.commands import CreateTable, OpenSession, OpenTxn
from ledger.core.limits import NONCE_BYTES
from ledger.errors import (
    EventsLostError,
    FencedError,
    LedgerError,
    LogDamagedError,
    LogUnavailableError,
    OffsetGoneError,
)
from ledger.log.batches import BatchAcceptor
from ledger.log.beginning import check_not_lost
from ledger.log.checkpoints import Checkpoint, CheckpointWriter
from ledger.log.lossy import LossyLog
from ledger.log.memory import MemoryLog
from ledger.log.port import LogReader, Topic
from ledger.log.replay import verify
from ledger.log.wire.codec import encode_command
from ledger.sequencer.sequencer import Sequencer
from ledger.session.tail import Tail, read_genesis
from ledger.testing import FixedClock
from tests.driver import definition
from tests.integration.raw_client import UNNUMBERED, RawClient
from tests.integration.slow_log import PausedReader

ROUND_S: Final = 0.1
ROUNDS: Final = 100
OPEN_TXN: Final = OpenTxn(*UNNUMBERED, "default", 1, 0)
SESSION_ASKED_FOR: Final = encode_command(
    OpenSession(0, 0, 2**62, b"n" * NONCE_BYTES, "raw", "host", "early", 0)
)
OTHERS: Final = tuple(topic for topic in Topic if topic is not Topic.EVENTS)
SETS: Final = [
    frozenset(topics) for count in (1, 2) for topics in combinations(tuple(Topic), count)
]


def named(topics: frozenset[Topic]) -> str:
    return " and ".join(sorted(topics))


class PausedLog(MemoryLog):
    """A log in memory of which a process sees no newer events while it is paused."""

    is_paused = False

    def __init__(self) -> None:
        super().__init__()
        self.is_forbidden: set[Topic] = set()

    def reader(self, topic: Topic, offset: int) -> LogReader:  # type: ignore[override]
        assert topic not in self.is_forbidden
        reader = super().reader(topic, offset)
        return PausedReader(reader, lambda: topic is Topic.EVENTS and self.is_paused)


class Lived:
    """A ledger that was in use: every topic holds something of it, and nothing of it runs now."""

    def __init__(self) -> None:
        self.log, self.clock = PausedLog(), FixedClock()
        self.sequencer = self.start()
        self.client = RawClient(self.log, self.turn)
        self.session = self.client.open_session()
        self.client.ask(self.session, CreateTable(*UNNUMBERED, 0, 0, "main", "db.t", definition()))
        self.txn = self.client.ask(self.session, OPEN_TXN).control.txn
        self.client.beat(self.session)
        self.turn()
        self.sequencer.close()
        for topic in (Topic.CATALOGS, Topic.CACHE, Topic.CONSUMERS):
            self.log.writer(topic).append(b"main", b"what another part of the product wrote")
        self.position = self.client.acceptor.head.position
        self.ledger = self.genesis()

    def start(self) -> Sequencer:
        return Sequencer(self.log, Genesis("lived"), clock=self.clock)

    def turn(self) -> None:
        self.clock.advance(ROUND_S)
        self.sequencer.step(0.0)

    def turns(self) -> None:
        for _ in range(ROUNDS):
            self.turn()

    def lead(self) -> None:
        """Start a sequencer and let it do rounds until it leads, or ends by what it raises."""
        self.sequencer = self.start()
        for _ in range(ROUNDS):
            self.turn()
            if self.sequencer.leader is not None:
                return
        raise TimeoutError("it does not lead")

    def genesis(self) -> str:
        """Return the id of the ledger, as clients find it."""
        return read_genesis(self.log, 0.0).ledger

    def write_checkpoint(self) -> None:
        acceptor = self.client.acceptor
        batches = BatchAcceptor(self.log, acceptor, self.log.ends(Topic.EVENTS)[1])
        with closing(self.log.writer(Topic.CHECKPOINTS)) as writer:
            checkpoint = Checkpoint(self.client.state, acceptor.head, batches.offset)
            CheckpointWriter(writer, 0).write(checkpoint)

    def check_begun_by_nobody(self) -> None:
        """Make sure that sequencers, clients and readers say that the events are lost."""
        before = {topic: self.log.ends(topic) for topic in Topic}
        with pytest.raises(EventsLostError):
            self.lead()
        with pytest.raises(EventsLostError, match="the events of this ledger are gone"):
            read_genesis(self.log, 30.0)
        assert {topic: self.log.ends(topic) for topic in Topic} == before

    def close(self) -> None:
        """Let go of the log."""
        self.client.close()
        self.sequencer.close()


@pytest.fixture(params=["with a checkpoint", "without one"])
def lived(request: pytest.FixtureRequest) -> Iterator[Lived]:
    """Return a ledger that was in use."""
    with closing(Lived()) as lived:
        if request.param == "with a checkpoint":
            lived.write_checkpoint()
        else:
            lived.log.writer(Topic.CHECKPOINTS).append(b"0/7/0", b"a chunk without a manifest")
        assert all(lived.log.ends(topic)[1] for topic in Topic)
        yield lived


@pytest.mark.parametrize("anew", [each for each in SETS if Topic.EVENTS in each], ids=named)
def test_without_its_events_no_ledger_is_begun_again(lived: Lived, anew: frozenset[Topic]) -> None:
    for topic in anew:
        lived.log.recreate(topic)

    lived.check_begun_by_nobody()
    with pytest.raises(EventsLostError):
        verify(lived.log)


@pytest.mark.parametrize("anew", [each for each in SETS if Topic.EVENTS not in each], ids=named)
def test_other_topics_made_anew(lived: Lived, anew: frozenset[Topic]) -> None:
    """With its events a ledger goes on: nothing that was answered is lost."""
    for topic in anew:
        lived.log.recreate(topic)

    lived.lead()

    client = lived.client
    after = client.ask(client.open_session(), OPEN_TXN)
    assert lived.genesis() == lived.ledger
    assert after.control.position > lived.position
    assert after.control.txn == lived.txn + 1
    assert client.state.tables.named("main", "db.t") is not None


@pytest.mark.parametrize("left", OTHERS)
@pytest.mark.parametrize("removed", [False, True], ids=["kept", "removed since"])
def test_one_trace_is_enough(left: Topic, *, removed: bool) -> None:
    with closing(Lived()) as lived:
        lived.write_checkpoint()
        for topic in set(Topic) - {left}:
            lived.log.recreate(topic)
        end = lived.log.ends(left)[1]
        if removed:
            lived.log.remove_below(left, end)

        lived.check_begun_by_nobody()
        with pytest.raises(EventsLostError) as raised:
            read_genesis(lived.log, 0.0)
    assert raised.value.traces == (f"its {left} topic ends at {end}",)


@pytest.mark.parametrize(
    ("early", "begins"),
    [
        (SESSION_ASKED_FOR, True),
        (encode_command(OPEN_TXN._replace(session=7, n=1)), False),
        (b"what no version reads", False),
    ],
    ids=["a session", "a txn of a session", "anything else"],
)
@pytest.mark.parametrize("others", [0, 3])
def test_commands_before_the_beginning(early: bytes, others: int, *, begins: bool) -> None:
    """Who asks a ledger for sessions before it has begun does not keep it from its beginning."""
    log, clock = MemoryLog(), FixedClock()
    writer = log.writer(Topic.COMMANDS)
    for value in [SESSION_ASKED_FOR] * others + [early]:
        writer.append(b"", value)
    with closing(Sequencer(log, Genesis("asked"), clock=clock)) as sequencer:
        told = (
            nullcontext() if begins else pytest.raises(EventsLostError, match="commands topic ends")
        )
        with told:
            for _ in range(ROUNDS):
                clock.advance(ROUND_S)
                sequencer.step(0.0)
        assert (sequencer.leader is not None) is begins


def test_commands_of_a_ledger_with_events(lived: Lived) -> None:
    """A start reads no commands for traces where there are events: one may take very long."""
    lived.log.is_forbidden.add(Topic.COMMANDS)
    check_not_lost(lived.log, rows=["rows"])
    lived.log.recreate(Topic.CHECKPOINTS)
    lived.log.is_paused = True
    with closing(lived.start()) as again:
        for _ in range(ROUNDS):
            lived.clock.advance(ROUND_S)
            again.step(0.0)
        assert again.leader is None


def test_where_nothing_tells_of_a_ledger_a_new_one_begins() -> None:
    with closing(Lived()) as lived:
        for topic in Topic:
            lived.log.recreate(topic)

        lived.lead()

        assert lived.genesis() != lived.ledger


def test_claims_are_no_beginning(lived: Lived) -> None:
    with closing(Lived()) as other:
        claim = other.log.topics[Topic.EVENTS].records[0]
    lived.log.recreate(Topic.EVENTS)
    lived.log.writer(Topic.EVENTS).append(claim.key, claim.value)

    with pytest.raises((EventsLostError, LogDamagedError)):
        lived.lead()
    with pytest.raises(EventsLostError):
        read_genesis(lived.log, 0.0)
    assert lived.log.ends(Topic.EVENTS) == (0, 1)


def test_a_sequencer_that_claimed_and_ended_early_leaves_no_trace() -> None:
    log, clock = MemoryLog(), FixedClock()
    with closing(Sequencer(log, Genesis("first"), clock=clock)) as first:
        while not log.ends(Topic.EVENTS)[1]:
            clock.advance(ROUND_S)
            first.step(0.0)
    with closing(Sequencer(log, Genesis("second"), clock=clock)) as second:
        for _ in range(ROUNDS):
            clock.advance(ROUND_S)
            second.step(0.0)
    assert read_genesis(log, 0.0).name == "second"


@pytest.mark.parametrize("lost", [1, 2])
def test_beginning_that_does_not_arrive(lost: int) -> None:
    log, clock = LossyLog(), FixedClock()
    with closing(Sequencer(log, Genesis("first"), clock=clock)) as first:
        while not log.ends(Topic.EVENTS)[1]:
            clock.advance(ROUND_S)
            first.step(0.0)
        log.lost[Topic.EVENTS] = lost
        with pytest.raises((LogUnavailableError, FencedError)):
            first.step(0.0)
    assert [log.ends(topic)[1] for topic in OTHERS] == [0] * len(OTHERS)
    with closing(Sequencer(log, Genesis("second"), clock=clock)) as second:
        for _ in range(ROUNDS):
            clock.advance(ROUND_S)
            second.step(0.0)
    assert read_genesis(log, 0.0).name == "second"


@pytest.mark.parametrize("grown", [False, True], ids=["empty", "with a claim"])
def test_a_standby_claims_nothing_in_another_topic(lived: Lived, *, grown: bool) -> None:
    with closing(Lived()) as other:
        claim = other.log.topics[Topic.EVENTS].records[0]
    standby = lived.start()
    standby.step(0.0)
    lived.log.is_paused = True
    lived.log.recreate(Topic.EVENTS)
    if grown:
        lived.log.writer(Topic.EVENTS).append(claim.key, claim.value)
    before = lived.log.ends(Topic.EVENTS)

    lived.sequencer = standby
    with pytest.raises((LogDamagedError, EventsLostError, OffsetGoneError)):
        lived.turns()

    assert lived.log.ends(Topic.EVENTS) == before


def test_a_leader_whose_events_are_made_anew_ends_and_whatever_it_left_begins_no_ledger() -> None:
    with closing(Lived()) as lived:
        lived.lead()
        lived.log.recreate(Topic.EVENTS)
        lived.client.send(lived.session, OPEN_TXN)
        with pytest.raises(LedgerError):
            lived.turns()
        with pytest.raises((EventsLostError, LogDamagedError)):
            lived.lead()
        records = lived.log.topics[Topic.EVENTS].records
    assert len(records) <= 1, "only what was on its way"


def test_a_client_is_told_that_the_log_is_no_longer_the_one_it_read() -> None:
    with closing(Lived()) as lived:
        tail = Tail.start(lived.log, 0)
        awaited = tail.expect((lived.session, 1_000))
        lived.log.recreate(Topic.EVENTS)
        with pytest.raises(LogDamagedError, match="lost its end or was re-created"):
            awaited.wait(30.0)
        tail.close()
