"""ALTER TABLE: Spark makes the new columns, here they get the ids of the old ones.

A column that keeps its id keeps its values, also under another name. A new column is NULL in older
files, or has the default that it was added with, also under a name that another column had before.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from ledger.arrow.schema import TableSchema
from ledger.arrow.types import arrow_type
from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import NESTED_TYPE
from ledger.definitions.definitions import changed_definition
from ledger.properties.column_mapping import highest_id
from ledger.properties.field_ids import numbered, renamed
from ledger.statements.altering import settled_columns
from ledger.statements.evolving import is_widening
from spark_sink.catalog import tables
from spark_sink.catalog.columns import column_of
from spark_sink.catalog.names import check_distinct
from spark_sink.catalog.session.open_statements import CatalogState, Question, unsupported
from spark_sink.catalog.write.constraints import changed_constraints

FIXED: Final = frozenset({tables.LOCATION, tables.LAYOUT, tables.PROVIDER})


def alter(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Alter a table as it was at the position at which Spark looked it up."""
    name, txn = str(asked["table"]), state.find(asked)
    if txn is None:
        before, position = state.ledger.table(name), int(asked["position"])
        after = altered(before.definition, asked)
        state.ledger.alter_table(before.table, after, read_at=position)
        return tables.current(state, name)
    row = txn.txn.statement(name, "alter", is_read=True).row
    txn.txn.alter_table(row.table, altered(row.definition, asked))
    txn.changes += 1
    return tables.in_txn(name, txn)


def altered(before: TableDefinition, asked: Question) -> TableDefinition:
    """Return the definition that Spark asks for; raises Refusal for a change it cannot have."""
    changes = asked["changes"]
    check_changes(before, changes)
    columns = renumbered(before, asked["columns"], changes)
    given: dict[str, Any] = {}
    if list(columns) != list(before.columns):
        given["columns"] = columns
    set_anew = {
        change["key"]: change["value"] for change in changes if change["kind"] == "SetProperty"
    }
    unset = [change["key"] for change in changes if change["kind"] == "RemoveProperty"]
    tables.check_mapping(str(asked["table"]), set_anew)
    added, dropped = changed_constraints(before, str(asked["table"]), changes)
    set_anew.update(added)
    unset += dropped
    if set_anew:
        given["properties"] = set_anew
    if unset:
        given["unset"] = unset
    after = changed_definition(before, **given) if given else before
    after = settled_columns(str(asked["table"]), before, after, str(asked.get("zone", "")))
    check_distinct(str(asked["table"]), (column.name for column in after.columns))
    if any(change["kind"] == "DeleteColumn" for change in changes):
        TableSchema.of(after, str(asked["table"])).check_holds_rows()
    return after


def renames(changes: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """Return the former names of renamed columns, by their new names."""
    former: dict[str, str] = {}
    for change in changes:
        if change["kind"] == "RenameColumn" and not change["path"][1:]:
            former[change["to"].lower()] = former.pop(
                change["column"].lower(), change["column"].lower()
            )
    return former


def renumbered(
    before: TableDefinition,
    asked: Sequence[Mapping[str, Any]],
    changes: Sequence[Mapping[str, Any]],
) -> Sequence[Column]:
    """Return the columns that Spark names, with the ids that they had, or with new ones.

    The fields within a column have ids too, by which renamed ones stay what they are.
    """
    former, inner = renames(changes), fields_renamed(changes)
    highest = highest_id(before)
    with_ids = numbered(before.columns, before, highest) if inner else before
    known = {column.name.lower(): column for column in with_ids.columns}
    following = highest_id(with_ids) + 1
    columns: list[Column] = []
    for each in asked:
        name = each["name"].lower()
        same = known.get(former.get(name, name))
        if same is None:
            columns.append(column_of(each, following))
            following += 1
            continue
        is_same = is_same_type(same.type, each["type"])
        if not is_same:
            check_wider(same, each["type"])
        for path, to in inner:
            if path[0].lower() == same.name.lower():
                same = renamed(same, path[1:], to)
        kept = {**each, "type": same.type} if is_same else each
        columns.append(column_of(kept, same.id, same))
    return columns


def fields_renamed(changes: Sequence[Mapping[str, Any]]) -> list[tuple[Sequence[str], str]]:
    """Return the paths of fields within columns that are renamed, with their new names."""
    return [
        (change["path"], change["to"])
        for change in changes
        if change["kind"] == "RenameColumn" and change["path"][1:]
    ]


def is_same_type(before: str, after: str) -> bool:
    """Return whether two texts are one type, bounds of texts included."""
    if before.replace(" ", "").lower() == after.replace(" ", "").lower():
        return True
    bounded = ("char", "varchar")
    if any(word in text.lower() for text in (before, after) for word in bounded):
        return False
    return bool(arrow_type(before) == arrow_type(after))


def check_wider(column: Column, after: str) -> None:
    """Raise Refusal unless every file of a column can be read as another type."""
    source, target = arrow_type(column.type, column.name), arrow_type(after, column.name)
    if source == target or is_widening(source, target):
        return
    if "<" in column.type and "<" in after:
        check_fields(column, target)
        return
    raise unsupported(
        f"column {column.name} must become a wider type, such as INT to BIGINT or FLOAT to DOUBLE, "
        f"got {column.type} to {after}: add another column and fill it by UPDATE"
    )


def check_fields(column: Column, after: pa.DataType) -> None:
    """Raise Refusal for a type with a struct whose last field was dropped."""
    if pa.types.is_struct(after) and not after.num_fields:
        raise unsupported(
            f"column {column.name} must keep a field in each of its structs, as files hold no "
            "empty ones: drop the whole column"
        )
    if pa.types.is_nested(after):
        for at in range(after.num_fields):
            check_fields(column, after.field(at).type)


def is_imported(name: str, definition: TableDefinition) -> bool:
    """Return whether the fields of a column have names and ids of Delta."""
    return any(
        column.name == name and NESTED_TYPE in column.metadata for column in definition.columns
    )


def check_changes(definition: TableDefinition, changes: Sequence[Mapping[str, Any]]) -> None:
    """Raise Refusal for changes under which files would be read as others."""
    schema = TableSchema.of(definition)
    inside = {each.lower() for each in schema.partition_columns}
    for change in changes:
        kind, column = change["kind"], str(change.get("column", ""))
        path = change.get("path", ())
        is_nested = len(path) > 1
        if kind in ("RenameColumn", "DeleteColumn"):
            verb = "renamed" if kind == "RenameColumn" else "dropped"
            if column.lower() in inside:
                raise unsupported(f"partition column {column} cannot be {verb}")
            found = schema.find(path[0])
            if is_nested and found is not None and is_imported(found.name, definition):
                raise unsupported(
                    f"field {column} cannot be {verb}: column {found.name} was imported with "
                    "fields of its own. Change it with Delta's own tools, and import it again"
                )
        elif kind == "UpdateColumnType" and (is_nested or column.lower() in inside):
            raise unsupported(f"the type of {column} cannot change: it is a field, or partitions")
        elif kind == "SetProperty" and change["key"] in FIXED:
            raise unsupported(f"{change['key']} cannot be changed in SQL: use Ledger.alter_table")
        elif kind == "ClusterBy":
            raise unsupported(f"a table of the ledger has no clusters, got {kind}")


def can_widen(_: CatalogState, asked: Question) -> bool:
    """Answer whether every value of a type is one of another type too."""
    try:
        before, after = arrow_type(asked["before"]), arrow_type(asked["after"])
    except ValueError:
        return False
    return is_widening(before, after)
