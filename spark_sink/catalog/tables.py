"""Tables as Spark sees them: looked up, created, dropped and renamed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from ledger.arrow.schema import TableSchema
from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import MAPPING_MODE
from ledger.definitions.names import unknown_table
from ledger.definitions.views import is_view
from ledger.errors import TableExistsError, UnknownTableError
from ledger.properties.known_properties import asks_for_marks
from ledger.reads.port import Reads, TableRow
from ledger.snapshot.as_of import position_at, position_of_version
from ledger.snapshot.reading import is_in_folders
from ledger.snapshot.table_snapshot import TableSnapshot
from ledger.transaction.transaction import Transaction
from spark_sink.catalog.columns import (
    column_answers,
    column_of,
    dividing_columns,
    is_computed,
    written_order,
)
from spark_sink.catalog.divisions import division_answers, division_of, plain_columns
from spark_sink.catalog.names import check_distinct
from spark_sink.catalog.options import PATH, from_hadoop, is_name_of
from spark_sink.catalog.read import metadata_tables
from spark_sink.catalog.read.changes import changes_of
from spark_sink.catalog.session.open_statements import (
    CatalogState,
    Question,
    Refusal,
    StatementsTxn,
    unsupported,
)
from spark_sink.catalog.views import view_answer
from spark_sink.catalog.write import constraints
from spark_sink.catalog.write.replacing import keeping

CHANGES: Final = "changes"
LAYOUT: Final = "layout"
LOCATION: Final = "location"
PROVIDER: Final = "provider"
PROVIDERS: Final = frozenset({"", "parquet", "ledger", "lakeledger"})
OPTION: Final = "option."
STORED_AS: Final = "hive.stored-as"
# STORED AS and ROW FORMAT arrive as these properties.
HIVE: Final = (STORED_AS, "hive.serde", "hive.input-format", "hive.output-format")
# Properties with which Spark says other things than properties.
SPARKS_OWN: Final = frozenset(
    {"owner", PROVIDER, LOCATION, LAYOUT, "external", "is_managed_location"}
)


def table(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Answer what a table is, as of now, of a version or of a time; or return rows about it."""
    name, txn = str(asked["table"]), state.find(asked)
    try:
        if "version" in asked or "micros" in asked:
            return pinned(state, name, asked)
        if (view := view_named(state, name)) is not None:
            return view
        return current(state, name) if txn is None else in_txn(name, txn)
    except UnknownTableError:
        found = changes_about(state, asked) or metadata_tables.rows_about(state, name)
        if found is None:
            raise Refusal("NoSuchTable", name) from None
        if "version" in asked or "micros" in asked:
            raise unsupported(f"{name} must be read as of now, got a version or a time") from None
        return found


def view_named(state: CatalogState, name: str) -> Mapping[str, Any] | None:
    """Return the view that has a name, None for a table and for no such name."""
    row = state.ledger.reads().table_named(state.ledger.catalog, name)
    if row is None or row.creator or not is_view(row.definition):
        return None
    return view_answer(state, row)


def changes_about(state: CatalogState, asked: Question) -> Mapping[str, Any] | None:
    """Return the changes of a table by their name, None if the name means none."""
    owner, _, last = str(asked["table"]).rpartition(".")
    if not owner or last.lower() != CHANGES:
        return None
    reads, txn = state.ledger.reads(), state.find(asked)
    try:
        if txn is None:
            return changes_of(current(state, owner), asked)
        row, opened = table_named(reads, state, owner), txn.txn.opened
    except UnknownTableError:
        return None
    return changes_of(table_answer(TableSnapshot(reads, row, opened), seen=f"@{opened}"), asked)


def current(state: CatalogState, name: str) -> Mapping[str, Any]:
    """Return a table as it is now."""
    reads = state.ledger.reads()
    while True:
        position = reads.position()
        row = table_named(reads, state, name)
        if row.changed <= position:
            newest = reads.version_row(row.table, position=position)
            version = -1 if newest is None else newest.version
            return table_answer(TableSnapshot(reads, row, position), seen=f"v{version}")


def table_named(reads: Reads, state: CatalogState, name: str) -> TableRow:
    """Return the table that has a name now; raises UnknownTableError."""
    row = reads.table_named(state.ledger.catalog, name)
    if row is None or row.creator:
        raise unknown_table(f"catalog {state.ledger.catalog} has no table {name}")
    return row


def in_txn(name: str, txn: StatementsTxn) -> Mapping[str, Any]:
    """Return a table as a txn sees it."""
    found = txn.txn.statement(name, "read", is_read=True)
    return table_answer(found.snapshot, seen=f"@{txn.txn.opened}/{txn.txn.id}.{txn.changes}")


def pinned(state: CatalogState, name: str, asked: Question) -> Mapping[str, Any]:
    """Return a table as it was."""
    reads = state.ledger.reads()
    row = table_named(reads, state, name)
    if "version" in asked:
        try:
            version = int(asked["version"])
        except ValueError:
            raise unsupported(
                f"VERSION AS OF must be a whole number, got {asked['version']!r}"
            ) from None
        position = position_of_version(reads, row.table, version)
    else:
        position = position_at(reads, row, datetime.fromtimestamp(asked["micros"] / 1e6, UTC))
    return table_answer(TableSnapshot(reads, row, position), seen=f"@{position}", is_pinned=True)


def table_answer(
    snapshot: TableSnapshot, *, seen: str, is_pinned: bool = False
) -> Mapping[str, Any]:
    """Return a table as an answer."""
    name, definition = snapshot.seen.name, snapshot.definition
    if not definition.columns:
        raise unsupported(
            f"table {name} does not say what its columns are: alter it with Ledger.alter_table"
        )
    schema = snapshot.schema
    check_distinct(name, (column.name for column in definition.columns))
    properties = {each.key: each.value for each in definition.properties}
    return {
        "name": name,
        "id": str(snapshot.row.table),
        "position": snapshot.position,
        "seen": seen,
        "pinned": is_pinned,
        "marks": not is_in_folders(snapshot.row) and asks_for_marks(definition),
        "columns": column_answers(schema.columns, definition.columns),
        "order": written_order(schema),
        "computed_partition": any(map(is_computed, dividing_columns(schema))),
        "partition": plain_columns(schema),
        "divided": division_answers(schema),
        "constraints": constraints.left_to_spark(definition, schema),
        "properties": {**properties, LOCATION: definition.location, LAYOUT: definition.layout},
    }


def exists(state: CatalogState, asked: Question) -> bool:
    """Return whether there is a table of a name."""
    try:
        table(state, asked)
    except Refusal as refusal:
        # A table that cannot be read can be dropped.
        return refusal.kind != "NoSuchTable"
    return True


def create(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Create a table: at once, or in the txn of the statement."""
    name, txn = str(asked["table"]), state.find(asked)
    columns: Sequence[Column] = [
        column_of(each, number) for number, each in enumerate(asked["columns"], 1)
    ]
    options = options_of(name, asked)
    options["partition_columns"] = division_of(name, asked["partition"], columns)
    if is_name_of(str(asked.get("path") or ""), state.name, name):
        # save("ledger.db.t") names the table, and Spark takes every path for a place.
        options.pop(LOCATION, None)
    before = former(state, asked, txn) if "replaces" in asked else None
    if before is not None:
        columns = keeping(name, before, columns, options, asked["replaces"])
    check_definition(name, columns, options["partition_columns"])
    try:
        with state.lend(txn) as own:
            if before is not None:
                own.drop_table(name)
            own.create_table(name, columns, **options)
    except TableExistsError:
        raise Refusal("TableExists", name) from None
    if txn is None:
        return current(state, name)
    if before is not None:
        txn.rename(name, "")
    txn.rename("", name)
    return in_txn(name, txn)


def former(
    state: CatalogState, asked: Question, txn: StatementsTxn | None
) -> TableDefinition | None:
    """Return what a table is that is to be replaced, None if there is no such table."""
    name, reads = str(asked["table"]), state.ledger.reads()
    try:
        if txn is not None:
            return txn.txn.statement(name, "read", is_read=True).definition
        return TableSnapshot(reads, table_named(reads, state, name), reads.position()).definition
    except UnknownTableError:
        return None


def options_of(name: str, asked: Question) -> dict[str, Any]:
    """Return the options of a new table; raises Refusal for what no table of the ledger has."""
    given = properties_of(name, asked["properties"])
    if given.get(PROVIDER, "").lower() not in PROVIDERS:
        raise unsupported(
            f"table {name} must be made of Parquet files, got USING {given[PROVIDER]}"
        )
    if given.get(LAYOUT, "listed") not in ("listed", "directories"):
        raise unsupported(
            f"the layout of table {name} must be listed or directories, got {given[LAYOUT]}"
        )
    check_mapping(name, given)
    options: dict[str, Any] = {
        "properties": constraints.with_constraints(
            {key: text for key, text in given.items() if key not in SPARKS_OWN},
            constraints.as_properties(name, asked.get("constraints", ())),
        )
    }
    options.update({key: given[key] for key in (LAYOUT, LOCATION) if given.get(key)})
    if LOCATION in options:
        options[LOCATION] = from_hadoop(options[LOCATION])
    return options


def check_mapping(name: str, properties: Mapping[str, str]) -> None:
    """Raise Refusal for a property by which Spark could no longer read the table."""
    for key, value in properties.items():
        if key.lower() == MAPPING_MODE.lower() and value.lower() == "id":
            raise unsupported(
                f"{MAPPING_MODE} of table {name} must be none or name, got {value}: Spark finds "
                "columns by name"
            )


def properties_of(name: str, asked: Mapping[str, str | None]) -> Mapping[str, str]:
    """Return the properties of a new table; raises Refusal for options, which no table keeps.

    Spark gives each option twice, once as if it were a property.
    """
    options = {key.removeprefix(OPTION) for key in asked if key.startswith(OPTION)}
    unknown = sorted(options - {PATH})
    if unknown:
        raise unsupported(
            f"table {name} must be created without OPTIONS, which it does not keep, got "
            f"{unknown[0]}: give it to each read or write"
        )
    for key in HIVE:
        form = str(asked.get(key) or "")
        if form and (key != STORED_AS or form.lower() not in PROVIDERS):
            raise unsupported(f"table {name} must be made of Parquet files, got {key} {form}")
    return {
        key: value
        for key, value in asked.items()
        if not key.startswith(OPTION) and key not in {*options, *HIVE} and value is not None
    }


def check_definition(name: str, columns: Sequence[Column], partition: Sequence[str]) -> None:
    """Raise an error for columns that the rows of no table can have."""
    check_distinct(name, (column.name for column in columns))
    definition = TableDefinition("managed", "listed", "", columns, partition, ())
    schema = TableSchema.of(definition, name)
    schema.check_holds_rows()


def drop(state: CatalogState, asked: Question) -> bool:
    """Drop a table; return whether there was one."""
    name, txn = str(asked["table"]), state.find(asked)
    if not asked.get("view") and view_named(state, name) is not None:
        raise unsupported(f"{name} is a view: use DROP VIEW")
    with suppress(UnknownTableError):
        owner: Transaction | Any = state.ledger if txn is None else txn.txn
        owner.drop_table(name)
        if txn is not None:
            txn.rename(name, "")
        return True
    return False


def rename(state: CatalogState, asked: Question) -> None:
    """Give a table another name."""
    name, to, txn = str(asked["table"]), str(asked["to"]), state.find(asked)
    owner: Transaction | Any = state.ledger if txn is None else txn.txn
    try:
        owner.rename_table(name, to)
    except UnknownTableError:
        raise Refusal("NoSuchTable", name) from None
    except TableExistsError:
        raise Refusal("TableExists", to) from None
    if txn is not None:
        txn.rename(name, to)
