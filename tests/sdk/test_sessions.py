"""Sessions: opened once, kept open by heartbeats, lost with their txns, and closed in the end."""

import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import repeat

import pytest
from structlog.typing import EventDict

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.config.settings import ClientSettings
from ledger.core.commands import OpenTxn
from ledger.core.limits import WINDOW
from ledger.errors import (
    LimitExceededError,
    LogError,
    OutcomeUnknownError,
    SessionExpiredError,
    SettingsError,
)
from ledger.log.lossy import LossyLog, LossyWriter
from ledger.log.port import Topic
from ledger.session.channel import Channel
from ledger.session.session import UNNUMBERED, ClientSession
from ledger.session.sessions import ClientSessions, Labels
from ledger.session.tail import Awaited
from ledger.testing import InMemoryLedger
from tests.sdk.conftest import ALWAYS, IMPATIENT, LEASE_S, opened

BEGIN = OpenTxn(*UNNUMBERED, "default", 1, 0)


class Processes:
    """Processes with a channel and sessions each, which draw the nonces they are given."""

    def __init__(self) -> None:
        self._started: list[tuple[ClientSessions, Channel]] = []

    def start(self, log: LossyLog, nonces: Iterable[bytes] = repeat(b"n" * 16)) -> ClientSessions:
        """Return the sessions of another process."""
        drawn = iter(nonces)
        channel = Channel.open(log, 0)
        sessions = ClientSessions(
            channel,
            Labels("ada", "host", "etl"),
            lease_ms=10_000,
            settings=IMPATIENT,
            clock=SystemClock(),
            draw_nonce=lambda: next(drawn),
        )
        self._started.append((sessions, channel))
        return sessions

    def close(self) -> None:
        for sessions, channel in self._started:
            sessions.close()
            channel.close()


@pytest.fixture
def processes(memory: InMemoryLedger) -> Iterator[Processes]:
    assert memory.leader.failure is None
    found = Processes()
    yield found
    found.close()


def test_a_session_is_opened_once_when_it_is_needed(ledger: Ledger, memory: InMemoryLedger) -> None:
    before = opened(memory)
    ledger.begin()
    txn = ledger.begin()
    ledger.close()

    session, row = opened(memory)[0], memory.reads.txn(txn.id)
    closed = memory.reads.session(session)
    assert (before, opened(memory)) == ([], [session])
    assert row is not None
    assert closed is not None
    assert (row.status, row.reason, row.ended) == ("aborted", "closed", closed.ended)


def test_a_script_whose_name_is_no_text_can_use_a_ledger(memory: InMemoryLedger) -> None:
    with memory.connect(application="caf\udce9.py") as ledger:
        txn = ledger.begin()

    row = memory.reads.txn(txn.id)
    assert row is not None
    assert row.application == "caf\\udce9.py"


@pytest.mark.parametrize("fault", ["lost", "refused", "unacknowledged", "doubled"])
def test_whatever_happens_to_the_command_that_opens_it_a_session_is_opened_once(
    processes: Processes, memory: InMemoryLedger, log: LossyLog, fault: str
) -> None:
    getattr(log, fault)[Topic.COMMANDS] = 1

    found = processes.start(log).current().number

    assert opened(memory) == [found]


def test_opened_again_by_nonce(processes: Processes, memory: InMemoryLedger, log: LossyLog) -> None:
    """A nonce is the name of its session: who asks again under it gets the same one."""
    first = processes.start(log).current()

    again = processes.start(log).current()

    assert (first.number, opened(memory)) == (again.number, [first.number])


def test_a_session_that_fell_silent_has_lost_its_txns(still: InMemoryLedger) -> None:
    ledger = still.connect(settings=IMPATIENT)
    txn = ledger.begin()
    still.advance(LEASE_S + 1)

    with pytest.raises(SessionExpiredError, match="Begin the txn again"):
        txn.commit()

    assert txn.status == "aborted"
    assert ledger.begin().id == txn.id + 1
    assert len(opened(still)) == 2


def test_an_idle_session_that_expired_is_replaced_silently(still: InMemoryLedger) -> None:
    ledger = still.connect(settings=IMPATIENT)
    ledger.create_table("flights")
    still.advance(LEASE_S + 1)

    with ledger.transaction() as txn:
        assert txn.write_id("flights") == 1

    assert txn.status == "committed"
    assert len(opened(still)) == 2


def test_a_block_whose_session_expired_raises_at_its_end(still: InMemoryLedger) -> None:
    ledger = still.connect(settings=IMPATIENT)
    with pytest.raises(SessionExpiredError), ledger.transaction() as txn:
        still.advance(LEASE_S + 1)

    assert txn.status == "aborted"


def test_a_session_that_beats_outlives_its_lease(still: InMemoryLedger, log: LossyLog) -> None:
    ledger = still.connect(settings=ClientSettings(beat_s=0.01))
    txn = ledger.begin()
    for _ in range(4):
        log.wait_for(Topic.HEARTBEATS, log.topics[Topic.HEARTBEATS].end() + 2)
        still.leader.wait_rounds(1)
        still.advance(0.9 * LEASE_S)

    assert txn.commit().txn == txn.id
    beat = log.topics[Topic.HEARTBEATS].records[0]
    assert (beat.key, beat.value) == (str(opened(still)[0]).encode(), b"beat")


class StrainedLog(LossyLog):
    """A log that has no heartbeats' writer to give for a while, as where no thread is left."""

    refusals = 3

    def writer(self, topic: Topic) -> LossyWriter:
        if topic is Topic.HEARTBEATS and self.refusals:
            self.refusals -= 1
            raise SettingsError("failed to create thread")
        return super().writer(topic)


def test_a_session_whose_beats_could_not_be_sent_goes_on_to_beat(
    memory: InMemoryLedger, log: LossyLog, log_lines: Sequence[EventDict]
) -> None:
    strained = memory.connect(settings=ClientSettings(beat_s=0.01), log=StrainedLog(log))
    strained.begin()
    log.wait_for(Topic.HEARTBEATS, 1)

    said = [line["why"] for line in log_lines if line["event"] == "no beat"]
    assert said == ["failed to create thread"]


def test_commands_beyond_the_window_wait(memory: InMemoryLedger, log: LossyLog) -> None:
    ledger = memory.connect()
    ledger.begin()
    memory.leader.crash()
    before = log.topics[Topic.COMMANDS].end()
    threads = WINDOW + 60
    with ThreadPoolExecutor(threads) as pool:
        asked = [pool.submit(ledger.begin) for _ in range(threads)]
        log.wait_for(Topic.COMMANDS, before + WINDOW)
        under_way = log.topics[Topic.COMMANDS].end() - before
        memory.leader = memory.standby("successor").start()
        ids = sorted(each.result().id for each in asked)

    assert under_way == WINDOW
    assert ids == list(range(2, threads + 2))


def test_a_session_of_which_nothing_arrives_for_a_whole_window_is_given_up_for_a_fresh_one(
    processes: Processes, memory: InMemoryLedger, log: LossyLog
) -> None:
    nonces = iter((b"n" * 16, b"m" * 16))
    own = processes.start(log, nonces)
    session = own.current()
    log.lost[Topic.COMMANDS] = ALWAYS
    unanswered = [is_unanswered(session) for _ in range(WINDOW)]

    with pytest.raises(LimitExceededError, match="Nothing was sent"):
        session.ask(BEGIN, 0.001)
    log.heal()

    assert all(unanswered)
    assert session.is_expired
    fresh, found = own.ask(BEGIN)
    assert opened(memory) == [session.number, fresh.number]
    assert (found.control.session, found.control.txn) == (fresh.number, 1)


def is_unanswered(session: ClientSession) -> bool:
    """Tell whether a command that is given no time has no answer."""
    try:
        session.ask(BEGIN, 0.0005)
    except OutcomeUnknownError:
        return True
    return False


def test_late_answers_make_room(
    processes: Processes, memory: InMemoryLedger, log: LossyLog
) -> None:
    view = LossyLog(log)
    session = processes.start(view).current()
    begins = log.topics[Topic.COMMANDS].end()
    view.away[Topic.EVENTS] = ALWAYS
    unanswered = [is_unanswered(session) for _ in range(WINDOW)]
    log.wait_for(Topic.COMMANDS, begins + WINDOW)
    memory.leader.wait_rounds(2)
    view.heal()

    found = session.ask(BEGIN)

    assert all(unanswered)
    assert not session.is_expired
    assert found.control.n == WINDOW + 1


class InterruptedOnce(ClientSession):
    """A session of which a call is interrupted before it has made room for others."""

    is_interrupted = False

    def _settle(self, n: int, unanswered: Awaited | None) -> None:
        if not self.is_interrupted:
            self.is_interrupted = True
            raise KeyboardInterrupt
        super()._settle(n, unanswered)


def test_interrupted_calls_make_room(
    processes: Processes, memory: InMemoryLedger, log: LossyLog
) -> None:
    number = processes.start(log).current().number
    with closing(Channel.open(log, 0)) as channel:
        session = InterruptedOnce(
            channel, number, lease_s=LEASE_S, beat_s=1.0, settings=IMPATIENT, clock=SystemClock()
        )
        with pytest.raises(KeyboardInterrupt):
            session.ask(BEGIN, 0.5)
        begun = [session.ask(BEGIN).control.n for _ in range(WINDOW + 5)]
        session.close()

    assert begun == list(range(2, WINDOW + 7))
    assert memory.leader.failure is None


def test_close_without_a_sequencer(memory: InMemoryLedger) -> None:
    before = set(threading.enumerate())
    ledger = memory.connect(settings=ClientSettings(close_s=0.05))
    ledger.begin()
    started = {thread.name for thread in set(threading.enumerate()) - before}
    memory.leader.crash()

    ledger.close()

    assert started == {"lakeledger-tail", "lakeledger-pulse"}
    assert set(threading.enumerate()) <= before


def test_a_close_interrupted_leaves_nothing(memory: InMemoryLedger, log: LossyLog) -> None:
    before = set(threading.enumerate())
    ledger = memory.connect()
    ledger.begin()
    log.interrupted[Topic.COMMANDS] = 1

    with pytest.raises(KeyboardInterrupt):
        ledger.close()

    assert set(threading.enumerate()) <= before
    with pytest.raises(LogError, match="this ledger was closed"):
        ledger.begin()


def test_who_asks_while_a_ledger_is_being_closed_opens_no_session(
    processes: Processes, memory: InMemoryLedger, log: LossyLog
) -> None:
    own = processes.start(log)
    session = own.current()
    own.close()

    with pytest.raises(LogError, match="this ledger was closed"):
        own.ask(BEGIN)

    assert opened(memory) == [session.number]


def test_a_process_that_forgets_to_close_its_ledger_ends_its_session_at_exit() -> None:
    script = (
        "import atexit\n"
        "from ledger.testing import InMemoryLedger\n"
        "memory = InMemoryLedger().__enter__()\n"
        "atexit.register(lambda: print(*(e.type for e in memory.reads.history(0, 99))))\n"
        "memory.connect().begin()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )

    assert "SessionClosed" in done.stdout.split()
    assert done.stderr == ""
