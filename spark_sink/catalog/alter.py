"""ALTER TABLE: Spark makes the new columns, here they get the ids of the old ones.

A column that keeps its id keeps its values, also under another name. A new column is NULL in older
files, also under a name that another column had before.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.core.commands import Column, TableDefinition
from ledger.sdk.column_mapping import highest_id
from ledger.sdk.definitions import changed
from ledger.tables.schema import TableSchema
from ledger.tables.statements.evolving import is_widening
from ledger.tables.types import arrow_type
from spark_sink.catalog import tables
from spark_sink.catalog.constraints import changed_constraints
from spark_sink.catalog.state import CatalogState, Question, unsupported

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
    check_changes(TableSchema.of(before), changes)
    columns = renumbered(before, asked["columns"], renames(changes))
    given: dict[str, Any] = {}
    if list(columns) != list(before.columns):
        given["columns"] = columns
    set_anew = {each["key"]: each["value"] for each in changes if each["kind"] == "SetProperty"}
    unset = [each["key"] for each in changes if each["kind"] == "RemoveProperty"]
    added, dropped = changed_constraints(before, str(asked["table"]), changes)
    set_anew.update(added)
    unset += dropped
    if set_anew:
        given["properties"] = set_anew
    if unset:
        given["unset"] = unset
    after = changed(before, **given) if given else before
    if any(each["kind"] == "DeleteColumn" for each in changes):
        TableSchema.of(after, str(asked["table"])).check_holds_rows()
    return after


def renames(changes: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """Return the former names of renamed columns, by their new names."""
    former: dict[str, str] = {}
    for each in changes:
        if each["kind"] == "RenameColumn":
            former[each["to"].lower()] = former.pop(each["column"].lower(), each["column"].lower())
    return former


def renumbered(
    before: TableDefinition, asked: Sequence[Mapping[str, Any]], former: Mapping[str, str]
) -> Sequence[Column]:
    """Return the columns that Spark names, with the ids that they had, or with new ones."""
    known = {each.name.lower(): each for each in before.columns}
    following = highest_id(before) + 1
    columns: list[Column] = []
    for each in asked:
        name = each["name"].lower()
        same = known.get(former.get(name, name))
        if same is None:
            columns.append(tables.column_of(each, following))
            following += 1
            continue
        is_same = is_same_type(same.type, each["type"])
        if not is_same:
            check_wider(same, each["type"])
        kept = {**each, "type": same.type} if is_same else each
        columns.append(tables.column_of(kept, same.id, same))
    return columns


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
    is_added_to = "<" in column.type and "<" in after
    if source == target or is_widening(source, target) or is_added_to:
        return
    raise unsupported(
        f"column {column.name} must become a wider type, such as INT to BIGINT or FLOAT to DOUBLE, "
        f"got {column.type} to {after}: add another column and fill it by UPDATE"
    )


def check_changes(schema: TableSchema, changes: Sequence[Mapping[str, Any]]) -> None:
    """Raise Refusal for changes under which files would be read as others."""
    inside = {each.lower() for each in schema.partition_columns}
    for each in changes:
        kind, column = each["kind"], str(each.get("column", ""))
        is_nested = "." in column and schema.find(column) is None
        if kind in ("RenameColumn", "DeleteColumn"):
            verb = "renamed" if kind == "RenameColumn" else "dropped"
            if column.lower() in inside:
                raise unsupported(f"partition column {column} cannot be {verb}")
            if is_nested:
                raise unsupported(
                    f"field {column} cannot be {verb}: files know fields by their names. Add "
                    "another field"
                )
        elif kind == "UpdateColumnType" and (is_nested or column.lower() in inside):
            raise unsupported(f"the type of {column} cannot change: it is a field, or partitions")
        elif kind == "AddColumn" and each.get("default"):
            raise unsupported(
                f"column {column} cannot be added with a DEFAULT, as older rows would need it: add "
                f"the column, then ALTER COLUMN {column} SET DEFAULT"
            )
        elif kind == "SetProperty" and each["key"] in FIXED:
            raise unsupported(f"{each['key']} cannot be changed in SQL: use Ledger.alter_table")
        elif kind == "ClusterBy":
            raise unsupported(f"a table of the ledger has no clusters, got {kind}")


def can_widen(_: CatalogState, asked: Question) -> bool:
    """Answer whether every value of a type is one of another type too."""
    try:
        before, after = arrow_type(asked["before"]), arrow_type(asked["after"])
    except ValueError:
        return False
    return is_widening(before, after)


ANSWERS: Final[Mapping[str, Any]] = {"alter": alter, "can_widen": can_widen}
