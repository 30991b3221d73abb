"""Fields within the types of columns: their ids, and their names in data files, as metadata."""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from ledger.arrow.types import arrow_type
from ledger.core.conflicts.metadata_diff import COLUMN_ID, PHYSICAL_NAME
from ledger.properties.field_ids import ID, IN_FILES, WAS, WITHIN, Tree
from ledger.properties.type_text import ELEMENT, KEY, VALUE

# Arrow writes this metadata of a field as the field's id in Parquet, and reads it back.
FIELD_ID: Final = b"PARQUET:field_id"
PHYSICAL: Final = PHYSICAL_NAME.encode()
# The name that a field has in files from before fields had ids.
FORMER: Final = b"lakeledger.was"


def delta_type(kind: Any, column: str, *, is_mapped: bool) -> pa.DataType:
    """Return the Arrow type of a type as Delta's schema has it; raises ValueError."""
    name = kind.get("type") if isinstance(kind, dict) else kind
    if name == "array":
        return pa.list_(
            pa.field("element", delta_type(kind["elementType"], column, is_mapped=is_mapped))
        )
    if name == "map":
        key = delta_type(kind["keyType"], column, is_mapped=is_mapped)
        return pa.map_(key, delta_type(kind["valueType"], column, is_mapped=is_mapped))
    if name == "struct":
        return pa.struct(
            [delta_field(each, column, is_mapped=is_mapped) for each in kind["fields"]]
        )
    return arrow_type("void" if name == "null" else str(name), column)


def delta_field(field: Mapping[str, Any], column: str, *, is_mapped: bool) -> pa.Field:
    """Return a field of a struct, with its id and its physical name if the table is mapped."""
    metadata = field.get("metadata") or {}
    made = pa.field(
        field["name"],
        delta_type(field["type"], column, is_mapped=is_mapped),
        field.get("nullable", True),
    )
    if not is_mapped:
        return made
    kept = {PHYSICAL: str(metadata.get(PHYSICAL_NAME, field["name"])).encode()}
    if COLUMN_ID in metadata:
        kept[FIELD_ID] = str(metadata[COLUMN_ID]).encode()
    return made.with_metadata(kept)


def with_ids(type_: pa.DataType, fields: Tree, *, is_mapped: bool) -> pa.DataType:
    """Return a type whose fields have their ids, and their names in files, as metadata."""
    if not fields:
        return type_

    def field(given: pa.Field, name: str) -> pa.Field:
        node = fields.get(name)
        if node is None:
            return given
        inner = with_ids(given.type, node.get(WITHIN, {}), is_mapped=is_mapped)
        kept = {**(given.metadata or {}), FIELD_ID: str(node[ID]).encode()}
        if WAS in node:
            kept[FORMER] = node[WAS].encode()
        if is_mapped:
            kept[PHYSICAL] = node.get(IN_FILES, name).encode()
        return given.with_type(inner).with_metadata(kept)

    if pa.types.is_struct(type_):
        return pa.struct([field(each, each.name) for each in type_])
    if pa.types.is_list(type_):
        return pa.list_(field(type_.value_field, ELEMENT))
    if pa.types.is_map(type_):
        return pa.map_(field(type_.key_field, KEY), field(type_.item_field, VALUE))
    return type_


def numbered(field: pa.Field, number: int) -> pa.Field:
    """Return a field with its id; 0 = it has no id."""
    return field.with_metadata({FIELD_ID: str(number).encode()}) if number else field


def field_number(field: pa.Field) -> int:
    """Return the id of a field, 0 if it has none."""
    text = (field.metadata or {}).get(FIELD_ID, b"0")
    return max(int(text), 0)


def physical_name(field: pa.Field) -> str:
    """Return the name of a field within a data file."""
    return bytes((field.metadata or {}).get(PHYSICAL, field.name.encode())).decode()


def stored_type(type_: pa.DataType) -> pa.DataType:
    """Return a type with the names that its fields have in data files."""
    if pa.types.is_struct(type_):
        return pa.struct([stored_field(each) for each in type_])
    if pa.types.is_list(type_):
        return pa.list_(stored_field(type_.value_field))
    if pa.types.is_map(type_):
        return pa.map_(stored_field(type_.key_field), stored_field(type_.item_field))
    return type_


def stored_field(field: pa.Field) -> pa.Field:
    """Return a field within a type as it is in data files."""
    made = pa.field(physical_name(field), stored_type(field.type), field.nullable)
    return numbered(made, field_number(field))


def is_strict(kind: pa.DataType) -> bool:
    """Tell whether a type has NOT NULL fields, at any depth; the keys of maps do not count."""
    if not pa.types.is_nested(kind):
        return False
    if pa.types.is_map(kind):
        return not kind.item_field.nullable or is_strict(kind.item_type) or is_strict(kind.key_type)
    fields = [kind.field(at) for at in range(kind.num_fields)]
    return any(not field.nullable or is_strict(field.type) for field in fields)
