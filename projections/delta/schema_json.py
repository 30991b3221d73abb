"""The schema of a table as Delta's metaData has it, and what a change of it does to older files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

import pyarrow as pa

from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import (
    COLUMN_ID,
    MAPPING_KEYS,
    NESTED_TYPE,
    PHYSICAL_NAME,
    column_metadata,
)
from ledger.delta.schema import DECLARED_TYPE
from ledger.errors import LedgerError
from ledger.sdk.column_mapping import is_mapped
from ledger.tables.types import arrow_type

OWN_ID: Final = "lakeledger.columnId"
"""Under this key a field has the id of its column, unless column mapping has it."""

TYPE_CHANGES: Final = "delta.typeChanges"
# A type that no Arrow type stands for, but Delta has.
OPAQUE: Final = frozenset({"variant"})
PRIMITIVES: Final[Mapping[Any, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
    pa.null(): "void",
}
# Delta's widening of types: readers cast the values of older files.
WIDER: Final[Mapping[str, frozenset[str]]] = {
    "byte": frozenset({"short", "integer", "long", "double"}),
    "short": frozenset({"integer", "long", "double"}),
    "integer": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
    "date": frozenset({"timestamp_ntz"}),
}


NESTED_IDS: Final = 1_000_000
NESTED_FIELDS_MAX: Final = 10_000
"""A field within a column of a mapped table gets an id here, of so many for each column."""


class UnpublishableError(LedgerError):
    """A version has no form in a Delta log that its readers would understand rightly."""


TypeChanges = Mapping[int, Sequence[Mapping[str, str]]]
"""The widenings of columns by id, oldest first, as Delta notes them."""


def schema_of(definition: TableDefinition, widened: TypeChanges) -> dict[str, Any]:
    """Return the schema of a definition; raises UnpublishableError for an unknown type."""
    mapped = is_mapped(definition)
    fields = [field(each, widened.get(each.id, ()), mapped=mapped) for each in definition.columns]
    known = {each.name.lower() for each in definition.columns}
    fields += [
        {"name": name, "type": "string", "nullable": True, "metadata": {}}
        for name in definition.partition_columns
        if name.lower() not in known
    ]
    return {"type": "struct", "fields": fields}


def field(column: Column, widened: Sequence[Mapping[str, str]], *, mapped: bool) -> dict[str, Any]:
    """Return the field of a column."""
    found = dict(column_metadata(column))
    nested = found.pop(NESTED_TYPE, None)
    if mapped:
        found.setdefault(COLUMN_ID, column.id)
        found.setdefault(PHYSICAL_NAME, column.name)
    else:
        found = {key: each for key, each in found.items() if key not in MAPPING_KEYS}
        found[OWN_ID] = column.id
    if column.type.lower().startswith(("char", "varchar")):
        found.setdefault(DECLARED_TYPE, column.type)
    if widened and TYPE_CHANGES not in found:
        found[TYPE_CHANGES] = list(widened)
    kind = nested if nested is not None else delta_type(column)
    if mapped:
        kind = with_names(kind, count(NESTED_IDS + column.id * NESTED_FIELDS_MAX))
    return {"name": column.name, "type": kind, "nullable": column.nullable, "metadata": found}


def with_names(kind: Any, numbers: Iterator[int]) -> Any:
    """Return a type of a mapped table: each field within has an id, and a name in files.

    The ledger knows fields within a type by name alone, so the name in files is their own. Their
    ids are far above those of columns.
    """
    if not isinstance(kind, dict):
        return kind
    if kind.get("type") == "struct":
        fields = [
            {
                **each,
                "metadata": {
                    COLUMN_ID: next(numbers),
                    PHYSICAL_NAME: each["name"],
                    **(each.get("metadata") or {}),
                },
                "type": with_names(each["type"], numbers),
            }
            for each in kind["fields"]
        ]
        return {**kind, "fields": fields}
    parts = ("elementType", "keyType", "valueType")
    return {key: with_names(each, numbers) if key in parts else each for key, each in kind.items()}


def ids_within(found: Any) -> Iterator[int]:
    """Yield the ids of all fields of a schema or type."""
    if isinstance(found, list):
        for each in found:
            yield from ids_within(each)
    elif isinstance(found, dict):
        if isinstance(number := found.get(COLUMN_ID), int):
            yield number
        for each in found.values():
            yield from ids_within(each)


def delta_type(column: Column) -> Any:
    """Return the type of a column in Delta's form; raises UnpublishableError."""
    if column.type.lower() in OPAQUE:
        return column.type.lower()
    try:
        return type_of(arrow_type(column.type, column.name))
    except (ValueError, KeyError) as error:
        raise UnpublishableError(
            f"column {column.name} must have a type that Delta has, got {column.type}"
        ) from error


def type_of(kind: pa.DataType) -> Any:
    """Return Delta's form of an Arrow type; raises KeyError for a type that Delta lacks."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_list(kind):
        return {"type": "array", "elementType": type_of(kind.value_type), "containsNull": True}
    if pa.types.is_map(kind):
        key, item = type_of(kind.key_type), type_of(kind.item_type)
        return {"type": "map", "keyType": key, "valueType": item, "valueContainsNull": True}
    if pa.types.is_struct(kind):
        fields = [
            {
                "name": each.name,
                "type": type_of(each.type),
                "nullable": each.nullable,
                "metadata": {},
            }
            for each in kind
        ]
        return {"type": "struct", "fields": fields}
    return PRIMITIVES[kind]


def physical_names(definition: TableDefinition) -> dict[int, str]:
    """Return the names that columns have in files, by id."""
    if not is_mapped(definition):
        return {each.id: each.name for each in definition.columns}
    return {
        each.id: str(column_metadata(each).get(PHYSICAL_NAME, each.name))
        for each in definition.columns
    }


def type_changes(before: TableDefinition, after: TableDefinition) -> dict[int, dict[str, str]]:
    """Return the columns whose type became wider, by id."""
    kinds = {each.id: delta_type(each) for each in before.columns}
    found = {}
    for column in after.columns:
        old, new = kinds.get(column.id), delta_type(column)
        if old != new and is_wider(old, new):
            found[column.id] = {"fromType": str(old), "toType": str(new)}
    return found


def is_wider(old: Any, new: Any) -> bool:
    """Return whether readers of a type may be given the values of another."""
    if not (isinstance(old, str) and isinstance(new, str)):
        return False
    if new in WIDER.get(old, ()):
        return True
    digits = [each[8:-1].split(",") for each in (old, new) if each.startswith("decimal(")]
    if len(digits) == len((old, new)):
        (precision, scale), (wider, longer) = ([*map(int, each)] for each in digits)
        return longer >= scale and wider - longer >= precision - scale
    return False


def layout_of(definition: TableDefinition) -> Any:
    """Return what the files of a table depend on: names, types, and partition columns."""
    kinds = {each.id: delta_type(each) for each in definition.columns}
    return physical_names(definition), kinds, partition_names(definition)


def keeps_files_readable(before: TableDefinition, after: TableDefinition) -> bool:
    """Return whether files that were written under `before` are read rightly under `after`.

    A column must have its name in the files for ever, and no other column may take that name.
    """
    old, new = physical_names(before), physical_names(after)
    taken = {name.lower(): number for number, name in old.items()}
    if any(taken.get(name.lower(), number) != number for number, name in new.items()):
        return False
    if any(old[number] != new[number] for number in old.keys() & new.keys()):
        return False
    if partition_names(before) != partition_names(after):
        return False
    kinds = {each.id: delta_type(each) for each in before.columns}
    return all(
        is_wider(kinds[each.id], delta_type(each)) or fits(kinds[each.id], delta_type(each))
        for each in after.columns
        if each.id in kinds
    )


def fits(old: Any, new: Any) -> bool:
    """Return whether a type reads the values of another as they are: it may have more fields."""
    if old == new or not (isinstance(old, dict) and isinstance(new, dict)):
        return bool(old == new)
    if old["type"] != new["type"]:
        return False
    if old["type"] != "struct":
        parts = ("elementType", "keyType", "valueType")
        return all(fits(old.get(each), new.get(each)) for each in parts)
    kinds = {each["name"].lower(): each["type"] for each in old["fields"]}
    return all(
        fits(kinds.get(each["name"].lower(), each["type"]), each["type"]) for each in new["fields"]
    )


def partition_names(definition: TableDefinition) -> list[str]:
    """Return the names under which files have their partition values, in the table's order."""
    physical = physical_names(definition)
    names = {each.name.lower(): physical[each.id] for each in definition.columns}
    return [names.get(name.lower(), name) for name in definition.partition_columns]


def compact(found: Any) -> str:
    """Return a value as JSON without spaces, with its keys as they come."""
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)
