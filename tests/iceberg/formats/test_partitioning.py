"""Partition specs and values: the ledger's texts mean what pyiceberg's transforms return."""

import json
import math
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform as parse_theirs

from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.partitions.transforms import parse_transform
from ledger.core.partitions.values import written
from ledger.iceberg.partition_tuples import tuple_of, values_of
from ledger.iceberg.partitioning import (
    PARTITION_FIELDS,
    partition_columns_of,
    partition_types,
    spec_json,
)
from ledger.iceberg.schemas import columns_of, schema_json
from ledger.iceberg.types import NoIcebergTypeError

KINDS = {
    "i": "int",
    "l": "long",
    "s": "string",
    "d": "date",
    "ts": "timestamp",
    "tz": "timestamptz",
    "n": "decimal(9, 2)",
    "b": "boolean",
    "f": "float",
    "x": "double",
    "raw": "binary",
    "odd name": "int",
}
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": at, "name": name, "required": False, "type": kind}
        for at, (name, kind) in enumerate(KINDS.items(), start=1)
    ],
}
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": st.integers(-(2**31), 2**31 - 1),
    "l": st.integers(-(2**63) + 1000, 2**63 - 1),
    "s": st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1),
    "d": st.dates(date(1900, 1, 1), date(2200, 1, 1)),
    "ts": MOMENTS,
    "tz": MOMENTS,
    "n": st.integers(-(10**9) + 200, 10**9 - 1).map(lambda each: Decimal(each).scaleb(-2)),
    "b": st.booleans(),
    "x": st.floats(allow_nan=False, allow_infinity=False),
}


def table(*partition_columns: str, **properties: str) -> TableDefinition:
    given_ = [Property(key, each) for key, each in properties.items()]
    return TableDefinition(
        "managed", "listed", "/t", columns_of(SCHEMA), list(partition_columns), given_
    )


def single(number: float) -> float:
    """Return the nearest float of 32 bits."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def text_of(name: str, value: Any) -> str:
    """Return a value as a text of the log."""
    column = next(each for each in columns_of(SCHEMA) if each.name == name)
    given_ = f"{value}Z" if name == "tz" else str(value).lower() if name == "b" else str(value)
    found = written(given_, column.type)
    assert found is not None
    return found


def as_theirs(value: Any) -> Any:
    """Return a value as pyiceberg's transforms take it."""
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


@pytest.mark.parametrize(
    ("text", "word"),
    [
        *(("i", "identity"), ("l", "identity"), ("s", "identity"), ("d", "identity")),
        *(("ts", "identity"), ("tz", "identity"), ("n", "identity"), ("b", "identity")),
        *(("x", "identity"), ("years(d)", "year"), ("years(ts)", "year")),
        *(("months(d)", "month"), ("months(tz)", "month"), ("days(ts)", "day")),
        *(("days(tz)", "day"), ("hours(ts)", "hour"), ("hours(tz)", "hour")),
        *(("bucket(16, i)", "bucket[16]"), ("bucket(7, l)", "bucket[7]")),
        *(("bucket(5, s)", "bucket[5]"), ("bucket(5, d)", "bucket[5]")),
        *(("bucket(3, ts)", "bucket[3]"), ("bucket(3, tz)", "bucket[3]")),
        *(("bucket(9, n)", "bucket[9]"), ("truncate(10, i)", "truncate[10]")),
        *(("truncate(7, l)", "truncate[7]"), ("truncate(3, s)", "truncate[3]")),
        *(("truncate(50, n)", "truncate[50]"),),
    ],
)
def test_a_partition_means_the_same_value(text: str, word: str) -> None:
    spec = spec_json(table(text), 4)
    (field,) = spec["fields"]
    transform = parse_transform(text)
    name = text if transform is None else transform.column
    source = Schema.model_validate(SCHEMA).find_field(name)

    assert (spec["spec-id"], field["source-id"]) == (4, source.field_id)
    assert (field["field-id"], field["transform"]) == (1000, word)
    their_type = parse_theirs(word).result_type(source.field_type)
    # They call a day a date, or an int; both have the same values.
    assert partition_types(spec, SCHEMA)[1000][1] in (str(their_type), "date")
    assert partition_columns_of(spec, SCHEMA)[0] == [text]

    @given(value=VALUES[name])
    @settings(deadline=None, max_examples=40)
    def is_alike(value: Any) -> None:
        given_ = text_of(name, value)
        column = next(each for each in columns_of(SCHEMA) if each.name == name)
        logged = given_ if transform is None else transform.of_text(given_, column.type)
        found = tuple_of((logged,), spec, SCHEMA)
        wanted: Any = parse_theirs(word).transform(source.field_type)(as_theirs(value))
        if isinstance(wanted, Decimal):
            scaled = int(wanted.scaleb(2))
            assert found == {1000: scaled.to_bytes(4, signed=True)}
            assert values_of({1000: wanted}, spec, SCHEMA) == (logged,)
        elif word == "truncate[10]" and int(wanted) < -(2**31):
            # Iceberg's own int begins again at its top.
            assert found == {1000: wanted + 2**32}
        else:
            assert found == {1000: wanted}
        assert values_of(found, spec, SCHEMA) == (logged,)

    is_alike()


def test_a_spec_is_one_for_other_readers_too() -> None:
    definition = table("d", "days(ts)", "bucket(4, s)", "hours(tz)", "truncate(2, `odd name`)")
    spec = spec_json(definition, 1)
    found = PartitionSpec.model_validate(spec)

    assert [each.name for each in found.fields] == [
        *("d", "ts_day", "s_bucket", "tz_hour", "odd name_trunc")
    ]
    assert [each.field_id for each in found.fields] == [1000, 1001, 1002, 1003, 1004]
    columns, kept = partition_columns_of(spec, SCHEMA)
    assert columns == definition.partition_columns
    assert spec_json(table(*columns, **{PARTITION_FIELDS: kept}), 1) == spec


def test_fields_keep_names_and_ids_that_a_client_gave() -> None:
    given_ = [
        {"source-id": 4, "field-id": 1007, "name": "mine", "transform": "DAY"},
        {"source-id": 1, "field-id": 1003, "name": "other", "transform": "bucket[8]"},
    ]
    columns, kept = partition_columns_of({"spec-id": 3, "fields": given_}, SCHEMA)
    definition = table(*columns, **{PARTITION_FIELDS: kept})

    assert columns == ["days(d)", "bucket(8, i)"]
    assert json.loads(kept) == [["mine", 1007, 4, "day"], ["other", 1003, 1, "bucket[8]"]]
    fields = spec_json(definition, 3)["fields"]
    assert [each["name"] for each in fields] == ["mine", "other"]
    assert [each["field-id"] for each in fields] == [1007, 1003]
    wider = definition._replace(partition_columns=[*columns[1:], "s"])
    fields = spec_json(wider, 4)["fields"]
    assert [(each["name"], each["field-id"]) for each in fields] == [("other", 1003), ("s", 1008)]


def test_equal_fields_are_one_field_in_all_specs() -> None:
    """The id of a field names one meaning for ever: metadata tables join all specs by it."""
    specs: list[Any] = []
    for columns in (["d"], ["i", "d"], ["i"], ["days(ts)", "i"], ["d"]):
        specs.append(spec_json(table(*columns), len(specs), specs))
    ids = [[each["field-id"] for each in spec["fields"]] for spec in specs]

    assert ids == [[1000], [1001, 1000], [1001], [1002, 1001], [1000]]


def test_a_renamed_column_keeps_the_fields_of_its_table() -> None:
    before = spec_json(table("d"), 0)
    columns = [
        each._replace(name="new") if each.name == "d" else each for each in columns_of(SCHEMA)
    ]
    after = table("new")._replace(columns=columns)

    assert spec_json(after, 0, [before]) == before
    taken = after._replace(columns=[*columns, Column("d", "int", nullable=True, id=99)])
    (field,) = spec_json(taken, 1, [before])["fields"]
    assert (field["name"], field["field-id"], field["source-id"]) == ("d_1000", 1000, 4)


def test_a_field_has_no_name_of_another_column() -> None:
    columns = [*columns_of(SCHEMA), Column("ts_day", "int", nullable=True, id=99)]
    definition = table("days(ts)", "ts_day")._replace(columns=columns)
    names = [each["name"] for each in spec_json(definition, 0)["fields"]]

    assert names == ["ts_day_1000", "ts_day"]


@pytest.mark.parametrize("text", ["{", "[1]", '[["a"]]', "null", '[[["x"], 1, 2, "day"]]'])
def test_an_odd_property_of_fields_counts_for_nothing(text: str) -> None:
    assert spec_json(table("d", **{PARTITION_FIELDS: text}), 0) == spec_json(table("d"), 0)


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ({"transform": "zorder"}, "transform of the ledger"),
        ({"transform": "bucket"}, "transform of the ledger"),
        ({"transform": "bucket[0]"}, "transform of the ledger"),
        ({"transform": "bucket[4294967296]"}, "transform of the ledger"),
        ({"transform": "day[4]"}, "transform of the ledger"),
        ({"transform": "day"}, "takes i of type int"),
        ({"transform": "bucket[4]", "source-id": 10}, "takes x of type double"),
        ({"transform": "hour", "source-id": 4}, "takes d of type date"),
        ({"source-id": 77}, "field within a column"),
        ({"source-id": 11}, "a text for each value"),
        ({"source-id": None}, "one source"),
        ({"source-ids": [1, 2], "source-id": None}, "one source"),
        ({"name": ""}, "a name"),
        ({"name": None}, "a name"),
        ({"field-id": "x"}, "one source"),
    ],
)
def test_what_divides_no_table_of_the_ledger_is_refused_by_name(
    field: dict[str, Any], reason: str
) -> None:
    whole = {"source-id": 1, "field-id": 1000, "name": "p", "transform": "identity"} | field
    spec = {"spec-id": 0, "fields": [whole]}
    with pytest.raises(NoIcebergTypeError, match=reason):
        partition_columns_of(spec, SCHEMA)


def test_void_fields_divide_nothing() -> None:
    fields = [
        {"source-id": 1, "field-id": 1000, "name": "gone", "transform": "void"},
        {"source-ids": [4], "field-id": 1001, "name": "d", "transform": "identity"},
    ]
    spec = {"spec-id": 0, "fields": fields}

    assert partition_columns_of(spec, SCHEMA)[0] == ["d"]
    assert values_of({1000: None, 1001: 1}, spec, SCHEMA) == ("1970-01-02",)
    assert tuple_of(("1970-01-02",), spec, SCHEMA) == {1001: 1}


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("d", date(2026, 1, 31), "2026-01-31"),
        ("d", 20484, "2026-01-31"),
        ("days(ts)", date(2026, 1, 31), "2026-01-31"),
        ("days(ts)", 20484, "2026-01-31"),
        ("n", b"\xff", "-0.01"),
        ("n", Decimal("1.5"), "1.50"),
        ("tz", 0, "1970-01-01 00:00:00Z"),
        ("tz", datetime(1970, 1, 1, tzinfo=UTC), "1970-01-01 00:00:00Z"),
        ("ts", 1, "1970-01-01 00:00:00.000001"),
        ("f", 0.5, "0.5"),
        ("i", None, None),
        ("b", False, "false"),
    ],
)
def test_values_come_in_the_forms_of_several_writers(
    column: str, value: Any, text: str | None
) -> None:
    assert values_of({1000: value}, spec_json(table(column), 0), SCHEMA) == (text,)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("i", "x"), ("i", 2**31), ("i", True), ("i", 1.5), ("l", 2**63), ("s", 5), ("s", "")),
        *(("s", "__HIVE_DEFAULT_PARTITION__"), ("d", 2**40), ("d", "2026"), ("d", True)),
        *(("n", Decimal("1.234")), ("n", b""), ("n", bytes(9) + b"\1" * 9), ("b", 1)),
        *(("ts", 2**63), ("ts", "x"), ("years(d)", 10**6), ("months(d)", -(10**6))),
        *(("bucket(4, i)", 4), ("bucket(4, i)", -1), ("x", b"a"), ("x", b"")),
        *(("hours(ts)", 2**60), ("bucket(4, i)", "x"), ("days(ts)", 1.5), ("x", "x")),
        *(("truncate(3, s)", 3), ("truncate(10, i)", "x"), ("i", {}), ("i", [1])),
    ],
)
def test_a_value_that_a_field_lacks_is_refused(column: str, value: Any) -> None:
    with pytest.raises(ValueError, match="partition field"):
        values_of({1000: value}, spec_json(table(column), 0), SCHEMA)


@pytest.mark.parametrize(
    ("column", "text"),
    [("i", "x"), ("years(d)", "x"), ("hours(ts)", "2026-01-31"), ("n", "1.234"), ("d", "soon")],
)
def test_a_text_that_a_field_lacks_is_refused(column: str, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - several reasons
        tuple_of((text,), spec_json(table(column), 0), SCHEMA)


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("f", single(0.9), single(0.9)),
        ("f", 1e-45, single(1e-45)),
        ("f", -0.0, 0.0),
        ("f", math.inf, math.inf),
        ("f", math.nan, math.nan),
        ("x", 0.1, 0.1),
        ("x", math.nan, math.nan),
        ("x", -math.inf, -math.inf),
        ("n", Decimal("-0.00"), b"\0" * 4),
        ("ts", 253_402_300_799_999_999, 253_402_300_799_999_999),
        ("tz", -62_135_596_800_000_000, -62_135_596_800_000_000),
    ],
)
def test_odd_values_come_back_from_the_texts_of_the_log(
    column: str, value: Any, shown: Any
) -> None:
    spec = spec_json(table(column), 0)
    (found,) = tuple_of(values_of({1000: value}, spec, SCHEMA), spec, SCHEMA).values()
    assert repr(found) == repr(shown)


@given(st.floats(width=32))
def test_every_float_comes_back(value: float) -> None:
    spec = spec_json(table("f"), 0)
    (found,) = tuple_of(values_of({1000: value}, spec, SCHEMA), spec, SCHEMA).values()
    assert found == value or (math.isnan(found) and math.isnan(value))


def test_a_partition_column_without_an_id_is_refused() -> None:
    definition = TableDefinition(
        "managed", "listed", "/t", [Column("c", "int", nullable=True, id=0)], ["c"], []
    )
    with pytest.raises(NoIcebergTypeError, match="c must be a column with an id"):
        spec_json(definition, 0)
    with pytest.raises(NoIcebergTypeError, match="column c has no id"):
        schema_json(definition, 0)
