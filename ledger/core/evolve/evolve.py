"""Evolve: apply events to the state. No rules live here: the log is trusted, and compared.

An AssertionError means that this code cannot have decided the event; the reader stops. It is raised
by hand, because `python -O` leaves out asserts, and wrong rows would follow.
"""

from collections.abc import Callable, Iterable
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
    NamespaceChanged,
    RecordsTrimmed,
    Resigned,
    SessionClosed,
    SessionOpened,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
    WritesStaged,
)
from ledger.core.evolve import commits as evolve_commits
from ledger.core.evolve import tables as evolve_tables
from ledger.core.evolve import txns as evolve_txns
from ledger.core.state.domain import Cut, DomainState, TrimmedLog
from ledger.core.state.namespaces import Namespace
from ledger.core.state.sessions import Answered, Session

# The author of the session that a cut opens.
RECOVER: Final = "lakeledger recover"


def evolve(state: DomainState, event: Event) -> list[tuple[int, int, int]]:
    """Apply one accepted event to the state, in place.

    Returns the mappings of TXN_TO_WRITE_ID that this removed, as (table, write id, txn).
    """
    control, body = event
    check_position(state, control, type(body))
    check_kind(state, control, type(body))
    _, _, state.position, state.last_cmd, _, n, at, _ = control
    state.at = max(state.at, at)
    CHANGES[type(body)](state, control, body)
    if n:
        remember_answer(state, control, body)
    if state.txns.cleaned_below >= state.txns.watermark:
        return []
    return clean_mappings(state)


def check_position(state: DomainState, control: Control, kind: type) -> None:
    """Check that the event is the next one; only a cut leaves out positions."""
    follows = (
        control.position > state.position
        if kind is LogCut
        else (control.position == state.position + 1)
    )
    if not follows:
        raise AssertionError(f"position {control.position} applied after {state.position}")


def check_kind(state: DomainState, control: Control, kind: type) -> None:
    """Check that an answer names the next command, and an internal event the last one."""
    if kind in SETTING or state.is_filling(control):
        return
    answers = control.cmd == state.last_cmd + 1
    if kind not in BOTH and answers != (kind in ANSWERING):
        raise AssertionError(
            f"{kind.__name__} at position {control.position} names command {control.cmd}, "
            f"the last one was {state.last_cmd}"
        )


def clean_mappings(state: DomainState) -> list[tuple[int, int, int]]:
    """Remove mappings below the watermark, and note in each table where they begin now."""
    gone = state.txns.clean()
    for table_id, write_id, _ in gone:
        table = state.tables.by_id.get(table_id)
        if table is not None:
            table.clean(write_id)
    return gone


def fold(state: DomainState, events: Iterable[Event]) -> DomainState:
    """Apply many events to the state, in place, and return it."""
    for event in events:
        evolve(state, event)
    return state


def remember_answer(state: DomainState, control: Control, body: Any) -> None:
    """Keep the answer to a command, so that a repeated command gets the same answer."""
    session = state.sessions.by_number.get(control.session)
    if session is not None:
        state.sessions.remember(session, control.n, answered(control, body))


def answered(control: Control, body: Any) -> Answered:
    """Return the part of an answer that its session keeps."""
    describe = ANSWERS.get(type(body))
    if describe is not None:
        return describe(control, body)
    return Answered(control.position, type(body).__name__, control.txn, 1)


def repeated_answer(_control: Control, body: CommandRepeated) -> Answered:
    """Return the first answer, which the repeat got again."""
    return Answered(body.answered, body.outcome, body.first, body.size)


def refused_answer(control: Control, body: CommandRefused) -> Answered:
    """Return the reason of a refusal and its subject."""
    return Answered(control.position, body.reason, body.subject, 0)


def opened_answer(control: Control, body: TxnOpened) -> Answered:
    """Return the first of the opened txns, and how many there are."""
    return Answered(control.position, "TxnOpened", control.txn, body.size)


def aborted_answer(control: Control, body: TxnAborted) -> Answered:
    """Return an abort, or the reason `already_applied` with the position it names."""
    if body.first:
        return Answered(control.position, body.reason, body.first, 0)
    return Answered(control.position, "TxnAborted", control.txn, 1)


def created_answer(control: Control, body: TableCreated) -> Answered:
    """Return the id of the table that was created."""
    return Answered(control.position, "TableCreated", body.table, 1)


def unchanged(_state: DomainState, _control: Control, _body: object) -> None:
    """Apply an event that concerns the log only, and so changes no state."""


def ledger_created(state: DomainState, _control: Control, body: LedgerCreated) -> None:
    """Note the identity of the ledger and its limits."""
    if state.genesis is not None:
        raise AssertionError("LedgerCreated twice")
    state.genesis = body
    state.limits = body.limits
    state.commands_topic = body.commands_topic


def commands_moved(state: DomainState, _control: Control, body: CommandsMoved) -> None:
    """Note the topic of the commands from here on."""
    state.commands_topic = body.topic


def catalog_created(state: DomainState, _control: Control, body: CatalogCreated) -> None:
    """Add a catalog."""
    state.catalogs.add(body.catalog)


def namespace_changed(state: DomainState, control: Control, body: NamespaceChanged) -> None:
    """Create, alter or drop a namespace."""
    if body.act == "drop":
        state.namespaces.drop(body.catalog, body.name)
    else:
        state.namespaces.put(Namespace(body.catalog, body.name, body.properties, control.position))


def session_opened(state: DomainState, control: Control, body: SessionOpened) -> None:
    """Add a session under its position."""
    state.sessions.add(Session(control.position, *body))


def table_altered(state: DomainState, control: Control, body: TableAltered) -> None:
    """Alter a table at once, or store the change with its open txn."""
    if control.txn and not body.one_shot:
        evolve_tables.table_altered(state, control, body)
    else:
        evolve_commits.table_altered_at_once(state, control, body)


def log_cut(state: DomainState, control: Control, body: LogCut) -> None:
    """Note the cut, and drop all winners, so that no earlier read can be committed on."""
    if body.base >= control.position:
        raise AssertionError(f"a cut of {body.base} at {control.position}")
    floors = {table.table: (table.write_id, table.version) for table in body.tables}
    state.cuts.append(Cut(control.position, body.base, body.next_txn, floors))
    state.commands_topic = body.commands_topic
    state.tables.next_table = max(state.tables.next_table, body.next_table)
    state.winners.forget_all(control.position)
    # No client opened this session. Its nonce repeats itself, which a random one does not.
    nonce = control.chain * 2
    lease_ms = state.limits.lease_ms
    state.sessions.add(Session(control.position, nonce, body.author, "", RECOVER, lease_ms))


def log_trimmed(state: DomainState, control: Control, body: LogTrimmed) -> None:
    """Note a trim that may be carried out."""
    if not body.below <= body.image < control.position:
        raise AssertionError(f"a trim below {body.below} at {control.position}")
    state.trimmed = TrimmedLog(control.position, *body[:-1])


def records_trimmed(state: DomainState, control: Control, body: RecordsTrimmed) -> None:
    """Note from where on the log holds events for certain."""
    if not state.begins < body.below < control.position:
        raise AssertionError(f"a log that begins at {body.below}, not {state.begins}")
    state.begins = body.below


CHANGES: dict[type, Callable[[DomainState, Control, Any], None]] = {
    Fenced: unchanged,
    Resigned: unchanged,
    CommandsMoved: commands_moved,
    LogCut: log_cut,
    LogTrimmed: log_trimmed,
    RecordsTrimmed: records_trimmed,
    CommandRepeated: unchanged,
    CommandRefused: unchanged,
    LedgerCreated: ledger_created,
    CatalogCreated: catalog_created,
    SessionOpened: session_opened,
    SessionClosed: evolve_txns.session_closed,
    TxnOpened: evolve_txns.txn_opened,
    WriteIdsAllocated: evolve_txns.give_write_ids,
    TableCreated: evolve_tables.table_created,
    TableAltered: table_altered,
    TableRenamed: evolve_tables.table_renamed,
    TableDropped: evolve_tables.table_dropped,
    NamespaceChanged: namespace_changed,
    WritesStaged: evolve_txns.writes_staged,
    TxnCommitted: evolve_commits.txn_committed,
    TxnAborted: evolve_txns.txn_aborted,
    TxnsExpired: evolve_txns.txns_expired,
    AbortedForgotten: evolve_txns.aborted_forgotten,
}

ANSWERS: dict[type, Callable[[Control, Any], Answered]] = {
    TxnAborted: aborted_answer,
    CommandRepeated: repeated_answer,
    CommandRefused: refused_answer,
    TxnOpened: opened_answer,
    TableCreated: created_answer,
}

SETTING = frozenset({CommandsMoved, LogCut})
BOTH = frozenset({AbortedForgotten})
ANSWERING = frozenset(
    {
        SessionOpened,
        SessionClosed,
        TxnOpened,
        WriteIdsAllocated,
        TableCreated,
        TableAltered,
        TableRenamed,
        TableDropped,
        NamespaceChanged,
        LogTrimmed,
        WritesStaged,
        TxnCommitted,
        TxnAborted,
        CommandRepeated,
        CommandRefused,
    }
)
