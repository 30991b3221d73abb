"""The schema of a table as Delta's metaData has it, and what a change of it does to older files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

import pyarrow as pa

from ledger.arrow.types import arrow_type, sql_type
from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import (
    COLUMN_ID,
    MAPPING_KEYS,
    NESTED_TYPE,
    PHYSICAL_NAME,
    column_metadata,
)
from ledger.core.partitions.transforms import transforms_of
from ledger.delta.schema import DECLARED_TYPE, partition_keys
from ledger.errors import LedgerError
from ledger.properties.column_mapping import is_mapped
from ledger.properties.column_values import INITIAL, initial_of
from ledger.properties.delta_readers import TYPE_CHANGES
from ledger.properties.field_ids import FIELDS, ID, IN_FILES, WAS, WITHIN, Tree, fields_of
from ledger.properties.type_text import ELEMENT, KEY, VALUE
from ledger.properties.type_widening import delta_name, is_wider

OWN_ID: Final = "lakeledger.columnId"
"""Under this key a field has the id of its column, unless column mapping has it."""

# A type that no Arrow type stands for, but Delta has.
OPAQUE: Final = frozenset({"variant"})

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
    fields = [
        field(column, widened.get(column.id, ()), mapped=mapped) for column in definition.columns
    ]
    known = {column.name.lower() for column in definition.columns}
    fields += [
        {"name": name, "type": "string", "nullable": True, "metadata": {}}
        for name in plain_partition_columns(definition)
        if name.lower() not in known
    ]
    return {"type": "struct", "fields": fields}


def field(column: Column, widened: Sequence[Mapping[str, str]], *, mapped: bool) -> dict[str, Any]:
    """Return a column as a field of a Delta schema."""
    found = dict(column_metadata(column))
    nested = found.pop(NESTED_TYPE, None)
    found.pop(FIELDS, None)
    found.pop(INITIAL, None)
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
        kind = with_ids(kind, fields_of(column))
        kind = with_names(kind, count(NESTED_IDS + column.id * NESTED_FIELDS_MAX))
    return {"name": column.name, "type": kind, "nullable": column.nullable, "metadata": found}


def with_names(kind: Any, numbers: Iterator[int]) -> Any:
    """Return a type of a mapped table: each field within has an id, and a name in files.

    A field that has no id in the ledger has its own name in files. The ids of such fields are far
    above those of columns.
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


def with_ids(kind: Any, fields: Tree, *, is_former: bool = False) -> Any:
    """Return a type whose fields have the ids, and the names in files, that the ledger knows.

    With `is_former` they also have their names in files from before fields had ids.
    """
    if not isinstance(kind, dict) or not fields:
        return kind
    if kind.get("type") == "struct":
        made = [
            with_id(each, fields.get(each["name"]), is_former=is_former) for each in kind["fields"]
        ]
        return {**kind, "fields": made}
    parts = {"elementType": ELEMENT, "keyType": KEY, "valueType": VALUE}
    return {
        key: with_ids(each, fields.get(parts.get(key, ""), {}).get(WITHIN, {}), is_former=is_former)
        for key, each in kind.items()
    }


def with_id(field: Mapping[str, Any], node: Any, *, is_former: bool) -> Mapping[str, Any]:
    """Return a field of a struct with its id and its name in files, as it is without a node."""
    if node is None:
        return field
    metadata = {COLUMN_ID: node[ID], PHYSICAL_NAME: node.get(IN_FILES, field["name"])}
    if is_former and WAS in node:
        metadata[WAS] = node[WAS]
    return {
        **field,
        "metadata": {**(field.get("metadata") or {}), **metadata},
        "type": with_ids(field["type"], node.get(WITHIN, {}), is_former=is_former),
    }


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
    except ValueError as error:
        raise UnpublishableError(
            f"column {column.name} must have a type that Delta has, got {column.type}"
        ) from error


def type_of(kind: pa.DataType) -> Any:
    """Return Delta's form of a column's type in Arrow."""
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
    return delta_name(sql_type(kind))


def physical_names(definition: TableDefinition) -> dict[int, str]:
    """Return the names that columns have in files, by id."""
    if not is_mapped(definition):
        return {column.id: column.name for column in definition.columns}
    return {
        column.id: str(column_metadata(column).get(PHYSICAL_NAME, column.name))
        for column in definition.columns
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


def kinds_in_files(definition: TableDefinition) -> dict[int, Any]:
    """Return the types of columns by id, those of fields with what files know of them."""
    return {
        column.id: with_ids(delta_type(column), fields_of(column), is_former=True)
        for column in definition.columns
    }


def plain_partition_columns(definition: TableDefinition) -> list[str]:
    """Return the partition columns that Delta knows: no transforms."""
    transforms = transforms_of(definition)
    return [name for name in definition.partition_columns if name not in transforms]


def keys_in_files(definition: TableDefinition) -> list[str]:
    """Return the names under which the log of a table has partition values."""
    return [key for key in partition_keys(definition) if key]


def layout_of(definition: TableDefinition) -> Any:
    """Return what the files of a table depend on: names, types, and partition columns."""
    kinds = kinds_in_files(definition)
    return physical_names(definition), kinds, keys_in_files(definition)


def keeps_files_readable(before: TableDefinition, after: TableDefinition) -> bool:
    """Return whether files that were written under `before` are read rightly under `after`.

    A column must have its name in the files for ever, and no other column may take that name. Files
    may lack a column only if it is NULL there.
    """
    known = {column.id for column in before.columns}
    if any(initial_of(each) is not None and each.id not in known for each in after.columns):
        return False
    old, new = physical_names(before), physical_names(after)
    taken = {name.lower(): number for number, name in old.items()}
    if any(taken.get(name.lower(), number) != number for number, name in new.items()):
        return False
    if any(old[number] != new[number] for number in old.keys() & new.keys()):
        return False
    if keys_in_files(before) != keys_in_files(after):
        return False
    kinds, now = kinds_in_files(before), kinds_in_files(after)
    return all(
        is_wider(kinds[number], kind) or fits(kinds[number], kind)
        for number, kind in now.items()
        if number in kinds
    )


def fits(old: Any, new: Any) -> bool:
    """Return whether a type reads the values of another as they are: it may have more fields."""
    if old == new or not (isinstance(old, dict) and isinstance(new, dict)):
        return bool(old == new)
    if old["type"] != new["type"]:
        return False
    if old["type"] != "struct":
        parts = ("elementType", "keyType", "valueType")
        return all(fits(old.get(part), new.get(part)) for part in parts)
    there = {in_files(each).lower(): each for each in old["fields"]}
    numbers = {number_of(each): each for each in old["fields"] if number_of(each)}
    return all(
        is_same_field(there.get(in_files(each).lower()), numbers.get(number_of(each)), each)
        for each in new["fields"]
    )


def is_same_field(named: Any, same: Any, new: Mapping[str, Any]) -> bool:
    """Return whether the field that has the name of another in files is that field, or is absent.

    `same` is the field with its id. A field of an earlier definition without ids is the field that
    was there when fields got ids.
    """
    if same is not None:
        return named is same and fits(same["type"], new["type"])
    if named is None:
        return True
    was = (new.get("metadata") or {}).get(WAS)
    is_former = not number_of(named) and (not number_of(new) or was == named["name"])
    return is_former and fits(named["type"], new["type"])


def in_files(field: Mapping[str, Any]) -> str:
    """Return the name of a field of a struct in files."""
    return str((field.get("metadata") or {}).get(PHYSICAL_NAME, field["name"]))


def number_of(field: Mapping[str, Any]) -> int:
    """Return the id of a field of a struct, 0 without one."""
    return int((field.get("metadata") or {}).get(COLUMN_ID, 0))


def compact(found: Any) -> str:
    """Return a value as JSON without spaces, with its keys as they come."""
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)
