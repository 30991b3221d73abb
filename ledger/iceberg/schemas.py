"""Schemas: the columns of a definition as the JSON of an Iceberg schema, and back.

Ids of columns and fields are the same on both sides. The identifier fields of a schema are the key
of the table, `lakeledger.key`. The words on a column are its `doc`.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import NESTED_TYPE, properties
from ledger.iceberg.types import (
    COPY,
    DOC,
    REWRITE,
    IcebergType,
    NoIcebergTypeError,
    check_no_defaults,
    fields_in,
    iceberg_type,
    spark_within,
)
from ledger.iceberg.values import typed_value
from ledger.properties.column_lists import KEY, SortKey, list_of
from ledger.properties.column_values import COMMENT, comment_of, initial_of, with_values
from ledger.properties.field_ids import ID, WITHIN, Tree, fields_of, ids_in, with_fields
from ledger.properties.known_properties import ICEBERG_FORMAT

FORMAT_VERSION: Final = ICEBERG_FORMAT
"""Under this property a table has the version of its format, 1 to 3; without it, 2."""

FORMATS: Final = (1, 2, 3)
DEFAULT_FORMAT: Final = 2

IDENTIFIERS: Final = "identifier-field-ids"
FRESH_SCHEMA: Final = 0
DEFAULTS_FROM: Final = 3
"""From this version of the format on, a column may have a value in files that lack it."""

PARTS: Final = (("element-id", "element"), ("key-id", "key"), ("value-id", "value"))
"""Where the JSON of a list or a map has its ids, and the types beside them."""


def format_version(definition: TableDefinition) -> int:
    """Return the version of Iceberg's format that a table has, 1 to 3; raises ValueError."""
    text = properties(definition).get(FORMAT_VERSION, str(DEFAULT_FORMAT))
    if text not in map(str, FORMATS):
        raise ValueError(f"the property {FORMAT_VERSION} must be 1, 2 or 3, got {text!r}")
    return int(text)


def schema_json(definition: TableDefinition, schema_id: int) -> dict[str, Any]:
    """Return the columns of a table as an Iceberg schema.

    Raises NoIcebergTypeError for a column that Iceberg cannot show, and says what helps.
    """
    version = format_version(definition)
    made: dict[str, Any] = {
        "type": "struct",
        "schema-id": schema_id,
        "fields": [column_json(column, version) for column in definition.columns],
    }
    identifiers = identifier_ids(definition)
    return {**made, IDENTIFIERS: identifiers} if identifiers else made


def column_json(column: Column, version: int) -> dict[str, Any]:
    """Return a column as a field of a schema of a format's version; raises as `schema_json`."""
    if not column.id:
        raise NoIcebergTypeError(
            f"the column {column.name} has no id, by which Iceberg's readers know it: {REWRITE}"
        )
    made = {
        "id": column.id,
        "name": column.name,
        "required": not column.nullable,
        "type": type_of(column),
    }
    words, initial = comment_of(column), initial_of(column)
    if initial is not None:
        made["initial-default"] = initial_json(column, initial, version)
    return {**made, DOC: words} if words else made


def type_of(column: Column) -> IcebergType:
    """Return the Iceberg type of a column; raises NoIcebergTypeError, which names the column."""
    if NESTED_TYPE in column.metadata:
        raise NoIcebergTypeError(
            f"column {column.name} was imported from Delta with fields that have Delta's own ids "
            f"and names in files: {COPY}"
        )
    try:
        return iceberg_type(column.type, tree_of(column))
    except NoIcebergTypeError as error:
        raise NoIcebergTypeError(f"column {column.name}: {error}") from error


def tree_of(column: Column) -> Tree:
    """Return the ids of a column's fields; those of an imported column are not known as a tree."""
    return {} if NESTED_TYPE in column.metadata else fields_of(column)


def initial_json(column: Column, text: str, version: int) -> Any:
    """Return the value of a column in files that lack it, as a schema has it.

    Raises NoIcebergTypeError for a version of the format without such values.
    """
    if version < DEFAULTS_FROM:
        raise NoIcebergTypeError(
            f"column {column.name} has the value {text!r} in files from before it was added, and "
            f"readers of format {version} would read NULL: set the property {FORMAT_VERSION} to "
            f"{DEFAULTS_FROM}, or write the table anew and take the value away"
        )
    kind = type_of(column)
    value = typed_value(text, kind) if isinstance(kind, str) else text
    if isinstance(value, datetime):
        return f"{value.isoformat()}+00:00" if kind == "timestamptz" else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return format(value, "f") if isinstance(value, Decimal) else value


def identifier_ids(definition: TableDefinition) -> list[int]:
    """Return the ids of the columns in a table's key, none if Iceberg cannot have it as one.

    Iceberg demands that each of them is required.
    """
    known = {column.name.lower(): column for column in definition.columns}
    keys = [known.get(each.column.lower()) for each in list_of(definition, KEY)]
    if any(column is None or column.nullable for column in keys):
        return []
    return sorted(column.id for column in keys if column is not None)


def key_text(schema: Mapping[str, Any], before: TableDefinition | None = None) -> str:
    """Return the key that a schema gives to its table, as the text of `lakeledger.key`, "" = none.

    `before` is the table so far: if its schema had the same identifiers, its key stays as it is.
    Raises NoIcebergTypeError for an identifier that is no required column.
    """
    wanted = schema.get(IDENTIFIERS) or []
    if not isinstance(wanted, list) or any(type(each) is not int for each in wanted):
        raise NoIcebergTypeError(f"{IDENTIFIERS} must be a list of ids, got {wanted!r}")
    if before is not None and identifier_ids(before) == sorted(wanted):
        return properties(before).get(KEY, "")
    fields = {field["id"]: field for field in fields_in(schema, "the schema")}
    for number in wanted:
        if number not in fields or not fields[number]["required"]:
            raise NoIcebergTypeError(
                f"{IDENTIFIERS} must name required columns, got {number}: a field within a column "
                "is no part of a key here"
            )
    chosen = [field["name"] for field in fields.values() if field["id"] in set(wanted)]
    return ", ".join(
        SortKey(name, is_descending=False, has_nulls_first=True).text for name in chosen
    )


def columns_of(schema: Mapping[str, Any], before: Sequence[Column] = ()) -> list[Column]:
    """Return the columns of a schema, with the ids in it.

    A column of `before` with the same id keeps its metadata, and its type if Iceberg sees no other
    one: a TINYINT stays one. Raises NoIcebergTypeError for a type or a default that the ledger
    lacks, and for ids that appear twice.
    """
    fields = fields_in(schema, "the schema")
    check_different_ids(schema)
    known = {column.id: column for column in before if column.id}
    return [column_of(field, known.get(field["id"])) for field in fields]


def column_of(field: Mapping[str, Any], before: Column | None) -> Column:
    """Return the column of a field in a schema; raises as `columns_of`."""
    name, nullable, number = field["name"], not field["required"], field["id"]
    check_values(field, before)
    type_, tree = spark_within(field["type"], name, 0)
    if before is None:
        column = with_fields(Column(name, type_, nullable, number), tree)
    elif is_served_as(before, field["type"]):
        column = before._replace(name=name, nullable=nullable)
    elif NESTED_TYPE in before.metadata:
        raise NoIcebergTypeError(
            f"the fields of column {name} have Delta's metadata, so its type cannot change here: "
            f"{COPY}"
        )
    else:
        changed = before._replace(name=name, type=type_, nullable=nullable)
        column = with_fields(changed, with_marks(tree, fields_of(before)))
    words = field.get(DOC) or None
    if (words or "") == comment_of(column):
        return column
    return with_values(column, {COMMENT: words})


def check_values(field: Mapping[str, Any], before: Column | None) -> None:
    """Raise NoIcebergTypeError for a default that the column does not have already."""
    initial = None if before is None else initial_of(before)
    if before is None or initial is None:
        check_no_defaults(field, field["name"])
        return
    served = initial_json(before, initial, DEFAULTS_FROM)
    if field.get("initial-default") != served:
        raise NoIcebergTypeError(
            f"initial-default of {field['name']} must stay {served!r}, got "
            f"{field.get('initial-default')!r}"
        )
    check_no_defaults({**field, "initial-default": None}, field["name"])


def is_served_as(column: Column, kind: Any) -> bool:
    """Tell whether a column is served with a type, up to what a definition cannot hold."""
    try:
        return bool(plain(type_of(column)) == plain(kind))
    except NoIcebergTypeError:
        return False


def plain(kind: Any) -> Any:
    """Return a type in one spelling, without the marks that Spark SQL has no word for."""
    if isinstance(kind, str):
        return kind.replace(" ", "").lower()
    if not isinstance(kind, dict):
        return kind
    made = {key: each for key, each in kind.items() if not key.endswith("-required")}
    for key in ("element", "key", "value"):
        if key in made:
            made[key] = plain(made[key])
    if isinstance(kind.get("fields"), list):
        made["fields"] = [
            {**each, "type": plain(each.get("type")), "required": each.get("required", False)}
            for each in kind["fields"]
            if isinstance(each, dict)
        ]
    return made


def with_marks(tree: Tree, before: Tree) -> Tree:
    """Return a tree whose fields keep what is known of the ids in another tree."""
    known = dict(nodes_in(before))
    made = {}
    for name, node in tree.items():
        kept = {
            key: each for key, each in known.get(node[ID], {}).items() if key not in (WITHIN, DOC)
        }
        made[name] = {**kept, **node}
        if WITHIN in node:
            made[name][WITHIN] = with_marks(node[WITHIN], before)
    return made


def nodes_in(tree: Tree) -> list[tuple[int, Mapping[str, Any]]]:
    """Return all nodes of a tree by their ids."""
    found = []
    for node in tree.values():
        found.append((node[ID], node))
        found += nodes_in(node.get(WITHIN, {}))
    return found


def check_different_ids(schema: Mapping[str, Any]) -> None:
    """Raise NoIcebergTypeError for an id that two fields have, or that is 0."""
    seen = set[int]()
    for number in ids_of(schema):
        if number in seen or number < 1:
            raise NoIcebergTypeError(
                f"the ids of fields must be different and from 1, got {number}"
            )
        seen.add(number)


def ids_of(schema: Mapping[str, Any]) -> list[int]:
    """Return the ids of all columns and fields of a schema; raises NoIcebergTypeError."""
    found = []
    for field in fields_in(schema, "the schema"):
        _, tree = spark_within(field["type"], field["name"], 0)
        found += [field["id"], *(number for number, _ in ids_in(tree))]
    return found


def highest_in(schema: Mapping[str, Any]) -> int:
    """Return the highest id of a schema, 0 without fields; raises NoIcebergTypeError."""
    return max(ids_of(schema), default=0)


def fresh(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[int, int]]:
    """Return a schema with new ids from 1 on, and the new ids by the ones that a client gave.

    All fields of a struct get their ids before the fields within them, as Iceberg's own catalogs
    do it. Raises NoIcebergTypeError for a schema that the ledger cannot hold.
    """
    given = ids_of(schema)
    if len(set(given)) < len(given):
        raise NoIcebergTypeError("the ids of fields must be different")
    numbers = Renumbering()
    made = {**schema, **numbers.struct(schema), "schema-id": FRESH_SCHEMA}
    if schema.get(IDENTIFIERS):
        wanted = schema[IDENTIFIERS]
        if not isinstance(wanted, list) or any(each not in numbers.known for each in wanted):
            raise NoIcebergTypeError(f"{IDENTIFIERS} must name ids of fields, got {wanted!r}")
        made[IDENTIFIERS] = [numbers.known[each] for each in wanted]
    return made, numbers.known


class Renumbering:
    """New ids for the fields of one schema; `known` has them by the old ones."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def struct(self, kind: Mapping[str, Any]) -> dict[str, Any]:
        """Return a struct with new ids: first its own fields, then those within them."""
        fields = fields_in(kind, "a struct")
        numbers = [self._next(field["id"]) for field in fields]
        made = [
            {**field, "id": number, "type": self._type(field["type"])}
            for field, number in zip(fields, numbers, strict=True)
        ]
        return {**kind, "fields": made}

    def _type(self, kind: Any) -> Any:
        if not isinstance(kind, dict):
            return kind
        if kind.get("type") == "struct":
            return self.struct(kind)
        made = dict(kind)
        held = [(number, part) for number, part in PARTS if number in kind]
        for number, _ in held:
            made[number] = self._next(kind[number])
        for _, part in held:
            made[part] = self._type(kind[part])
        return made

    def _next(self, old: int) -> int:
        self.known[old] = len(self.known) + 1
        return self.known[old]
