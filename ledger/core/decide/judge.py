"""Judge: check a candidate for commit against the winners, table by table.

The earliest winner of all tables decides, then the step of the check, then the table id.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from ledger.core.commands import Footprint, IsolationLevel
from ledger.core.conflicts.attempts import Attempt
from ledger.core.conflicts.checks import first_hit
from ledger.core.conflicts.footprints import REPLACES, as_files
from ledger.core.conflicts.operations import attempted
from ledger.core.decide.candidate import Candidate
from ledger.core.decide.evidence import changed_by, evidence_of
from ledger.core.decide.table_part import TablePart
from ledger.core.events.parts import Evidence
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table, name_key
from ledger.core.state.traits import features_of

METADATA_STEP = 2


class Conflict(NamedTuple):
    """A conflict of a candidate; ordered by winner, then step, then table."""

    position: int
    step: int
    table: int
    evidence: Evidence


def first_conflict(
    state: DomainState,
    candidate: Candidate,
    level: IsolationLevel | None = None,
    *,
    by_file: bool = False,
) -> Evidence | None:
    """Return the evidence of the first conflict, or None.

    Each table is judged at its own level, or all tables at `level`. `by_file`: rows do not count,
    only their files.
    """
    found = conflicts(state, candidate, level, by_file=by_file)
    first = min(found, default=None, key=lambda each: each[:3])
    if first is not None:
        return first.evidence
    return name_conflict(state, candidate) if candidate.changes else None


def conflicts(
    state: DomainState, candidate: Candidate, level: IsolationLevel | None, *, by_file: bool
) -> Iterator[Conflict]:
    """Return the first conflict of every table that has one."""
    for part in candidate.parts:
        if part.seen is None:
            yield drop_conflict(state, part)
            continue
        conflict = table_conflict(state, candidate, part, part.seen, level, by_file=by_file)
        if conflict is not None:
            yield conflict


def drop_conflict(state: DomainState, part: TablePart) -> Conflict:
    """Return the conflict with the drop of a table that the txn used."""
    dropped = state.tables.dropped.get(part.table)
    what = ("table", "", part.read_at)
    evidence = changed_by(state, "table_dropped", part.table, what, dropped)
    return Conflict(dropped.position if dropped else 0, METADATA_STEP, part.table, evidence)


def table_conflict(
    state: DomainState,
    candidate: Candidate,
    part: TablePart,
    table: Table,
    level: IsolationLevel | None,
    *,
    by_file: bool,
) -> Conflict | None:
    """Return the first conflict in one table; a write id alone is no write (rule c0)."""
    is_declared = part.write is not None or bool(part.changes)
    if table.creator or not is_declared or not part.meets_winners:
        return None
    attempt = attempt_of(state, candidate, part, table, level or part.table_level)
    if by_file and attempt.footprint is not None:
        attempt = attempt._replace(
            footprint=as_files(attempt.footprint), definition=None, by_file=True
        )
    if part.is_read and attempt.level != "Serializable":
        return None
    by_index = index_conflict(state, table, attempt)
    by_change = change_conflict(state, table, attempt) if attempt.changes else None
    if by_index is None or by_change is None:
        return by_index or by_change
    return min(by_index, by_change, key=lambda each: each[:2])


def index_conflict(state: DomainState, table: Table, attempt: Attempt) -> Conflict | None:
    """Return the first conflict that the index of winners finds."""
    winners = state.winners.tables.get(table.table)
    hit = first_hit(winners, attempt, state.predicates) if winners is not None else None
    if winners is None or hit is None:
        return None
    evidence = evidence_of(state, table.table, attempt, hit, winners.parts[hit.position])
    return Conflict(hit.position, hit.step, table.table, evidence)


def change_conflict(state: DomainState, table: Table, attempt: Attempt) -> Conflict | None:
    """Return the conflict with the last change of the table; the index holds no renames."""
    if table.change.position <= attempt.read_at:
        return None
    what = ("metadata", attempt.operation, attempt.read_at)
    evidence = changed_by(state, "metadata_twice", table.table, what, table.change)
    return Conflict(table.change.position, METADATA_STEP, table.table, evidence)


def attempt_of(
    state: DomainState,
    candidate: Candidate,
    part: TablePart,
    table: Table,
    table_level: IsolationLevel,
) -> Attempt:
    """Return one part in the form of the check; files of a replica were judged at their source."""
    footprint = None if candidate.is_replica else part.footprint
    has_files = footprint is not None
    return Attempt(
        # A blind append without a read_at depends on no earlier commit.
        part.read_at or state.position,
        candidate.level_of(part, table_level) if has_files else table_level,
        part.coarse,
        footprint,
        has_files and part.appends_blind,
        has_files and part.rearranges,
        bool(part.changes),
        part.alters,
        bool(part.changes) and any(change.operation in REPLACES for change in part.changes),
        footprint is not None and breaks(table, footprint),
        attempted(footprint, part.write.writes if part.write is not None else (), part.changes),
        None if part.changes else part.definition,
    )


def breaks(table: Table, footprint: Footprint) -> bool:
    """Tell whether a protocol action removes a feature."""
    protocol = footprint.protocol
    return protocol is not None and not features_of(table.protocol) <= features_of(protocol)


def name_conflict(state: DomainState, candidate: Candidate) -> Evidence | None:
    """Return the evidence that another table has a name that this txn gives, or None."""
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
