"""Delta schemas: the definition of a ledger's table, made of Delta's metadata.

Delta writes a schema as JSON, a ledger has columns with Spark SQL types. What a type text has no
room for, the metadata of nested fields, stays with the column as Delta wrote it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ledger.core.commands import LEVEL_PROPERTY, Column, Property, TableDefinition
from ledger.core.conflicts.metadata_diff import (
    COLUMN_ID,
    MAPPING_MODE,
    NESTED_TYPE,
    PHYSICAL_NAME,
    RESOLVABLE,
    column_metadata,
)
from ledger.core.partitions.names import Values
from ledger.core.partitions.transforms import transforms_of
from ledger.core.predicates.types import SQL_NAMES
from ledger.core.state.traits import ROW_TRACKING_PROPERTY, is_level, known_key
from ledger.delta.actions import DeltaMetadata, PartitionValues
from ledger.delta.fields import ShapeError, is_number
from ledger.properties.column_mapping import is_mapped
from ledger.properties.type_text import quoted

DECLARED_TYPE: Final = "__CHAR_VARCHAR_TYPE_STRING"
COLLATIONS: Final = "__COLLATIONS"
UNKNOWN_LEVEL: Final = "lakeledger.delta.isolationLevel"
"""Under this property a table keeps an unknown isolation level."""

OTHER_SPELLINGS: Final = "lakeledger.delta.otherSpellings"
"""Under this property a table keeps keys that differ from others in case only."""

COMMENT: Final = "comment"
"""Under this property Spark and Hive keep the description of a table."""

DESCRIPTION: Final = "lakeledger.delta.description"
"""Under this property a table keeps its description if it has a property `comment` besides."""

TABLE_NAME: Final = "lakeledger.delta.name"
"""Under this property a table keeps the name that it had as a Delta table."""

ADOPTED: Final = "lakeledger.publish.adopted"
"""Under this property an adopted table has `<Delta table id>@<Delta version of its version 0>`."""

# Keys whose values count here, as Delta spells them.
DEFINED: Final = frozenset({LEVEL_PROPERTY, ROW_TRACKING_PROPERTY, *RESOLVABLE})


def definition_of(
    metadata: DeltaMetadata, location: str, before: TableDefinition | None
) -> TableDefinition:
    """Return the definition of a table that was `before`; raises ShapeError.

    A column keeps its id: that of column mapping, else the one it had under its name. Ids that are
    left from a mapping that was switched off mean nothing, as to Delta itself.
    """
    known = before.columns if before is not None else ()
    is_mapped = metadata.configuration.get(MAPPING_MODE, "none") != "none"
    spelled = spelled_once(described(metadata))
    return TableDefinition(
        "managed",
        "listed",
        location,
        columns_of(metadata.schema, known, is_mapped=is_mapped),
        list(metadata.partition_columns),
        [Property(*item) for item in sorted(known_level(spelled).items())],
    )


def check_definition(metadata: DeltaMetadata) -> None:
    """Raise ShapeError for metadata that is invalid for every reader."""
    columns = [each.name for each in columns_of(metadata.schema, (), is_mapped=False)]
    check_different("columns", columns)
    check_different("partition columns", metadata.partition_columns)
    known = set(map(str.lower, columns))
    for name in metadata.partition_columns:
        if columns and name.lower() not in known:
            raise ShapeError(f"the table is partitioned by {name}, and schemaString has no such")


def check_different(what: str, names: Sequence[str]) -> None:
    """Raise ShapeError for names that are one name: the case of letters does not count."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise ShapeError(
                f"{what} {other} and {name} differ in case only or not at all, and names of "
                "columns are one in any case. Rename one of them where the table is written"
            )


def described(metadata: DeltaMetadata) -> dict[str, str]:
    """Return table properties with the name and the description that Delta keeps beside them."""
    found = dict(metadata.configuration)
    if metadata.description:
        found[DESCRIPTION if COMMENT in found else COMMENT] = metadata.description
    if metadata.name:
        found[TABLE_NAME] = metadata.name
    return found


def spelled_once(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return table properties with one spelling for each key that is known in any case.

    Delta looks for the spelling that it defines. Others mean nothing to it, and are kept aside.
    """
    found: dict[str, str] = {}
    others: dict[str, str] = {}
    for key in sorted(configuration, key=lambda each: (each not in DEFINED, each)):
        is_new = known_key(key) not in map(known_key, found)
        (found if is_new else others)[key] = configuration[key]
    if others:
        found[OTHER_SPELLINGS] = json.dumps(others, sort_keys=True, ensure_ascii=False)
    return found


def known_level(configuration: Mapping[str, str]) -> Mapping[str, str]:
    """Return table properties with a level that is known.

    An unknown spelling is kept aside and counts as Serializable, the strongest: that can only turn
    a commit into a conflict, never lose an update.
    """
    level = configuration.get(LEVEL_PROPERTY, "Serializable")
    if is_level(level):
        return configuration
    return {**configuration, LEVEL_PROPERTY: "Serializable", UNKNOWN_LEVEL: level}


def columns_of(schema: str, before: Sequence[Column], *, is_mapped: bool) -> list[Column]:
    """Return the columns of a schema, with the ids in it if it `is_mapped`; "" has none."""
    if not schema:
        return []
    try:
        root = json.loads(schema)
        # An escape can spell half a letter, which no text can hold.
        json.dumps(root, ensure_ascii=False).encode()
        fields = fields_of(root)
        known = {each.name.lower(): each.id for each in before}
        following = max((each.id for each in before), default=0) + 1
        columns = []
        for field in fields:
            given = field["metadata"].get(COLUMN_ID) if is_mapped else None
            own = given or known.get(field["name"].lower())
            columns.append(column_of(field, own or following))
            following = max(following, columns[-1].id + 1)
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"schemaString is no schema: {error}") from error
    return columns


def fields_of(struct: Any) -> list[dict[str, Any]]:
    """Return the fields of a struct, checked; raises ShapeError."""
    fields = struct.get("fields") if isinstance(struct, dict) else None
    if not isinstance(fields, list) or struct.get("type") != "struct":
        raise ShapeError(f"{json.dumps(struct)[:80]} is no struct")
    return [checked_field(field) for field in fields]


def checked_field(field: Any) -> dict[str, Any]:
    """Return a field with all its parts; raises ShapeError."""
    if not isinstance(field, dict) or not isinstance(field.get("name"), str):
        raise ShapeError(f"{json.dumps(field)[:80]} is no field")
    metadata = field.get("metadata") or {}
    is_mapping = isinstance(metadata, dict) and is_number(metadata.get(COLUMN_ID, 0))
    if not is_mapping or not isinstance(metadata.get(PHYSICAL_NAME, ""), str):
        raise ShapeError(f"the metadata of field {field['name']} is no metadata")
    nullable = field.get("nullable", True) is not False
    return {**field, "metadata": metadata, "nullable": nullable}


def column_of(field: Mapping[str, Any], number: int) -> Column:
    """Return the column of a field in a Delta schema; its metadata stay as JSON."""
    metadata = dict(field["metadata"])
    kind = field.get("type")
    if has_nested_metadata(kind):
        metadata[NESTED_TYPE] = kind
    text = json.dumps(metadata, sort_keys=True, ensure_ascii=False) if metadata else ""
    return Column(field["name"], declared_type(field), field["nullable"], number, text)


def declared_type(field: Mapping[str, Any]) -> str:
    """Return the type of a column as it was declared; a text of Delta may be more than that.

    CHAR is filled up with spaces to be compared, and under a collation texts that differ are equal.
    """
    metadata, kind = field["metadata"], type_text(field.get("type"))
    if kind != "string":
        return kind
    collations = metadata.get(COLLATIONS)
    collation = collations.get(field["name"]) if isinstance(collations, dict) else None
    if isinstance(collation, str):
        # Provider, name and version of it; the first and the last may be left out.
        return f"string collate {collation.split('.')[:2][-1]}"
    declared = metadata.get(DECLARED_TYPE)
    return declared if isinstance(declared, str) else kind


def has_nested_metadata(kind: Any) -> bool:
    """Return whether a field somewhere within a type has metadata."""
    if isinstance(kind, list):
        return any(has_nested_metadata(each) for each in kind)
    if not isinstance(kind, dict):
        return False
    return bool(kind.get("metadata")) or any(has_nested_metadata(each) for each in kind.values())


def type_text(kind: Any) -> str:
    """Return a Delta type as Spark SQL writes it; raises ShapeError."""
    if isinstance(kind, str) and kind:
        return SQL_NAMES.get(kind, kind)
    name: Any = kind.get("type") if isinstance(kind, dict) else None
    if not isinstance(name, str) or name not in NESTED:
        raise ShapeError(f"{json.dumps(kind)[:80]} is no type")
    return NESTED[name](kind)


def struct_text(kind: Mapping[str, Any]) -> str:
    """Return a struct as Spark SQL writes it."""
    return f"struct<{','.join(map(field_text, fields_of(kind)))}>"


def field_text(field: Mapping[str, Any]) -> str:
    """Return a field of a struct as Spark SQL writes it."""
    mark = "" if field["nullable"] else " NOT NULL"
    return f"{quoted(field['name'])}:{type_text(field.get('type'))}{mark}"


NESTED: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "struct": struct_text,
    "array": lambda kind: f"array<{type_text(kind.get('elementType'))}>",
    "map": lambda kind: f"map<{type_text(kind.get('keyType'))},{type_text(kind.get('valueType'))}>",
}


def partition_keys(definition: TableDefinition) -> list[str]:
    """Return the names under which files have their partition values, in the table's order.

    Delta has no transforms: the values of one have no name, which is "".
    """
    transforms = transforms_of(definition)
    names = ["" if name in transforms else name for name in definition.partition_columns]
    if not is_mapped(definition):
        return names
    physical = {
        column.name.lower(): column_metadata(column).get(PHYSICAL_NAME, column.name)
        for column in definition.columns
    }
    return [physical.get(name.lower(), name) for name in names]


def partition_of(values: PartitionValues, keys: Sequence[str]) -> Values:
    """Return a partition in the table's order.

    Delta writes NULL as null, as an empty text, or not at all.
    """
    return tuple(values.get(key) or None for key in keys)
