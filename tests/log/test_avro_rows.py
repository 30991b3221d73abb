"""Rows are written byte for byte as the library writes the same values."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.events.events import Control
from ledger.log.wire.avro_rows import long_bytes, longs_bytes, read_longs, row_writer
from ledger.log.wire.codec import encode_command, frame_event
from tests.log.golden import CHAIN_BEFORE
from tests.log.strategies import LONGS, records_of
from tests.log.test_codec import COMMAND_TYPES, EVENT_TYPES, INDEX, PATIENT, schema_of

HEADER_BYTES = 5


def fields_of(value: Any) -> Any:
    """Return rows as the dicts that the library takes."""
    if hasattr(value, "_asdict"):
        return {name: fields_of(each) for name, each in value._asdict().items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [fields_of(each) for each in value]
    return value


def library_bytes(schema: Any, value: Any) -> bytes:
    out = BytesIO()
    schemaless_writer(out, schema, value)
    return out.getvalue()


def schema_in(framed: bytes) -> Any:
    """Return the schema that the header of a record names; a type may have two."""
    number = int.from_bytes(framed[1:HEADER_BYTES], "big")
    return schema_of(next(name for name, each in INDEX.items() if each == number))


def record(field_type: Any) -> Mapping[str, Any]:
    fields = [{"name": "field", "type": field_type}]
    return parse_schema({"type": "record", "name": "One", "fields": fields})  # type: ignore[return-value]


@pytest.mark.parametrize("name", sorted(COMMAND_TYPES))
@PATIENT
@given(data=st.data())
def test_any_command_has_the_bytes_of_the_library(name: str, data: st.DataObject) -> None:
    command = data.draw(records_of(COMMAND_TYPES[name]))
    framed = encode_command(command)
    assert framed[HEADER_BYTES:] == library_bytes(schema_in(framed), fields_of(command))


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
@PATIENT
@given(data=st.data(), control=records_of(Control))
def test_events(name: str, data: st.DataObject, control: Control) -> None:
    """Any event of any type has the bytes that the library gives it, its chain included."""
    body = data.draw(records_of(EVENT_TYPES[name]))
    event, framed = frame_event(control, body, CHAIN_BEFORE)
    fields = event.control._asdict() | fields_of(body)
    assert framed[HEADER_BYTES:] == library_bytes(schema_in(framed), fields)


@pytest.mark.parametrize("bits", range(6, 64))
def test_longs_at_the_ends_of_bytes(bits: int) -> None:
    numbers = [2**bits - 1, -(2**bits), 2**bits - 2, 1 - 2**bits]

    assert read_longs(longs_bytes(numbers), 0, len(numbers)) == numbers


@PATIENT
@given(value=LONGS)
def test_any_number_of_64_bits_has_the_bytes_that_the_library_gives_it(value: int) -> None:
    assert long_bytes(value) == library_bytes("long", value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64, -(2**64), 2**200, -(2**200)])
def test_a_number_beyond_64_bits_is_refused_never_cut(value: int) -> None:
    with pytest.raises(OverflowError, match="must fit 64 bits, got"):
        long_bytes(value)


@pytest.mark.parametrize(
    ("field_type", "value"),
    [
        ("long", None),
        ("long", "1"),
        ("long", 1.5),
        ("string", 1),
        ("string", "\ud800"),
        ("bytes", None),
        ("bytes", "text"),
        ("boolean", 1),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B"),
        ({"type": "array", "items": "long"}, 7),
    ],
)
def test_unfit_value(field_type: Any, value: Any) -> None:
    """What does not fit its field is refused, so that a sequencer can answer with that."""
    with pytest.raises((TypeError, ValueError), match=r"^field of One: "):
        row_writer(record(field_type))((value,))


@pytest.mark.parametrize("row", [(), (1, 2)])
def test_a_row_has_a_value_for_every_field_and_no_more(row: Sequence[int]) -> None:
    with pytest.raises(ValueError, match="must have 1 values, got"):
        row_writer(record("long"))(row)


def test_a_type_that_was_defined_before_is_written_the_same_where_it_is_only_named() -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "number", "type": "long"}]}
    fields = [{"name": "first", "type": inner}, {"name": "second", "type": ["null", "Inner"]}]
    schema = parse_schema({"type": "record", "name": "Outer", "namespace": "a", "fields": fields})
    value = {"first": {"number": 3}, "second": {"number": -4}}
    assert row_writer(schema)(((3,), (-4,))) == library_bytes(schema, value)  # type: ignore[arg-type]


@pytest.mark.parametrize("field_type", ["float", ["null", "long", "string"], ["long", "null"]])
def test_a_schema_of_what_rows_do_not_hold_is_refused_when_it_is_loaded(field_type: Any) -> None:
    with pytest.raises((NotImplementedError, KeyError)):
        row_writer(record(field_type))


@given(st.lists(LONGS), st.binary(max_size=4))
def test_numbers_are_read_as_written_wherever_they_begin(values: list[int], before: bytes) -> None:
    written = before + longs_bytes(values) + b"\x80"
    assert read_longs(written, len(before), len(values)) == values


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", IndexError),
        (b"\x80", IndexError),
        (b"\xff" * 9 + b"\x02", OverflowError),
        (b"\x80" * 1_000_000, OverflowError),
    ],
)
def test_bytes_without_a_number_of_64_bits_are_told(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_longs(data, 0, 1)
