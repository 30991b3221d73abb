"""A ledger of its own for one case: the real sequencer, a fold into rows, and one asker.

The sequencer's loop runs in this thread whenever something is asked, over whichever log it is
given. Time stands still unless a case moves it, and the sequencer keeps no house by itself: what
nobody asked for happens when a case says so, and is decided by the core's own functions.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.acceptance import LogHead
from ledger.core.commands import Command, OpenSession
from ledger.core.decide.housekeep import Lapsed, expire, housekeep
from ledger.core.events.events import Body, Event, SessionOpened
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.port import Log, Topic
from ledger.log.wire.codec import encode_command
from ledger.reads.port import Reads
from ledger.sequencer.leases import SETTLED_PER_LEASE, Leases
from ledger.sequencer.sequencer import Sequencer
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.store.port import RowStore

CATALOG = "lake"
STARTED_MS = 1_700_000_000_000
NEVER_MS = 2**62
SETTINGS = SequencerSettings(housekeeping_s=math.inf)
# Until heartbeats count as arriving, half a lease, and two looks more.
LOOK_S = 1.0
LOOKS_TO_JUDGE = math.ceil(SETTINGS.lease_s * SETTLED_PER_LEASE / LOOK_S) + 2
PATIENCE_S = 30.0
COMMAND_WAIT_S = 0.01
EVENT_WAIT_S = 0.005
READ_MAX = 500


class ManualClock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.elapsed_s = 0.0

    def now_ms(self) -> int:
        """Return the wall time in milliseconds."""
        return STARTED_MS + int(self.elapsed_s * 1000)

    def monotonic_s(self) -> float:
        """Return the seconds since the start."""
        return self.elapsed_s


class CaseLedger:
    """One new ledger over an empty log; `state` and `reads` hold all events so far."""

    def __init__(self, log: Log, store: RowStore) -> None:
        self.reads: Reads = StoreReads(store)
        self._log = log
        self._clock = ManualClock()
        self._numbers: Counter[int] = Counter()
        self._commands = log.writer(Topic.COMMANDS)
        self._events = log.reader(Topic.EVENTS, 0)
        self._acceptor = Acceptor(LogHead())
        self._fold = Fold.load(store, log)
        self._sequencer = Sequencer(
            log, Genesis("conformance", CATALOG), settings=SETTINGS, clock=self._clock
        )
        self._await(lambda _: CATALOG in self.state.catalogs)

    @property
    def state(self) -> DomainState:
        """The state after all events so far, folded from the log."""
        return self._fold.state

    def open_session(self) -> int:
        nonce = len(self.state.sessions.by_number).to_bytes(16, "big")
        self._send(OpenSession(0, 0, NEVER_MS, nonce, "case", "host", "conformance", 0))
        opened = self._await(
            lambda event: isinstance(event.body, SessionOpened) and event.body.nonce == nonce
        )
        return opened.control.position

    def ask(self, session: int, command: Callable[..., Command], *fields: Any) -> Event:
        """Send a command of a session and return the event that answers it."""
        self._numbers[session] += 1
        asked = session, self._numbers[session]
        self._send(command(*asked, NEVER_MS, *fields))
        return self._await(lambda event: (event.control.session, event.control.n) == asked)

    def keep_house(self) -> None:
        """Do all the housekeeping that is due without anyone having lapsed."""
        while (body := housekeep(self.state, Lapsed())) is not None:
            self._append(body)

    def let_lapse(self, silent: int) -> None:
        """Let one lease pass in which all sessions beat but one, and end what lapsed by it."""
        leases = Leases(self._clock, SETTINGS.lease_s)
        leases.start(self.state, self.state.at)
        self._clock.elapsed_s += SETTINGS.lease_s
        for session in self.state.sessions.by_number.keys() - {silent}:
            leases.heard(session)
        nothing_unread = (0, 0)
        # The first look notes who is silent, the last judges.
        for _ in range(LOOKS_TO_JUDGE):
            self._clock.elapsed_s += LOOK_S
            leases.beat_returned()
            lapsed = leases.lapsed(self.state, nothing_unread, lambda: nothing_unread)
        body = expire(self.state, lapsed or Lapsed())
        if body is not None:
            self._append(body)

    def end_overdue(self, txn: int) -> None:
        """End one txn as past its own deadline, whatever its session does."""
        body = expire(self.state, Lapsed(txns=[txn]))
        assert body is not None, f"txn {txn} is open"
        self._append(body)

    def close(self) -> None:
        """Let go of the log and of the store."""
        self._sequencer.close()
        self._events.close()
        self._commands.close()
        self._log.close()
        self.reads.close()

    def _send(self, command: Command) -> None:
        self._commands.append(str(command.session).encode(), encode_command(command))

    def _append(self, body: Body) -> None:
        leader = self._sequencer.leader
        assert leader is not None, "a ledger that has a catalog has a leader"
        appended = leader.append(body)
        self._await(lambda event: event.control.position == appended.control.position)

    def _await(self, is_wanted: Callable[[Event], bool]) -> Event:
        """Do rounds until the wanted event is in the rows, and return it."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            self._sequencer.step(COMMAND_WAIT_S)
            wanted = [event for event in self._follow() if is_wanted(event)]
            if wanted:
                return wanted[0]
        raise TimeoutError(f"no answer within {PATIENCE_S} s")

    def _follow(self) -> list[Event]:
        """Fold what was written since, and return the events of it."""
        records = self._events.read(READ_MAX, EVENT_WAIT_S)
        self._commands.check()
        self._fold.feed(records)
        events = (self._acceptor.take(record.value) for record in records)
        return [event for event in events if event is not None]
