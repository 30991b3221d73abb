"""Candidate: a txn about to commit, with all it declared, staged and changed put together.

A footprint too large for one record comes in chunks. Chunks wait with their open txn; the commit
names their count and digest. They go when the txn ends. The amount that waits is bounded.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Self

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
    next_digest,
    only_reads,
    rearranges,
    writes_anything,
)
from ledger.core.decide.txns import check_tables, own_txn, writable_txn
from ledger.core.events.events import WritesStaged
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import DomainState
from ledger.core.state.staged_progress import repeated_app, staged_weight, whole_footprint
from ledger.core.state.tables import Pending, by_table, redefines
from ledger.core.state.traits import LEVEL_OF, is_level
from ledger.core.state.txns import OpenTxn


class Candidate(NamedTuple):
    """A txn about to commit: `txn` None = one-shot.

    `writes` are the declared parts by table, with the chunks staged before joined in; `tables` are
    all it touched, `reads` those it only read, ascending; `changes` are those of metadata by table;
    `level` is asked for in all of them. `last_chunks` are the footprints as the commit itself
    brought them. `changes_data` says that some part does more than to read or rearrange files.
    """

    txn: OpenTxn | None
    snapshot: int
    writes: dict[int, TableWrite]
    tables: Sequence[int]
    reads: Sequence[int]
    changes: Mapping[int, Sequence[Pending]]
    level: IsolationLevel | Literal[""]
    last_chunks: dict[int, Footprint | None]
    changes_data: bool = False

    def weighed(self) -> Self:
        """Return the candidate, knowing whether it changes data: asked once, not by every part."""
        changes = any(self.has_effect(table) for table in (*self.writes, *self.changes))
        return self._replace(changes_data=changes)

    def read_at(self, table: int) -> int:
        """Return the position the part's plan was made from, the earliest if it has several."""
        write, changes = self.writes.get(table), self.changes.get(table, ())
        if write is None and changes:
            return min(change.read_at for change in changes)
        planned = (write.read_at if write is not None else 0) or self.snapshot
        return min([planned, *(change.read_at for change in changes)]) if changes else planned

    def footprint(self, table: int) -> Footprint | None:
        """Return what was declared file by file, None if nothing was."""
        write = self.writes.get(table)
        return write.footprint if write is not None else None

    def meets_winners(self, table: int) -> bool:
        """Tell whether earlier commits matter to a part: to unjudged coarse writes none do (c4)."""
        return self.is_judged or table in self.changes or self.footprint(table) is not None

    def does_more(self, table: int) -> bool:
        """Tell whether a part does more than its files say: rows or the table itself changed."""
        write = self.writes.get(table)
        changes_rows = self.is_judged and write is not None and bool(write.writes)
        return changes_rows or self.alters(table)

    def has_effect(self, table: int) -> bool:
        """Tell whether a part does more than to read or rearrange files (a.2)."""
        footprint, more = self.footprint(table), self.does_more(table)
        return more if footprint is None else not rearranges(footprint, does_more=more)

    def alters(self, table: int) -> bool:
        """Tell whether a part changes its table; another name meets no commit of data."""
        return redefines(self.changes.get(table, ()))

    @property
    def is_judged(self) -> bool:
        """Whether its coarse writes are judged: replayed and rearranging txns are not (c4)."""
        return self.txn is None or self.txn.type in JUDGED_TYPES


def candidate_of(state: DomainState, command: CommitTxn) -> Candidate:
    """Gather what is to be committed; raises Refused if the asker's session may not commit it."""
    if command.level and not is_level(command.level):
        raise Refused(Reason.COMMAND_INVALID, f"{command.level!r} is no isolation level")
    declared = declared_parts(state, command)
    txn = own_txn(state, command.session, command.txn) if command.txn else None
    writes = {table: whole(txn, write) for table, write in declared.items()}
    if txn is not None and txn.staged:
        check_all_named(txn, writes)
    written = [table for table, write in writes.items() if not is_read(write)]
    touched = written if txn is None else sorted({*written, *touched_before(state, txn)})
    return Candidate(
        txn,
        txn.opened if txn is not None else 0,
        writes,
        touched,
        [table for table in writes if table not in touched],
        by_table(state.tables.pending.get(command.txn, ())),
        LEVEL_OF.get(command.level.lower(), ""),
        {write.table: write.footprint for write in command.tables},
    ).weighed()


def touched_before(state: DomainState, txn: OpenTxn) -> set[int]:
    """Return the tables a txn has a write id in or changed.

    A write id alone is no write (rule c0): one in a dropped table goes with the table.
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
        raise Refused(Reason.LIMIT_EXCEEDED, f"{len(parts)} tables in one commit")
    return parts


def is_read(write: TableWrite) -> bool:
    """Tell whether a part only says what was read."""
    return not write.writes and write.footprint is not None and only_reads(write.footprint)


def whole(txn: OpenTxn | None, write: TableWrite) -> TableWrite:
    """Return a part with its staged chunks joined in; raises Refused if they are not all there."""
    chunks = txn.staged.get(write.table, ()) if txn is not None else ()
    footprint = write.footprint
    if footprint is None and not chunks:
        return write
    digest = b""
    for chunk in chunks:
        digest = next_digest(digest, chunk.files)
    if footprint is None or (footprint.staged, footprint.digest) != (len(chunks), digest):
        raise Refused(
            Reason.STAGED_WRITES_DIFFER,
            f"{len(chunks)} chunks of table {write.table} were staged, the commit names others",
            write.table,
        )
    fault = fault_of(footprint)
    every = whole_footprint(chunks, footprint)
    if only_reads(footprint) and (writes_anything(every) or any(each.files for each in chunks)):
        fault = "what writes names its operation"
    # Each scan is asked for each partition with new files, however many chunks brought them.
    fault = fault or excess_of_reads(every)
    if not fault and chunks and (app := repeated_app(every)):
        fault = f"an application records one version in a commit, {app[:80]!r} records two"
    if fault:
        raise Refused(Reason.COMMAND_INVALID, fault, write.table)
    return write._replace(footprint=every)


def check_all_named(txn: OpenTxn, writes: dict[int, TableWrite]) -> None:
    """Refuse a commit that leaves out a table for which chunks were staged."""
    for table in sorted(txn.staged.keys() - writes.keys()):
        raise Refused(
            Reason.STAGED_WRITES_DIFFER, f"the commit leaves out staged table {table}", table
        )


STAGED_BYTES_MAX = 64 * 1024 * 1024
CHUNKS_MAX = 1_000


def stage(state: DomainState, command: StageWrites) -> WritesStaged:
    """Keep a chunk for the commit; chunks of a table come in order, from 1."""
    txn = writable_txn(state, command.session, command.txn)
    table = state.tables.visible(command.table, command.txn)
    if table is None:
        raise Refused(Reason.UNKNOWN_TABLE, f"there is no table {command.table}", command.table)
    if table.definition.kind != "managed":
        raise Refused(Reason.TABLE_EXTERNAL, f"table {table.name} is external", command.table)
    following = len(txn.staged.get(command.table, ())) + 1
    if command.number != following:
        raise Refused(
            Reason.STAGED_WRITES_DIFFER,
            f"chunk {command.number} of table {table.name} came where {following} is next",
            command.table,
        )
    check_tables(txn.txn, len(txn.staged) + (following == 1))
    fault = fault_of(command.footprint)
    if fault:
        raise Refused(Reason.COMMAND_INVALID, fault, command.table)
    if command.footprint.protocol is not None:
        raise Refused(
            Reason.COMMAND_INVALID,
            "a protocol comes with the commit, not with a chunk before it",
            command.table,
        )
    waiting = state.txns.staged_bytes + staged_weight(command.footprint)
    if following > CHUNKS_MAX or waiting > STAGED_BYTES_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"at most {CHUNKS_MAX} chunks of a table and {STAGED_BYTES_MAX} bytes of file lists, "
            "hashes, progress and domains wait for their commits",
            command.txn,
        )
    return WritesStaged(command.table, command.number, command.footprint)
