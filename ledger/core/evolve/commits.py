"""Evolve commits: versions, metadata changes, progress of applications, and winners.

A commit enters the conflict index, where later commits look it up. This module judges nothing: the
kind of a change follows from the table before and after it.
"""

from collections.abc import Sequence

from ledger.core.commands import JUDGED_TYPES, CoarseWrite, Footprint, Protocol, TableDefinition
from ledger.core.conflicts.footprints import REPLACES, rearranges, won
from ledger.core.conflicts.metadata_diff import metadata_kind
from ledger.core.conflicts.operations import winning
from ledger.core.conflicts.settling import counted
from ledger.core.conflicts.winners import WinningPart
from ledger.core.events.events import Control, TableAltered, TxnCommitted
from ledger.core.events.parts import CommittedPart
from ledger.core.evolve.tables import apply_pending, take_write_id
from ledger.core.evolve.txns import forget_owner
from ledger.core.state import watermark
from ledger.core.state.domain import DomainState
from ledger.core.state.staged_progress import whole_footprint
from ledger.core.state.tables import Change, Pending, Progress, Table, by_table, redefines
from ledger.core.state.traits import features_of, protocol_change
from ledger.core.state.txns import TxnInFlight


def txn_committed(state: DomainState, control: Control, body: TxnCommitted) -> None:
    """Make a txn visible: apply its versions and metadata changes, and enter its winners."""
    ended = begun(state, control, body)
    changes = state.tables.pending.get(control.txn, ())
    changed = by_table(changes)
    for part in body.parts:
        chunks = ended.staged.get(part.table, ())
        footprint = None
        if part.footprint is not None:
            footprint = counted(part, whole_footprint(chunks, part.footprint))
        commit_part(state, control, part, ended.write_ids.get(part.table, 0))
        coarse = part.writes if body.type in JUDGED_TYPES else []
        own = changed.get(part.table, ())
        enter_winner(state, control, part, coarse, footprint, changes=own)
        if footprint is not None:
            table = state.tables.by_id[part.table]
            note_footprint(table, control.position, footprint)
            if part.first_row_id >= 0:
                table.next_row_id = part.first_row_id + footprint.rows_added
    if changes:
        apply_pending(state, control)
        for part in body.parts:
            reshape(state, control.position, part.table)
    watermark.advance(state.txns)
    prune_winners(state)


def begun(state: DomainState, control: Control, body: TxnCommitted) -> TxnInFlight:
    """End the txn as committed and return it; a one-shot txn had no state before."""
    outcomes_max = state.limits.outcomes_max
    if body.one_shot:
        state.txns.commit_at_once(control.txn, control.position, outcomes_max)
        return TxnInFlight(control.txn, body.type, control.session, 0, control.position, 0)
    ended = state.txns.commit(control.txn, control.position, outcomes_max)
    forget_owner(state, ended)
    return ended


def commit_part(state: DomainState, control: Control, part: CommittedPart, held: int) -> None:
    """Apply one table of a commit; `held` is the txn's earlier write id there, or 0."""
    table = state.tables.by_id[part.table]
    passes = state.is_filling(control)
    next_version(table, part.version, part.committed_at, passes_lost=passes)
    if held:
        if part.write_id != held:
            raise AssertionError(f"write id {part.write_id} committed, the txn has {held}")
    elif part.write_id:
        take_write_id(table, part.write_id)
        state.txns.map(control.txn, part.table, part.write_id)


def next_version(
    table: Table, version: int, committed_at: int, *, passes_lost: bool = False
) -> None:
    """Give a table its next version.

    Versions are dense and their times rise. Only a version that stands above lost ones leaves out
    numbers.
    """
    follows = version > table.version if passes_lost else version == table.version + 1
    if not follows:
        raise AssertionError(f"version {version} of table {table.table} follows {table.version}")
    table.version = version
    table.committed_at = max(table.committed_at, committed_at)


def note_footprint(table: Table, position: int, footprint: Footprint) -> None:
    """Keep the progress and the protocol of a commit, which later decisions read."""
    for app, version in footprint.apps:
        table.apps[app] = Progress(version, position)
    if footprint.protocol is not None:
        table.protocol = footprint.protocol


def enter_winner(
    state: DomainState,
    control: Control,
    part: CommittedPart,
    coarse: Sequence[CoarseWrite],
    footprint: Footprint | None,
    *,
    changes: Sequence[Pending],
) -> None:
    """Enter a part into the conflict index, if it changed anything that a check looks up.

    `coarse` are the coarse writes that are judged, `footprint` is joined from all its chunks,
    `changes` are the txn's changes of the table.
    """
    table = state.tables.by_id[part.table]
    altered = [change for change in changes if change.definition is not None]
    if not (coarse or footprint is not None or altered):
        return
    protocol = footprint.protocol if footprint is not None else None
    does_more = bool(coarse) or redefines(changes)
    last = altered[-1] if altered else None
    winner = WinningPart(
        control.position,
        part.table,
        control.txn,
        control.session,
        control.at,
        winning(footprint, coarse, last),
        part.blind,
        footprint is not None and rearranges(footprint, does_more=does_more),
        kind_of_change(table, last.definition if last is not None else None, protocol),
        any(change.operation in REPLACES for change in altered),
        protocol_change(table.protocol, protocol, enforced=table.traits.enforces_features),
        coarse,
        None if footprint is None else won(footprint),
    )
    state.winners.record(winner, table.traits.schema)


def kind_of_change(
    table: Table, definition: TableDefinition | None, protocol: Protocol | None
) -> str:
    """Return the kind of a change to `definition`, "" if that is None.

    `protocol` is the protocol after the change, None = unchanged.
    """
    if definition is None:
        return ""
    return metadata_kind(table.definition, definition, features_of(protocol or table.protocol))


def reshape(state: DomainState, position: int, table_id: int) -> None:
    """Pass the partition columns of a table to the index, since they may have changed."""
    table = state.tables.by_id.get(table_id)
    if table is not None:
        state.winners.reshape(table_id, position, table.traits.schema)


def table_altered_at_once(state: DomainState, control: Control, body: TableAltered) -> None:
    """Alter a table outside a txn; for a managed table the change is a commit and a winner."""
    table = state.tables.by_id[body.table]
    if body.one_shot:
        state.txns.commit_at_once(control.txn, control.position, state.limits.outcomes_max)
        next_version(table, body.version, body.committed_at)
        take_write_id(table, body.write_id)
        state.txns.map(control.txn, body.table, body.write_id)
        state.winners.record(altering_part(table, control, body), table.traits.schema)
    table.define(body.definition)
    table.change = Change(control.position, control.txn, control.session, "alter")
    reshape(state, control.position, body.table)
    watermark.advance(state.txns)
    prune_winners(state)


def altering_part(table: Table, control: Control, body: TableAltered) -> WinningPart:
    """Return the winning part of an alter that is a commit of its own."""
    return WinningPart(
        control.position,
        body.table,
        control.txn,
        control.session,
        control.at,
        body.operation,
        blind=True,
        rearranges=False,
        metadata=kind_of_change(table, body.definition, None),
        replaces=body.operation in REPLACES,
        protocol="",
        coarse=[],
        footprint=None,
    )


def prune_winners(state: DomainState) -> None:
    """Drop the winners that no open writing txn can meet any more."""
    oldest = state.txns.open_visible.minimum(0)
    opened = state.txns.open[oldest].opened if oldest else state.position
    limits = state.limits
    state.winners.prune(opened, limits.conflict_entries_min, limits.conflict_entries_max)
