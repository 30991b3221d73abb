"""Judge the commits of a log again at another isolation level.

The winners stay as they are in the log. A commit that would have failed still counts for the later
ones, because their reads really came after it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ledger.core.commands import IsolationLevel, TableWrite
from ledger.core.conflicts.footprints import joined
from ledger.core.decide.candidate import Candidate, gathered, touched_before
from ledger.core.decide.judge import first_conflict
from ledger.core.decide.table_part import is_read
from ledger.core.events.events import Control, Event, TxnAborted, TxnCommitted
from ledger.core.events.parts import Evidence
from ledger.core.state.domain import DomainState
from ledger.core.state.txns import TxnInFlight


class Redecided(NamedTuple):
    """A commit as it was decided and as it would be; `evidence` belongs to the lost verdict."""

    position: int
    at: int
    txn: int
    committed: bool
    would_commit: bool
    evidence: Evidence | None


def redecide(
    state: DomainState, event: Event, level: IsolationLevel | None, *, by_file: bool = False
) -> Redecided | None:
    """Judge a commit or a lost conflict again at `level`, before it is applied to the state.

    Returns None for any other event. Every table is judged at `level`, None = its own, but parts
    that only rearrange stay at SnapshotIsolation (facts a.2). `by_file`: as if rows were not known.
    """
    control, body = event
    if isinstance(body, TxnCommitted):
        parts = [
            TableWrite(part.table, part.read_at, part.writes, part.footprint) for part in body.parts
        ]
        candidate = candidate_from(state, control, [*parts, *body.reads], one_shot=body.one_shot)
        evidence = first_conflict(state, candidate, level, by_file=by_file)
        return redecided(control, evidence, committed=True)
    if isinstance(body, TxnAborted) and body.evidence is not None:
        candidate = candidate_from(state, control, body.attempted, one_shot=body.one_shot)
        evidence = first_conflict(state, candidate, level, by_file=by_file)
        return redecided(control, evidence, committed=False)._replace(
            evidence=evidence or body.evidence
        )
    return None


def redecided(control: Control, evidence: Evidence | None, *, committed: bool) -> Redecided:
    """Return both verdicts on one commit."""
    return Redecided(
        control.position, control.at, control.txn, committed, evidence is None, evidence
    )


def candidate_from(
    state: DomainState, control: Control, parts: Iterable[TableWrite], *, one_shot: bool
) -> Candidate:
    """Return the candidate of a commit as it was when the commit was decided."""
    txn: TxnInFlight | None = None if one_shot else state.txns.open[control.txn]
    every = [joined_part(txn, part) for part in parts]
    written = {each.table for each in every if not is_read(each)}
    touched = written if txn is None else written | touched_before(state, txn)
    # A write id alone is no write (rule c0), so nothing was declared there.
    writes = {each.table: each for each in every if each.writes or each.footprint is not None}
    return gathered(state, txn, writes, touched, last_chunks={})


def joined_part(txn: TxnInFlight | None, write: TableWrite) -> TableWrite:
    """Return a part with its staged chunks joined in."""
    chunks = txn.staged.get(write.table, ()) if txn is not None else ()
    if write.footprint is None or not chunks:
        return write
    return write._replace(footprint=joined(chunks, write.footprint))
