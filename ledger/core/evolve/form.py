"""The canonical form of the state, in plain lists and numbers, and the way back.

Equal states have equal forms, in whatever order their dicts were filled. Derived fields are left
out and computed again; the conflict index is filled from its parts. Checkpoints and digests are
made from this form.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ledger.core.acceptance import LogHead, head_form, head_from
from ledger.core.commands import (
    AppVersion,
    CoarseWrite,
    Column,
    Domain,
    Footprint,
    Property,
    Protocol,
    TableDefinition,
)
from ledger.core.conflicts.index import ConflictIndex, TableWinners
from ledger.core.conflicts.winners import WinningPart
from ledger.core.events.events import LedgerCreated
from ledger.core.events.parts import Limits
from ledger.core.evolve.tables import note_forgettable
from ledger.core.rows.changes import AddedRows, Marks, Moved, RowChanges, ToldColumn
from ledger.core.state.domain import Cut, DomainState, TrimmedLog
from ledger.core.state.namespaces import Namespace
from ledger.core.state.sessions import Answered, Session
from ledger.core.state.tables import Change, Pending, Progress, Table, name_key
from ledger.core.state.txns import AbortedTxn, TxnInFlight, Txns, exception_hash

Plain = Any


def definition_from(form: Plain) -> TableDefinition:
    """Return the table definition in plain values; columns and properties become records."""
    kind, layout, location, columns, partition_columns, properties = form
    return TableDefinition(
        kind,
        layout,
        location,
        [Column(*column) for column in columns],
        partition_columns,
        [Property(*each) for each in properties],
    )


def pending_form(change: Pending) -> Plain:
    """Return the form of a pending metadata change."""
    return [*change[:6], None if change.definition is None else list(change.definition), change[7]]


def pending_from(form: Plain) -> Pending:
    """Return the metadata change of a form."""
    found = Pending(*form)
    if found.definition is None:
        return found
    return found._replace(definition=definition_from(found.definition))


def footprint_form(footprint: Footprint) -> Plain:
    """Return the form of a footprint, with bytes as hex digits."""
    *form, rows = (each.hex() if isinstance(each, bytes) else each for each in footprint)
    # Left out if there are none, so that most checkpoints keep their earlier bytes.
    return form if rows is None else [*form, row_changes_form(footprint.rows)]


def footprint_from(form: Plain) -> Footprint:
    """Return the footprint in plain values; hex digits become bytes."""
    found = Footprint(*form)
    return found._replace(
        read_files=bytes.fromhex(form[3]),
        removes=bytes.fromhex(form[6]),
        protocol=None if found.protocol is None else Protocol(*found.protocol),
        domains=[Domain(*domain) for domain in found.domains],
        apps=[AppVersion(*app) for app in found.apps],
        files=bytes.fromhex(form[14]),
        digest=bytes.fromhex(form[16]),
        rows=row_changes_from(found.rows),
    )


def row_changes_form(rows: RowChanges | None) -> Plain:
    """Return what a part did row by row in plain values, None for a part that names files alone."""
    if rows is None:
        return None
    return [
        [[path, marked.hex()] for path, marked in rows.marks],
        [[path, marked.hex()] for path, marked in rows.read],
        rows.scanned.hex(),
        [[*moved[:-1], moved.stayed.hex()] for moved in rows.moved],
        [[each.partition, [*map(list, each.columns)], *each[2:]] for each in rows.added],
    ]


def row_changes_from(form: Plain) -> RowChanges | None:
    """Return what a part did row by row; hex digits become bytes."""
    if form is None:
        return None
    marks, read, scanned, moved, added = form
    return RowChanges(
        [Marks(path, bytes.fromhex(marked)) for path, marked in marks],
        [Marks(path, bytes.fromhex(marked)) for path, marked in read],
        bytes.fromhex(scanned),
        [Moved(*each)._replace(stayed=bytes.fromhex(each[-1])) for each in moved],
        [
            AddedRows(partition, [ToldColumn(*column) for column in columns], *rest)
            for partition, columns, *rest in added
        ],
    )


def winners_form(winners: ConflictIndex) -> Plain:
    """Return the form of the conflict index: floor, partition columns, and parts oldest first."""
    return {
        "floor": winners.floor,
        "shapes": [
            [table, [[since, list(schema)] for since, schema in each.shapes]]
            for table, each in sorted(winners.tables.items())
        ],
        "parts": [
            [*part[:-1], None if part.footprint is None else footprint_form(part.footprint)]
            for part in winners.parts
        ],
    }


def restore_winners(winners: ConflictIndex, form: Plain) -> None:
    """Enter the parts of a form again."""
    winners.floor = form["floor"]
    for table, shapes in form["shapes"]:
        schemas = [(since, tuple((name, kind) for name, kind in each)) for since, each in shapes]
        winners.tables[table] = TableWinners(schemas)
    for each in form["parts"]:
        part = WinningPart(*each)
        footprint = None if part.footprint is None else footprint_from(part.footprint)
        writes = [CoarseWrite(*write) for write in part.coarse]
        winners.record(part._replace(coarse=writes, footprint=footprint), ())


def state_form(state: DomainState, head: LogHead) -> dict[str, Plain]:
    """Return the canonical form of a state and the log head it belongs to."""
    form = {
        "head": head_form(head),
        "position": state.position,
        "at": state.at,
        "genesis": None if state.genesis is None else list(state.genesis),
        "commands_topic": state.commands_topic,
        "catalogs": sorted(state.catalogs),
        "sessions": [session_form(each) for _, each in sorted(state.sessions.by_number.items())],
        "ended_sessions": list(state.sessions.ended),
        "txns": txns_form(state.txns),
        "next_table": state.tables.next_table,
        "tables": [table_form(each) for _, each in sorted(state.tables.by_id.items())],
        "pending": [
            [txn, [pending_form(change) for change in changes]]
            for txn, changes in sorted(state.tables.pending.items())
        ],
        "dropped": [[table, *change] for table, change in state.tables.dropped.items()],
        "winners": winners_form(state.winners),
    }
    # Left out if there are none, so that checkpoints of most ledgers keep their earlier bytes.
    if state.namespaces.by_name:
        form["namespaces"] = [list(each) for _, each in sorted(state.namespaces.by_name.items())]
    if state.trimmed is not None:
        form["trimmed"] = [*state.trimmed[:-1], state.trimmed.digest.hex()]
    if state.begins > 1:
        form["begins"] = state.begins
    return {**form, "cuts": [cut_form(cut) for cut in state.cuts]} if state.cuts else form


def cut_form(cut: Cut) -> list[Plain]:
    """Return a cut as plain values, its floors by ascending table."""
    floors = [[table, *floor] for table, floor in sorted(cut.floors.items())]
    return [cut.position, cut.base, cut.next_txn, floors]


def cut_from(form: Plain) -> Cut:
    """Return the cut that `cut_form` wrote."""
    position, base, next_txn, floors = form
    return Cut(position, base, next_txn, {table: (ids, last) for table, ids, last in floors})


def pairs(mapping: Mapping[int, int]) -> list[list[int]]:
    """Return a mapping as pairs in ascending order."""
    return [list(pair) for pair in sorted(mapping.items())]


def session_form(session: Session) -> list[Plain]:
    """Return the form of a session, without its open txns, which the txns name."""
    return [
        session.number,
        session.nonce.hex(),
        session.user,
        session.host,
        session.application,
        session.lease_ms,
        session.is_open,
        session.last_n,
        [[n, *answer] for n, answer in sorted(session.answers.items())],
    ]


def txns_form(txns: Txns) -> dict[str, Plain]:
    """Return open, aborted and cleaned txns as plain values."""
    return {
        "next": txns.next_txn,
        "watermark": txns.watermark,
        "cleaned_below": txns.cleaned_below,
        "open": [
            [
                *(txn.txn, txn.type, txn.session, txn.min_open, txn.opened, txn.deadline),
                pairs(txn.write_ids),
                pairs(txn.metadata),
                [
                    [table, [footprint_form(chunk) for chunk in chunks]]
                    for table, chunks in sorted(txn.staged.items())
                ],
            ]
            for txn in txns.open.values()
        ],
        "aborted": [
            [txn, pairs(left.write_ids), sorted(left.wrote)]
            for txn, left in sorted(txns.aborted.items())
        ],
        "ended": [list(pair) for pair in txns.ended.items()],
        "mappings": [[txn, pairs(ids)] for txn, ids in sorted(txns.mappings.items())],
    }


def table_form(table: Table) -> list[Plain]:
    """Return a table as plain values, its applications by ascending name."""
    return [
        *(table.table, table.catalog, table.name, list(table.definition), table.creator),
        *(list(table.change), list(table.named), table.version, table.last_write_id),
        *(table.mapped_from, sorted(table.cleaned_ahead)),
        *(list(table.protocol), table.committed_at, table.next_row_id),
        [[app, *progress] for app, progress in sorted(table.apps.items())],
    ]


def state_from(form: Mapping[str, Plain]) -> tuple[DomainState, LogHead]:
    """Return the state and the head of a form that `state_form` made."""
    head = head_from(form["head"])
    state = DomainState(position=form["position"], last_cmd=head.last_cmd, at=form["at"])
    if form["genesis"] is not None:
        created = LedgerCreated(*form["genesis"])
        state.genesis = created._replace(limits=Limits(*created.limits))
        state.limits = state.genesis.limits
    state.commands_topic = form["commands_topic"]
    state.catalogs = set(form["catalogs"])
    state.cuts = [cut_from(each) for each in form.get("cuts", ())]
    if "trimmed" in form:
        position, below, archive, image, digest = form["trimmed"]
        state.trimmed = TrimmedLog(position, below, archive, image, bytes.fromhex(digest))
    state.begins = form.get("begins", 1)
    for catalog, name, properties, changed in form.get("namespaces", ()):
        known = [Property(*each) for each in properties]
        state.namespaces.put(Namespace(catalog, name, known, changed))
    restore_sessions(state, form)
    restore_tables(state, form)
    restore_txns(state, form["txns"])
    restore_winners(state.winners, form["winners"])
    return state, head


def restore_sessions(state: DomainState, form: Mapping[str, Plain]) -> None:
    """Restore the sessions, with the ended ones in the order of their ends."""
    for number, nonce, user, host, application, lease_ms, is_open, last_n, answers in form[
        "sessions"
    ]:
        session = Session(number, bytes.fromhex(nonce), user, host, application, lease_ms)
        session.is_open = is_open
        session.last_n = last_n
        session.answers = {n: Answered(*answer) for n, *answer in answers}
        state.sessions.add(session)
        state.sessions.ended_answers += 0 if is_open else len(answers)
    state.sessions.ended = OrderedDict.fromkeys(form["ended_sessions"])


def restore_tables(state: DomainState, form: Mapping[str, Plain]) -> None:
    """Restore the tables, their names and the pending changes."""
    state.tables.next_table = form["next_table"]
    for number, catalog, name, definition, creator, change, named, *rest in form["tables"]:
        version, last_write_id, mapped_from, ahead, protocol, committed_at, row_id, apps = rest
        table = Table(
            number,
            catalog,
            name,
            definition_from(definition),
            creator,
            Change(*change),
            naming_from(named),
            version=version,
            last_write_id=last_write_id,
            mapped_from=mapped_from,
            cleaned_ahead=set(ahead),
            protocol=Protocol(*protocol),
            apps={app: Progress(*progress) for app, *progress in apps},
            committed_at=committed_at,
            next_row_id=row_id,
        )
        state.tables.by_id[number] = table
        if not creator:
            state.tables.names[name_key(catalog, name)] = number
    state.tables.dropped = OrderedDict(
        (table, Change(*change)) for table, *change in form["dropped"]
    )
    state.tables.pending = {
        txn: [pending_from(change) for change in changes] for txn, changes in form["pending"]
    }


def naming_from(form: Plain) -> Change:
    """Return the change that named a table; older forms hold only its position."""
    return Change(*form) if isinstance(form, list) else Change(form, 0, 0, "")


def restore_txns(state: DomainState, form: Mapping[str, Plain]) -> None:
    """Restore the txns and all fields derived from them."""
    txns = state.txns
    txns.next_txn = form["next"]
    txns.watermark = form["watermark"]
    txns.cleaned_below = form["cleaned_below"]
    txns.ended = OrderedDict((txn, code) for txn, code in form["ended"])
    txns.mappings = {txn: dict(ids) for txn, ids in form["mappings"]}
    txns.mapped = sum(map(len, txns.mappings.values()))
    for number, kind, session, min_open, opened, deadline, ids, metadata, staged in form["open"]:
        txn = TxnInFlight(
            number, kind, session, min_open, opened, deadline, dict(ids), dict(metadata)
        )
        for table, chunks in staged:
            txn.staged[table] = [footprint_from(chunk) for chunk in chunks]
        txns.staged_bytes += txn.waiting_bytes()
        txns.open[number] = txn
        txns.mapped += len(ids)
        for table, write_id in ids:
            txns.index_open(table, write_id)
        if session in state.sessions.by_number:
            state.sessions.by_number[session].txns[number] = None
        if kind != "read_only":
            txns.open_visible.add(number)
            txns.digest ^= exception_hash(number, aborted=False)
    for number, ids, wrote in form["aborted"]:
        txns.aborted[number] = AbortedTxn(dict(ids), set(wrote))
        txns.index_aborted(number, txns.aborted[number])
        txns.digest ^= exception_hash(number, aborted=True)
        note_forgettable(state, number)
