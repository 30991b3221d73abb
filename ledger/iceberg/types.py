"""Types: Spark SQL's in a definition, and Iceberg's in the JSON of a schema.

Each field within a type has an id in Iceberg. A definition has these ids in a tree beside the type
(`ledger.properties.field_ids`). A type without a counterpart is refused by name. Spark SQL has no
word for a required element of a list or a required value of a map: the ledger takes them as
optional, and serves them so. `required_parts` names them, for a caller that refuses them.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from ledger.core.predicates.types import (
    BITS,
    BY_NAME,
    DECIMAL_DIGITS_MAX,
    PRECISION_DEFAULT,
    WITH_LENGTH,
    Kind,
)
from ledger.iceberg.limits import DEPTH_MAX
from ledger.properties.field_ids import ID, WITHIN, Tree
from ledger.properties.type_text import (
    ELEMENT,
    KEY,
    VALUE,
    TypeField,
    TypeNode,
    quoted,
    read_type,
    words_of,
)

IcebergType = str | dict[str, Any]
"""A type as the JSON of a schema has it."""

DOC: Final = "doc"
"""In the tree of fields: the words on a field, as Iceberg has them."""

ID_MAX: Final = (1 << 31) - 200
"""The highest id of a field; Iceberg keeps the ones above for columns of its own."""

DECIMAL_FORM: Final = re.compile(r"decimal\(\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*\)")
ATOMIC: Final[Mapping[str, str]] = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "varchar": "string",
    "char": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
SPARK: Final[Mapping[str, str]] = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamptz": "timestamp",
    "timestamp": "timestamp_ntz",
}
INSTEAD: Final[Mapping[str, str]] = {
    "uuid": "a string, or binary",
    "time": "a string, or a long of microseconds",
    "fixed": "binary",
    "timestamp_ns": "timestamp, with microseconds",
    "timestamptz_ns": "timestamptz, with microseconds",
    "variant": "a string of JSON",
    "geometry": "binary, in the well-known form",
    "geography": "binary, in the well-known form",
    "unknown": "a column of a known type",
}
REWRITE: Final = (
    "set a property of the table, which gives ids to its fields, and write its files anew with "
    "OPTIMIZE"
)
COPY: Final = "copy its rows into a new table"


class NoIcebergTypeError(ValueError):
    """A column or a field has no form in Iceberg, or its type none in the ledger."""


def iceberg_type(type_: str, fields: Tree) -> IcebergType:
    """Return the JSON of a Spark SQL type; `fields` has the ids of the fields within it.

    Raises NoIcebergTypeError for a type that Iceberg lacks, and for a field without an id.
    """
    try:
        node = read_type(type_)
    except ValueError as error:
        raise NoIcebergTypeError(f"the type {type_!r} is not known: {error}") from error
    if is_collated(type_):
        raise NoIcebergTypeError(
            f"the type {type_!r} has a collation, under which texts that differ are equal: Iceberg "
            "has none. Use a plain string"
        )
    return typed(node, fields, type_)


def typed(node: TypeNode, fields: Tree, type_: str) -> IcebergType:
    """Return the JSON of a type within `type_`; raises as `iceberg_type`."""
    if node.word == "struct":
        return {"type": "struct", "fields": [field_json(each, fields) for each in node.fields]}
    if node.word == "array":
        (element,) = node.fields
        number, inner = id_and_type(element, fields)
        return {"type": "list", "element-id": number, "element": inner, "element-required": False}
    if node.word == "map":
        key, value = node.fields
        key_id, key_type = id_and_type(key, fields)
        value_id, value_type = id_and_type(value, fields)
        return {
            "type": "map",
            "key-id": key_id,
            "key": key_type,
            "value-id": value_id,
            "value": value_type,
            "value-required": False,
        }
    return atomic(node, type_)


def field_json(field: TypeField, fields: Tree) -> dict[str, Any]:
    """Return a field of a struct; raises as `iceberg_type`."""
    number, inner = id_and_type(field, fields)
    made = {"id": number, "name": field.name, "required": not field.nullable, "type": inner}
    words = node_of(field.name, fields).get(DOC)
    return {**made, DOC: words} if isinstance(words, str) and words else made


def id_and_type(field: TypeField, fields: Tree) -> tuple[int, IcebergType]:
    """Return the id and the type of a field; raises as `iceberg_type`."""
    node = node_of(field.name, fields)
    if ID not in node:
        raise NoIcebergTypeError(
            f"the field {field.name} has no id, by which Iceberg's readers know a field: {REWRITE}"
        )
    return node[ID], typed(field.type, node.get(WITHIN, {}), field.name)


def node_of(name: str, fields: Tree) -> Mapping[str, Any]:
    """Return what a tree has of a field, by its name in any case; empty without the field."""
    found: Mapping[str, Any] | None = fields.get(name)
    if found is None:
        lower = name.lower()
        found = next((node for each, node in fields.items() if each.lower() == lower), {})
    return found


def atomic(node: TypeNode, type_: str) -> str:
    """Return the name of a type without parts; raises as `iceberg_type`."""
    row = BY_NAME.get(node.word)
    if row is not None and not node.rest and row.kind is Kind.DECIMAL:
        precision, scale = (*node.numbers, 0)[:2] if node.numbers else (PRECISION_DEFAULT, 0)
        if 1 <= precision <= DECIMAL_DIGITS_MAX and scale <= precision:
            return f"decimal({precision}, {scale})"
    elif row is not None and not node.rest and row.name in ATOMIC:
        return ATOMIC[row.name]
    raise NoIcebergTypeError(
        f"Iceberg has no type {node.word} (in {type_!r}): change the type, or leave the column out"
    )


def is_collated(type_: str) -> bool:
    """Tell whether a type has a text under a collation."""
    words = [word.lower() for word in words_of(type_)]
    return ("string", "collate") in set(pairwise(words))


def is_narrower(type_: str) -> bool:
    """Tell whether a Spark SQL type holds fewer values than the Iceberg type that stands for it.

    A writer that knows the Iceberg type alone may then write values that the column must not have.
    """
    words = {word.lower() for word in words_of(type_)}
    small = {name for name, row in BY_NAME.items() if BITS.get(row.kind, 32) < BITS[Kind.INT]}  # type: ignore[arg-type]
    return not words.isdisjoint(small | WITH_LENGTH)


def spark_type(kind: Any, name: str) -> tuple[str, Tree]:
    """Return the Spark SQL type and the tree of ids for the JSON of a type of the field `name`.

    Raises NoIcebergTypeError for a type that the ledger lacks, and for JSON that is no type.
    """
    return spark_within(kind, name, 0)


def spark_within(kind: Any, name: str, depth: int) -> tuple[str, Tree]:
    """Return the type of a field at a depth; raises as `spark_type`."""
    if depth > DEPTH_MAX:
        raise NoIcebergTypeError(f"the type of {name} must have at most {DEPTH_MAX} levels")
    if isinstance(kind, str):
        return spark_atomic(kind, name), {}
    word = kind.get("type") if isinstance(kind, dict) else None
    if word == "list":
        inner, node = part(kind, ELEMENT, name, depth)
        return f"array<{inner}>", {ELEMENT: node}
    if word == "map":
        key, key_node = part(kind, KEY, name, depth)
        value, value_node = part(kind, VALUE, name, depth)
        return f"map<{key},{value}>", {KEY: key_node, VALUE: value_node}
    if word == "struct":
        return spark_struct(fields_in(kind, name), name, depth)
    raise NoIcebergTypeError(f"the type of {name} must be a type of Iceberg, got {short(kind)}")


def spark_struct(fields: list[dict[str, Any]], name: str, depth: int) -> tuple[str, dict[str, Any]]:
    """Return a struct as Spark SQL writes it, with the ids of its fields."""
    texts, tree = [], dict[str, Any]()
    for field in fields:
        inner, within = spark_within(field["type"], f"{name}.{field['name']}", depth + 1)
        check_no_defaults(field, f"{name}.{field['name']}")
        texts.append(f"{quoted(field['name'])}:{inner}{' NOT NULL' if field['required'] else ''}")
        words = field.get(DOC)
        node = {ID: field["id"]} | ({DOC: words} if isinstance(words, str) and words else {})
        tree[field["name"]] = node | ({WITHIN: within} if within else {})
    return f"struct<{','.join(texts)}>", tree


def part(kind: Mapping[str, Any], what: str, name: str, depth: int) -> tuple[str, dict[str, Any]]:
    """Return the type and the node of an element, a key or a value; raises as `spark_type`."""
    number = kind.get(f"{what}-id")
    inner, within = spark_within(kind.get(what), f"{name}.{what}", depth + 1)
    node: dict[str, Any] = {ID: checked_id(number, f"{name}.{what}")}
    return inner, node | ({WITHIN: within} if within else {})


def required_parts(kind: Any, name: str) -> list[str]:
    """Return the required elements of lists and values of maps in a type that was checked.

    Each is a path of names from `name` on.
    """
    if not isinstance(kind, dict):
        return []
    found = []
    for field in kind.get("fields", ()):
        found += required_parts(field["type"], f"{name}.{field['name']}".removeprefix("."))
    for what in (ELEMENT, KEY, VALUE):
        if what in kind:
            path = f"{name}.{what}"
            found += [path] if kind.get(f"{what}-required") else []
            found += required_parts(kind[what], path)
    return found


def spark_atomic(kind: str, name: str) -> str:
    """Return the Spark SQL name of a type without parts; raises as `spark_type`."""
    text = kind.strip().lower()
    found = DECIMAL_FORM.fullmatch(text)
    if (
        found is not None
        and 1 <= int(found[1]) <= DECIMAL_DIGITS_MAX
        and int(found[2]) <= int(found[1])
    ):
        return f"decimal({int(found[1])},{int(found[2])})"
    if text in SPARK:
        return SPARK[text]
    word = re.match(r"\w*", text)
    instead = INSTEAD.get(word[0] if word else "")
    hint = f". Use {instead}" if instead else ""
    raise NoIcebergTypeError(f"the ledger has no type {kind[:80]!r}, of {name}{hint}")


def fields_in(struct: Any, name: str) -> list[dict[str, Any]]:
    """Return the fields of a struct or a schema, checked; raises NoIcebergTypeError."""
    fields = struct.get("fields") if isinstance(struct, dict) else None
    if not isinstance(fields, list):
        raise NoIcebergTypeError(f"{name} must have a list of fields, got {short(struct)}")
    return [checked_field(field, name) for field in fields]


def checked_field(field: Any, name: str) -> dict[str, Any]:
    """Return a field with a name, an id, a type and a mark; raises NoIcebergTypeError."""
    called = field.get("name") if isinstance(field, dict) else None
    if not isinstance(called, str) or not called or "type" not in field:
        raise NoIcebergTypeError(f"a field of {name} must have name and type, got {short(field)}")
    required = field.get("required", False)
    if not isinstance(required, bool):
        raise NoIcebergTypeError(f"required of {called} must be true or false, got {required!r}")
    return {**field, "id": checked_id(field.get("id"), called), "required": required}


def checked_id(number: Any, name: str) -> int:
    """Return the id of a field; raises NoIcebergTypeError for anything else."""
    if type(number) is not int or not 0 <= number <= ID_MAX:
        raise NoIcebergTypeError(f"the id of {name} must be 0 to {ID_MAX}, got {number!r}")
    return number


def check_no_defaults(field: Mapping[str, Any], name: str) -> None:
    """Raise NoIcebergTypeError for a field with a default: Iceberg's are not taken."""
    for key in ("initial-default", "write-default"):
        if field.get(key) is not None:
            raise NoIcebergTypeError(
                f"{name} has {key} {str(field[key])[:80]!r}, which the ledger does not take: add "
                "the column without it, and update its rows"
            )


def short(value: Any) -> str:
    """Return the beginning of a value's text, for a message."""
    return repr(value)[:80]
