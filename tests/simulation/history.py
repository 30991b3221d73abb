"""The history: what counted, judged by plain rules of its own that know nothing of `decide`.

It keeps its own account of positions, commands, answers and sessions, and books of ids, and holds
every accepted event against them. All of it is O(1) an event, but for the lists an event carries.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

from ledger.core.events.events import (
    AbortedForgotten,
    CatalogCreated,
    CommandRefused,
    CommandRepeated,
    CommandsMoved,
    Control,
    Event,
    Fenced,
    LedgerCreated,
    LogCut,
    LogTrimmed,
    RecordsTrimmed,
    Resigned,
    SessionClosed,
    SessionOpened,
    TxnOpened,
    TxnsExpired,
)
from tests.simulation.books import Books
from tests.simulation.broken import must
from tests.simulation.faults import Fault
from tests.simulation.lease_law import LeaseLaw
from tests.simulation.lost import Lost
from tests.simulation.truth import Asked, CommandsTruth

INTERNAL: Final = (Resigned, LedgerCreated, CatalogCreated, TxnsExpired, RecordsTrimmed)


class History:
    """Everything that counted, in order; `take` raises BrokenError for what may not follow.

    `events` are by their positions, of which a cut leaves some out.
    """

    def __init__(
        self, commands: CommandsTruth, leases: LeaseLaw, strike: Callable[[Fault], None], lost: Lost
    ) -> None:
        self.events: dict[int, Event] = {}
        self.position = 0
        self.cut_at = 0
        self.last_cmd = -1
        self.topic = ""
        self.sessions: dict[int, bool] = {}
        self.answered: dict[tuple[int, int], int] = {}
        self.books = Books()
        # The position of the first event in the log.
        self.begins = 1
        self._commands = commands
        self._leases = leases
        self._strike = strike
        self._lost = lost
        self._nonces: set[bytes] = set()
        self._chain = bytes(8)
        self._epoch = 0
        self._at = 0

    def take(self, event: Event, framed: bytes, queued_s: float) -> None:
        """Hold one accepted event, framed so and appended then, against all before it."""
        control, body = event
        self._check_place(control, body, framed)
        if isinstance(body, LogCut):
            self._cut(control, body)
        else:
            self._check_command(control, body)
        self._check_asker(control, body)
        self._follow_sessions(control, body, queued_s)
        self._check_trim(body)
        self.books.take(control, body, is_filling=self.is_filling(control))
        if self.cut_at and not self.is_filling(control):
            self._lost.check(event)
        self.events[control.position] = event
        self.position = control.position

    def _check_place(self, control: Control, body: Any, framed: bytes) -> None:
        following = self.position + 1
        is_cut = isinstance(body, LogCut)
        must(
            control.position == following or (is_cut and control.position > following),
            "positions are dense",
            f"position {control.position} where {following} follows",
        )
        self._chain = blake2b(self._chain + framed[:5] + framed[13:], digest_size=8).digest()
        if isinstance(body, Fenced):
            must(
                control.epoch > self._epoch,
                "one fence an epoch",
                f"epoch {control.epoch} begins after {self._epoch}",
            )
            self._epoch = control.epoch
            return
        if is_cut:
            must(
                control.epoch > self._epoch,
                "a cut begins an epoch",
                f"epoch {control.epoch} begins after {self._epoch}",
            )
            self._epoch = control.epoch
        must(
            control.chain == self._chain,
            "decided on exactly what counted",
            f"position {control.position} continues another log than the one before it",
        )
        must(
            control.epoch == self._epoch,
            "only the leader of the epoch is heard",
            f"position {control.position} is of epoch {control.epoch}, not {self._epoch}",
        )
        must(control.at >= self._at, "time never goes back", f"{control.at} after {self._at}")
        self._at = control.at

    def _check_command(self, control: Control, body: Any) -> None:
        """Hold the event's `cmd` against the commands as they really were."""
        if isinstance(body, Fenced):
            return
        if isinstance(body, LedgerCreated):
            self.topic = body.commands_topic
        if isinstance(body, CommandsMoved):
            self._check_move(control, body)
            return
        following = self.last_cmd + 1
        if self.is_filling(control) or is_internal(control, body):
            must(
                control.cmd == self.last_cmd,
                "only answers take a command",
                f"{type(body).__name__} at position {control.position} takes command {control.cmd}",
            )
            return
        must(
            control.cmd == following,
            "every command is answered once, in order",
            f"position {control.position} answers command {control.cmd}, {following} is next",
        )
        asked = self._commands.at(self.topic, control.cmd)
        told = Asked(control.session, control.n, getattr(body, "nonce", b""))
        must(
            any(each.matches(told) for each in asked),
            "an answer is that of its command",
            f"position {control.position} answers {told}, command {control.cmd} is {asked}",
        )
        self.last_cmd = control.cmd

    def _cut(self, control: Control, body: LogCut) -> None:
        """Go on behind a cut: what commands there were before it are answered no more."""
        is_other = body.commands_topic != self.topic
        must(
            is_other
            or control.cmd >= self.last_cmd
            or self._commands.has_lost(self.topic, control.cmd + 1),
            "a cut decides no command again",
            f"it goes on behind command {control.cmd}, the last one was {self.last_cmd}",
        )
        self._lost.cut(control, self.events.values())
        self.cut_at = control.position
        self.sessions[control.position] = True
        self.topic = body.commands_topic
        self.last_cmd = control.cmd

    def is_filling(self, control: Control) -> bool:
        """Tell whether an event takes up what the last cut left out."""
        return bool(self.cut_at) and control.session == self.cut_at and control.n == 0

    def _check_move(self, control: Control, body: CommandsMoved) -> None:
        """Accept a move over offsets that hold nothing to answer, or to another topic."""
        if body.topic == self.topic:
            passed = range(self.last_cmd + 1, control.cmd + 1)
            is_back = control.cmd < self.last_cmd and self._commands.has_lost(
                self.topic, control.cmd + 1
            )
            must(
                is_back
                or (bool(passed) and all(self._commands.is_gone(self.topic, at) for at in passed)),
                "commands are passed over only where they are gone",
                f"{body.reason}: moved from {self.last_cmd} to {control.cmd}",
            )
            overtaken = bool(self._commands.at(self.topic, control.cmd))
            if not is_back:
                self._strike(Fault.OVERTAKEN if overtaken else Fault.HOLE)
        else:
            must(
                self._commands.exists(body.topic),
                "commands move only to a topic that exists",
                f"moved to {body.topic}",
            )
            self._strike(Fault.RECREATED)
        self.topic = body.topic
        self.last_cmd = control.cmd

    def _check_asker(self, control: Control, body: Any) -> None:
        """Hold the answer against the first one to the same (session, n), or the same nonce."""
        if isinstance(body, SessionOpened):
            must(
                body.nonce not in self._nonces,
                "a command takes effect once",
                f"nonce {body.nonce.hex()} opens a second session at {control.position}",
            )
            self._nonces.add(body.nonce)
        if isinstance(body, CommandRepeated):
            self._check_repeat(control, body)
        if control.n == 0:
            return
        asker = (control.session, control.n)
        known = self.answered.get(asker)
        if isinstance(body, CommandRefused) and (
            body.reason == "CommandUnreadable" or control.session not in self.sessions
        ):
            if control.session in self.sessions:
                self.answered.setdefault(asker, control.position)
            return
        if isinstance(body, CommandRepeated):
            self.answered.setdefault(asker, body.answered)
            return
        must(
            known is None,
            "a command takes effect once",
            f"command {asker} was answered at {known} and again at {control.position}",
        )
        self.answered[asker] = control.position

    def _check_trim(self, body: Any) -> None:
        """Hold a trim against the open txns."""
        if isinstance(body, LogTrimmed):
            held = [txn for txn in self.books.open if self.books.opened_at[txn] < body.below]
            must(not held, "no trim passes an open txn", f"{held[:3]} opened below {body.below}")
        if isinstance(body, RecordsTrimmed):
            must(
                body.below <= self.begins,
                "a leader says of no trim that it removed what is still there",
                f"below {body.below}, and the log begins at {self.begins}",
            )

    def _check_repeat(self, control: Control, body: CommandRepeated) -> None:
        """A repeat names the first answer, and that is of the kind it says."""
        known = self.answered.get((control.session, control.n), body.answered)
        found = self.events.get(body.answered)
        first = found.body if found is not None else None
        name = first.reason if isinstance(first, CommandRefused) else type(first).__name__
        is_aborted = body.outcome == "TxnAborted" and self.books.is_aborted(body.first)
        if not body.answered and is_aborted:
            # So many others have ended since that the position of this end is not known any more.
            return
        ends_txn = body.outcome == "TxnAborted" and isinstance(first, TxnsExpired | SessionClosed)
        must(
            known == body.answered and (name == body.outcome or ends_txn),
            "a repeat names the first answer",
            f"position {control.position} names {body.outcome} at {body.answered}, there is "
            f"{name}, and the first answer was at {known}",
        )

    def _follow_sessions(self, control: Control, body: Any, queued_s: float) -> None:
        if isinstance(body, SessionOpened):
            self.sessions[control.position] = True
            self._leases.opened(control.position, body.lease_ms / 1000, queued_s)
        elif isinstance(body, TxnOpened):
            must(
                # A table takes up what it lost long after the session of the cut has ended.
                self.is_filling(control) or self.sessions.get(control.session, False),
                "only an open session acts",
                f"session {control.session} opens txns at {control.position}",
            )
            self._leases.txns_opened(control, body, queued_s)
        elif isinstance(body, SessionClosed):
            self._end_session(control.session)
        elif isinstance(body, TxnsExpired):
            if not self.is_filling(control):
                owners = {txn: session for txn, (session, _) in self.books.open.items()}
                self._leases.check(control.epoch, body, owners, queued_s)
            for session in body.sessions:
                self._end_session(session)

    def _end_session(self, session: int) -> None:
        must(self.sessions.get(session, False), "a session ends once", f"session {session}")
        self.sessions[session] = False


def is_internal(control: Control, body: Any) -> bool:
    """Tell whether nobody asked for an event; forgetting is asked for or not."""
    if isinstance(body, AbortedForgotten):
        return control.n == 0
    return isinstance(body, INTERNAL)
