"""Decide: the event that answers a command, always exactly one.

This module holds the checks that every command passes first, in this order: the session is known,
the command was not answered before, the session is open, the number is in the window, the time has
not passed. The checks of each kind of command are in `txns`, `commit`, `judge`, `candidate` and
`tables`, in the order in which they apply. No module here reads a clock, draws random numbers or
does I/O; the state is read, never changed.
"""

from collections.abc import Iterable
from itertools import islice

from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    AlterTable,
    ChangeNamespace,
    CloseSession,
    Command,
    CommitTxn,
    CreateTable,
    DropTable,
    ForgetAborted,
    OpenSession,
    OpenTxn,
    RenameTable,
    SessionCommand,
    StageWrites,
    TrimLog,
    Unreadable,
)
from ledger.core.decide import candidate, namespaces, trimming
from ledger.core.decide import commit as decide_commit
from ledger.core.decide import tables as decide_tables
from ledger.core.decide import txns as decide_txns
from ledger.core.events.events import Answer, CommandRefused, CommandRepeated, SessionOpened
from ledger.core.events.parts import AllocatedId
from ledger.core.limits import (
    IDS_PER_COMMAND_MAX,
    LABEL_CHARS_MAX,
    LEASE_MAX_MS,
    LEASE_MIN_MS,
    NONCE_BYTES,
    WINDOW,
)
from ledger.core.refusals import Reason, Refused, refuse
from ledger.core.state.domain import DomainState
from ledger.core.state.sessions import Answered, Session


def decide(state: DomainState, command: Command, now: int) -> Answer:
    """Return the event that answers `command` at `now`, in milliseconds of the leader's clock.

    The leader's clock alone decides whether a command is too late. With the time of the log, one
    event of a leader with a fast clock would make all commands too late until that time. All else
    uses the time of the log, which is never before `state.at`.
    """
    if isinstance(command, Unreadable):
        return refuse(Reason.COMMAND_UNREADABLE, command.reason)
    if isinstance(command, OpenSession):
        return open_session(state, command, now)
    session = state.sessions.by_number.get(command.session)
    if session is None:
        return unknown_session(state, command.session)
    known = session.answers.get(command.n)
    if known is not None:
        return repeated(state, command, known)
    try:
        check_session(session, command, now)
        return dispatch(state, command, max(state.at, now))
    except Refused as refused:
        return refused.refusal


def unknown_session(state: DomainState, session: int) -> CommandRefused:
    """Return the refusal of a command whose session is unknown."""
    cut = decide_tables.lost_by(state, session)
    if cut is None:
        why = f"session {session} is unknown: it was never opened, or ended long ago"
        return refuse(Reason.SESSION_EXPIRED, why, session)
    return refuse(
        Reason.LOST_BY_CUT,
        f"session {session} and all its work were lost by the cut at position {cut.position}; open "
        "a new session and read again",
        session,
    )


def check_session(session: Session, command: SessionCommand, now: int) -> None:
    """Refuse a command by its session, number or time."""
    if not session.is_open:
        raise Refused(
            Reason.SESSION_EXPIRED,
            f"session {session.number} has ended and its txns were aborted; open a new session",
            session.number,
        )
    if command.n < 1:
        raise Refused(Reason.COMMAND_INVALID, f"n must be 1 or more, got {command.n}")
    if command.n <= session.last_n - WINDOW:
        raise Refused(
            Reason.COMMAND_FORGOTTEN,
            f"command {command.n} is {session.last_n - command.n} behind the newest, and the "
            f"answers of the last {WINDOW} are kept: whether it was executed is unknown",
        )
    if command.n > session.last_n + WINDOW:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"the session must have {WINDOW} commands in flight at most, got n {command.n} after "
            f"{session.last_n}",
        )
    if now > command.not_after:
        raise Refused(
            Reason.COMMAND_TOO_LATE,
            f"the command came at {now} ms, after its not_after of {command.not_after} ms",
        )


def dispatch(  # noqa: C901, PLR0911, PLR0912 - a case for each kind
    state: DomainState, command: SessionCommand, now: int
) -> Answer:
    """Return the decision for the command's kind; raises Refused."""
    match command:
        case CommitTxn():
            return decide_commit.commit(state, command, now)
        case AllocateWriteIds():
            return decide_txns.allocate_write_ids(state, command)
        case OpenTxn():
            return decide_txns.open_txn(state, command, now)
        case AbortTxn():
            return decide_txns.abort(state, command)
        case ForgetAborted():
            return decide_txns.forget_aborted(state, command)
        case CreateTable():
            return decide_tables.create(state, command)
        case AlterTable():
            return decide_tables.alter(state, command, now)
        case StageWrites():
            return candidate.stage(state, command)
        case RenameTable():
            return decide_tables.rename(state, command)
        case DropTable():
            return decide_tables.drop(state, command)
        case ChangeNamespace():
            return namespaces.change(state, command)
        case CloseSession():
            return decide_txns.close_session(state, command)
        case TrimLog():
            return trimming.trim(state, command)


def open_session(state: DomainState, command: OpenSession, now: int) -> Answer:
    """Open a session, or return the one that this nonce opened before."""
    known = state.sessions.by_nonce.get(command.nonce)
    if known is not None:
        return CommandRepeated(command.nonce, known, "SessionOpened", known, 1, ())
    refusal = session_refusal(state, command, now)
    if refusal is not None:
        return refusal._replace(nonce=command.nonce)
    return SessionOpened(
        command.nonce,
        command.user[:LABEL_CHARS_MAX],
        command.host[:LABEL_CHARS_MAX],
        command.application[:LABEL_CHARS_MAX],
        command.lease_ms or state.limits.lease_ms,
    )


def session_refusal(state: DomainState, command: OpenSession, now: int) -> CommandRefused | None:
    """Return why no session can open, or None."""
    if len(command.nonce) != NONCE_BYTES:
        return refuse(
            Reason.COMMAND_INVALID, f"nonce must have {NONCE_BYTES} bytes, got {len(command.nonce)}"
        )
    if command.lease_ms and not LEASE_MIN_MS <= command.lease_ms <= LEASE_MAX_MS:
        return refuse(
            Reason.COMMAND_INVALID,
            f"lease_ms must be {LEASE_MIN_MS} to {LEASE_MAX_MS}, or 0 for the ledger's default, "
            f"got {command.lease_ms}",
        )
    if state.genesis is None:
        return refuse(Reason.COMMAND_FAILED, "the ledger is not created yet; retry")
    if now > command.not_after:
        return refuse(
            Reason.COMMAND_TOO_LATE,
            f"the command came at {now} ms, after its not_after of {command.not_after} ms",
        )
    if state.sessions.open_count() >= state.limits.sessions_max:
        return refuse(
            Reason.LIMIT_EXCEEDED,
            f"{state.limits.sessions_max} sessions are open, the limit sessions_max; close one",
        )
    return None


def repeated(state: DomainState, command: SessionCommand, known: Answered) -> CommandRepeated:
    """Return the first answer again, with the write ids it gave to txns that are still open."""
    ids: list[AllocatedId] = []
    match command:
        case AllocateWriteIds() if known.outcome == "WriteIdsAllocated":
            ids = ids_of_open(state, sorted(set(command.txns)), command.tables)
        case OpenTxn() if known.outcome == "TxnOpened":
            opened = range(known.first, known.first + known.size)
            ids = ids_of_open(state, opened, command.tables)
        case _:
            pass
    return CommandRepeated(b"", known.position, known.outcome, known.first, known.size, ids)


def ids_of_open(
    state: DomainState, named: Iterable[int], tables: Iterable[int]
) -> list[AllocatedId]:
    """Return the write ids that the named txns hold in the named tables, while they are open."""
    # The first answer cannot have named more. A longer list under the same n was never checked.
    most = state.limits.tables_per_command_max
    txns = [state.txns.open[txn] for txn in islice(named, most) if txn in state.txns.open]
    held = (
        AllocatedId(table, txn.txn, txn.write_ids[table])
        for table in islice(dict.fromkeys(tables), most)
        for txn in txns
        if table in txn.write_ids
    )
    return list(islice(held, IDS_PER_COMMAND_MAX))
