"""Refusals as exceptions: the class and the advice of each reason in the log.

A refusal is a value in the log. Only this module makes it an exception: one row for each reason,
one for each conflict.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar

from ledger.core.events.events import (
    CommandRefused,
    CommandRepeated,
    Control,
    Event,
    TxnAborted,
    TxnCommitted,
)
from ledger.core.refusals import Reason
from ledger.errors import (
    AppVersionsDisagreeError,
    CommandFailedError,
    CommandInvalidError,
    CommandTooLateError,
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConflictError,
    LedgerError,
    LimitExceededError,
    LogHeldError,
    LostByCutError,
    MetadataChangedException,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NotOwnerError,
    OutcomeUnknownError,
    ProtocolChangedException,
    RefusedError,
    SessionExpiredError,
    SnapshotTooOldError,
    StagedWritesDifferError,
    TableExistsError,
    TxnNotOpenError,
    UnknownNamespaceError,
    UnknownTableError,
    UnsupportedTableFeatureException,
)
from ledger.session.explain import Explanation
from ledger.session.receipt import ALREADY_APPLIED
from ledger.session.session import CommandAnswer

Wanted = TypeVar("Wanted")


class RefusalAdvice(NamedTuple):
    """The exception class of a reason, and the end of its message."""

    error: type[RefusedError | OutcomeUnknownError]
    advice: str


ROWS: Final[Mapping[str, RefusalAdvice]] = {
    Reason.SESSION_EXPIRED: RefusalAdvice(
        SessionExpiredError, "Begin the txn again: the next call opens a new session"
    ),
    # Not a refusal to the caller: the first copy of the command may have been executed.
    Reason.COMMAND_FORGOTTEN: RefusalAdvice(
        OutcomeUnknownError, "Ask ledger.outcome, or look at what the command should have changed"
    ),
    Reason.COMMAND_TOO_LATE: RefusalAdvice(
        CommandTooLateError,
        "Try again; if it happens often, compare the clocks of this machine and the sequencer's",
    ),
    Reason.COMMAND_INVALID: RefusalAdvice(CommandInvalidError, "Correct the call"),
    Reason.COMMAND_UNREADABLE: RefusalAdvice(
        CommandInvalidError, "Use a client of the sequencer's version, or an older one"
    ),
    Reason.COMMAND_FAILED: RefusalAdvice(
        CommandFailedError, "Report it with the position; the ledger itself goes on"
    ),
    Reason.LIMIT_EXCEEDED: RefusalAdvice(
        LimitExceededError, "Request less at once, or end txns and sessions, then try again"
    ),
    Reason.NOT_OWNER: RefusalAdvice(
        NotOwnerError, "Use the ledger object that opened the txn; other clients can only abort it"
    ),
    Reason.TXN_NOT_OPEN: RefusalAdvice(
        TxnNotOpenError, "Begin a new txn if its work is still to be done"
    ),
    Reason.TXN_READ_ONLY: RefusalAdvice(
        CommandInvalidError, 'Begin a txn of type "default" to write'
    ),
    Reason.TXN_NOT_ABORTED: RefusalAdvice(CommandInvalidError, "Name aborted txns only"),
    Reason.UNKNOWN_TABLE: RefusalAdvice(
        UnknownTableError, "Resolve the name again, see ledger.tables()"
    ),
    Reason.UNKNOWN_CATALOG: RefusalAdvice(
        CommandInvalidError,
        "Connect with the ledger's own catalog, by catalog=... or LAKELEDGER_CATALOG",
    ),
    Reason.UNKNOWN_NAMESPACE: RefusalAdvice(
        UnknownNamespaceError, "See ledger.namespaces(), or create it"
    ),
    Reason.NAMESPACE_EXISTS: RefusalAdvice(
        NamespaceExistsError, "Use it, or alter it by ledger.alter_namespace"
    ),
    Reason.NAMESPACE_NOT_EMPTY: RefusalAdvice(
        NamespaceNotEmptyError, "Drop what is in it first, or use cascade=True"
    ),
    Reason.TABLE_EXISTS: RefusalAdvice(
        TableExistsError, "Choose another name, or use the table that has it"
    ),
    Reason.TABLE_EXTERNAL: RefusalAdvice(
        CommandInvalidError, "Write to external tables without a txn, as their owner prescribes"
    ),
    Reason.WRITE_ID_REQUIRED: RefusalAdvice(
        CommandInvalidError, "Begin a txn and take a write id before writing to this table"
    ),
    Reason.READ_AT_REQUIRED: RefusalAdvice(
        CommandInvalidError, "Give read_at=..., the position at which the rows were read"
    ),
    Reason.READ_AT_AHEAD: RefusalAdvice(CommandInvalidError, "Give a position that exists already"),
    Reason.SNAPSHOT_TOO_OLD: RefusalAdvice(SnapshotTooOldError, "Read again and repeat the work"),
    Reason.METADATA_CHANGED: RefusalAdvice(
        MetadataChangedException, "Read the table again and repeat the change"
    ),
    Reason.PROTOCOL_CHANGED: RefusalAdvice(
        ProtocolChangedException, "Choose another name, or use the table that has it now"
    ),
    Reason.APP_VERSIONS_DISAGREE: RefusalAdvice(
        AppVersionsDisagreeError,
        "Record a batch in all tables by one txn; commit the rest under another application name",
    ),
    Reason.LOST_BY_CUT: RefusalAdvice(
        LostByCutError, "Connect anew, look up what was committed, and do the work again"
    ),
    Reason.LOG_HELD: RefusalAdvice(LogHeldError, "End that txn, then trim again"),
    Reason.STAGED_WRITES_DIFFER: RefusalAdvice(
        StagedWritesDifferError, "Abort the txn and do its work again in a new one"
    ),
}

CONFLICTS: Final[Mapping[str, type[ConflictError]]] = {
    "ConcurrentAppend": ConcurrentAppendException,
    "ConcurrentDeleteRead": ConcurrentDeleteReadException,
    "ConcurrentDeleteDelete": ConcurrentDeleteDeleteException,
    "MetadataChanged": MetadataChangedException,
    "ConcurrentTransaction": ConcurrentTransactionException,
    "ProtocolChanged": ProtocolChangedException,
    "UnsupportedTableFeature": UnsupportedTableFeatureException,
}


def refusal(refused: CommandRefused, control: Control) -> LedgerError:
    """Return the exception of a refusal."""
    return raised_as(refused.reason, refused.message, control, refused.subject)


def raised_as(reason: str, message: str, control: Control, subject: int = 0) -> LedgerError:
    """Return the exception of a reason; a reason of a later version is a plain RefusedError."""
    row = ROWS.get(reason)
    if row is None:
        return RefusedError(message, reason=reason, subject=subject, position=control.position)
    text = f"{message}. {row.advice}"
    if issubclass(row.error, OutcomeUnknownError):
        return row.error(text, session=control.session, n=control.n)
    return row.error(text, reason=reason, subject=subject, position=control.position)


def conflict(aborted: TxnAborted, control: Control) -> LedgerError:
    """Return the exception of a commit that was answered with an abort."""
    evidence = aborted.evidence
    if evidence is None:
        return ended(f"txn {control.txn} was aborted: {aborted.reason}", control.txn, control)
    kind = CONFLICTS.get(evidence.exception, ConflictError)
    explanation = Explanation(evidence, control.txn, control.position)
    return kind(
        explanation.summary,
        reason=evidence.exception,
        subject=control.txn,
        position=control.position,
        evidence=evidence,
        explanation=explanation,
    )


def refused_before(repeated: CommandRepeated, control: Control) -> LedgerError:
    """Return the exception of a repeated command whose first outcome was a refusal or an end."""
    message = f"the command was answered before, at position {repeated.answered}"
    if repeated.outcome in ROWS:
        return raised_as(repeated.outcome, message, control, repeated.first)
    return ended(f"{message}: {repeated.outcome}", repeated.first, control)


def ended(message: str, txn: int, control: Control) -> TxnNotOpenError:
    """Return the exception for a txn that has ended in another way than expected."""
    return TxnNotOpenError(
        f"{message}. {ROWS[Reason.TXN_NOT_OPEN].advice}",
        reason=Reason.TXN_NOT_OPEN,
        subject=txn,
        position=control.position,
    )


def body_as(kind: type[Wanted], answer: CommandAnswer | Event) -> Wanted:
    """Return the body of an answer if it is of this kind; otherwise raise its refusal."""
    control, body = answer.control, answer.body
    match body:
        case kind():
            return body
        case CommandRefused():
            raise refusal(body, control)
        case CommandRepeated():
            raise refused_before(body, control)
        case TxnAborted():
            raise conflict(body, control)
        case _:
            raise AssertionError(f"a command was answered with {body}, not with {kind.__name__}")


def check_done(answer: CommandAnswer) -> None:
    """Raise the refusal in the answer to a commit, unless its work is done, now or before."""
    body = answer.body
    match body:
        case TxnAborted() if body.reason == ALREADY_APPLIED:
            pass
        case CommandRepeated() if body.outcome in {TxnCommitted.__name__, ALREADY_APPLIED}:
            pass
        case _:
            body_as(TxnCommitted, answer)
