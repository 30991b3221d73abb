"""What bytes of Avro are by their schema; bytes that ask for too much are refused at once."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.arrow.schema import TableSchema
from ledger.definitions.definitions import table_definition
from ledger.ingest.mapping import mapping_of
from ledger.ingest.source import Partition, TopicRecord
from ledger.ingest.values.avro import FramedAvro
from ledger.ingest.values.formats import format_named
from ledger.ingest.values.rows import TopicReader

HEAD = b"\0\0\0\0\1"
NODE = {"type": "record", "name": "n", "fields": [{"name": "next", "type": ["null", "n"]}]}
EMPTY = {"type": "record", "name": "e", "fields": [{"name": "a", "type": "null"}]}
ITSELF = {"type": "record", "name": "i", "fields": [{"name": "a", "type": "i"}]}
COLOR = {"type": "enum", "name": "c", "symbols": ["red", "blue"]}
WHOLE = {
    "type": "record",
    "name": "w",
    "fields": [
        {"name": "a", "type": ["null", "long"]},
        {"name": "b", "type": {"type": "array", "items": "string"}},
        {"name": "c", "type": {"type": "map", "values": ["null", "double"]}},
        {"name": "d", "type": COLOR},
        {"name": "e", "type": ["null", {"type": "array", "items": "w"}]},
        {"name": "f", "type": {"type": "fixed", "name": "f", "size": 2}},
        {"name": "g", "type": "c"},
    ],
}


def read(schema: Any, body: bytes) -> Any:
    return FramedAvro(lambda _: json.dumps(schema)).read(HEAD + body)


def of(kind: str, logical: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical, **more}


def number(value: int) -> bytes:
    body = BytesIO()
    fastavro.schemaless_writer(body, "long", value)
    return body.getvalue()


@pytest.mark.parametrize(
    ("schema", "body", "why"),
    [
        (NODE, b"\x02" * 10_000 + b"\0", "within at most 100 others"),
        (ITSELF, b"", "within at most 100 others"),
        ({"type": "array", "items": "null"}, number(10**12) + b"\0", "items with bytes"),
        ({"type": "array", "items": EMPTY}, number(10**12) + b"\0", "items with bytes"),
        ({"type": "array", "items": "int"}, number(10**12) + b"\0", "ends before"),
        ({"type": "array", "items": "int"}, number(-(10**12)) + b"\2\0", "ends before"),
        ({"type": "map", "values": "null"}, number(10**12) + b"\0", "ends before"),
        ("bytes", number(10**12), "ends before"),
        ("string", number(-3), "a length must be 0 or more"),
        ({"type": "fixed", "name": "f", "size": 10**12}, b"", "ends before"),
        (of("bytes", "decimal", precision=9), number(65) + b"1" * 65, "at most 64 bytes"),
        (["null", "int"], b"\1", "2 branches, got the branch -1"),
        (["null", "int"], b"\4", "2 branches, got the branch 2"),
        (COLOR, b"\1", "2 symbols, got the symbol -1"),
        ("long", b"\xff" * 10 + b"\1", "at most 10 bytes"),
        ("long", b"\xff" * 9 + b"\x7f", "at most 64 bits"),
        ("int", number(2**31), "at most 32 bits"),
        ("boolean", b"\2", "must be 0 or 1"),
        ("double", b"\0\0\0", "ends before"),
        ("string", b"\2\xff", "can't decode"),
        (of("int", "date"), number(10**9), "does not fit schema 1"),
        (of("long", "timestamp-millis"), number(2**62), "does not fit schema 1"),
        (of("int", "time-millis"), number(-1), "within a day"),
    ],
)
def test_bytes_that_are_no_value_are_refused_at_once(schema: Any, body: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read(schema, body)


@pytest.mark.parametrize(
    ("schema", "body", "expected"),
    [
        (NODE, b"\2\2\0", {"next": {"next": {"next": None}}}),
        ({"type": "array", "items": "int"}, b"\1\2\4\2\6\0", [2, 3]),
        ("long", number(-(2**63)), -(2**63)),
        ("double", b"\0\0\0\0\0\0\xf0\x7f", float("inf")),
        (of("bytes", "decimal", precision=4, scale=2), b"\4\x7f\xff", Decimal("327.67")),
        (of("fixed", "decimal", name="d", size=2, precision=4), b"\xff\xfe", Decimal(-2)),
        (of("int", "date"), number(-1), date(1969, 12, 31)),
        (of("int", "time-millis"), number(1500), time(0, 0, 1, 500_000)),
        (of("long", "time-micros"), number(1), time(0, 0, 0, 1)),
        (
            of("long", "timestamp-micros"),
            number(-1),
            datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        ),
        (of("long", "local-timestamp-millis"), number(1), datetime(1970, 1, 1, 0, 0, 0, 1000)),  # noqa: DTZ001 - local
        (of("long", "timestamp-nanos"), number(7), 7),
        (of("string", "uuid"), b"\2k", "k"),
        (of("fixed", "uuid", name="u", size=16), b"\1" * 16, str(UUID(bytes=b"\1" * 16))),
    ],
)
def test_bytes_are_the_value_that_their_schema_says(
    schema: Any, body: bytes, expected: Any
) -> None:
    assert read(schema, body) == expected


def wholes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {
            "a": st.none() | st.integers(-(2**63), 2**63 - 1),
            "b": st.lists(st.text(), max_size=3),
            "c": st.dictionaries(st.text(), st.none() | st.floats(allow_nan=False), max_size=3),
            "d": st.sampled_from(["red", "blue"]),
            "e": st.none() | inner,
            "f": st.binary(min_size=2, max_size=2),
            "g": st.sampled_from(["red", "blue"]),
        }
    )


@given(wholes(st.lists(wholes(st.none()), max_size=2)))
def test_what_another_writer_wrote_is_read(value: Any) -> None:
    body = BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(WHOLE), value)

    assert read(WHOLE, body.getvalue()) == value


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_a_value_error(body: bytes) -> None:
    try:
        found = read(WHOLE, body)
    except ValueError:
        return
    assert found.keys() == set("abcdefg")


HALF = Decimal("0.50")
NAN = float("nan")
INFINITY = float("inf")


@pytest.mark.parametrize(
    ("kind", "form", "schema", "value", "is_bad"),
    [
        ("FLOAT", None, "float", NAN, False),
        ("FLOAT", None, "float", INFINITY, False),
        ("FLOAT", None, "double", -INFINITY, False),
        ("FLOAT", None, "double", 1e39, True),
        ("ARRAY<FLOAT>", None, {"type": "array", "items": "double"}, [NAN, 1e39], True),
        ("DOUBLE", None, "double", NAN, False),
        ("STRING", "json", "double", NAN, True),
        ("STRING", "json", {"type": "array", "items": "double"}, [1.0, INFINITY], True),
        ("STRING", "json", {"type": "map", "values": "double"}, {"a": NAN}, True),
        ("STRING", "json", {"type": "map", "values": "double"}, {"a": 1.5}, False),
        ("STRING", None, of("fixed", "uuid", name="u", size=16), b"\1" * 16, False),
        ("DECIMAL(5,2)", None, "string", "1_0", True),
        (
            "DECIMAL(5,2)",
            None,
            of("bytes", "decimal", precision=5, scale=2),
            Decimal("1.50"),
            False,
        ),
        ("DECIMAL(5,2)", None, "double", NAN, True),
    ],
)
def test_a_value_of_avro_fits_its_column_or_its_record_is_bad(
    kind: str, form: str | None, schema: Any, value: Any, *, is_bad: bool
) -> None:
    whole = {"type": "record", "name": "w", "fields": [{"name": "x", "type": schema}]}
    source = {"columns": {"x": {"field": "x", "form": form}}} if form else {}
    topic = {"topic": "t", "table": "db.t", "format": "avro", **source}
    given = {"name": "shop", "topics": [topic], "source": {"schemas": "given"}}
    values = format_named("avro", lambda _: json.dumps(whole))
    table = TableSchema.of(table_definition([("x", kind)]), "db.t", 1)
    body = BytesIO()
    plain = {**schema, "logicalType": "none"} if "uuid" in str(schema) else schema
    fields = [{"name": "x", "type": plain}]
    fastavro.schemaless_writer(
        body, fastavro.parse_schema({**whole, "fields": fields}), {"x": value}
    )
    record = TopicRecord(Partition("t", 0), 0, None, HEAD + body.getvalue())

    found = TopicReader(mapping_of(given).topics[0], table, values, values).read([record])

    assert (len(found.bad), len(found.rows)) == (is_bad, not is_bad)
