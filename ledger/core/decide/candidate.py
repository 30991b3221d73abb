"""Candidate: a txn about to commit, with all that it declared, staged and changed.

A footprint too large for one record comes in chunks. Chunks stay with their open txn until it
ends, and the commit names their count and digest. The total size of waiting chunks is bounded.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple

from ledger.core.commands import (
    JUDGED_TYPES,
    CommitTxn,
    Footprint,
    IsolationLevel,
    StageWrites,
    TableWrite,
)
from ledger.core.conflicts.footprints import (
    excess_of_reads,
    fault_of,
    fault_of_whole,
    next_digest,
    only_reads,
    writes_anything,
)
from ledger.core.decide.table_part import TablePart, is_read, part_of
from ledger.core.decide.tables import check_level
from ledger.core.decide.txns import check_tables, not_managed, own_txn, writable_txn
from ledger.core.events.events import WritesStaged
from ledger.core.limits import STAGED_BYTES_MAX, STAGED_CHUNKS_MAX
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import DomainState
from ledger.core.state.staged_progress import repeated_app, staged_weight, whole_footprint
from ledger.core.state.tables import Pending, by_table
from ledger.core.state.traits import LEVEL_OF
from ledger.core.state.txns import TxnInFlight


class Candidate(NamedTuple):
    """A txn about to commit: `txn` None = one-shot.

    `parts` are all tables it touched or read, ascending by table. `changes` are its metadata
    changes by table, in the order they were made. `level` is the least level in all tables.
    `changes_data`: some part does more than to read or rearrange files.
    """

    txn: TxnInFlight | None
    parts: Sequence[TablePart]
    changes: Mapping[int, Sequence[Pending]]
    level: IsolationLevel | Literal[""]
    changes_data: bool

    @property
    def is_replica(self) -> bool:
        """Whether the txn is replicated, so that its files were judged at their source."""
        return self.txn is not None and self.txn.type == "replicated"

    def level_of(self, part: TablePart, table_level: IsolationLevel) -> IsolationLevel:
        """Return the level that the files of a part are judged at."""
        return part.level_under(table_level, self.level, changes_data=self.changes_data)


def candidate_of(state: DomainState, command: CommitTxn) -> Candidate:
    """Gather all that a commit command commits; raises Refused if the session may not do so."""
    if command.level:
        check_level(command.level)
    declared = declared_parts(state, command)
    txn = own_txn(state, command.session, command.txn) if command.txn else None
    writes = {table: joined_part(txn, write) for table, write in declared.items()}
    if txn is not None and txn.staged:
        check_all_named(txn, writes)
    level = LEVEL_OF[command.level.lower()] if command.level else ""
    last_chunks = {write.table: write.footprint for write in command.tables}
    touched = touched_before(state, txn) if txn is not None else set()
    return gathered(state, txn, writes, touched, last_chunks=last_chunks, level=level)


def gathered(
    state: DomainState,
    txn: TxnInFlight | None,
    writes: Mapping[int, TableWrite],
    touched: AbstractSet[int],
    *,
    last_chunks: Mapping[int, Footprint | None],
    level: IsolationLevel | Literal[""] = "",
) -> Candidate:
    """Return the candidate with joined declared parts and all tables that its txn touched."""
    number, snapshot, is_judged = 0, 0, True
    changes: Mapping[int, Sequence[Pending]] = {}
    if txn is not None:
        number, snapshot, is_judged = txn.txn, txn.opened, txn.type in JUDGED_TYPES
        if pending := state.tables.pending.get(number):
            changes = by_table(pending)
    parts = [
        part_of(
            table,
            state.tables.visible(table, number),
            write := writes.get(table),
            changes.get(table, ()),
            last_chunks.get(table),
            is_read=table not in touched and write is not None and is_read(write),
            is_judged=is_judged,
            snapshot=snapshot,
        )
        for table in sorted({*writes, *touched})
    ]
    changes_data = any(part.has_effect for part in parts)
    return Candidate(txn, parts, changes, level, changes_data)


def touched_before(state: DomainState, txn: TxnInFlight) -> set[int]:
    """Return the tables in which a txn has a write id or changed metadata.

    A write id alone is no write (rule c0), so a write id in a dropped table does not count.
    """
    return (txn.write_ids.keys() & state.tables.by_id.keys()) | txn.metadata.keys()


def declared_parts(state: DomainState, command: CommitTxn) -> dict[int, TableWrite]:
    """Return the declared parts by table, ascending; raises Refused if there are too many."""
    parts: dict[int, TableWrite] = {}
    for write in sorted(command.tables, key=lambda each: each.table):
        if write.table in parts:
            raise Refused(Reason.COMMAND_INVALID, f"table {write.table} has two parts", write.table)
        parts[write.table] = write
    if len(parts) > state.limits.tables_per_command_max:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"a commit must have {state.limits.tables_per_command_max} tables at most, "
            f"got {len(parts)}",
        )
    return parts


def joined_part(txn: TxnInFlight | None, write: TableWrite) -> TableWrite:
    """Return a part with its staged chunks joined in; raises Refused if they are not all there."""
    chunks = txn.staged.get(write.table, ()) if txn is not None else ()
    footprint = write.footprint
    if footprint is None and not chunks:
        return write
    digest = b""
    for chunk in chunks:
        digest = next_digest(digest, chunk)
    if footprint is None or (footprint.staged, footprint.digest) != (len(chunks), digest):
        raise Refused(
            Reason.STAGED_WRITES_DIFFER,
            f"the commit names other chunks of table {write.table} than the {len(chunks)} staged",
            write.table,
        )
    fault = fault_of(footprint)
    every = whole_footprint(chunks, footprint)
    if only_reads(footprint) and (writes_anything(every) or any(each.files for each in chunks)):
        fault = "a footprint that writes must name its operation"
    fault = fault or fault_of_whole(every)
    # Each scan is tested against each partition with new files, whichever chunk brought it.
    fault = fault or excess_of_reads(every)
    if not fault and chunks and (app := repeated_app(every)):
        fault = f"a commit must record one version per application, got several for {app[:80]!r}"
    if fault:
        raise Refused(Reason.COMMAND_INVALID, fault, write.table)
    return write._replace(footprint=every)


def check_all_named(txn: TxnInFlight, writes: dict[int, TableWrite]) -> None:
    """Refuse a commit that leaves out a table for which chunks were staged."""
    for table in sorted(txn.staged.keys() - writes.keys()):
        raise Refused(
            Reason.STAGED_WRITES_DIFFER, f"the commit leaves out staged table {table}", table
        )


def stage(state: DomainState, command: StageWrites) -> WritesStaged:
    """Keep a chunk for the commit; chunks of a table come in order, from 1."""
    txn = writable_txn(state, command.session, command.txn)
    table = state.tables.visible(command.table, command.txn)
    if table is None:
        raise Refused(Reason.UNKNOWN_TABLE, f"there is no table {command.table}", command.table)
    if table.definition.kind != "managed":
        raise not_managed(table)
    following = len(txn.staged.get(command.table, ())) + 1
    if command.number != following:
        raise Refused(
            Reason.STAGED_WRITES_DIFFER,
            f"the next chunk of table {table.name} must be {following}, got {command.number}",
            command.table,
        )
    check_tables(txn.txn, len(txn.staged) + (following == 1))
    fault = fault_of(command.footprint)
    if fault:
        raise Refused(Reason.COMMAND_INVALID, fault, command.table)
    if command.footprint.protocol is not None:
        raise Refused(
            Reason.COMMAND_INVALID,
            "a protocol must come with the commit, not with a staged chunk",
            command.table,
        )
    waiting = state.txns.staged_bytes + staged_weight(command.footprint)
    if following > STAGED_CHUNKS_MAX or waiting > STAGED_BYTES_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"staged writes must be {STAGED_CHUNKS_MAX} chunks of a table and {STAGED_BYTES_MAX} "
            f"bytes in all open txns at most, got chunk {following} and {waiting} bytes",
            command.txn,
        )
    return WritesStaged(command.table, command.number, command.footprint)
