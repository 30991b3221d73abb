"""The law of leases over the real sequencer, time moved by hand: who lives is never ended.

Take-overs, backlogs, heartbeats held up and jumps of the wall clock end nobody who gives a sign of
life within every lease. Beside the living there is always someone silent, who must be ended, or the
others would prove nothing. The same with real processes and in real time is in `test_leases_live`.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import pytest
from structlog.typing import EventDict

from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.commands import AbortTxn, OpenTxn
from ledger.core.events.events import CommandRefused, TxnOpened
from ledger.core.limits import DEFAULT_LIMITS
from ledger.core.refusals import Reason
from ledger.log.port import Topic
from ledger.sequencer.leases import DEADLINES_SPARE
from ledger.sequencer.sequencer import Sequencer
from tests.integration.raw_client import UNNUMBERED, RawClient
from tests.integration.result import asker_of
from tests.integration.slow_log import LosingWriter, SlowLog

LEASE_S = 10.0
STEP_S = 0.5
HOUR_S = 3600.0
STARTED_AT_MS = 1_700_000_000_000
OPEN_TXN = OpenTxn(*UNNUMBERED, "default", 1, 0)


@dataclass(slots=True)
class HandClock:
    """A clock that is moved by hand; `error_s` is how wrong its wall time is."""

    passed_s: float = 0.0
    error_s: float = 0.0

    def now_ms(self) -> int:
        """Return the wall time in milliseconds."""
        return STARTED_AT_MS + round((self.passed_s + self.error_s) * 1000)

    def monotonic_s(self) -> float:
        """Return the seconds since the clock was made."""
        return self.passed_s


class Domain:
    """A sequencer over a log in memory, a client, and the one clock of both."""

    def __init__(self, lease_s: float = LEASE_S) -> None:
        self.log, self.clock = SlowLog(), HandClock()
        self.limits = DEFAULT_LIMITS._replace(lease_ms=round(lease_s * 1000))
        self.is_slow = False
        self.sequencer = self.standby()
        self.client = RawClient(self.log, self.turn)

    def standby(self) -> Sequencer:
        """Return a sequencer that will lead once it finds nobody who does."""
        settings = SequencerSettings(lease_s=LEASE_S)
        created = Genesis("leases", limits=self.limits)
        return Sequencer(self.log, created, settings=settings, clock=self.clock)

    def turn(self) -> None:
        """Let the sequencer do one round, which takes a second if it is slow."""
        self.clock.passed_s += self.is_slow
        self.sequencer.step(0.0)

    def live(self, *sessions: int, for_s: float) -> None:
        """Let time pass round by round, in which these sessions beat once a second."""
        for step in range(round(for_s / STEP_S)):
            self.clock.passed_s += STEP_S
            for session in sessions if step % 2 else ():
                self.client.beat(session)
            self.turn()
        self.client.read()

    def take_over(self) -> None:
        """Lose the leader without a word, and let another one lead."""
        self.sequencer.close()
        self.sequencer = self.standby()
        while self.sequencer.leader is None:
            self.clock.passed_s += STEP_S
            self.turn()

    def close(self) -> None:
        """Let go of everything."""
        self.client.close()
        self.sequencer.close()


@pytest.fixture
def domain() -> Iterator[Domain]:
    """Return a new ledger that is led."""
    with closing(Domain()) as domain:
        yield domain


def open_txn(client: RawClient, session: int) -> int:
    return client.ask(session, OPEN_TXN).control.txn


def test_a_session_that_is_silent_for_a_lease_is_ended_with_its_txns(domain: Domain) -> None:
    client = domain.client
    live, silent = client.open_session(), client.open_session()
    kept, lost = open_txn(client, live), open_txn(client, silent)
    domain.live(live, for_s=2 * LEASE_S)
    assert client.expired() == ([silent], [(lost, "lease")])
    assert client.state.txns.status(kept)[0] == "open"
    answer = client.ask(silent, OPEN_TXN).body
    assert isinstance(answer, CommandRefused)
    assert answer.reason == Reason.SESSION_EXPIRED


def test_a_txn_past_its_own_deadline_ends_although_its_session_beats(domain: Domain) -> None:
    client = domain.client
    session = client.open_session()
    short = client.ask(session, OpenTxn(*UNNUMBERED, "default", 1, 15_000)).control.txn
    long = open_txn(client, session)
    domain.live(session, for_s=22)
    assert client.expired() == ([], [(short, "deadline")])
    assert client.state.txns.status(long)[0] == "open"


def test_the_deadlines_of_txns_that_have_ended_are_let_go_of(domain: Domain) -> None:
    client = domain.client
    session = client.open_session()
    txn = client.ask(session, OpenTxn(*UNNUMBERED, "default", 1, 15_000)).control.txn
    for _ in range(DEADLINES_SPARE + 2):
        client.ask(session, AbortTxn(*UNNUMBERED, open_txn(client, session), "", ()))
    leader = domain.sequencer.leader
    assert leader is not None
    leases = leader._leases  # noqa: SLF001 - what is kept shows nowhere else
    domain.live(session, for_s=2 * STEP_S)
    assert [each for _, each in leases.deadlines] == [txn]
    domain.live(session, for_s=20)
    assert client.expired() == ([], [(txn, "deadline")])


@pytest.mark.parametrize("takes_over", [False, True], ids=["the same leader", "a successor"])
@pytest.mark.parametrize("lease_s", [2.0, LEASE_S, 6 * LEASE_S])
def test_lease_of_a_session(domain: Domain, lease_s: float, *, takes_over: bool) -> None:
    """Each session has the lease that it asked for, also with a leader that did not open it."""
    client = domain.client
    live = client.open_session()
    domain.live(live, for_s=2 * LEASE_S)
    session = client.open_session(round(lease_s * 1000))
    if takes_over:
        domain.take_over()
    # A leader ends nobody within the first lease of its term, which is that of the ledger.
    least_s = max(lease_s, LEASE_S) if takes_over else lease_s
    domain.live(live, for_s=least_s - 2 * STEP_S)
    before = client.expired()
    domain.live(live, for_s=LEASE_S)
    assert (before, client.expired()) == (([], []), ([session], []))


@pytest.mark.parametrize("away_s", [0, LEASE_S, HOUR_S], ids=lambda away_s: f"{away_s:.0f} s")
def test_a_new_leader_gives_everyone_a_whole_lease(domain: Domain, away_s: float) -> None:
    client = domain.client
    live, silent = client.open_session(), client.open_session()
    txn = client.ask(live, OpenTxn(*UNNUMBERED, "default", 1, round(2 * HOUR_S * 1000))).control.txn
    domain.clock.passed_s += away_s
    domain.take_over()
    domain.live(for_s=LEASE_S - 2 * STEP_S)
    assert client.expired() == ([], [])
    domain.live(live, for_s=2 * LEASE_S)
    assert client.expired() == ([silent], [])
    assert client.state.txns.status(txn)[0] == "open"


def test_overdue_at_take_over(domain: Domain) -> None:
    client = domain.client
    session = client.open_session()
    txn = client.ask(session, OpenTxn(*UNNUMBERED, "default", 1, 15_000)).control.txn
    domain.clock.passed_s += HOUR_S
    domain.take_over()
    domain.live(session, for_s=LEASE_S - 2 * STEP_S)
    assert client.expired() == ([], [])
    domain.live(session, for_s=1.5 * LEASE_S)
    assert client.expired() == ([], [(txn, "deadline")])


@pytest.mark.parametrize("takes_over", [False, True], ids=["the same leader", "a successor"])
def test_commands_after_an_event_ahead_are_in_time(domain: Domain, *, takes_over: bool) -> None:
    client = domain.client
    session = client.open_session()
    domain.clock.error_s += HOUR_S
    client.ask(session, OPEN_TXN)
    domain.clock.error_s -= HOUR_S
    if takes_over:
        domain.take_over()
    in_time = domain.clock.now_ms() + 10_000
    short = client.ask(session, OpenTxn(*UNNUMBERED, "default", 1, 15_000), in_time)
    assert isinstance(short.body, TxnOpened)
    domain.live(session, for_s=14)
    assert client.expired() == ([], [])
    domain.live(session, for_s=LEASE_S)
    assert client.expired() == ([], [(short.control.txn, "deadline")])


def test_the_lease_that_the_ledger_was_created_with_counts() -> None:
    with closing(Domain(6 * LEASE_S)) as domain:
        client = domain.client
        session = client.open_session()
        txn = client.ask(session, OpenTxn(*UNNUMBERED, "default", 1, 15_000)).control.txn
        domain.take_over()
        domain.live(session, for_s=6 * LEASE_S - 2 * STEP_S)
        assert client.expired() == ([], [])
        domain.live(session, for_s=4 * LEASE_S)
        assert client.expired() == ([], [(txn, "deadline")])


@pytest.mark.parametrize("resigns", [False, True], ids=["is lost", "resigns"])
def test_a_txn_keeps_its_time_whatever_the_next_clock(domain: Domain, *, resigns: bool) -> None:
    client = domain.client
    session = client.open_session()
    txn = client.ask(session, OpenTxn(*UNNUMBERED, "default", 1, 60_000)).control.txn
    domain.clock.error_s += 2 * HOUR_S
    if resigns:
        domain.sequencer.resign()
    domain.take_over()
    domain.live(session, for_s=4 * LEASE_S)
    assert client.expired() == ([], [])
    domain.live(session, for_s=3 * LEASE_S)
    assert client.expired() == ([], [(txn, "deadline")])


@pytest.mark.parametrize(("given_s", "warned"), [(LEASE_S, []), (60.0, [(LEASE_S, 60.0)])])
def test_who_leads_a_ledger_that_was_created_with_another_lease_says_which_one_counts(
    domain: Domain,
    given_s: float,
    warned: list[tuple[float, float]],
    log_lines: Sequence[EventDict],
) -> None:
    settings = SequencerSettings(lease_s=given_s)
    domain.sequencer.close()
    domain.sequencer = Sequencer(
        domain.log, Genesis("leases"), settings=settings, clock=domain.clock
    )
    domain.live(for_s=4)
    assert domain.sequencer.leader is not None
    assert [
        (line["counts_s"], line["given_s"]) for line in log_lines if line["log_level"] == "warning"
    ] == warned


def test_take_over_after_take_over(domain: Domain) -> None:
    client = domain.client
    silent = client.open_session()
    for _ in range(5):
        domain.live(for_s=LEASE_S / 2)
        domain.take_over()
    domain.live(for_s=LEASE_S / 2)
    assert client.expired() == ([], [])
    assert client.is_open(silent)


def test_a_sign_of_life_at_the_end_of_a_long_backlog_counts(domain: Domain) -> None:
    client = domain.client
    busy, live, silent = (client.open_session() for _ in range(3))
    domain.live(busy, live, silent, for_s=LEASE_S)
    for _ in range(10_000):
        client.send(busy, OPEN_TXN)
    began_s = domain.clock.passed_s
    asked = live, client.send(live, OPEN_TXN)
    domain.is_slow = True
    client.wait_for(lambda event: asker_of(event) == asked)
    assert domain.clock.passed_s - began_s > LEASE_S
    domain.live(for_s=2)
    assert client.expired() == ([silent], [])


@pytest.mark.parametrize("trouble", ["held up", "not told the end of"])
def test_heartbeats_not_read(domain: Domain, trouble: str) -> None:
    """While heartbeats are on their way, or nobody says up to where they go, nobody is ended.

    Once they are read they count as signs of life, and the leader leads on.
    """
    client, log = domain.client, domain.log
    live, silent = client.open_session(), client.open_session()
    log.is_held_up, log.is_away = trouble == "held up", trouble != "held up"
    domain.live(live, for_s=5 * LEASE_S)
    assert client.expired() == ([], [])
    log.is_held_up = log.is_away = False
    domain.live(live, for_s=LEASE_S)
    assert client.expired() == ([silent], [])


@pytest.mark.parametrize("lived_s", [5.0, 9.0], ids=["nobody silent", "somebody silent"])
def test_no_majority(domain: Domain, lived_s: float) -> None:
    """Nobody is ended while the broker answers and takes no beats, however long that lasts.

    So it is where too few replicas are left. What clients sent meanwhile arrives later, in time.
    """
    client, log = domain.client, domain.log
    live, silent = client.open_session(), client.open_session()
    txn = open_txn(client, live)
    domain.live(live, for_s=lived_s)
    log.takes_no_beats = True
    domain.live(live, for_s=4 * LEASE_S)
    assert client.expired() == ([], [])
    log.takes_no_beats = False
    domain.live(live, for_s=2 * LEASE_S)
    assert client.expired() == ([silent], [])
    assert client.state.txns.status(txn)[0] == "open"


def test_own_beats_are_lost(domain: Domain) -> None:
    client = domain.client
    live, silent = client.open_session(), client.open_session()
    leader = domain.sequencer.leader
    assert leader is not None
    leader._own_beats = LosingWriter()  # noqa: SLF001 - Kafka alone has one that lost something
    domain.live(live, for_s=3 * LEASE_S)
    assert client.expired() == ([silent], [])
    assert domain.sequencer.leader is leader


def test_broker_is_asked_seldom(domain: Domain) -> None:
    """A leader that nobody tells how far the heartbeats go leads on, and hardly waits for that.

    So it is where the broker that keeps them is away and the one that keeps the commands is not.
    """
    client, log = domain.client, domain.log
    live, _ = client.open_session(), client.open_session()
    domain.live(live, for_s=LEASE_S)
    log.is_away = True
    away_s = 6 * LEASE_S
    domain.live(live, for_s=away_s)
    assert 0 < sum(log.waited_s) < away_s / 5
    assert max(log.waited_s) < SequencerSettings().suspect_s
    assert domain.sequencer.leader is not None


@pytest.mark.parametrize("lived_s", [5.0, 9.0], ids=["not asked before", "asked before"])
def test_broker_away(domain: Domain, lived_s: float) -> None:
    """Beats that clients kept while the broker was away count, though it answers before they come.

    Whether somebody is silent already, so that the broker is asked as it goes, changes nothing.
    """
    client = domain.client
    live, silent = client.open_session(), client.open_session()
    txn = open_txn(client, live)
    domain.live(live, for_s=lived_s)
    domain.live(for_s=2)
    domain.clock.passed_s += 8.5
    domain.live(for_s=1)
    domain.live(live, for_s=2 * LEASE_S)
    assert client.expired() == ([silent], [])
    assert client.state.txns.status(txn)[0] == "open"


def test_a_leader_whose_beats_are_lost_leads_on_and_beats_again(domain: Domain) -> None:
    session = domain.client.open_session()
    domain.log.loses_beats = True
    domain.take_over()
    sent = domain.log.ends(Topic.BEATS)[1]
    domain.live(session, for_s=LEASE_S)
    assert domain.log.ends(Topic.BEATS)[1] == sent
    domain.log.loses_beats = False
    domain.live(session, for_s=1)
    assert domain.log.ends(Topic.BEATS)[1] > sent


@pytest.mark.parametrize("jump_s", [2 * HOUR_S, -2 * HOUR_S, 30 * 24 * HOUR_S, 6.0, -6.0])
def test_a_jump_of_the_wall_clock_ends_no_session_for_a_lease(
    domain: Domain, jump_s: float
) -> None:
    client = domain.client
    live, silent = client.open_session(), client.open_session()
    txn = client.ask(live, OpenTxn(*UNNUMBERED, "default", 1, 60_000)).control.txn
    domain.live(live, for_s=LEASE_S - 1)
    domain.clock.error_s += jump_s
    domain.live(live, for_s=LEASE_S - 1)
    assert client.expired() == ([], [])
    domain.live(live, for_s=3 * LEASE_S)
    assert client.expired() == ([silent], [])
    domain.live(live, for_s=LEASE_S + 8)
    assert client.expired() == ([silent], [(txn, "deadline")])
