"""The law of leases (law 13): who gave a sign of life within every lease is never ended.

Signs are heartbeats as they landed, by true time. What counts against a session is a silence of
Signs are heartbeats as they landed, by true time. What counts against a session is a silence of
its whole lease within the term of the leader that ends it. A txn may end when its time is up: the
time it was given, if it is ended in the term that opened it, else its deadline by the wall clock
the leader had when it began to lead, whatever jumps came later.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from ledger.core.events.events import Control, TxnOpened, TxnsExpired
from ledger.sequencer.bounded_clock import AHEAD_MAX_MS
from tests.simulation.broken import BrokenError
from tests.simulation.clock import STARTED_AT_S

ROUNDING_S = 0.002


class Term(NamedTuple):
    """When a leader began to lead, by true time, and how wrong its wall clock was then."""

    began_s: float
    error_s: float


class Deadline(NamedTuple):
    """When a txn was opened, by true time, in which epoch, and how long it may stay open."""

    opened_s: float
    epoch: int
    given_s: float
    until_ms: int


class LeaseLaw:
    """What is known of signs of life, terms and deadlines; `lease_s` is the ledger's."""

    def __init__(self, lease_s: float) -> None:
        self.lease_s = lease_s
        self.terms: dict[int, Term] = {}
        self.signs: dict[int, list[float]] = {}
        self._opened_s: dict[int, float] = {}
        self._leases_s: dict[int, float] = {}
        self._deadlines: dict[int, Deadline] = {}

    def heard(self, session: int, now_s: float) -> None:
        """Note a heartbeat that has landed."""
        self.signs.setdefault(session, []).append(now_s)

    def opened(self, session: int, lease_s: float, queued_s: float) -> None:
        self._opened_s[session], self._leases_s[session] = queued_s, lease_s

    def txns_opened(self, control: Control, body: TxnOpened, queued_s: float) -> None:
        given_s = (body.deadline - control.at) / 1000
        for txn in range(control.txn, control.txn + body.size):
            self._deadlines[txn] = Deadline(queued_s, control.epoch, given_s, body.deadline)

    def check(
        self, epoch: int, expired: TxnsExpired, owners: Mapping[int, int], queued_s: float
    ) -> None:
        """Raise BrokenError if anyone was ended too early by an event appended at `queued_s`.

        `owners` are the sessions of the open txns.
        """
        term = self.terms[epoch]
        if queued_s - term.began_s < self.lease_s - ROUNDING_S:
            raise BrokenError(
                "nothing expires within the first lease of a term",
                f"epoch {epoch} began at {term.began_s:.3f} and ends others at {queued_s:.3f}",
            )
        silent = {owners[end.txn] for end in expired.ends if end.cause == "lease"}
        for session in sorted(silent.union(expired.sessions)):
            self._check_session(session, term, queued_s)
        for end in expired.ends:
            if end.cause == "deadline":
                self._check_deadline(end.txn, epoch, queued_s)

    def _check_session(self, session: int, term: Term, queued_s: float) -> None:
        begin = max(term.began_s, self._opened_s[session])
        signs = [at for at in self.signs.get(session, ()) if begin < at <= queued_s]
        longest = max(b - a for a, b in pairwise([begin, *signs, queued_s]))
        if longest < self._leases_s[session] - ROUNDING_S:
            raise BrokenError(
                "no live session expires",
                f"session {session} was never silent for more than {longest:.3f} s of the term "
                f"and is ended at {queued_s:.3f}",
            )

    def _check_deadline(self, txn: int, epoch: int, queued_s: float) -> None:
        deadline = self._deadlines[txn]
        if deadline.epoch == epoch:
            left_s = deadline.opened_s + deadline.given_s - queued_s
        else:
            error_s = min(self.terms[epoch].error_s, AHEAD_MAX_MS / 1000)
            wall_s = STARTED_AT_S + queued_s + error_s
            left_s = deadline.until_ms / 1000 - wall_s
        if left_s > ROUNDING_S:
            raise BrokenError(
                "no txn ends before its deadline",
                f"txn {txn} ends at {queued_s:.3f}, {left_s:.1f} s early",
            )
