"""Decide the life of a txn except its commit: open, allocate, abort, forget, close.

An aborted txn, or single write ids of it, may be forgotten once their data is gone.
"""

from collections.abc import Iterable, Sequence

from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    CloseSession,
    EndCause,
    ForgetAborted,
    OpenTxn,
    TxnType,
)
from ledger.core.conflicts.footprints import writes_anything
from ledger.core.events.events import (
    AbortedForgotten,
    Answer,
    CommandRepeated,
    SessionClosed,
    TxnAborted,
    TxnOpened,
    WriteIdsAllocated,
)
from ledger.core.events.parts import AbortedPart, AllocatedId, ForgottenPart, TxnEnd
from ledger.core.limits import (
    DURATION_MAX_MS,
    IDS_PER_COMMAND_MAX,
    PARTS_PER_CLOSE_MAX,
    TABLES_PER_TXN_MAX,
)
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table
from ledger.core.state.txns import TxnInFlight as OpenState
from ledger.core.state.txns import TxnStatus


def open_txn(state: DomainState, command: OpenTxn, now: int) -> TxnOpened:
    """Open `size` txns at once, with the snapshot they hold (rules a3, b1, b2)."""
    limits, txns = state.limits, state.txns
    if not 1 <= command.size <= limits.txns_per_open_max:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"size must be 1 to {limits.txns_per_open_max} txns, got {command.size}",
        )
    if not 0 <= command.deadline_ms <= DURATION_MAX_MS:
        raise Refused(
            Reason.COMMAND_INVALID,
            f"deadline_ms must be 0 to {DURATION_MAX_MS}, got {command.deadline_ms}",
        )
    if len(txns.open) + command.size > limits.open_txns_max:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"{len(txns.open)} txns are open and {command.size} requested; the limit open_txns_max "
            f"is {limits.open_txns_max}",
        )
    ids = first_write_ids(state, command) if command.tables else ()
    default = (
        limits.replicated_deadline_ms if command.type == "replicated" else limits.txn_deadline_ms
    )
    return opening(state, command.type, command.size, now + (command.deadline_ms or default), ids)


def opening(
    state: DomainState, kind: TxnType, size: int, deadline: int, ids: Sequence[AllocatedId]
) -> TxnOpened:
    """Return the event that opens txns now, with the snapshot they hold."""
    txns = state.txns
    inline = len(txns.open_visible) + len(txns.aborted_ids) <= state.limits.snapshot_inline_max
    return TxnOpened(
        kind,
        size,
        txns.min_open(),
        deadline,
        inline,
        list(txns.open_visible) if inline else (),
        list(txns.aborted_ids) if inline else (),
        txns.digest,
        ids,
    )


def first_write_ids(state: DomainState, command: OpenTxn) -> list[AllocatedId]:
    """Return one write id per table for each txn about to open, in the order of an allocation."""
    check_count(state, command.tables, "tables")
    check_ids(command.size, len(command.tables))
    if command.type == "read_only":
        raise Refused(Reason.TXN_READ_ONLY, "a read-only txn cannot take write ids")
    first = state.txns.next_txn
    txns = range(first, first + command.size)
    return [
        AllocatedId(table_id, txn, write_id)
        for table_id in dict.fromkeys(command.tables)
        for write_id, txn in enumerate(
            txns, start=managed_table(state, table_id, txns).last_write_id + 1
        )
    ]


def allocate_write_ids(state: DomainState, command: AllocateWriteIds) -> WriteIdsAllocated:
    """Give one write id per (table, txn), tables in the given order, txns ascending (rule a3)."""
    check_count(state, command.txns, "txns")
    check_count(state, command.tables, "tables")
    txns = [writable_txn(state, command.session, txn) for txn in sorted(set(command.txns))]
    check_room(txns, command.tables)
    ids: list[AllocatedId] = []
    for table_id in dict.fromkeys(command.tables):
        table = managed_table(state, table_id, [txn.txn for txn in txns])
        following = table.last_write_id
        for txn in txns:
            write_id = txn.write_ids.get(table_id)
            if write_id is None:
                following += 1
                write_id = following
            ids.append(AllocatedId(table_id, txn.txn, write_id))
    return WriteIdsAllocated(ids)


def check_count(state: DomainState, named: Sequence[int], what: str) -> None:
    """Refuse a list that is empty or too long to answer in one record."""
    most = state.limits.tables_per_command_max
    if not 1 <= len(named) <= most:
        raise Refused(
            Reason.LIMIT_EXCEEDED, f"a command must name 1 to {most} {what}, got {len(named)}"
        )


def check_room(txns: Sequence[OpenState], tables: Sequence[int]) -> None:
    """Refuse ids that do not fit the record of the answer, or of the end of a txn later."""
    check_ids(len(txns), len(tables))
    for txn in txns:
        check_tables(txn.txn, len(txn.write_ids) + len(set(tables) - txn.write_ids.keys()))


def check_tables(txn: int, count: int) -> None:
    """Refuse more tables than the record of a txn's end can name."""
    if count > TABLES_PER_TXN_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"txn {txn} must touch {TABLES_PER_TXN_MAX} tables at most, got {count}",
            txn,
        )


def check_ids(txns: int, tables: int) -> None:
    """Refuse more write ids than one answer can carry."""
    if txns * tables > IDS_PER_COMMAND_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"a command must request {IDS_PER_COMMAND_MAX} write ids at most, got {txns * tables}",
        )


def own_txn(state: DomainState, session: int, txn: int) -> OpenState:
    """Return an open txn that `session` owns; raises Refused if it is no such txn."""
    found = state.txns.open.get(txn)
    if found is None:
        raise not_open(state, txn)
    if found.session != session:
        raise Refused(
            Reason.NOT_OWNER, f"txn {txn} belongs to session {found.session}, not {session}", txn
        )
    return found


def writable_txn(state: DomainState, session: int, txn: int) -> OpenState:
    """Return an open txn that `session` owns and that may write."""
    found = own_txn(state, session, txn)
    if found.type == "read_only":
        raise Refused(Reason.TXN_READ_ONLY, f"txn {txn} is read only and cannot write", txn)
    return found


def status_for(state: DomainState, session: int, txn: int) -> tuple[TxnStatus, int]:
    """Return the status of a txn, and the position of its end.

    A session may still remember the end of its own txn after the domain has forgotten it.
    """
    status, position = state.txns.status(txn)
    if status != "forgotten":
        return status, position
    if position := state.sessions.answered_at(session, "TxnCommitted", txn):
        return "committed", position
    if position := state.sessions.answered_at(session, "TxnAborted", txn):
        return "aborted", position
    return "forgotten", 0


def not_open(state: DomainState, txn: int) -> Refused:
    """Return the refusal for a txn that is not open, with its status."""
    status, position = state.txns.status(txn)
    known = {
        "committed": f"it committed at position {position}",
        "aborted": "it was aborted" + (f" at position {position}" if position else ""),
        "forgotten": "it ended too long ago to be remembered",
    }
    why = known.get(status, "no txn with this id was ever opened")
    return Refused(Reason.TXN_NOT_OPEN, f"txn {txn} is not open ({status}): {why}", txn)


def not_managed(table: Table) -> Refused:
    """Return the refusal to write to an external table or a view."""
    what = "a view" if table.definition.kind == "view" else "an external table"
    return Refused(
        Reason.TABLE_EXTERNAL,
        f"{table.name} is {what}, and so has no write ids and no commits",
        table.table,
    )


def managed_table(state: DomainState, table_id: int, txns: Iterable[int]) -> Table:
    """Return a managed table that all these txns may write; raises Refused."""
    table = state.tables.by_id.get(table_id)
    if table is None or any(table.creator not in (0, txn) for txn in txns):
        raise Refused(Reason.UNKNOWN_TABLE, f"there is no table {table_id}", table_id)
    if table.definition.kind != "managed":
        raise not_managed(table)
    return table


def abort(state: DomainState, command: AbortTxn) -> Answer:
    """Abort a txn; any session may, but `wrote` counts only from its own session (rule a5)."""
    txn = state.txns.open.get(command.txn)
    if txn is None:
        status, position = status_for(state, command.session, command.txn)
        if status == "aborted":
            return CommandRepeated(b"", position, "TxnAborted", command.txn, 1, ())
        raise not_open(state, command.txn)
    wrote = command.wrote if command.session == txn.session else None
    check_tables(txn.txn, len(wrote or ()))
    parts = aborted_parts(state, txn, wrote)
    return TxnAborted(command.reason, one_shot=False, parts=parts, evidence=None)


def aborted_parts(
    state: DomainState, txn: OpenState, wrote: Iterable[int] | None
) -> list[AbortedPart]:
    """Return the tables of an abort; `wrote` None = all where it has an id or staged writes."""
    held = txn.write_ids.keys() | staged_in(txn) if wrote is None else wrote
    named = {table for table in held if is_writable(state, txn, table)}
    return [
        AbortedPart(table, txn.write_ids.get(table, 0), txn.metadata.get(table, 0), table in named)
        for table in sorted(named | txn.write_ids.keys() | txn.metadata.keys())
    ]


def staged_in(txn: OpenState) -> set[int]:
    """Return the tables for which a txn staged writes, not only reads."""
    return {
        table
        for table, chunks in txn.staged.items()
        if any(chunk.files or writes_anything(chunk) for chunk in chunks)
    }


def is_writable(state: DomainState, txn: OpenState, table: int) -> bool:
    """Tell whether a txn can have left data in a table that an abort must record."""
    found = state.tables.visible(table, txn.txn)
    return found is not None and found.definition.kind == "managed"


def close_session(state: DomainState, command: CloseSession) -> SessionClosed:
    """End the session and abort what it left open."""
    session = state.sessions.by_number[command.session]
    parts = sum(1 + len(state.txns.open[txn].write_ids) for txn in session.txns)
    if parts > PARTS_PER_CLOSE_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"the open txns of session {command.session} hold {parts} write ids, and one answer "
            f"holds {PARTS_PER_CLOSE_MAX}; end some of the txns first",
            command.session,
        )
    return SessionClosed([end_of(state, txn, "closed") for txn in sorted(session.txns)])


def end_of(state: DomainState, txn: int, cause: EndCause) -> TxnEnd:
    """Return the end of an open txn without its session's word: every table counts as written."""
    return TxnEnd(txn, cause, aborted_parts(state, state.txns.open[txn], None))


def forget_aborted(state: DomainState, command: ForgetAborted) -> AbortedForgotten:
    """Forget aborted ids whose data is gone, whole txns or single write ids of a table."""
    if bool(command.txns) == bool(command.write_ids):
        raise Refused(Reason.COMMAND_INVALID, "a command must name either txns or write_ids")
    check_count(state, command.txns or command.write_ids, "ids")
    parts = (
        parts_of_txns(state, command.txns)
        if command.txns
        else parts_of_write_ids(state, command.table, command.write_ids)
    )
    return forgotten(state, command.txns, parts)


def parts_of_txns(state: DomainState, txns: Iterable[int]) -> list[ForgottenPart]:
    """Return every table these aborted txns left data in."""
    for txn in txns:
        if txn not in state.txns.aborted:
            raise not_aborted(state, txn)
    ordered = sorted(set(txns))
    count = sum(len(state.txns.aborted[txn].wrote) for txn in ordered)
    if len(ordered) > 1 and count > IDS_PER_COMMAND_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"these txns left data in {count} tables, and one answer holds {IDS_PER_COMMAND_MAX}; "
            "name fewer txns",
        )
    return [ForgottenPart(t, table) for t in ordered for table in left_in(state, t)]


def left_in(state: DomainState, txn: int) -> list[int]:
    """Return the tables that may still hold data of an aborted txn, ascending."""
    return sorted(state.txns.aborted[txn].wrote)


def parts_of_write_ids(
    state: DomainState, table: int, write_ids: Iterable[int]
) -> list[ForgottenPart]:
    """Return the aborted txns behind these write ids of a table."""
    by_id = state.txns.writers.get(table, {})
    parts: list[ForgottenPart] = []
    for write_id in sorted(set(write_ids)):
        if write_id < 1 or write_id not in by_id:
            raise Refused(
                Reason.TXN_NOT_ABORTED,
                f"write id {write_id} of table {table} belongs to no aborted txn with data there",
                table,
            )
        parts.append(ForgottenPart(by_id[write_id], table))
    return parts


def not_aborted(state: DomainState, txn: int) -> Refused:
    """Return the refusal to forget a txn that is not aborted, or is forgotten already."""
    status, _ = state.txns.status(txn)
    known = "is forgotten already" if status == "aborted" else f"is {status}"
    return Refused(
        Reason.TXN_NOT_ABORTED, f"txn {txn} {known}; only an aborted txn can be forgotten", txn
    )


def forgotten(
    state: DomainState, named: Iterable[int], parts: Sequence[ForgottenPart]
) -> AbortedForgotten:
    """Return the event with `parts`, the `named` txns, and each txn that has no data after it."""
    left = {txn: set(state.txns.aborted[txn].wrote) for txn in {part.txn for part in parts}}
    for txn, table in parts:
        left[txn].discard(table)
    gone = {txn for txn, tables in left.items() if not tables} | set(named)
    return AbortedForgotten(sorted(gone), parts)
