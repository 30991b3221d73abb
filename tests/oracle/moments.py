"""What held at a position, from all that ever happened: valid txns, and what may be cleaned."""

from collections.abc import Iterable, Sequence

from ledger.core.events.events import Event, NamespaceChanged
from ledger.core.evolve.evolve import fold
from ledger.core.lists.valid_lists import ValidTxnList
from ledger.core.lists.visibility import valid_txn_list
from ledger.core.state.domain import DomainState
from ledger.core.state.watermark import Lifetime, Snapshot, TableMark, table_mark
from ledger.reads.metadata import Read
from ledger.reads.port import DefinitionRow, MappingRow, NamespaceRow, TableRow
from tests.oracle.fold import StateFold
from tests.oracle.metadata import is_settled


def txns_at(whole: StateFold, place: int) -> ValidTxnList:
    now = whole.state
    then = now if place == now.position else fold(DomainState(), whole.events_to(place))
    return valid_txn_list(then)


def mark_of(whole: StateFold, row: TableRow) -> TableMark:
    now = whole.state
    known = whole.definitions.get(row.table, ())
    life = Lifetime(known[0][0] if known else 0, row.dropped)

    def first_open(position: int) -> int:
        is_old = position < now.position
        then = fold(DomainState(), whole.events_to(position)) if is_old else now
        found = then.tables.by_id.get(row.table)
        if found is None:
            return row.last_write_id + 1
        return then.txns.first_open(row.table, found.last_write_id)

    snapshots = (Snapshot(txn.opened, txn.txn) for txn in now.txns.open.values())
    return table_mark(life, snapshots, now.position, first_open)


def namespaces_after(events: Iterable[Event]) -> Sequence[NamespaceRow]:
    """Return the namespaces that are there after these events, by catalog and name."""
    known: dict[tuple[str, str], NamespaceRow] = {}
    for control, body in events:
        if isinstance(body, NamespaceChanged):
            key = body.catalog, body.name.lower()
            known.pop(key, None)
            if body.act != "drop":
                row = body.catalog, body.name, body.properties, control.position
                known[key] = NamespaceRow(*row)
    return [known[key] for key in sorted(known)]


def definitions_between(
    whole: StateFold, table: int, after: int, place: int
) -> Sequence[DefinitionRow]:
    """Return what a table became behind one position and up to another."""
    known = whole.definitions.get(table, ())
    return [DefinitionRow(*each) for each in known if after < each[0] <= place]


def mapped_in(whole: StateFold, table: int) -> list[MappingRow]:
    """Return the mappings of a table that stand, by their write ids."""
    txns = whole.state.txns
    ids = {txn: ended for txn, ended in txns.mappings.items() if txn >= txns.watermark}
    ids |= {txn: each.write_ids for txn, each in txns.open.items()}
    found = ((each[table], txn) for txn, each in ids.items() if table in each)
    return [MappingRow(*row) for row in sorted(found)]


def is_settled_for(whole: StateFold, read: Read) -> bool:
    """Return whether a read may be answered: all commits that it must see are known."""
    number = read.table if isinstance(read.table, int) else read.table_id or 0
    return bool(read.own_txn) or is_settled(whole.state, number, read.write_ids)


def aborted_in(whole: StateFold, row: TableRow) -> list[MappingRow]:
    """Return the aborted write ids below the mark of a table under which data may lie."""
    mark = mark_of(whole, row)
    left = whole.state.txns.writers.get(row.table, {})
    # Who has data there without a write id stands under a number below 0.
    rows = (MappingRow(*item) for item in sorted(left.items()))
    return [each for each in rows if 0 < each.write_id < mark.write_id]
