"""Decide a commit: everything that can keep a txn from becoming visible, in the order it is asked.

A part of a commit is one table it wrote, holds a write id in, or changed the metadata of; tables it
only read are declared beside: all that is a `Candidate`. First the refusals, which leave the txn
open: the asker does not own it, a part names what cannot be written, its base is no longer
remembered. Then the question whether its applications made the same progress before. Then the
conflicts, which abort it. A txn without an id (one-shot) is opened, given its write ids and
committed by the same event.
"""

from collections.abc import Sequence
from typing import Final

from ledger.core.commands import TableWrite
from ledger.core.conflicts.footprints import bare, depends_on_base, is_blind
from ledger.core.decide.candidate import Candidate, is_read
from ledger.core.decide.tables import check_ahead
from ledger.core.decide.txns import aborted_parts, not_open, status_for
from ledger.core.events.events import Answer, CommandRepeated, TxnAborted, TxnCommitted
from ledger.core.events.parts import CommittedPart, Evidence
from ledger.core.partitions.names import PARTITION_TEXT_MAX
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table

# Each unit of a coarse write takes every reader of the log tens of microseconds.
COARSE_MAX: Final = 10_000


def check_writes(state: DomainState, candidate: Candidate) -> None:
    """Refuse parts that could not be committed however early they came."""
    txn = candidate.txn
    if txn is None and not candidate.tables:
        raise Refused(Reason.COMMAND_INVALID, "a commit without a txn names what it wrote")
    written = candidate.writes.keys() - set(candidate.reads)
    if txn is not None and txn.type == "read_only" and written:
        raise Refused(Reason.TXN_READ_ONLY, f"txn {txn.txn} is read only", txn.txn)
    count = sum(len(write.writes) for write in candidate.writes.values())
    if count > COARSE_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"{count} coarse writes in one commit, {COARSE_MAX} are allowed: name whole tables",
        )
    for write in candidate.writes.values():
        check_partition_texts(write)
        check_write(state, candidate, write)


def check_partition_texts(write: TableWrite) -> None:
    """Refuse coarse writes of partitions whose texts would fill the state."""
    if any(len(each.partition) > PARTITION_TEXT_MAX for each in write.writes):
        raise Refused(
            Reason.COMMAND_INVALID,
            f"a partition is written in {PARTITION_TEXT_MAX} characters at most",
            write.table,
        )


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
    if table.definition.layout == "directories" and lacks_write_id(candidate, write):
        raise Refused(
            Reason.WRITE_ID_REQUIRED,
            f"files of table {table.name} lie under their write id, which a txn must have first",
            write.table,
        )


def lacks_write_id(candidate: Candidate, write: TableWrite) -> bool:
    """Tell whether a part has no write id for what it writes.

    Hive commits coarse writes also of a txn that has none; files have to lie somewhere.
    """
    if candidate.txn is None:
        return not is_read(write)
    adds = write.footprint is not None and bool(write.footprint.adds)
    return adds and write.table not in candidate.txn.write_ids


def check_bases(state: DomainState, candidate: Candidate) -> None:
    """Refuse a commit whose winners are not all remembered, rather than guess."""
    for write in candidate.writes.values():
        if visible_table(state, candidate, write.table) is not None:
            check_base(state, candidate, write)
    for changes in candidate.changes.values():
        for change in changes:
            if change.kind != "create":
                check_remembered(state, change.read_at, change.table)


def check_base(state: DomainState, candidate: Candidate, write: TableWrite) -> None:
    """Refuse a plan from before the winners that are remembered, and one from nowhere."""
    if not candidate.meets_winners(write.table):
        return
    read_at = candidate.read_at(write.table)
    if read_at:
        check_remembered(state, read_at, write.table)
    elif not is_blind_write(write) or (write.footprint and depends_on_base(write.footprint)):
        raise Refused(
            Reason.READ_AT_REQUIRED,
            "what reads, updates, deletes, looks up an application or changes protocol or domains "
            "without a txn names the position it was planned from",
            write.table,
        )


def check_remembered(state: DomainState, read_at: int, table: int) -> None:
    """Refuse a base from before the winners that are remembered."""
    if read_at < state.winners.floor:
        raise Refused(
            Reason.SNAPSHOT_TOO_OLD,
            f"the plan was made at position {read_at}; commits up to "
            f"{state.winners.floor} are no longer remembered. Read again and retry",
            table,
        )


def is_blind_write(write: TableWrite) -> bool:
    """Tell whether a part only added rows and read none, coarsely or file by file."""
    inserts = all(each.operation == "insert" for each in write.writes)
    return inserts and (write.footprint is None or is_blind(write.footprint))


def visible_table(state: DomainState, candidate: Candidate, table: int) -> Table | None:
    """Return the table as this txn may see it."""
    return state.tables.visible(table, candidate.txn.txn if candidate.txn else 0)


def applied_before(state: DomainState, candidate: Candidate) -> int:
    """Return the position at which all recorded progress was made before, 0 if it is new.

    Raises Refused if some of it was made and some not: then it is not the same batch.
    """
    before: list[int] = []
    for write in candidate.writes.values():
        table = state.tables.by_id.get(write.table)
        for app in write.footprint.apps if write.footprint is not None else ():
            known = table.apps.get(app.app) if table is not None else None
            done = known is not None and known.version >= app.version
            before.append(known.position if known is not None and done else 0)
    if any(before) and not all(before):
        raise Refused(
            Reason.APP_VERSIONS_DISAGREE,
            "some of the progress that this commit records, of an application in a table, was "
            "recorded before, and some was not",
        )
    return max(before, default=0)


def lost(
    state: DomainState, candidate: Candidate, reason: str, evidence: Evidence | None, first: int = 0
) -> TxnAborted:
    """Return the abort of a txn that lost; it wrote what it declared, an id alone is no write."""
    txn = candidate.txn
    written = [table for table in candidate.writes if table not in candidate.reads]
    parts = aborted_parts(state, txn, written) if txn is not None else ()
    declared = candidate.writes if evidence is not None else ()
    attempted = [remembered(candidate, table) for table in declared]
    return TxnAborted(
        reason, txn is None, parts, evidence, attempted, level=candidate.level, first=first
    )


def remembered(candidate: Candidate, table: int) -> TableWrite:
    """Return a part as the commit itself brought it, without its file list.

    The chunks that came before are in the log under their own events.
    """
    last = candidate.last_chunks[table]
    return candidate.writes[table]._replace(footprint=None if last is None else bare(last))


def repeated_commit(position: int, txn: int) -> CommandRepeated:
    """Return the answer to a commit of a txn that has committed."""
    return CommandRepeated(b"", position, "TxnCommitted", txn, 1, ())


def already_committed(state: DomainState, session: int, txn: int) -> Answer | None:
    """Return the answer for a txn that is not open any more, None if it is."""
    status, position = status_for(state, session, txn)
    if status == "committed":
        return repeated_commit(position, txn)
    if status != "open":
        raise not_open(state, txn)
    return None


def committed(candidate: Candidate, parts: Sequence[CommittedPart]) -> TxnCommitted:
    """Return the commit of a candidate that nothing stands against."""
    txn = candidate.txn
    reads = [remembered(candidate, table) for table in candidate.reads]
    return TxnCommitted(txn.type if txn else "default", txn is None, parts, reads, candidate.level)
