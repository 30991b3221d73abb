"""Leases: which sessions fell silent and which txns are overdue, as far as a leader may judge it.

Ending a live session loses a producer's work, so everything here errs to the other side. A leader
judges nothing before it has led for one full lease. A verdict takes two steps: first the silent are
noted together with the ends of the heartbeats and commands topics taken after that, and only when
both were read up to there without a sign of life are they lapsed. So neither a backlog nor a paused
reader nor a pause of the leader itself expires anyone. Nor do brokers that were away, or answered
and took no records, as those left over from a majority do: while somebody is silent the leader
sends heartbeats of its own, and the ends count once those have come back for a while, in which
clients found their way again and sent what they held back. A broker that does not tell the ends is
asked again later, for the leader decides nothing while it asks. Durations come from the monotonic
clock, and a jump of the wall clock suspends judgement for another full lease. A deadline is a wall
time in the log; what is left of it is counted on the monotonic clock as soon as it is noted. A new
leader counts it from the log's time, for its own clock may be ahead of the one that set the
deadline.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf

from ledger.clock import Clock
from ledger.core.decide.housekeep import Lapsed
from ledger.core.limits import ENDS_PER_EVENT_MAX
from ledger.core.state.domain import DomainState
from ledger.errors import LogUnavailableError

JUMP_MAX_S = 5.0
LOOK_AGAIN_S = 0.5
# One broker of several may be away and with it the heartbeats, while commands go on.
ASK_AGAIN_S = 2.0
# A client tries a broker that was away again every second and beats three times in a lease, and one
# that asked a broker which hangs waits some seconds for it. So this part of a lease is time enough
# to hear from it; an absence that is shorter ends nobody by itself.
SETTLED_PER_LEASE = 1 / 2
OWN_BEATS_PER_LEASE = 12
# So many deadlines of ended txns are not worth the search for them.
DEADLINES_SPARE = 1_000

Ends = tuple[int, int]


@dataclass(slots=True)
class Suspicion:
    """Who was silent when, and up to which offsets, once known, a sign of life is looked for."""

    sessions: list[int]
    txns: list[tuple[float, int]]
    noted_s: float
    ends: Ends | None = None


@dataclass(slots=True)
class Leases:
    """The leases of one leader, from the moment it leads; times in seconds, monotonic."""

    clock: Clock
    lease_s: float
    quiet_until_s: float = 0.0
    offset_s: float = 0.0
    heard_s: dict[int, float] = field(default_factory=dict)
    due: list[tuple[float, int]] = field(default_factory=list)
    deadlines: list[tuple[float, int]] = field(default_factory=list)
    suspicion: Suspicion | None = None
    # When a heartbeat of the leader's own was sent, when one last came back, and since when they do
    # so without a long silence between.
    beat_s: float = -inf
    returned_s: float = -inf
    steady_since_s: float = inf
    ask_again_s: float = -inf

    def start(self, state: DomainState, log_at: int) -> None:
        """Begin to lead: everyone in the state counts as heard now.

        `log_at` is the time of the last event that a former leader decided.
        """
        now_s = self.clock.monotonic_s()
        self.quiet_until_s = now_s + self.lease_s
        self.offset_s = self.clock.now_ms() / 1000 - now_s
        for session in state.sessions.by_number.values():
            if session.is_open:
                self.add_session(session.number, session.lease_ms)
        at = min(log_at, self.clock.now_ms())
        for txn in state.txns.open.values():
            self.add_txn(txn.txn, txn.deadline - at)

    def add_session(self, session: int, lease_ms: int) -> None:
        """Begin the lease of a session."""
        now_s = self.clock.monotonic_s()
        self.heard_s[session] = now_s
        heappush(self.due, (now_s + lease_ms / 1000, session))

    def add_txn(self, txn: int, left_ms: int) -> None:
        """Note how long a txn may stay open from now on."""
        heappush(self.deadlines, (self.clock.monotonic_s() + left_ms / 1000, txn))

    def heard(self, session: int) -> None:
        """Renew the lease of a session; unknown ones are ignored."""
        if session in self.heard_s:
            self.heard_s[session] = self.clock.monotonic_s()

    def is_to_beat(self) -> bool:
        """Tell whether the leader is to send a heartbeat of its own now, and count it as sent.

        It is where somebody is silent, and not known yet to be so.
        """
        now_s, noted = self.clock.monotonic_s(), self.suspicion
        if noted is None or noted.ends is not None:
            return False
        if now_s - self.beat_s < self.lease_s / OWN_BEATS_PER_LEASE:
            return False
        self.beat_s = now_s
        return True

    def beat_returned(self) -> None:
        """Note that a heartbeat of the leader's own was read: those of clients can arrive."""
        now_s = self.clock.monotonic_s()
        if now_s - self.returned_s > self._settled_s:
            self.steady_since_s = now_s
        self.returned_s = now_s

    def lapsed(self, state: DomainState, read: Ends, ends: Callable[[], Ends]) -> Lapsed | None:
        """Return who has lapsed, or None while nobody has.

        `read` are the next offsets of heartbeats and commands, `ends()` asks the broker for the end
        offsets of both now and raises LogUnavailableError if it does not answer.
        """
        self._forget_ended(state)
        now_s = self.clock.monotonic_s()
        self._watch_wall_clock(now_s)
        if now_s < self.quiet_until_s:
            self.look_again()
            return None
        if self.suspicion is None:
            self.suspicion = self._suspect(state, now_s)
        noted = self.suspicion
        if noted is None:
            return None
        if noted.ends is None:
            noted.ends = self._settled(ends)
            return None
        if any(at < end for at, end in zip(read, noted.ends, strict=True)):
            return None
        self.look_again()
        sessions = [each for each in noted.sessions if self._is_silent(state, each, noted.noted_s)]
        txns = [txn for _, txn in noted.txns]
        return Lapsed(sessions, txns) if sessions or txns else None

    def look_again(self) -> None:
        """Put everyone noted back in line: who lapsed stays due until housekeeping ends it.

        Also to be called when a topic is read from another place: the ends that were noted are of
        no more use, and in a re-created topic they may never come.
        """
        noted, self.suspicion = self.suspicion, None
        if noted is not None:
            for number in noted.sessions:
                heappush(self.due, (noted.noted_s + LOOK_AGAIN_S, number))
            for overdue in noted.txns:
                heappush(self.deadlines, overdue)

    def _forget_ended(self, state: DomainState) -> None:
        """Keep no more than about twice as many deadlines as txns are open."""
        open_txns = state.txns.open
        if len(self.deadlines) > 2 * len(open_txns) + DEADLINES_SPARE:
            self.deadlines = [each for each in self.deadlines if each[1] in open_txns]
            heapify(self.deadlines)

    def _watch_wall_clock(self, now_s: float) -> None:
        offset_s = self.clock.now_ms() / 1000 - now_s
        if abs(offset_s - self.offset_s) > JUMP_MAX_S:
            self.quiet_until_s = now_s + self.lease_s
        # A slow drift is followed, so that only a jump between two looks counts as one.
        self.offset_s = offset_s

    def _suspect(self, state: DomainState, now_s: float) -> Suspicion | None:
        sessions = self._silent(state, now_s)
        txns = self._overdue(state, now_s)
        return Suspicion(sessions, txns, now_s) if sessions or txns else None

    def _settled(self, ends: Callable[[], Ends]) -> Ends | None:
        """Return the ends, or None while heartbeats have not arrived for long enough."""
        now_s, settled_s = self.clock.monotonic_s(), self._settled_s
        is_steady = now_s - self.steady_since_s >= settled_s >= now_s - self.returned_s
        if not is_steady or now_s < self.ask_again_s:
            return None
        try:
            return ends()
        except LogUnavailableError:
            # Nobody is ended while the broker is away, and that ends no leader.
            self.ask_again_s = self.clock.monotonic_s() + ASK_AGAIN_S
            return None

    @property
    def _settled_s(self) -> float:
        return self.lease_s * SETTLED_PER_LEASE

    def _silent(self, state: DomainState, now_s: float) -> list[int]:
        found: list[int] = []
        while self.due and self.due[0][0] <= now_s and len(found) < ENDS_PER_EVENT_MAX:
            _, number = heappop(self.due)
            session = state.sessions.by_number.get(number)
            if session is None or not session.is_open:
                self.heard_s.pop(number, None)
                continue
            due_s = self.heard_s[number] + session.lease_ms / 1000
            if due_s <= now_s:
                found.append(number)
            else:
                heappush(self.due, (due_s, number))
        return found

    def _overdue(self, state: DomainState, now_s: float) -> list[tuple[float, int]]:
        found: list[tuple[float, int]] = []
        while self.deadlines and self.deadlines[0][0] <= now_s and len(found) < ENDS_PER_EVENT_MAX:
            overdue = heappop(self.deadlines)
            if overdue[1] in state.txns.open:
                found.append(overdue)
        return found

    def _is_silent(self, state: DomainState, number: int, noted_s: float) -> bool:
        session = state.sessions.by_number.get(number)
        if session is None or not session.is_open:
            return False
        return self.heard_s[number] + session.lease_ms / 1000 <= noted_s
