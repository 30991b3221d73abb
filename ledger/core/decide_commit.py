"""Decide a commit: everything that can keep a txn from becoming visible, in the order it is asked.

A part of a commit is one table it wrote, holds a write id in, or changed the metadata of. First the
refusals, which leave the txn open: it is not this session's, a part names what cannot be written.
Then the conflicts, which abort it: a table is gone, its metadata or its name was taken by an
earlier commit, a unit was changed by one. A txn without an id (one-shot) is opened, given its write
ids and committed by the same event.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.core.commands import CommitTxn, TableWrite
from ledger.core.conflicts import Winner, unit_name
from ledger.core.decide_tables import check_ahead
from ledger.core.decide_txns import aborted_parts, not_open, own_txn
from ledger.core.events import (
    Answer,
    CommandRepeated,
    CommittedPart,
    Evidence,
    Side,
    TxnAborted,
    TxnCommitted,
)
from ledger.core.ids import JUDGED_TYPES
from ledger.core.outcomes import Reason, Refused
from ledger.core.state import DomainState
from ledger.core.tables import Change, Pending, Table, name_key
from ledger.core.txns import OpenTxn


class Candidate(NamedTuple):
    """A txn about to commit: `txn` None = one-shot; `tables` are all it touched, ascending."""

    txn: OpenTxn | None
    snapshot: int
    writes: dict[int, TableWrite]
    tables: Sequence[int]
    changes: Sequence[Pending]

    def read_at(self, table: int) -> int:
        """Return the position the part's plan was made from."""
        write = self.writes.get(table)
        return (write.read_at if write is not None else 0) or self.snapshot


def commit(state: DomainState, command: CommitTxn) -> Answer:
    """Commit, or abort with the evidence; a txn that committed before is told so again."""
    if command.txn:
        status, position = state.txns.status(command.txn)
        if status == "committed":
            return CommandRepeated(b"", position, "TxnCommitted", command.txn, 1, ())
        if status != "open":
            raise not_open(state, command.txn)
    candidate = candidate_of(state, command)
    check_writes(state, candidate)
    evidence = first_conflict(state, candidate)
    if evidence is not None:
        return lost(state, candidate, evidence)
    txn = candidate.txn
    parts = [committed_part(state, candidate, table) for table in candidate.tables]
    return TxnCommitted(txn.type if txn else "default", txn is None, parts)


def candidate_of(state: DomainState, command: CommitTxn) -> Candidate:
    """Gather what is to be committed; raises Refused if it is not this session's to commit."""
    writes: dict[int, TableWrite] = {}
    for write in sorted(command.tables, key=lambda each: each.table):
        if write.table in writes:
            raise Refused(Reason.COMMAND_INVALID, f"table {write.table} has two parts", write.table)
        writes[write.table] = write
    if len(writes) > state.limits.tables_per_command_max:
        raise Refused(Reason.LIMIT_EXCEEDED, f"{len(writes)} tables in one commit")
    if not command.txn:
        return Candidate(None, 0, writes, list(writes), ())
    txn = own_txn(state, command.session, command.txn)
    # A write id alone is no write (rule c0): one in a table that was dropped goes with the table.
    held = txn.write_ids.keys() & state.tables.by_id.keys()
    touched = sorted(writes.keys() | held | txn.metadata.keys())
    return Candidate(txn, txn.opened, writes, touched, state.tables.pending.get(txn.txn, ()))


def check_writes(state: DomainState, candidate: Candidate) -> None:
    """Refuse parts that could not be committed however early they came."""
    txn = candidate.txn
    if txn is None and not candidate.writes:
        raise Refused(Reason.COMMAND_INVALID, "a commit without a txn names what it wrote")
    if txn is not None and txn.type == "read_only" and candidate.writes:
        raise Refused(Reason.TXN_READ_ONLY, f"txn {txn.txn} is read only", txn.txn)
    for write in candidate.writes.values():
        check_write(state, candidate, write)


def check_write(state: DomainState, candidate: Candidate, write: TableWrite) -> None:
    """Refuse one declared part; a table dropped meanwhile is a conflict, not a refusal."""
    check_ahead(state, write.read_at, write.table)
    table = visible_table(state, candidate, write.table)
    if table is None:
        dropped = write.table not in state.tables.by_id
        if dropped and 0 < write.table < state.tables.next_table:
            return
        raise Refused(Reason.UNKNOWN_TABLE, f"there is no table {write.table}", write.table)
    if table.definition.kind != "managed":
        raise Refused(Reason.TABLE_EXTERNAL, f"table {table.name} is external", write.table)
    if candidate.txn is None and table.definition.layout == "directories":
        raise Refused(
            Reason.WRITE_ID_REQUIRED,
            f"files of table {table.name} lie under their write id, which a txn must have first",
            write.table,
        )
    check_base(state, candidate, write)


def check_base(state: DomainState, candidate: Candidate, write: TableWrite) -> None:
    """Refuse an update or delete whose winners are not all remembered, rather than guess."""
    judged = candidate.txn is None or candidate.txn.type in JUDGED_TYPES
    if not judged or all(each.operation == "insert" for each in write.writes):
        return
    read_at = candidate.read_at(write.table)
    if read_at == 0:
        raise Refused(
            Reason.READ_AT_REQUIRED,
            "an update or delete without a txn names the position it was planned from",
            write.table,
        )
    if read_at < state.winners.floor:
        raise Refused(
            Reason.SNAPSHOT_TOO_OLD,
            f"the plan was made at position {read_at}; commits up to "
            f"{state.winners.floor} are no longer remembered. Read again and retry",
            write.table,
        )


def visible_table(state: DomainState, candidate: Candidate, table: int) -> Table | None:
    """Return the table as this txn may see it."""
    return state.tables.visible(table, candidate.txn.txn if candidate.txn else 0)


def first_conflict(state: DomainState, candidate: Candidate) -> Evidence | None:
    """Return the first thing an earlier commit took away, table by table, or None."""
    for table_id in candidate.tables:
        table = visible_table(state, candidate, table_id)
        evidence = (
            gone(state, candidate, table_id)
            if table is None
            else metadata_conflict(state, candidate, table)
            or coarse_conflict(state, candidate, table)
        )
        if evidence is not None:
            return evidence
    return name_conflict(state, candidate) if candidate.changes else None


def gone(state: DomainState, candidate: Candidate, table: int) -> Evidence:
    """Return the evidence that a table was dropped under the txn."""
    dropped = state.tables.dropped.get(table)
    return Evidence(
        rule="table_dropped",
        exception="MetadataChanged",
        table=table,
        unit="table",
        operation="",
        read_at=candidate.read_at(table),
        winner=winning_side(state, dropped) if dropped else Side(0, 0, "drop", ""),
        remedy="resolve the name again and write to the table that holds it now",
    )


def metadata_conflict(state: DomainState, candidate: Candidate, table: Table) -> Evidence | None:
    """Return the evidence that another commit changed the metadata this txn changes too."""
    own = [change for change in candidate.changes if change.table == table.table]
    if not own or table.creator or table.change.position <= min(c.read_at for c in own):
        return None
    return Evidence(
        rule="metadata_first_committer",
        exception="MetadataChanged",
        table=table.table,
        unit="metadata",
        operation=own[0].kind,
        read_at=own[0].read_at,
        winner=winning_side(state, table.change),
        remedy="read the table again and repeat the change",
    )


def coarse_conflict(state: DomainState, candidate: Candidate, table: Table) -> Evidence | None:
    """Return the evidence that another commit changed a unit this txn changes too (rule c1)."""
    txn, write = candidate.txn, candidate.writes.get(table.table)
    if write is None or (txn is not None and txn.type not in JUDGED_TYPES):
        return None
    read_at = candidate.read_at(table.table)
    for each in write.writes:
        winner = state.winners.rival(table.table, each, read_at)
        if winner is not None:
            return Evidence(
                rule="coarse_write_write",
                exception="ConcurrentDeleteDelete",
                table=table.table,
                unit=unit_name(each),
                operation=each.operation,
                read_at=read_at,
                winner=winning_side(state, winner),
                remedy="read the unit again and retry in a new txn",
            )
    return None


def name_conflict(state: DomainState, candidate: Candidate) -> Evidence | None:
    """Return the evidence that a name this txn gives is held by another table."""
    tables = state.tables
    final = {change.table: change for change in candidate.changes}
    freed = {
        name_key(table.catalog, table.name)
        for table in (tables.by_id[each] for each in final)
        if not table.creator
    }
    for table_id, change in final.items():
        table = tables.by_id[table_id]
        holder = tables.named(table.catalog, change.name) if change.kind != "drop" else None
        if holder is not None and name_key(table.catalog, change.name) not in freed:
            return Evidence(
                rule="name_claimed",
                exception="ProtocolChanged",
                table=table_id,
                unit=change.name,
                operation=change.kind,
                read_at=change.read_at,
                winner=winning_side(state, holder.change),
                remedy="choose another name, or use the table that has it",
            )
    return None


def winning_side(state: DomainState, winner: Change | Winner) -> Side:
    """Return the winner, with its author as far as the session is remembered."""
    session = state.sessions.by_number.get(winner.session)
    author = f"{session.user}@{session.host} {session.application}".strip() if session else ""
    return Side(winner.txn, winner.position, winner.operation, author)


def lost(state: DomainState, candidate: Candidate, evidence: Evidence) -> TxnAborted:
    """Return the abort of a txn that lost; it wrote what it declared, an id alone is no write."""
    txn = candidate.txn
    if txn is None:
        return TxnAborted("conflict", one_shot=True, parts=(), evidence=evidence)
    parts = aborted_parts(state, txn, candidate.writes)
    return TxnAborted("conflict", one_shot=False, parts=parts, evidence=evidence)


def committed_part(state: DomainState, candidate: Candidate, table_id: int) -> CommittedPart:
    """Return one table of a commit that nothing stands against."""
    table = state.tables.by_id[table_id]
    txn, write = candidate.txn, candidate.writes.get(table_id)
    write_id = txn.write_ids.get(table_id, 0) if txn else 0
    late = write is not None and not write_id and table.definition.layout == "listed"
    return CommittedPart(
        table_id,
        candidate.read_at(table_id),
        table.last_write_id + 1 if late else write_id,
        table.version + 1,
        txn.metadata.get(table_id, 0) if txn else 0,
        write.writes if write is not None else (),
    )
