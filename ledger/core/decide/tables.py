"""Decide changes of tables: create, alter, rename, drop, at once or pending in a txn.

Outside a txn a change takes effect at once; only the alter of a managed table then takes a write
id. Inside a txn a change waits for the commit, and only that txn sees it. In a managed table it is
tagged with the txn's write id of the table, which is given here if the txn has none yet. Names are
checked again at the commit, against the final name map.
"""

from collections.abc import Callable, Iterable

from ledger.core.commands import (
    LEVEL_PROPERTY,
    LEVELS,
    AlterTable,
    CreateTable,
    DropTable,
    RenameTable,
    TableDefinition,
)
from ledger.core.decide.txns import writable_txn
from ledger.core.events.events import TableAltered, TableCreated, TableDropped, TableRenamed
from ledger.core.limits import (
    CHANGES_PER_TXN_MAX,
    NAME_FORBIDDEN,
    OPERATION_CHARS_MAX,
    TABLE_NAME_CHARS_MAX,
)
from ledger.core.partitions.transforms import PartitionTransform, transforms_of
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import Cut, DomainState
from ledger.core.state.tables import Table, name_key, odd_character
from ledger.core.state.traits import is_level, known_key

# Protocol changes that no earlier plan survives, by the kind of `traits.protocol_change`.
PROTOCOL_CHANGES = {
    "beyond": "gained an unknown feature",
    "breaks": "lost a feature, or gained an enforced one",
}
# Hive's text forms of snapshots carry the name unescaped between these (rule b7).


def create(state: DomainState, command: CreateTable) -> TableCreated:
    """Create a table under the next table id."""
    if command.txn:
        writable_txn(state, command.session, command.txn)
    check_name(command.name)
    check_definition(command.definition)
    check_ahead(state, command.read_at, 0)
    if command.catalog not in state.catalogs:
        raise Refused(
            Reason.UNKNOWN_CATALOG, f"there is no catalog {command.catalog!r} in this domain"
        )
    check_free(state, command, command.catalog, 0)
    managed = command.definition.kind == "managed"
    return TableCreated(
        state.tables.next_table,
        next_number(state, command.txn),
        1 if managed and command.txn else 0,
        base_of(state, command.txn, command.read_at),
        command.catalog,
        command.name,
        command.definition,
    )


def alter(state: DomainState, command: AlterTable, now: int) -> TableAltered:
    """Give a table a new definition; outside a txn a managed table gets a commit for it."""
    table = changeable(state, command)
    if not command.txn:
        check_features(state, command)
    check_definition(command.definition)
    if command.definition[:2] != table.definition[:2]:
        raise Refused(
            Reason.COMMAND_INVALID,
            f"kind and layout of table {table.name} must stay {table.definition[0]} and "
            f"{table.definition[1]}, got {command.definition[0]} and {command.definition[1]}",
            table.table,
        )
    managed = table.definition.kind == "managed"
    one_shot = managed and not command.txn
    return TableAltered(
        table.table,
        1 if one_shot else next_number(state, command.txn),
        table.last_write_id + 1 if one_shot else write_id_of(state, command.txn, table),
        base_of(state, command.txn, command.read_at),
        one_shot,
        table.version + 1 if one_shot else -1,
        max(now, table.committed_at + 1) if one_shot else 0,
        command.definition,
        command.operation[:OPERATION_CHARS_MAX],
    )


def rename(state: DomainState, command: RenameTable) -> TableRenamed:
    """Give a table another name."""
    table = changeable(state, command)
    check_name(command.name)
    check_free(state, command, table.catalog, table.table)
    return TableRenamed(
        table.table,
        next_number(state, command.txn),
        write_id_of(state, command.txn, table),
        base_of(state, command.txn, command.read_at),
        table.catalog,
        command.name,
    )


def drop(state: DomainState, command: DropTable) -> TableDropped:
    """Return the drop of a table that the command may change."""
    table = changeable(state, command)
    return TableDropped(
        table.table,
        next_number(state, command.txn),
        write_id_of(state, command.txn, table),
        base_of(state, command.txn, command.read_at),
    )


def changeable(state: DomainState, command: AlterTable | RenameTable | DropTable) -> Table:
    """Return the table to change; raises Refused if it is gone, or changed since it was read."""
    if command.txn:
        writable_txn(state, command.session, command.txn)
    check_ahead(state, command.read_at, command.table)
    table = state.tables.visible(command.table, command.txn)
    if table is None or dropped_here(state, command.txn, command.table):
        raise Refused(Reason.UNKNOWN_TABLE, f"there is no table {command.table}", command.table)
    read_at = base_of(state, command.txn, command.read_at)
    if read_at and not table.creator and table.change.position > read_at:
        raise Refused(
            Reason.METADATA_CHANGED,
            f"table {table.name} was read at position {read_at} and changed at position "
            f"{table.change.position}; read it again",
            command.table,
        )
    return table


def check_features(state: DomainState, command: AlterTable) -> None:
    """Refuse a change outside a txn that was planned before the protocol changed (a.4 step 1).

    For a change in a txn, the commit makes this check.
    """
    winners = state.winners.tables.get(command.table)
    if winners is None or not command.read_at:
        return
    for kind, what in PROTOCOL_CHANGES.items():
        if position := winners.first(("protocol", kind), command.read_at):
            raise Refused(
                Reason.METADATA_CHANGED,
                f"table {command.table} was read at position {command.read_at}, and its protocol "
                f"{what} at position {position}; read it again",
                command.table,
            )


def dropped_here(state: DomainState, txn: int, table: int) -> bool:
    """Tell whether the txn itself has dropped the table."""
    changes = state.tables.pending.get(txn, ())
    return any(change.table == table and change.kind == "drop" for change in changes)


def base_of(state: DomainState, txn: int, read_at: int) -> int:
    """Return the position a change was planned from: `read_at`, else the txn's snapshot."""
    return read_at or (state.txns.open[txn].opened if txn else 0)


def check_ahead(state: DomainState, read_at: int, subject: int) -> None:
    """Refuse a read position that is negative, beyond the newest, or lost by a cut."""
    if read_at < 0:
        raise Refused(Reason.COMMAND_INVALID, f"read_at must be 0 or more, got {read_at}", subject)
    if read_at > state.position:
        raise Refused(
            Reason.READ_AT_AHEAD,
            f"read_at must be at most the newest position {state.position}, got {read_at}",
            subject,
        )
    cut = lost_by(state, read_at)
    if cut is not None:
        raise Refused(
            Reason.LOST_BY_CUT,
            f"position {read_at}, at which the plan was read, was lost by the cut at position "
            f"{cut.position}. Read again and retry",
            subject,
        )


def lost_by(state: DomainState, position: int) -> Cut | None:
    """Return the cut that left out a position, None if no cut did."""
    return next((cut for cut in state.cuts if cut.base < position < cut.position), None)


def check_name(name: str) -> None:
    """Refuse a name that Hive's text forms or a path cannot hold."""
    is_odd = any(char in NAME_FORBIDDEN for char in name) or odd_character(name) is not None
    if not 0 < len(name) <= TABLE_NAME_CHARS_MAX or is_odd:
        raise Refused(
            Reason.COMMAND_INVALID,
            f"a table name must have 1 to {TABLE_NAME_CHARS_MAX} characters without ':', '$' and "
            f"control characters, got {name[:TABLE_NAME_CHARS_MAX]!r}",
        )


def check_definition(definition: TableDefinition) -> None:
    """Refuse a definition that contradicts itself."""
    names = [column.name for column in definition.columns]
    columns = set(map(str.lower, names))
    if same := alike(names, str.lower):
        raise Refused(
            Reason.COMMAND_INVALID, f"column names must differ by more than case, got {same}"
        )
    ids = {column.name: column.id for column in definition.columns if column.id}
    if same := alike(ids, lambda name: str(ids[name])):
        raise Refused(Reason.COMMAND_INVALID, f"column ids must differ, got one id for {same}")
    if same := alike([each.key for each in definition.properties], known_key):
        raise Refused(Reason.COMMAND_INVALID, f"property keys must differ, got {same}")
    if same := alike(definition.partition_columns, str.lower):
        raise Refused(Reason.COMMAND_INVALID, f"partition columns must differ, got {same}")
    transforms = transforms_of(definition)
    check_transforms(definition, transforms.values())
    missing = [
        name
        for name in definition.partition_columns
        if name.lower() not in columns and name not in transforms
    ]
    if columns and missing:
        raise Refused(
            Reason.COMMAND_INVALID,
            f"partition column {missing[0]!r} must be one of the columns, or a transform such as "
            f"days(at) of one: {', '.join(names)[:TABLE_NAME_CHARS_MAX]}",
        )
    for each in definition.properties:
        if each.key.lower() == LEVEL_PROPERTY.lower():
            check_level(each.value)


def check_transforms(definition: TableDefinition, transforms: Iterable[PartitionTransform]) -> None:
    """Refuse a transform of a column that is not there, or that has another type than it takes."""
    types = {column.name.lower(): column.type for column in definition.columns}
    for transform in transforms:
        found = types.get(transform.column.lower())
        if found is None or not transform.takes(found):
            given = f"of type {found}" if found else "that is not there"
            raise Refused(
                Reason.COMMAND_INVALID,
                f"partition column {transform.text[:TABLE_NAME_CHARS_MAX]!r} must be of a column "
                f"that {transform.kind} takes, got one {given[:TABLE_NAME_CHARS_MAX]}",
            )
        if definition.layout == "directories":
            raise Refused(
                Reason.COMMAND_INVALID,
                f"a table in directories must be partitioned by columns, got "
                f"{transform.text[:TABLE_NAME_CHARS_MAX]!r}",
            )


def check_level(text: str) -> None:
    """Refuse a text that names no isolation level."""
    if not is_level(text):
        raise Refused(
            Reason.COMMAND_INVALID,
            f"the isolation level must be one of {', '.join(LEVELS)}, got {text[:80]!r}",
        )


def alike(names: Iterable[str], key: Callable[[str], str]) -> str:
    """Return the first two names that have one key, as a message quotes them; "" if all differ."""
    first: dict[str, str] = {}
    for name in names:
        if key(name) in first:
            return (
                f"{first[key(name)][:TABLE_NAME_CHARS_MAX]!r} and {name[:TABLE_NAME_CHARS_MAX]!r}"
            )
        first[key(name)] = name
    return ""


def check_free(
    state: DomainState, command: CreateTable | RenameTable, catalog: str, own: int
) -> None:
    """Refuse a name of another table than `own`, committed or pending in the same txn.

    A name that existed when the caller read is TableExists, one taken since is ProtocolChanged.
    """
    key = name_key(catalog, command.name)
    pending = state.tables.pending.get(command.txn, ())
    final = {change.table: change for change in pending if change.kind != "alter"}
    for change in final.values():
        taken = change.kind != "drop" and name_key(change.catalog, change.name) == key
        if taken and change.table != own:
            raise held(Reason.TABLE_EXISTS, command.name, change.table)
    holder = state.tables.named(catalog, command.name)
    if holder is not None and holder.table != own and holder.table not in final:
        later = 0 < base_of(state, command.txn, command.read_at) < holder.named.position
        reason = Reason.PROTOCOL_CHANGED if later else Reason.TABLE_EXISTS
        raise held(reason, command.name, holder.table)


def held(reason: Reason, name: str, table: int) -> Refused:
    """Return the refusal of a name that a table has."""
    return Refused(reason, f"table {table} has the name {name} already", table)


def next_number(state: DomainState, txn: int) -> int:
    """Return the number of the change within its txn, from 1; 0 outside a txn.

    Each name is checked against every change of the txn, so the number of changes is bounded.
    """
    if not txn:
        return 0
    number = len(state.tables.pending.get(txn, ())) + 1
    if number > CHANGES_PER_TXN_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"txn {txn} must have {CHANGES_PER_TXN_MAX} changes of tables at most, got {number}",
            txn,
        )
    return number


def write_id_of(state: DomainState, txn: int, table: Table) -> int:
    """Return the write id that tags a change of a managed table in a txn."""
    if not txn or table.definition.kind != "managed":
        return 0
    return state.txns.open[txn].write_ids.get(table.table, table.last_write_id + 1)
