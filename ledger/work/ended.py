"""The end of a txn by another program: which one ended it, at which position, and why."""

from copy import copy
from typing import Literal, Protocol
from warnings import warn
from weakref import ref

from ledger.core.events.events import CommandRefused, Event, SessionClosed, TxnAborted, TxnsExpired
from ledger.core.refusals import Reason
from ledger.definitions.client_reads import View
from ledger.errors import LedgerError, RefusedError, SessionExpiredError, TxnNotOpenError
from ledger.session.refusals import ROWS
from ledger.session.session import ClientSession, CommandAnswer


class Owner(Protocol):
    """A txn that notes its end."""

    def note_end(self, status: Literal["aborted"]) -> None:
        """Set the final status."""
        ...


class TxnEnding:
    """Watches whether another program ends a txn; `owner` notes it. Threads may share it."""

    def __init__(self, txn: int, session: ClientSession, view: View, owner: Owner) -> None:
        self._txn = txn
        self._session = session
        self._view = view
        # Weak, so that a dropped txn is found at once and not by the collector of cycles.
        self._owner = ref(owner)
        self._error: RefusedError | None = None
        # The event of a refusal: by then the txn has ended and is watched no longer.
        self._kept: Event | None = None
        session.open_txns.add(txn)
        session.endings.watch(txn)

    def check(self) -> None:
        """Raise the error of the event that ended the txn, if the tail has seen it."""
        event = self._event()
        if event is not None and self._error is None:
            self._error = ended_error(event, self._txn, self._session, self._view)
            if (owner := self._owner()) is not None:
                owner.note_end("aborted")
        if self._error is not None:
            raise copy(self._error)

    def check_as_read(self) -> None:
        """Raise what ended the txn up to the position of the rows that this client has read."""
        self._session.hear(self._view.seen.position)
        self.check()

    def told(self, answer: CommandAnswer) -> CommandAnswer:
        """Return the answer; a refusal as the txn is not open gets the author and the reason."""
        event = self._event()
        match answer.body:
            case CommandRefused(reason=Reason.TXN_NOT_OPEN) as body if event is not None:
                self._kept = event
                why = ending_clause(event, self._txn, self._session.number, self._view)
                return answer._replace(body=body._replace(message=f"{body.message}; {why}"))
            case _:
                return answer

    def leave(self) -> None:
        """Stop watching: the txn has ended."""
        self._session.open_txns.discard(self._txn)
        self._session.endings.leave(self._txn)

    def drop(self) -> None:
        """Warn that the txn is open and no variable refers to it any more."""
        is_over = self._session.endings.of(self._txn) is not None or not self._session.is_open
        self._session.endings.leave(self._txn)
        if not is_over:
            warn(
                f"txn {self._txn} is open, but the program has dropped it: commit or abort it, or "
                "use it in a with block. It holds back the cleaning of files until its ledger is "
                "closed, or its deadline passes",
                ResourceWarning,
                stacklevel=3,
            )

    def _event(self) -> Event | None:
        return self._kept or self._session.endings.of(self._txn)


def ended_error(event: Event, txn: int, session: ClientSession, view: View) -> RefusedError:
    """Return the error for a txn that an event ended."""
    why = ending_clause(event, txn, session.number, view)
    is_expired = cause_of(event, txn) == "lease"
    kind = SessionExpiredError if is_expired else TxnNotOpenError
    reason = Reason.SESSION_EXPIRED if is_expired else Reason.TXN_NOT_OPEN
    silence = f". {session.why_silent()}" if is_expired else ""
    return kind(
        f"txn {txn} is not open any more: {why}{silence}. {ROWS[reason].advice}",
        reason=reason,
        subject=txn,
        position=event.control.position,
    )


def ending_clause(event: Event, txn: int, session: int, view: View) -> str:
    """Return a clause that says what ended a txn of a session, and why."""
    control, body = event
    if isinstance(body, TxnAborted):
        who = "this ledger" if control.session == session else author(control.session, view)
        why = body.reason or "no reason was given"
        return f"{who} aborted it at position {control.position}: {why}"
    if cause_of(event, txn) == "deadline":
        return f"its deadline had passed, so the ledger ended it at position {control.position}"
    how = "expired" if cause_of(event, txn) == "lease" else "was closed"
    return f"its session {session} {how} at position {control.position}"


def cause_of(event: Event, txn: int) -> str:
    """Return why an event ended a txn among others, "" for an abort of this txn alone."""
    ends = event.body.ends if isinstance(event.body, TxnsExpired | SessionClosed) else ()
    return next((end.cause for end in ends if end.txn == txn), "")


def author(session: int, view: View) -> str:
    """Return the owner of a session, as far as the rows show it now."""
    try:
        row = view.at_hand().session(session)
    except LedgerError:
        row = None
    if row is None:
        return f"session {session}"
    named = f", {row.application}" if row.application else ""
    return f"session {session} ({row.user}@{row.host}{named})"
