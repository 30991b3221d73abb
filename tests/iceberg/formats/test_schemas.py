"""Types and schemas: the ledger's columns and Iceberg's fields say the same."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import IcebergType as PyType
from pyiceberg.types import ListType, MapType, StructType

from ledger.core.commands import Column, Property, TableDefinition
from ledger.iceberg.schemas import (
    columns_of,
    format_version,
    fresh,
    highest_in,
    key_text,
    schema_json,
)
from ledger.iceberg.types import NoIcebergTypeError, iceberg_type, is_narrower, spark_type
from ledger.properties.field_ids import numbered
from tests.iceberg.formats.schemas import SCHEMAS


def table(*columns: Column, **properties: str) -> TableDefinition:
    given_ = [Property(key.replace("_", "."), each) for key, each in sorted(properties.items())]
    return TableDefinition("managed", "listed", "/t", list(columns), [], given_)


def plain_struct(kind: PyType) -> Any:
    """Return what a type of pyiceberg is, without the marks that the ledger has no word for."""
    if isinstance(kind, ListType):
        return ("list", kind.element_id, plain_struct(kind.element_type))
    if isinstance(kind, MapType):
        key, value = plain_struct(kind.key_type), plain_struct(kind.value_type)
        return ("map", kind.key_id, key, kind.value_id, value)
    if isinstance(kind, StructType):
        return [
            (each.field_id, each.name, each.required, each.doc, plain_struct(each.field_type))
            for each in kind.fields
        ]
    return str(kind)


@given(schema=SCHEMAS)
@settings(deadline=None, max_examples=150)
def test_a_schema_comes_back_from_its_columns(schema: dict[str, Any]) -> None:
    columns = columns_of(schema)
    served = schema_json(table(*columns), 0)

    assert served == schema
    assert columns_of(served, columns) == columns
    read, wanted = Schema.model_validate(served), Schema.model_validate(schema)
    assert plain_struct(read.as_struct()) == plain_struct(wanted.as_struct())


@given(schema=SCHEMAS)
@settings(deadline=None, max_examples=150)
def test_fresh_ids_are_those_of_other_catalogs(schema: dict[str, Any]) -> None:
    made, known = fresh(schema)
    wanted = assign_fresh_schema_ids(Schema.model_validate(schema))

    assert plain_struct(Schema.model_validate(made).as_struct()) == plain_struct(wanted.as_struct())
    assert highest_in(made) == wanted.highest_field_id == len(known)
    assert sorted(known.values()) == [*range(1, len(known) + 1)]


@given(schema=SCHEMAS)
@settings(deadline=None, max_examples=60)
def test_fields_that_the_ledger_numbers_are_served(schema: dict[str, Any]) -> None:
    columns = [
        Column(each.name, each.type, each.nullable, at)
        for at, each in enumerate(columns_of(schema), start=1)
    ]
    definition = numbered([], table(*columns), len(columns))

    served = schema_json(definition, 3)
    assert served["schema-id"] == 3
    assert columns_of(served, definition.columns) == definition.columns
    Schema.model_validate(served)


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("TINYINT", "int"),
        ("short", "int"),
        ("INTEGER", "int"),
        ("long", "long"),
        ("real", "float"),
        ("DECIMAL(10,2)", "decimal(10, 2)"),
        ("dec", "decimal(10, 0)"),
        ("numeric(5)", "decimal(5, 0)"),
        ("varchar(10)", "string"),
        ("CHAR(3)", "string"),
        ("timestamp_ltz", "timestamptz"),
        ("timestamp_ntz", "timestamp"),
    ],
)
def test_spellings_of_spark_have_a_type(type_: str, kind: str) -> None:
    assert iceberg_type(type_, {}) == kind


@pytest.mark.parametrize(
    "type_",
    [
        *("void", "interval day to second", "variant", "geometry", "decimal(39,1)", "int[]"),
        *("decimal(3,4)", "array<int>", "struct<a:int>", "map<string,void>", "", "struct<a:"),
        *("string collate UNICODE_CI", "array<string collate UTF8_LCASE>", "int unsigned"),
    ],
)
def test_what_iceberg_lacks_is_refused_by_the_name_of_its_column(type_: str) -> None:
    with pytest.raises(NoIcebergTypeError, match="column c:"):
        schema_json(table(Column("c", type_, nullable=True, id=1)), 0)


@pytest.mark.parametrize(
    "kind",
    [
        *("uuid", "time", "fixed[16]", "timestamp_ns", "timestamptz_ns", "variant", "unknown"),
        *("geometry(srid:4326)", "geography", "decimal(39, 0)", "decimal(2, 3)", "", "INT8"),
        *(7, None, {}, {"type": "list"}, {"type": "struct"}, {"type": "struct", "fields": [{}]}),
        {"type": "list", "element-id": True, "element": "int"},
        {"type": "map", "key-id": 2, "key": "int", "value-id": -1, "value": "int"},
        {"type": "list", "element-id": 2, "element": {"type": "list"}},
    ],
)
def test_what_the_ledger_lacks_is_refused_by_name(kind: Any) -> None:
    with pytest.raises(NoIcebergTypeError, match="c"):
        spark_type(kind, "c")


def test_a_type_of_any_depth_is_refused_before_the_stack_ends() -> None:
    kind: Any = "int"
    for number in range(900):
        kind = {"type": "list", "element-id": number + 2, "element": kind}
    schema = {"fields": [{"id": 1, "name": "c", "type": kind}]}
    for refused in (columns_of, fresh, highest_in):
        with pytest.raises(NoIcebergTypeError, match="levels"):
            refused(schema)


@pytest.mark.parametrize("key", ["initial-default", "write-default"])
def test_defaults_of_a_client_are_refused_at_any_depth(key: str) -> None:
    field = {"id": 1, "name": "c", "type": "int", key: 5}
    inner = {"id": 2, "name": "s", "type": {"type": "struct", "fields": [field]}}
    for each in (field, inner):
        with pytest.raises(NoIcebergTypeError, match=f"c has {key} '5'"):
            columns_of({"fields": [each]})


def test_a_column_keeps_what_iceberg_does_not_see() -> None:
    before = [
        Column("small", "tinyint", nullable=True, id=1, metadata='{"mine": 1}'),
        Column("short_text", "varchar(3)", nullable=False, id=2),
        Column("number", "int", nullable=True, id=3, metadata='{"comment": "old", "mine": 2}'),
    ]
    schema = schema_json(table(*before), 0)
    small, text, number = schema["fields"]
    changed = [
        {**number, "type": "long", "doc": "new"},
        {**small, "name": "tiny"},
        {**text, "required": False},
    ]
    made = columns_of({**schema, "fields": changed}, before)

    assert made == [
        Column("number", "bigint", nullable=True, id=3, metadata='{"comment": "new", "mine": 2}'),
        Column("tiny", "tinyint", nullable=True, id=1, metadata='{"mine": 1}'),
        Column("short_text", "varchar(3)", nullable=True, id=2),
    ]
    assert [is_narrower(each.type) for each in made] == [False, True, True]


def test_a_nested_field_keeps_what_is_known_of_its_id() -> None:
    element = {"element": {"id": 4, "was": "element"}}
    tree = {"a": {"id": 2, "was": "x"}, "b": {"id": 3, "in": element}}
    before = Column(
        "s",
        "struct<a:int,b:array<int>>",
        nullable=True,
        id=1,
        metadata=json.dumps({"lakeledger.fields": tree}),
    )
    schema = schema_json(table(before), 0)
    inner = schema["fields"][0]["type"]["fields"]
    inner[0]["name"] = "renamed"
    inner[1]["type"]["element"] = "long"
    inner.append({"id": 9, "name": "c", "required": False, "type": "date", "doc": "words"})
    (made,) = columns_of(schema, [before])

    assert made.type == "struct<renamed:int,b:array<bigint>,c:date>"
    assert json.loads(made.metadata)["lakeledger.fields"] == {
        "renamed": {"id": 2, "was": "x"},
        "b": {"id": 3, "in": element},
        "c": {"id": 9, "doc": "words"},
    }
    assert schema_json(table(made), 0)["fields"][0]["type"]["fields"] == inner


@pytest.mark.parametrize("ids", [(1, 1), (0, 1), (2, 2)])
def test_ids_of_columns_are_different_and_not_zero(ids: tuple[int, int]) -> None:
    fields = [{"id": each, "name": f"c{at}", "type": "int"} for at, each in enumerate(ids)]
    with pytest.raises(NoIcebergTypeError, match="ids of fields"):
        columns_of({"fields": fields})


def test_identifiers_are_the_key_of_the_table() -> None:
    one, two = (
        Column("a b", "int", nullable=False, id=1),
        Column("c", "string", nullable=False, id=2),
    )
    keyed = table(one, two, lakeledger_key="c, `a b`")
    schema = schema_json(keyed, 0)

    assert schema["identifier-field-ids"] == [1, 2]
    assert Schema.model_validate(schema).identifier_field_names() == {"a b", "c"}
    assert key_text(schema, keyed) == "c, `a b`"
    assert key_text(schema) == "`a b`, c"
    assert key_text({**schema, "identifier-field-ids": [2]}, keyed) == "c"
    assert key_text({**schema, "identifier-field-ids": []}, keyed) == ""
    made, known = fresh({**schema, "identifier-field-ids": [2]})
    assert made["identifier-field-ids"] == [known[2]]


def test_a_key_of_nullable_columns_stays_the_ledgers_own() -> None:
    """Iceberg's readers refuse a schema with an identifier that may be NULL."""
    keyed = table(Column("a", "int", nullable=True, id=1), lakeledger_key="a")
    schema = schema_json(keyed, 0)

    assert "identifier-field-ids" not in schema
    assert key_text(schema, keyed) == "a"
    with pytest.raises(NoIcebergTypeError, match="required columns, got 1"):
        key_text({**schema, "identifier-field-ids": [1]})


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("int", "7", 7),
        ("bigint", "-9", -9),
        ("boolean", "true", True),
        ("double", "0.5", 0.5),
        ("float", "0.25", 0.25),
        ("decimal(9,2)", "1.50", "1.50"),
        ("string", "x", "x"),
        ("date", "2026-01-31", "2026-01-31"),
        ("timestamp", "2026-01-31 10:00:00.5Z", "2026-01-31T10:00:00.500000+00:00"),
        ("timestamp_ntz", "2026-01-31 10:00:00", "2026-01-31T10:00:00"),
    ],
)
def test_the_value_of_rows_from_before_is_served_or_refused(
    type_: str, text: str, value: Any
) -> None:
    """Without it readers would take NULL for the column in older files."""
    column = Column(
        "c", type_, nullable=True, id=1, metadata=json.dumps({"lakeledger.initialDefault": text})
    )
    with pytest.raises(NoIcebergTypeError, match=r"column c .* read NULL"):
        schema_json(table(column), 0)
    definition = table(column)._replace(properties=[Property("iceberg.format-version", "3")])
    schema = schema_json(definition, 0)
    (field,) = schema["fields"]

    assert field["initial-default"] == value
    assert columns_of(schema, [column]) == [column]
    assert Schema.model_validate(schema).fields[0].initial_default is not None
    for other in ({**field, "initial-default": None}, {**field, "write-default": value}):
        with pytest.raises(NoIcebergTypeError, match="default"):
            columns_of({"fields": [other]}, [column])


@pytest.mark.parametrize("text", ["0", "4", "two", ""])
def test_an_unknown_version_of_the_format_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be 1, 2 or 3"):
        format_version(table()._replace(properties=[Property("iceberg.format-version", text)]))


KEYS = ("type", "fields", "id", "name", "element", "element-id", "key-id", "key")
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS), inner),
)


@given(odd=ODD)
@settings(deadline=None, max_examples=200)
def test_odd_json_is_refused_and_never_an_error_of_the_program(odd: Any) -> None:
    schema = odd if isinstance(odd, dict) else {"fields": [{"id": 1, "name": "c", "type": odd}]}
    for made in (columns_of, fresh, highest_in):
        try:
            made(schema)
        except NoIcebergTypeError:
            continue
