"""Which values fit a column, and what becomes of them; every other one makes its record bad."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import pytest

from ledger.arrow.schema import TableSchema
from ledger.definitions.definitions import table_definition
from ledger.errors import SettingsError
from ledger.ingest.mapping import TopicMapping, mapping_of
from ledger.ingest.source import Partition, TopicRecord
from ledger.ingest.values.formats import JsonFormat, TextFormat
from ledger.ingest.values.rows import TopicReader, TopicRows

BAD: Final = object()
PLACE: Final = Partition("t", 1)
BIG: Final = Decimal(12345678901234567890123456789012345678)
NOON: Final = datetime(2024, 5, 1, 12, tzinfo=UTC)


def topic_of(**more: Any) -> TopicMapping:
    topic = {"topic": "t", "table": "db.t", **more}
    return mapping_of({"name": "shop", "topics": [topic]}).topics[0]


def schema_of(*columns: tuple[str, str]) -> TableSchema:
    return TableSchema.of(table_definition(columns), "db.t", 1)


def read(
    table: list[tuple[str, str]], values: list[bytes | None], with_key: bytes = b"1", **more: Any
) -> TopicRows:
    """Read values as records, whose offsets are their places."""
    topic = topic_of(**more)
    keys = TextFormat() if topic.written_keys == "text" else JsonFormat()
    reader = TopicReader(topic, schema_of(*table), JsonFormat(), keys)
    records = [TopicRecord(PLACE, at, with_key, value, 5_000) for at, value in enumerate(values)]
    return reader.read(records)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("BOOLEAN", "true", True),
        ("BOOLEAN", "1", BAD),
        ("BOOLEAN", '"true"', BAD),
        ("TINYINT", "127", 127),
        ("TINYINT", "128", BAD),
        ("SMALLINT", "-32769", BAD),
        ("INT", "2147483648", BAD),
        ("BIGINT", "9223372036854775807", 2**63 - 1),
        ("BIGINT", "9223372036854775808", BAD),
        ("BIGINT", "1.0", BAD),
        ("BIGINT", '"1"', BAD),
        ("BIGINT", "true", BAD),
        ("FLOAT", "1.5", 1.5),
        ("FLOAT", "1e39", BAD),
        ("DOUBLE", "1", 1.0),
        ("DOUBLE", "1e999", BAD),
        ("DOUBLE", "NaN", BAD),
        ("DECIMAL(5,2)", "1.25", Decimal("1.25")),
        ("DECIMAL(5,2)", '"1.2"', Decimal("1.20")),
        ("DECIMAL(5,2)", "1.255", BAD),
        ("DECIMAL(5,2)", "12345", BAD),
        ("DECIMAL(5,2)", '"NaN"', BAD),
        ("DECIMAL(5,2)", '"1_000"', BAD),
        ("DECIMAL(5,2)", '" 1 "', BAD),
        ("DECIMAL(5,2)", '"\u0661"', BAD),
        ("DECIMAL(5,2)", '""', BAD),
        ("DECIMAL(5,2)", "true", BAD),
        ("DECIMAL(5,2)", '"-1.5e1"', Decimal(-15)),
        ("DECIMAL(5,2)", "1e1", Decimal(10)),
        ("DECIMAL(38,18)", "0.123456789012345678", Decimal("0.123456789012345678")),
        ("DECIMAL(38,0)", "12345678901234567890123456789012345678", BIG),
        ("DECIMAL(5,2)", "1e999999999", BAD),
        ("ARRAY<DECIMAL(5,2)>", '["1_0"]', BAD),
        ("FLOAT", "1e999", BAD),
        ("FLOAT", '"1"', BAD),
        ("FLOAT", "true", BAD),
        ("FLOAT", "2", 2.0),
        ("STRING", '"a"', "a"),
        ("STRING", "1", BAD),
        ("STRING", '{"a": 1}', BAD),
        ("VARCHAR(2)", '"ab"', "ab"),
        ("VARCHAR(2)", '"abc"', BAD),
        ("BINARY", '"aGk="', b"hi"),
        ("BINARY", '"no base 64"', BAD),
        ("DATE", '"2024-05-01"', date(2024, 5, 1)),
        ("DATE", '"01.05.2024"', BAD),
        ("TIMESTAMP", '"2024-05-01T12:00:00Z"', NOON),
        ("TIMESTAMP", '"2024-05-01T14:00:00+02:00"', NOON),
        ("TIMESTAMP", '"2024-05-01T12:00:00"', BAD),
        ("TIMESTAMP", "1714564800", BAD),
        ("TIMESTAMP_NTZ", '"2024-05-01T12:00:00"', NOON.replace(tzinfo=None)),
        ("TIMESTAMP_NTZ", '"2024-05-01T12:00:00Z"', BAD),
        ("ARRAY<INT>", "[1, null]", [1, None]),
        ("ARRAY<INT>", '[1, "2"]', BAD),
        ("MAP<STRING,INT>", '{"a": 1}', [("a", 1)]),
        ("STRUCT<a: INT, b: STRING>", '{"a": 1, "c": 2}', {"a": 1, "b": None}),
        ("STRUCT<a: INT NOT NULL>", "{}", BAD),
        ("INT", "null", None),
        ("INT NOT NULL", "null", BAD),
    ],
)
def test_a_value_fits_its_column_or_its_record_is_bad(kind: str, text: str, expected: Any) -> None:
    found = read([("x", kind)], [f'{{"x": {text}}}'.encode()])

    assert [each.record.offset for each in found.bad] == ([0] if expected is BAD else [])
    assert found.rows.to_pylist() == ([] if expected is BAD else [{"x": expected}])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "truncated"),
        (b"x", "malformed"),
        (b'{"x": "a"} {}', "trailing characters"),
        (b"[1]", "Expected `object`, got `array`"),
        (b'{"x": "\xff"}', "can't decode"),
        (b'{"y": "\xff"}', "can't decode"),
        (b'{"x": 1}', r"Expected `str \| null`, got `int` - at `\$.x`"),
        (None, "the record has no value"),
    ],
)
def test_a_bad_record_says_why(value: bytes | None, why: str) -> None:
    (found,) = read([("x", "STRING")], [value]).bad

    with pytest.raises(ValueError, match=why):
        raise ValueError(found.reason)


@pytest.mark.parametrize(
    ("kind", "source", "value", "expected"),
    [
        ("STRING", {"field": "a.b"}, b'{"a": {"b": "x"}}', "x"),
        ("STRING", {"field": "a.b"}, b'{"a": null}', None),
        ("STRING", {"field": ["a.b"]}, b'{"a.b": "x"}', "x"),
        ("STRING", {"field": "a", "form": "json"}, b'{"a": {"b": [1]}}', '{"b": [1]}'),
        ("TIMESTAMP", {"field": "a", "form": "epoch_ms"}, b'{"a": 1714564800000}', NOON),
        ("TIMESTAMP", {"field": "a", "form": "epoch_s"}, b'{"a": 1714564800}', NOON),
        ("TIMESTAMP", {"field": "a", "form": "epoch_s"}, b'{"a": 9223372036854775807}', BAD),
        ("TIMESTAMP", {"field": "a", "form": "epoch_ms"}, b'{"a": "2024-05-01"}', BAD),
        ("STRING", {"record": "topic"}, b"{}", "t"),
        ("INT", {"record": "partition"}, b"{}", 1),
        ("BIGINT", {"record": "offset"}, b"{}", 0),
        ("TIMESTAMP", {"record": "timestamp"}, b"{}", datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)),
        ("STRING", {"record": "key"}, b"{}", "1"),
        ("BINARY", {"record": "value"}, b"{}", b"{}"),
        ("STRING", {"value": "web"}, b"{}", "web"),
        ("DATE", {"value": "2024-05-01"}, b"{}", date(2024, 5, 1)),
    ],
)
def test_a_column_is_filled_from_its_source(
    kind: str, source: dict[str, Any], value: bytes, expected: Any
) -> None:
    found = read([("x", kind)], [value], columns={"x": source})

    assert [row["x"] for row in found.rows.to_pylist()] == ([] if expected is BAD else [expected])


@pytest.mark.parametrize(
    ("columns", "sources", "why"),
    [
        ([("a", "INT")], {"b": "b"}, "has no column b, it has a"),
        ([("a", "INT"), ("b", "INT NOT NULL")], {"a": "a"}, "column b of table db.t must not be"),
        ([("a", "INT")], {"a": {"record": "key"}}, "column a must be binary or string"),
        ([("a", "INT")], {"a": {"value": "x"}}, "the value of column a does not fit"),
        ([("a", "INT"), ("b", "INT")], {"a": "x", "b": "x.y"}, "must be read by one column"),
        ([("a", "INT"), ("b", "INT")], {"a": "x.y", "b": "x"}, "must be read by one column"),
        ([("a", "INT GENERATED ALWAYS AS IDENTITY")], {"a": "a"}, "computed by the table"),
    ],
)
def test_a_mapping_that_does_not_fit_its_table_is_refused(
    columns: list[tuple[str, str]], sources: dict[str, Any], why: str
) -> None:
    columns = [(name, kind.replace("INT GEN", "BIGINT GEN")) for name, kind in columns]
    with pytest.raises(SettingsError, match=why):
        read(columns, [], columns=sources)


def test_a_form_needs_a_column_that_can_hold_it() -> None:
    with pytest.raises(SettingsError, match="must be a TIMESTAMP to be read as epoch_s"):
        read([("x", "INT")], [], columns={"x": {"field": "x", "form": "epoch_s"}})


@pytest.mark.parametrize(
    ("key_format", "key", "expected"),
    [
        ("json", b"1", []),
        ("json", b'{"id": 1}', []),
        ("json", b'"1"', ["its key: "]),
        ("json", b"", ["its key: "]),
        ("text", b"1", []),
        ("text", b"x", ["its key: "]),
    ],
)
def test_a_tombstone_has_its_key_in_one_of_two_forms(
    key_format: str, key: bytes, expected: list[str]
) -> None:
    columns = [("id", "BIGINT"), ("name", "STRING")]

    found = read(
        columns, [b'{"id": 1}', b'{"id": 2}', None], key, key=["id"], key_format=key_format
    )

    assert [bad.reason[:9] for bad in found.bad] == expected
    removed = [row["id"] for row in found.rows.to_pylist() if row.get("lakeledger_deleted")]
    assert removed == ([] if expected else [1])


def test_the_last_good_record_of_a_key_counts() -> None:
    values: list[bytes | None] = [
        b'{"id": 1, "n": 1}',
        b'{"id": 2, "n": 2}',
        b'{"id": 1, "n": 3}',
        b'{"id": 1, "n": 0.5}',
    ]

    found = read([("id", "BIGINT"), ("n", "INT")], values, key=["id"])

    assert found.rows.to_pylist() == [{"id": 2, "n": 2}, {"id": 1, "n": 3}]
    assert [bad.record.offset for bad in found.bad] == [3]


@pytest.mark.parametrize(
    ("policy", "bad", "new"),
    [("ignore", [], {}), ("refuse", [1, 2, 3], {}), ("add", [3], {"b": "DOUBLE"})],
)
def test_a_new_field_is_passed_over_refused_or_added(
    policy: str, bad: list[int], new: dict[str, str]
) -> None:
    values: list[bytes | None] = [b'{"a": 1}', b'{"a": 2, "b": 1.5}', b'{"a": 3, "c": null}']
    values.append(b'{"a": 4, "d": [1]}')
    columns = [("a", "INT")]

    found = read(columns, values, new_fields=policy)
    # The table gets the new columns, and all is read once more.
    again = read([*columns, *found.new.items()], values, new_fields=policy)

    assert found.new == new
    assert [each.record.offset for each in again.bad] == bad
    assert again.new == {}


STRUCT: Final = "STRUCT<a: INT, b: ARRAY<STRUCT<c: INT NOT NULL>>, d: MAP<STRING,STRUCT<e: DATE>>>"


@pytest.mark.parametrize(
    ("value", "is_bad"),
    [
        ('{"a": 1, "b": [{"c": 1}], "d": {"k": {"e": "2024-05-01"}}}', False),
        ("{}", False),
        ("null", False),
        ('{"a": 1, "z": 1}', True),
        ('{"b": [{"c": 1, "z": 1}]}', True),
        ('{"d": {"k": {"z": null}}}', True),
        ('{"b": [{}]}', True),
    ],
)
def test_a_struct_has_no_other_fields_where_new_fields_are_refused(
    value: str, *, is_bad: bool
) -> None:
    values: list[bytes | None] = [f'{{"x": {value}}}'.encode()]

    refused = read([("x", STRUCT)], values, new_fields="refuse")
    ignored = read([("x", STRUCT)], values)

    assert len(refused.bad) == is_bad
    if not is_bad:
        assert refused.rows == ignored.rows


@pytest.mark.parametrize(
    ("kind", "key_format", "key", "is_bad"),
    [
        ("DECIMAL(5,2)", "json", b"1.5", False),
        ("DECIMAL(5,2)", "json", b'{"id": "1.50"}', False),
        ("DECIMAL(5,2)", "text", b"1.5", False),
        ("DECIMAL(5,2)", "text", b"1_5", True),
        ("FLOAT", "text", b"1.5", False),
        ("FLOAT", "json", b"1.5", False),
        ("FLOAT", "text", b"nan", True),
        ("DOUBLE", "text", b"nan", True),
        ("DOUBLE", "text", b"1.5", False),
        ("DOUBLE", "json", b"null", True),
    ],
)
def test_a_tombstone_has_the_number_of_its_key(
    kind: str, key_format: str, key: bytes, *, is_bad: bool
) -> None:
    given: dict[str, Any] = {"key": ["ID"], "columns": {"id": "id"}, "key_format": key_format}

    found = read([("id", kind)], [b'{"id": 1.5}', None], key, **given)

    assert len(found.bad) == is_bad
    assert bool(found.deleted) != is_bad
    assert len(found.rows) == 1
