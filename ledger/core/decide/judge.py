"""Judge: a candidate for commit against the winners, table by table; the first conflict counts.

Across tables, too, the earliest winner decides, then the step of the check, then the table. Only
when nothing stands against a txn are the versions, ids and times of its parts given.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from ledger.core.commands import CommitTxn, Footprint, IsolationLevel, TableDefinition, TableWrite
from ledger.core.conflicts.checks import Attempt, first_hit
from ledger.core.conflicts.footprints import (
    REPLACES,
    effective_level,
    is_blind,
    reads_anything,
    rearranges,
)
from ledger.core.conflicts.winners import main_operation
from ledger.core.decide.candidate import Candidate, candidate_of
from ledger.core.decide.commit import (
    already_committed,
    applied_before,
    check_bases,
    check_writes,
    committed,
    is_blind_write,
    lost,
    visible_table,
)
from ledger.core.decide.evidence import changed_by, evidence_of
from ledger.core.events.events import Answer
from ledger.core.events.parts import CommittedPart, Evidence
from ledger.core.partitions.names import partition_values
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Pending, Table, name_key
from ledger.core.state.traits import Traits, features_of, traits_of

METADATA_STEP = 2
ROW_TRACKING: Final = "rowTracking"


class Conflict(NamedTuple):
    """What stands against a candidate; ordered by winner, then step, then table."""

    position: int
    step: int
    table: int
    evidence: Evidence


def commit(state: DomainState, command: CommitTxn, now: int) -> Answer:
    """Commit, or abort with the evidence; a txn that committed before is told so again."""
    told = already_committed(state, command.session, command.txn) if command.txn else None
    if told is not None:
        return told
    candidate = candidate_of(state, command)
    check_writes(state, candidate)
    first = applied_before(state, candidate)
    if first:
        return lost(state, candidate, "already_applied", None, first)
    check_bases(state, candidate)
    evidence = first_conflict(state, candidate)
    if evidence is not None:
        return lost(state, candidate, "conflict", evidence)
    for table in candidate.tables:
        check_partitions(candidate, state.tables.by_id[table])
    parts = [committed_part(state, candidate, table, now) for table in candidate.tables]
    return committed(candidate, parts)


def check_partitions(candidate: Candidate, table: Table) -> None:
    """Refuse files that do not have one value for each partition column of their table.

    Asked last: whoever planned for columns that the table had before lost to their change. Of a
    table without any columns nothing is known.
    """
    footprint = candidate.footprint(table.table)
    if footprint is None or not definition_given(candidate, table).columns:
        return
    columns = traits_given(candidate, table).schema
    for text in footprint.adds:
        values = partition_values(text)
        if values is None or len(values) != len(columns):
            names = ", ".join(name for name, _ in columns) or "nothing"
            raise Refused(
                Reason.COMMAND_INVALID,
                f"a file of partition {text[:80]} was added to table {table.name}, which is "
                f"partitioned by {names}: one value a column",
                table.table,
            )


def first_conflict(
    state: DomainState, candidate: Candidate, level: IsolationLevel | None = None
) -> Evidence | None:
    """Return the first thing an earlier commit took away, or None.

    Each table is judged at its own level, or all at `level`.
    """
    first = min(conflicts(state, candidate, level), default=None, key=lambda each: each[:3])
    if first is not None:
        return first.evidence
    return name_conflict(state, candidate) if candidate.changes else None


def conflicts(
    state: DomainState, candidate: Candidate, level: IsolationLevel | None
) -> Iterator[Conflict]:
    """Return the first conflict of every table that has one."""
    for table_id in (*candidate.tables, *candidate.reads):
        table = visible_table(state, candidate, table_id)
        if table is None:
            yield gone(state, candidate, table_id)
        elif (found := table_conflict(state, candidate, table, level)) is not None:
            yield found


def gone(state: DomainState, candidate: Candidate, table: int) -> Conflict:
    """Return the conflict with the drop of a table under the txn."""
    dropped = state.tables.dropped.get(table)
    what = ("table", "", candidate.read_at(table))
    evidence = changed_by(state, "table_dropped", table, what, dropped)
    return Conflict(dropped.position if dropped else 0, METADATA_STEP, table, evidence)


def table_conflict(
    state: DomainState, candidate: Candidate, table: Table, level: IsolationLevel | None
) -> Conflict | None:
    """Return the first conflict in one table."""
    if table.creator or not is_declared(candidate, table.table):
        return None
    if not candidate.meets_winners(table.table):
        return None
    attempt = attempt_of(state, candidate, table, level or traits_given(candidate, table).level)
    if table.table in candidate.reads and attempt.level != "Serializable":
        return None
    found = (index_conflict(state, table, attempt), change_conflict(state, table, attempt))
    return min(filter(None, found), default=None, key=lambda each: each[:2])


def is_declared(candidate: Candidate, table: int) -> bool:
    """Tell whether a table has a part or is changed; a write id alone is no write (rule c0)."""
    return table in candidate.writes or table in candidate.changes


def traits_given(candidate: Candidate, table: Table) -> Traits:
    """Return the traits of a table by the definition the candidate gives it, if any (a.2)."""
    definition = definition_given(candidate, table)
    return table.traits if definition is table.definition else traits_of(definition)


def definition_given(candidate: Candidate, table: Table) -> TableDefinition:
    """Return the definition that the candidate leaves a table with."""
    changes = candidate.changes.get(table.table, ())
    given = [change.definition for change in changes if change.definition is not None]
    return given[-1] if given else table.definition


def tracks_rows(candidate: Candidate, table: Table) -> bool:
    """Tell whether rows get ids, once the candidate has committed.

    They do from when on the protocol supports it: what a backfill numbers comes before the property
    says that all have theirs (facts a.4 step 5).
    """
    footprint = candidate.footprint(table.table)
    given = footprint.protocol if footprint is not None else None
    supported = ROW_TRACKING in features_of(given or table.protocol)
    return supported or traits_given(candidate, table).tracks_rows


def index_conflict(state: DomainState, table: Table, attempt: Attempt) -> Conflict | None:
    """Ask the index of winners."""
    winners = state.winners.tables.get(table.table)
    hit = first_hit(winners, attempt, state.predicates) if winners is not None else None
    if winners is None or hit is None:
        return None
    evidence = evidence_of(state, table.table, attempt, hit, winners.parts[hit.position])
    return Conflict(hit.position, hit.step, table.table, evidence)


def change_conflict(state: DomainState, table: Table, attempt: Attempt) -> Conflict | None:
    """Ask the table for its last change: that of a name alone is in no index."""
    if not attempt.changes or table.change.position <= attempt.read_at:
        return None
    what = ("metadata", attempt.operation, attempt.read_at)
    evidence = changed_by(state, "metadata_twice", table.table, what, table.change)
    return Conflict(table.change.position, METADATA_STEP, table.table, evidence)


def attempt_of(
    state: DomainState, candidate: Candidate, table: Table, table_level: IsolationLevel
) -> Attempt:
    """Return one table of a candidate as the check asks for it."""
    footprint = candidate.footprint(table.table)
    if candidate.txn is not None and candidate.txn.type == "replicated":
        footprint = None  # It was judged where it comes from.
    write = candidate.writes.get(table.table)
    changes = candidate.changes.get(table.table, ())
    more = candidate.does_more(table.table)
    return Attempt(
        # A blind append that names no base depends on nothing that came before it.
        candidate.read_at(table.table) or state.position,
        level_of(candidate, table.table, table_level, footprint),
        write.writes if write is not None and candidate.is_judged else (),
        footprint,
        footprint is not None and is_blind(footprint),
        footprint is not None and rearranges(footprint, does_more=more),
        bool(changes),
        candidate.alters(table.table),
        any(change.operation in REPLACES for change in changes),
        footprint is not None and breaks(table, footprint),
        operation_of(write, footprint, changes),
    )


def operation_of(
    write: TableWrite | None, footprint: Footprint | None, changes: Sequence[Pending]
) -> str:
    """Return what a part does, in a word or two."""
    if footprint is not None:
        return footprint.operation or "READ"
    if write is not None and write.writes:
        return main_operation(write.writes)
    return next((change.operation or change.kind for change in changes), "")


def level_of(
    candidate: Candidate, table: int, table_level: IsolationLevel, footprint: Footprint | None
) -> IsolationLevel:
    """Return the level a part is judged at.

    A part that only rearranges files is downgraded for the sake of a txn that changes no data. What
    it read counts as in a table only read where the txn writes elsewhere, maybe because of it.
    """
    if footprint is None:
        return table_level
    more = candidate.does_more(table)
    level = effective_level(table_level, candidate.level, footprint, does_more=more)
    is_strongest = "Serializable" in {table_level, candidate.level}
    if is_strongest and candidate.changes_data and reads_anything(footprint):
        return "Serializable"
    return level


def breaks(table: Table, footprint: Footprint) -> bool:
    """Tell whether a protocol action takes a feature away."""
    protocol = footprint.protocol
    return protocol is not None and not features_of(table.protocol) <= features_of(protocol)


def name_conflict(state: DomainState, candidate: Candidate) -> Evidence | None:
    """Return the evidence that a name this txn gives is held by another table."""
    tables = state.tables
    every = chain.from_iterable(candidate.changes.values())
    named = {change.table: change for change in every if change.kind != "alter"}
    freed = {
        name_key(table.catalog, table.name)
        for table in (tables.by_id[each] for each in named)
        if not table.creator
    }
    for table_id, change in named.items():
        table = tables.by_id[table_id]
        holder = tables.named(table.catalog, change.name) if change.kind != "drop" else None
        if holder is not None and name_key(table.catalog, change.name) not in freed:
            what = (change.name, change.kind, change.read_at)
            return changed_by(state, "name_claimed", table_id, what, holder.named)
    return None


def committed_part(
    state: DomainState, candidate: Candidate, table_id: int, now: int
) -> CommittedPart:
    """Return one table of a commit that nothing stands against."""
    table = state.tables.by_id[table_id]
    level = traits_given(candidate, table).level
    txn, write = candidate.txn, candidate.writes.get(table_id)
    footprint = candidate.footprint(table_id)
    write_id = txn.write_ids.get(table_id, 0) if txn else 0
    late = write is not None and not write_id and table.definition.layout == "listed"
    tracked = footprint is not None and footprint.rows_added and tracks_rows(candidate, table)
    return CommittedPart(
        table_id,
        candidate.read_at(table_id),
        table.last_write_id + 1 if late else write_id,
        table.version + 1,
        txn.metadata.get(table_id, 0) if txn else 0,
        write.writes if write is not None else (),
        "" if footprint is None else level_of(candidate, table_id, level, footprint),
        write is not None and is_blind_write(write),
        max(now, table.committed_at + 1),
        table.next_row_id if tracked else -1,
        candidate.last_chunks.get(table_id),
    )
