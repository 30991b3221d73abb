"""Decide a commit: all checks that can keep a txn from becoming visible, in their order.

A `Candidate` has one part for each table that the txn wrote, read, changed or holds a write id in.
Refusals come first and leave the txn open: the session does not own it, or a part cannot be
written. A commit whose applications made the same progress before is aborted as already applied.
A base that is no longer remembered is refused. Conflicts come last and abort the txn. A one-shot
commit opens its txn, gives it write ids and commits it by a single event.
"""

from typing import Final

from ledger.core.commands import CommitTxn, TableWrite
from ledger.core.conflicts.footprints import bare, depends_on_base
from ledger.core.conflicts.settling import Settled, settle
from ledger.core.decide.candidate import Candidate, candidate_of
from ledger.core.decide.judge import first_conflict
from ledger.core.decide.table_part import TablePart
from ledger.core.decide.tables import check_ahead
from ledger.core.decide.txns import aborted_parts, not_managed, not_open, status_for
from ledger.core.events.events import Answer, CommandRepeated, TxnAborted, TxnCommitted
from ledger.core.events.parts import CommittedPart, Evidence
from ledger.core.limits import COARSE_WRITES_MAX, PARTITION_CHARS_MAX
from ledger.core.partitions.names import partition_values
from ledger.core.partitions.transforms import transforms_of
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table
from ledger.core.state.traits import features_of

ROW_TRACKING: Final = "rowTracking"


def commit(state: DomainState, command: CommitTxn, now: int) -> Answer:
    """Commit, or abort with the evidence; a repeated commit gets its first answer."""
    answer = already_committed(state, command.session, command.txn) if command.txn else None
    if answer is not None:
        return answer
    candidate = candidate_of(state, command)
    check_writes(state, candidate)
    first = applied_before(state, candidate)
    if first:
        return lost(state, candidate, "already_applied", None, first)
    check_bases(state, candidate)
    evidence = first_conflict(state, candidate)
    if evidence is not None:
        return lost(state, candidate, "conflict", evidence)
    for part in candidate.parts:
        check_partitions(part)
    return committed(state, candidate, now)


def already_committed(state: DomainState, session: int, txn: int) -> Answer | None:
    """Return the first answer for a committed txn, None for an open one; else raise Refused."""
    status, position = status_for(state, session, txn)
    if status == "committed":
        return CommandRepeated(b"", position, "TxnCommitted", txn, 1, ())
    if status != "open":
        raise not_open(state, txn)
    return None


def check_writes(state: DomainState, candidate: Candidate) -> None:
    """Refuse parts that could not be committed even without other commits."""
    txn, parts = candidate.txn, candidate.parts
    if txn is None and all(part.is_read for part in parts):
        raise Refused(Reason.COMMAND_INVALID, "a commit without a txn must write to some table")
    if (
        txn is not None
        and txn.type == "read_only"
        and any(part.write is not None and not part.is_read for part in parts)
    ):
        raise Refused(Reason.TXN_READ_ONLY, f"txn {txn.txn} is read only and cannot write", txn.txn)
    count = sum([len(part.write.writes) for part in parts if part.write is not None])
    if count > COARSE_WRITES_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"a commit must have {COARSE_WRITES_MAX} coarse writes at most, got {count}; name "
            "whole tables",
        )
    for part in parts:
        if part.write is not None:
            check_partition_texts(part.write)
            check_write(state, candidate, part, part.write)


def check_partition_texts(write: TableWrite) -> None:
    """Refuse coarse writes of partitions with long texts, which would fill the state."""
    for coarse in write.writes:
        if len(coarse.partition) > PARTITION_CHARS_MAX:
            raise Refused(
                Reason.COMMAND_INVALID,
                f"a partition must have {PARTITION_CHARS_MAX} characters at most, "
                f"got {len(coarse.partition)}",
                write.table,
            )


def check_write(
    state: DomainState, candidate: Candidate, part: TablePart, write: TableWrite
) -> None:
    """Refuse one declared part; a table dropped meanwhile is a conflict, not a refusal."""
    check_ahead(state, write.read_at, part.table)
    table = part.seen
    if table is None:
        dropped = part.table not in state.tables.by_id
        if dropped and 0 < part.table < state.tables.next_table:
            return
        raise Refused(Reason.UNKNOWN_TABLE, f"there is no table {part.table}", part.table)
    if table.definition.kind != "managed":
        raise not_managed(table)
    if table.definition.layout == "directories" and lacks_write_id(candidate, part):
        raise Refused(
            Reason.WRITE_ID_REQUIRED,
            f"files of table {table.name} lie under a write id; allocate one to the txn first",
            part.table,
        )


def lacks_write_id(candidate: Candidate, part: TablePart) -> bool:
    """Tell whether a part adds files, or is one-shot, without a write id.

    As in Hive, a txn may commit coarse writes without a write id. Files need its folder.
    """
    if candidate.txn is None:
        return not part.is_read
    adds = part.footprint is not None and bool(part.footprint.adds)
    return adds and part.table not in candidate.txn.write_ids


def applied_before(state: DomainState, candidate: Candidate) -> int:
    """Return the position at which all recorded progress was made before, 0 if it is new.

    Raises Refused if only some of it was made before, since that is another batch.
    """
    before: list[int] = []
    for part in candidate.parts:
        if part.footprint is None or not part.footprint.apps:
            continue
        table = state.tables.by_id.get(part.table)
        for app in part.footprint.apps:
            known = table.apps.get(app.app) if table is not None else None
            done = known is not None and known.version >= app.version
            before.append(known.position if known is not None and done else 0)
    if any(before) and not all(before):
        raise Refused(
            Reason.APP_VERSIONS_DISAGREE,
            "the progress of applications that a commit records must be either all new or all "
            "recorded before, got both",
        )
    return max(before, default=0)


def check_bases(state: DomainState, candidate: Candidate) -> None:
    """Refuse a commit whose winners are not all remembered, since they cannot be judged."""
    for part in candidate.parts:
        if part.write is not None and part.seen is not None and part.meets_winners:
            check_base(state, part)
    for changes in candidate.changes.values():
        for change in changes:
            if change.kind != "create":
                check_remembered(state, change.read_at, change.table)


def check_base(state: DomainState, part: TablePart) -> None:
    """Refuse a part planned before the winners that are remembered, or without a position."""
    if part.read_at:
        check_remembered(state, part.read_at, part.table)
    elif not part.is_blind or (part.footprint is not None and depends_on_base(part.footprint)):
        raise Refused(
            Reason.READ_AT_REQUIRED,
            "a part without a txn that reads, updates, deletes, looks up an application, or "
            "changes the protocol or domains must name its read_at",
            part.table,
        )


def check_remembered(state: DomainState, read_at: int, table: int) -> None:
    """Refuse a read position below the winners that are remembered."""
    if read_at < state.winners.floor:
        raise Refused(
            Reason.SNAPSHOT_TOO_OLD,
            f"read_at is {read_at}, but commits up to position {state.winners.floor} are no longer "
            "remembered. Read again and retry",
            table,
        )


def check_partitions(part: TablePart) -> None:
    """Refuse files that do not have one value for each partition column of their table.

    Checked last, because a plan for earlier partition columns is a conflict with their change. A
    table with unknown columns is not checked. Where transforms alone divide a table, a file may
    have no values: its rows may lie in several partitions.
    """
    if part.is_read or part.footprint is None or part.seen is None:
        return
    if part.definition is None or part.traits is None or not part.definition.columns:
        return
    columns = part.traits.schema
    for text in part.footprint.adds:
        values = partition_values(text)
        if values == () and len(transforms_of(part.definition)) == len(columns):
            continue
        if values is None or len(values) != len(columns):
            names = ", ".join(name for name, _ in columns) or "none"
            raise Refused(
                Reason.COMMAND_INVALID,
                f"a partition of table {part.seen.name} must have one value for each of its "
                f"partition columns ({names}), got {text[:80]}",
                part.table,
            )


def lost(
    state: DomainState, candidate: Candidate, reason: str, evidence: Evidence | None, first: int = 0
) -> TxnAborted:
    """Return the abort of a txn that lost; only declared writes count, not a write id alone."""
    txn = candidate.txn
    declared = [part for part in candidate.parts if part.write is not None]
    written = [part.table for part in declared if not part.is_read]
    parts = aborted_parts(state, txn, written) if txn is not None else ()
    attempted = [remembered(part) for part in declared] if evidence is not None else []
    return TxnAborted(
        reason, txn is None, parts, evidence, attempted, level=candidate.level, first=first
    )


def remembered(part: TablePart) -> TableWrite:
    """Return a declared part as it was in the commit command, without its file list.

    Staged chunks are in the log under their own events.
    """
    assert part.write is not None, "only a declared part is remembered"
    last = part.last_chunk
    return part.write._replace(footprint=None if last is None else bare(last))


def committed(state: DomainState, candidate: Candidate, now: int) -> TxnCommitted:
    """Return the commit of a candidate that passed all checks."""
    txn, parts = candidate.txn, candidate.parts
    written = [
        committed_part(state, candidate, part, part.seen, now)
        for part in parts
        if part.seen is not None and not part.is_read
    ]
    reads = [remembered(part) for part in parts if part.is_read]
    return TxnCommitted(
        txn.type if txn else "default", txn is None, written, reads, candidate.level
    )


def committed_part(
    state: DomainState, candidate: Candidate, part: TablePart, table: Table, now: int
) -> CommittedPart:
    """Return one table of a commit that passed all checks."""
    txn, write, footprint = candidate.txn, part.write, part.footprint
    write_id = txn.write_ids.get(part.table, 0) if txn else 0
    late = write is not None and not write_id and table.definition.layout == "listed"
    tracked = footprint is not None and footprint.rows_added and tracks_rows(part, table)
    return CommittedPart(
        part.table,
        part.read_at,
        table.last_write_id + 1 if late else write_id,
        table.version + 1,
        txn.metadata.get(part.table, 0) if txn else 0,
        write.writes if write is not None else (),
        "" if footprint is None else candidate.level_of(part, part.table_level),
        part.is_blind,
        max(now, table.committed_at + 1),
        table.next_row_id if tracked else -1,
        part.last_chunk,
        *settled_part(state, candidate, part),
    )


def settled_part(state: DomainState, candidate: Candidate, part: TablePart) -> Settled:
    """Return what the winners since the read of a part make of it, row by row."""
    winners, footprint = state.winners.tables.get(part.table), part.footprint
    if winners is None or footprint is None or footprint.rows is None or candidate.is_replica:
        return Settled()
    read_at = part.read_at or state.position
    return settle(winners, footprint, read_at, rearranges=part.rearranges)


def tracks_rows(part: TablePart, table: Table) -> bool:
    """Tell whether the rows of a part get ids.

    They do as soon as the protocol supports it: a backfill numbers rows before the property says
    that all rows have ids (facts a.4 step 5).
    """
    protocol = part.footprint.protocol if part.footprint is not None else None
    if ROW_TRACKING in features_of(protocol or table.protocol):
        return True
    return part.traits is not None and part.traits.tracks_rows
