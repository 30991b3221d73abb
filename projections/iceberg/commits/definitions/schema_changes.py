"""Schemas that a client gives a table: whether files of before can be read by them.

A field is known by its id. Where a table has rows, a field keeps its place and its type, or gets a
wider one that holds every value of before; a new field may be NULL. A definition that breaks this
would make readers fail, or show NULL in place of values.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ledger.iceberg.schemas import check_different_ids
from ledger.iceberg.types import required_parts
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.errors import bad_request

DECIMAL: Final = re.compile(r"decimal\(\s*([0-9]+)\s*,\s*([0-9]+)\s*\)")
WIDER: Final = {("int", "long"), ("float", "double")}
PARTS: Final = (("element-id", "element"), ("key-id", "key"), ("value-id", "value"))


class FieldShape(NamedTuple):
    """A field of a schema: `above` is the id of the field around it, 0 for a column.

    `type` is an atomic type, or the word of a nested one.
    """

    name: str
    above: int
    type: str
    required: bool


def fields_by_id(schema: Given) -> Mapping[int, FieldShape]:
    """Return all columns and fields of a schema by their ids.

    Raises NoIcebergTypeError for a schema that the ledger cannot hold.
    """
    check_different_ids(schema)
    return dict(shapes(schema, 0))


def check_columns(schema: Given) -> None:
    """Raise IcebergRefusal for a schema that the ledger cannot keep as it is.

    The ledger takes no columns as unknown ones, and has no required elements and values.
    """
    if not fields_by_id(schema):
        raise bad_request("a schema must have one column or more, got none")
    required = required_parts(schema, "")
    if required:
        raise bad_request(
            f"{required[0]} must be optional (element-required and value-required false), got a "
            "required one: the ledger cannot keep that elements of lists and values of maps are "
            "not NULL"
        )


def shapes(kind: Any, above: int) -> Iterator[tuple[int, FieldShape]]:
    """Yield the fields below a type that was checked."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields", ()):
        shape = FieldShape(field["name"], above, word_of(field["type"]), field["required"])
        yield field["id"], shape
        yield from shapes(field["type"], field["id"])
    for number, part in PARTS:
        if number in kind:
            # The ledger takes each element and value as optional, so they count as such.
            yield kind[number], FieldShape(part, above, word_of(kind[part]), required=False)
            yield from shapes(kind[part], kind[number])


def word_of(kind: Any) -> str:
    """Return an atomic type, or the word of a nested one."""
    return str(kind.get("type")) if isinstance(kind, dict) else str(kind)


def check_new_ids(schema: Given, known: Iterable[Given], highest: int) -> None:
    """Raise IcebergRefusal for a field whose id the table had for another one.

    `known` are the schemas of the table's history, `highest` is the highest id that it ever had.
    """
    there = {number for each in known for number in fields_by_id(each)}
    for number, field in fields_by_id(schema).items():
        if number not in there and number <= highest:
            raise bad_request(
                f"the new field {field.name} must have an id above {highest}, got {number}: files "
                "may hold values of a former field under that id"
            )


def check_readable(before: Given, after: Given) -> None:
    """Raise IcebergRefusal if rows of a table cannot be read by another schema of it."""
    known, wanted = fields_by_id(before), fields_by_id(after)
    for number, field in wanted.items():
        then = known.get(number)
        if then is None:
            if field.required and field.above in (0, *known):
                raise bad_request(
                    f"the new field {field.name} must be optional, as rows of before have NULL "
                    "there: add it as optional, or to a table without rows"
                )
            continue
        if field.above != then.above:
            raise bad_request(f"the field {field.name} must stay within the same field")
        if field.required and not then.required:
            raise bad_request(
                f"the field {field.name} must stay optional, as rows of before may have NULL there"
            )
        if field.type != then.type and not is_wider(then.type, field.type):
            raise bad_request(
                f"the field {field.name} must keep the type {then.type} or get a wider one, got "
                f"{shown(field.type)}: a reader cannot take the values of before as that"
            )


def is_wider(before: str, after: str) -> bool:
    """Return whether a type holds every value of another, and Iceberg lets a field change so."""
    if (before, after) in WIDER:
        return True
    then, now = DECIMAL.fullmatch(before), DECIMAL.fullmatch(after)
    return bool(then and now and then[2] == now[2] and int(then[1]) <= int(now[1]))


def renames(schemas: Iterable[Given]) -> bool:
    """Return whether a field ever had two names, or a name ever meant two fields of one place.

    Files that clients wrote under earlier names may then come late.
    """
    names: dict[int, str] = {}
    ids: dict[tuple[int, str], int] = {}
    for schema in schemas:
        for number, field in fields_by_id(schema).items():
            name = field.name.lower()
            if names.setdefault(number, name) != name:
                return True
            if ids.setdefault((field.above, name), number) != number:
                return True
    return False
