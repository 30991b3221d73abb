"""Leases: the silent sessions and the overdue txns, as far as a leader may judge them.

Ending a live session loses a producer's work, so in doubt a session stays open:

- A leader judges no session before it has led for one full lease.
- A verdict takes two steps. First the leader notes the silent sessions, and then the ends of the
  heartbeats and commands topics. Only when both are read up to these ends without a sign of life
  have the sessions lapsed. So no backlog, paused reader or pause of the leader ends a session.
- Brokers that were away, or that answered but accepted no records, as a minority of brokers does,
  end no session either. While a session is silent, the leader sends heartbeats of its own. The ends
  are taken only after these have come back for a while, in which clients could reconnect and send
  their heartbeats.
- If a broker does not answer with the ends, the leader asks again later, because it decides no
  command while it waits.
- Durations are measured on the monotonic clock. A jump of the wall clock suspends all verdicts for
  another full lease.
- A deadline is a wall time in the log; the time left is measured on the monotonic clock from the
  moment it is noted. A new leader computes it from the log's time, because its own clock may be
  ahead of the clock that set the deadline.
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
# One broker of several may be away, and the heartbeats with it, while commands continue.
ASK_AGAIN_S = 2.0
# A client retries a broker every second, waits some seconds for one that hangs, and beats three
# times in a lease. So this part of a lease is enough to hear from a live client after an outage.
# A shorter outage ends no session by itself.
SETTLED_PER_LEASE = 1 / 2
OWN_BEATS_PER_LEASE = 12
# Up to this many deadlines of ended txns stay, because searching for them is not worth it.
DEADLINES_SPARE = 1_000

Ends = tuple[int, int]


@dataclass(slots=True)
class Suspicion:
    """Silent sessions and overdue txns, when they were noted, and the ends to read up to."""

    sessions: list[int]
    txns: list[tuple[float, int]]
    noted_s: float
    ends: Ends | None = None


@dataclass(slots=True)
class Leases:
    """The leases of one leader, from the start of its term; times in seconds, monotonic."""

    clock: Clock
    lease_s: float
    quiet_until_s: float = 0.0
    offset_s: float = 0.0
    heard_s: dict[int, float] = field(default_factory=dict)
    due: list[tuple[float, int]] = field(default_factory=list)
    deadlines: list[tuple[float, int]] = field(default_factory=list)
    suspicion: Suspicion | None = None
    # When the leader's last heartbeat was sent, when the last one came back, and since when they
    # come back without a long gap.
    beat_s: float = -inf
    returned_s: float = -inf
    steady_since_s: float = inf
    ask_again_s: float = -inf

    def start(self, state: DomainState, log_at: int) -> None:
        """Begin to lead: every session in the state counts as heard now.

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
        """Note the time that a txn may stay open from now on."""
        heappush(self.deadlines, (self.clock.monotonic_s() + left_ms / 1000, txn))

    def heard(self, session: int) -> None:
        """Renew the lease of a session; unknown ones are ignored."""
        if session in self.heard_s:
            self.heard_s[session] = self.clock.monotonic_s()

    def is_to_beat(self) -> bool:
        """Return whether the leader must send a heartbeat of its own now, and count it as sent.

        It must while a session is silent and the ends for its verdict are not known.
        """
        now_s, noted = self.clock.monotonic_s(), self.suspicion
        if noted is None or noted.ends is not None:
            return False
        if now_s - self.beat_s < self.lease_s / OWN_BEATS_PER_LEASE:
            return False
        self.beat_s = now_s
        return True

    def beat_returned(self) -> None:
        """Note that an own heartbeat was read back, so heartbeats of clients can arrive too."""
        now_s = self.clock.monotonic_s()
        if now_s - self.returned_s > self._settled_s:
            self.steady_since_s = now_s
        self.returned_s = now_s

    def lapsed(self, state: DomainState, read: Ends, ends: Callable[[], Ends]) -> Lapsed | None:
        """Return the lapsed sessions and txns, or None.

        `read` are the next offsets of heartbeats and commands. `ends()` returns the present end
        offsets of both from the broker, and raises LogUnavailableError if it does not answer.
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
        sessions = [
            session for session in noted.sessions if self._is_silent(state, session, noted.noted_s)
        ]
        txns = [txn for _, txn in noted.txns]
        return Lapsed(sessions, txns) if sessions or txns else None

    def look_again(self) -> None:
        """Make all noted sessions and txns due again; they stay due until housekeeping ends them.

        Call this also when a topic is read from another offset: the noted ends are then useless,
        and a re-created topic may never reach them.
        """
        noted, self.suspicion = self.suspicion, None
        if noted is not None:
            for number in noted.sessions:
                heappush(self.due, (noted.noted_s + LOOK_AGAIN_S, number))
            for overdue in noted.txns:
                heappush(self.deadlines, overdue)

    def _forget_ended(self, state: DomainState) -> None:
        """Keep the number of deadlines below about twice the number of open txns."""
        open_txns = state.txns.open
        if len(self.deadlines) > 2 * len(open_txns) + DEADLINES_SPARE:
            self.deadlines = [deadline for deadline in self.deadlines if deadline[1] in open_txns]
            heapify(self.deadlines)

    def _watch_wall_clock(self, now_s: float) -> None:
        offset_s = self.clock.now_ms() / 1000 - now_s
        if abs(offset_s - self.offset_s) > JUMP_MAX_S:
            self.quiet_until_s = now_s + self.lease_s
        # A slow drift is followed, so that only a jump between two calls counts.
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
            # While the broker is away no session ends, and neither does the leader.
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
