"""Schemas on the wire: each has the fields of its type, in order, and explains each of them."""

from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from ledger.core.commands import Footprint
from ledger.core.events.events import Control
from ledger.core.events.parts import CommittedPart
from ledger.log.wire.published_schemas import COMMAND_IDS, EVENT_IDS
from tests.log.golden import EXAMPLES, encoded
from tests.log.test_codec import (
    ALL,
    COMMAND_TYPES,
    EVENT_TYPES,
    HEADER,
    INDEX,
    SECOND_OF,
    schema_of,
)

PRIMITIVES = {int: "long", str: "string", bytes: "bytes", bool: "boolean", type(None): "null"}
SECOND_FIELDS = {(Footprint, "rows"), (CommittedPart, "translated"), (CommittedPart, "left_out")}


def test_ids_are_unique_those_of_events_and_of_commands_each_in_their_range() -> None:
    assert len(set(INDEX.values())) == len(INDEX)
    assert {INDEX[name] for name in EVENT_TYPES} <= set(EVENT_IDS)
    assert {INDEX[name] for name in COMMAND_TYPES} <= set(COMMAND_IDS)


def plain(schema: Any, named: dict[str, Any]) -> Any:
    """Return a schema as nested lists: fields in order, enums by symbols, names resolved."""
    if isinstance(schema, list):
        return ["union", *[plain(option, named) for option in schema]]
    if isinstance(schema, str):
        return named.get(schema, schema)
    match schema["type"]:
        case "record":
            fields = [[each["name"], plain(each["type"], named)] for each in schema["fields"]]
            form: Any = ["record", schema["name"], *fields]
        case "enum":
            form = ["enum", *schema["symbols"]]
        case "array":
            return ["array", plain(schema["items"], named)]
        case "fixed":
            form = ["fixed", schema["size"]]
        case primitive:
            return primitive
    named[schema["name"]] = form
    return form


def expected(annotation: Any, *, is_second: bool) -> Any:
    """Return what `plain` gives for the schema of a field's type."""
    if annotation in PRIMITIVES:
        return PRIMITIVES[annotation]
    if hasattr(annotation, "_fields"):
        fields = expected_fields(annotation, is_second=is_second)
        return ["record", annotation.__name__, *fields]
    options = get_args(annotation)
    if get_origin(annotation) is Literal:
        return ["enum", *options]
    if len(options) == 1:
        return ["array", expected(options[0], is_second=is_second)]
    forms = [expected(option, is_second=is_second) for option in options]
    # A reader that knows no default expects null first.
    return ["union", *sorted(forms, key=lambda form: form != "null")]


def expected_fields(kind: Any, *, is_second: bool) -> list[Any]:
    """Return what `plain` gives for the fields of a NamedTuple."""
    return [
        [name, expected(hint, is_second=is_second)]
        for name, hint in get_type_hints(kind).items()
        if is_second or (kind, name) not in SECOND_FIELDS
    ]


@pytest.mark.parametrize("name", sorted(COMMAND_TYPES))
def test_the_fields_of_a_command_stand_in_its_schema_in_order(name: str) -> None:
    kind = ALL[name]
    own = expected_fields(kind, is_second=name.endswith(".2"))
    assert plain(schema_of(name), {}) == ["record", kind.__name__, *own]


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
def test_the_schema_of_an_event_has_control_fields_first(name: str) -> None:
    kind, is_second = ALL[name], name.endswith(".2")
    control = [["chain", ["fixed", 8]], *expected_fields(Control, is_second=is_second)[1:]]
    own = expected_fields(kind, is_second=is_second)
    assert plain(schema_of(name), {}) == ["record", kind.__name__, *control, *own]


@pytest.mark.parametrize("name", sorted(SECOND_OF))
def test_the_second_schema_of_a_type_only_adds_fields(name: str) -> None:
    """A foreign reader gets both under one name, and finds the fields that it knows."""
    first, second = [schema_of(each) for each in (name, SECOND_OF[name])]
    fields = {record["name"]: record["fields"] for record in records_in(second)}

    assert second["name"] == first["name"]
    for record in records_in(first):
        known = [each["name"] for each in record["fields"]]
        assert [each["name"] for each in fields[record["name"]]][: len(known)] == known


def test_the_first_schema_is_taken_where_it_holds_all() -> None:
    """Logs of tables whose rows are no grain are readable as before, byte for byte."""
    example = EXAMPLES["TxnCommitted.2"]
    parts = [part._replace(translated=[], left_out=[]) for part in example.parts]
    without = [
        part._replace(footprint=part.footprint and part.footprint._replace(rows=None))
        for part in parts
    ]

    ids = [
        int.from_bytes(encoded(example._replace(parts=each))[1:HEADER], "big")
        for each in (without, parts[1:], [*without, example.parts[0]])
    ]
    assert ids == [INDEX["TxnCommitted"], *[INDEX["TxnCommitted.2"]] * 2]


def records_in(schema: Any) -> list[dict[str, Any]]:
    """Return the record schemas inside a schema, itself included."""
    if isinstance(schema, list):
        return [record for each in schema for record in records_in(each)]
    if not isinstance(schema, dict):
        return []
    inner = [each["type"] for each in schema.get("fields", [])]
    nested = records_in([*inner, schema.get("items"), schema.get("type")])
    return [schema, *nested] if schema.get("type") == "record" else nested


@pytest.mark.parametrize("name", sorted(ALL))
def test_schemas_are_explained(name: str) -> None:
    schema = schema_of(name)
    records = records_in(schema)
    fields = [(record["name"], each) for record in records for each in record["fields"]]
    assert schema["namespace"] == "io.lakeledger"
    assert [each["name"] for each in records if not each.get("doc")] == []
    assert [(name, each["name"]) for name, each in fields if not each.get("doc")] == []


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
def test_the_time_of_an_event_is_a_timestamp_to_foreign_readers(name: str) -> None:
    at = next(each for each in schema_of(name)["fields"] if each["name"] == "at")
    assert at["type"] == {"type": "long", "logicalType": "timestamp-millis"}
