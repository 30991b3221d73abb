"""Delta schemas: what becomes of their types, names, ids and properties in a ledger's table."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.conflicts.metadata_diff import NESTED_TYPE
from ledger.core.predicates.predicates import compile_predicate
from ledger.core.state.traits import traits_of
from ledger.delta.actions import DeltaMetadata
from ledger.delta.fields import ShapeError
from ledger.delta.schema import (
    OTHER_SPELLINGS,
    UNKNOWN_LEVEL,
    definition_of,
    partition_keys,
    partition_of,
    type_text,
)
from tests.conditions import predicate_tree
from tests.sdk.delta_logs import schema

MAPPED = {"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "col-7"}


def defined(
    text: str,
    *,
    partitioned: tuple[str, ...] = (),
    before: TableDefinition | None = None,
    **properties: str,
) -> TableDefinition:
    configuration = {key.replace("_", "."): value for key, value in properties.items()}
    metadata = DeltaMetadata("id", text, partitioned, configuration)
    return definition_of(metadata, "file:///lake/t", before)


def struct(*fields: tuple[str, Any, bool]) -> dict[str, Any]:
    rows = [{"name": n, "type": t, "nullable": null, "metadata": {}} for n, t, null in fields]
    return {"type": "struct", "fields": rows}


ARRAY = {"type": "array", "elementType": "long", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": ARRAY, "valueContainsNull": True}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("long", "bigint"),
        ("integer", "int"),
        ("short", "smallint"),
        ("byte", "tinyint"),
        ("string", "string"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("decimal(10,2)", "decimal(10,2)"),
        (ARRAY, "array<bigint>"),
        (MAP, "map<string,array<bigint>>"),
        (struct(("a", "integer", True), ("b c", MAP, False)),
         "struct<a:int,`b c`:map<string,array<bigint>> NOT NULL>"),
        (struct(("x`y", struct(), True)), "struct<`x``y`:struct<>>"),
    ],
)  # fmt: skip
def test_every_type_is_written_as_spark_sql_writes_it(kind: Any, expected: str) -> None:
    assert type_text(kind) == expected


@pytest.mark.parametrize(
    ("metadata", "expected", "found"),
    [
        ({}, "string", False),
        ({"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}, "char(3)", True),
        ({"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}, "varchar(3)", False),
        ({"__COLLATIONS": {"p": "spark.UTF8_LCASE"}}, "string collate UTF8_LCASE", True),
        ({"__COLLATIONS": {"p": "ICU.de_CI.75"}}, "string collate de_CI", True),
        ({"__COLLATIONS": {"p.element": "spark.UTF8_LCASE"}}, "string", False),
        ({"__COLLATIONS": 1, "__CHAR_VARCHAR_TYPE_STRING": 3}, "string", False),
    ],
)
def test_declared_types(metadata: Mapping[str, Any], expected: str, *, found: bool) -> None:
    """Texts that equal more than themselves are never left out of what a condition may concern."""
    table = defined(schema(("p", "string"), p=metadata), partitioned=("p",))

    scan = compile_predicate(predicate_tree("p = 'a'"), traits_of(table).schema, derive=False)

    assert table.columns[0].type == expected
    assert [scan.matches((text,)) for text in ("a", "a  ", "A")] == [True, found, found]


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        '{"type":"array"}',
        '{"type":"struct","fields":[1]}',
        '{"type":"struct","fields":[{"name":"a"}]}',
        '{"type":"struct","fields":[{"name":"a","type":{"type":"set"}}]}',
        '{"type":"struct","fields":[{"name":"a","type":"long","metadata":[1]}]}',
        (
            '{"type":"struct","fields":[{"name":"a","type":"long","metadata":'
            '{"delta.columnMapping.id":9223372036854775808}}]}'
        ),
        (
            '{"type":"struct","fields":[{"name":"a","type":"long","metadata":'
            '{"delta.columnMapping.physicalName":7}}]}'
        ),
        '{"type":"struct","fields":[{"name":"\\ud800","type":"long"}]}',
        '{"type":"struct","fields":[{"name":"a","type":{"type":["struct"]}}]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_schema_is_refused_as_that(text: str) -> None:
    with pytest.raises(ShapeError):
        defined(text)


def test_columns() -> None:
    """Columns are numbered, keep whether they are nullable, and what else Delta says of them."""
    text = json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": "id", "type": "long", "nullable": False, "metadata": {}},
                {"name": "tail", "type": "string", "metadata": {"comment": "é", "a": 1}},
            ],
        }
    )

    assert defined(text).columns == [
        Column("id", "bigint", nullable=False, id=1),
        Column("tail", "string", nullable=True, id=2, metadata='{"a": 1, "comment": "é"}'),
    ]


def test_nested_metadata_is_kept() -> None:
    """Metadata of nested fields has no place in a type text, so the type stays with the column."""
    nested = struct(("a", "long", True))
    nested["fields"][0]["metadata"] = MAPPED

    column = defined(schema(("s", nested))).columns[0]

    assert column.type == "struct<a:bigint>"
    assert json.loads(column.metadata) == {NESTED_TYPE: nested}


def test_a_column_keeps_its_id_under_its_name() -> None:
    first = defined(schema(("a", "long"), ("b", "long")))
    second = defined(schema(("c", "long"), ("B", "long")), before=first)
    by_name: dict[str, Any] = {"delta_columnMapping_mode": "name"}
    third = defined(schema(("d", "long"), ("b", "long"), d=MAPPED), before=second, **by_name)
    last = defined(schema(("e", "long"), ("f", "long"), e=MAPPED), before=third, **by_name)

    ids = [[column.id for column in found.columns] for found in (first, second, third, last)]
    assert ids == [[1, 2], [3, 2], [7, 2], [7, 8]]


def test_ids_without_a_mapping_are_left_from_one_and_may_be_those_of_other_columns_by_now() -> None:
    found = defined(schema(("a", "long"), ("b", "long"), a=MAPPED, b=MAPPED))

    assert [column.id for column in found.columns] == [1, 2]


@pytest.mark.parametrize(
    ("level", "kept", "counts_as"),
    [
        ("WriteSerializable", "WriteSerializable", "WriteSerializable"),
        ("writeSerializable", "writeSerializable", "WriteSerializable"),
        ("serializable", "serializable", "Serializable"),
        ("ReadCommitted", "Serializable", "Serializable"),
        ("", "Serializable", "Serializable"),
    ],
)
def test_level(level: str, kept: str, counts_as: str) -> None:
    """A level in any case of letters stays as it is; an unknown one is kept aside, as strongest."""
    found = defined(schema(), delta_isolationLevel=level, a="1")
    aside = [] if kept == level else [Property(UNKNOWN_LEVEL, level)]

    assert found.properties == [Property("a", "1"), Property("delta.isolationLevel", kept), *aside]
    assert traits_of(found).level == counts_as


@pytest.mark.parametrize(
    ("mode", "expected"), [("none", ["day"]), ("name", ["col-7"]), ("id", ["col-7"])]
)
def test_partition_keys(mode: str, expected: list[str]) -> None:
    """Under column mapping files have their partition values by physical name."""
    fields = schema(("Day", "date"), Day=MAPPED)

    found = defined(fields, partitioned=("day",), delta_columnMapping_mode=mode)

    assert partition_keys(found) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"b": "2", "a": "1"}, ("1", "2")),
        ({"a": None, "b": ""}, (None, None)),
        ({"a": "1", "b": "2", "c": "3"}, ("1", "2")),
        ({"a": "1"}, ("1", None)),
        ({}, (None, None)),
    ],
)
def test_partition(values: dict[str, str | None], expected: Any) -> None:
    """Partition values stand in the table's order; NULL is null, empty or left out."""
    assert partition_of(values, ["a", "b"]) == expected


@pytest.mark.parametrize(
    ("given", "kept", "aside"),
    [
        (
            {"delta.autoOptimize.autoCompact": "true", "delta.autooptimize.autocompact": "true"},
            {"delta.autoOptimize.autoCompact": "true"},
            {"delta.autooptimize.autocompact": "true"},
        ),
        (
            {"DELTA.enableRowTracking": "true", "delta.enableRowTracking": "false"},
            {"delta.enableRowTracking": "false"},
            {"DELTA.enableRowTracking": "true"},
        ),
        ({"own": "1", "OWN": "2"}, {"own": "1", "OWN": "2"}, {}),
    ],
)
def test_keys_by_case(
    given: Mapping[str, str], kept: Mapping[str, str], aside: Mapping[str, str]
) -> None:
    """Of a key of Delta in several cases the one that Delta defines counts, others stay aside."""
    found = definition_of(DeltaMetadata("id", schema(), (), given), "file:///t", None).properties
    others = {OTHER_SPELLINGS: json.dumps(aside)} if aside else {}

    assert {each.key: each.value for each in found} == {**kept, **others}
