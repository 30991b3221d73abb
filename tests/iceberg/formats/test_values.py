"""Single values as bytes: pyiceberg reads and writes the same ones."""

import math
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.conversions import from_bytes, to_bytes
from pyiceberg.schema import Schema
from pyiceberg.types import PrimitiveType

from ledger.iceberg.values import (
    EPOCH,
    EXACT,
    FIRST_DAY,
    packed,
    rounded,
    typed_value,
    unpacked,
    value_in,
)

DECIMALS = ("decimal(1, 0)", "decimal(9, 2)", "decimal(18, 6)", "decimal(38, 38)")
MOMENTS = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30))  # noqa: DTZ001
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": st.text(),
    "binary": st.binary(),
    "date": st.dates(),
    "timestamp": MOMENTS,
    "timestamptz": MOMENTS,
}


def decimals(kind: str) -> st.SearchStrategy[Decimal]:
    precision, scale = (int(each) for each in kind[8:-1].split(","))
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda number: Decimal(number).scaleb(-scale, EXACT))


def atom(kind: str) -> PrimitiveType:
    """Return a type as pyiceberg has it."""
    field = {"id": 1, "name": "c", "required": False, "type": kind}
    found = Schema.model_validate({"type": "struct", "fields": [field]}).fields[0].field_type
    assert isinstance(found, PrimitiveType)
    return found


def theirs(value: Any, kind: str) -> Any:
    """Return a value as pyiceberg gives it back: days and moments are numbers there."""
    if kind == "date":
        return (value - FIRST_DAY).days
    if kind.startswith("timestamp"):
        return (value - EPOCH) // timedelta(microseconds=1)
    return value


@pytest.mark.parametrize("kind", [*VALUES, *DECIMALS])
def test_values_are_the_bytes_of_other_programs(kind: str) -> None:
    @given(value=VALUES[kind] if kind in VALUES else decimals(kind))
    @settings(deadline=None, max_examples=60)
    def is_alike(value: Any) -> None:
        data = packed(value, kind)
        assert data is not None
        assert data == to_bytes(atom(kind), value)
        assert theirs(value, kind) == from_bytes(atom(kind), data)
        found = value_in(data, kind)
        assert found == value
        assert isinstance(found, float) is (kind in ("float", "double"))
        if kind != "binary":
            assert packed(unpacked(data, kind), kind) == data

    is_alike()


@pytest.mark.parametrize(
    ("kind", "data", "value"),
    [
        ("long", struct.pack("<i", -5), -5),
        ("double", struct.pack("<f", 0.5), 0.5),
        ("timestamp", struct.pack("<i", 1), "1970-01-02T00:00:00.000000"),
        ("timestamptz", struct.pack("<q", -1), "1969-12-31T23:59:59.999999Z"),
        ("decimal(9, 2)", b"\xff", Decimal("-0.01")),
        ("decimal(9, 2)", bytes(20) + b"\x05", Decimal("0.05")),
        ("date", struct.pack("<i", -1), "1969-12-31"),
        ("string", "häß".encode(), "häß"),
        ("boolean", b"\2", True),
    ],
)
def test_bytes_of_narrower_types_are_read(kind: str, data: bytes, value: Any) -> None:
    assert unpacked(data, kind) == value


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        *(("int", bytes(3)), ("int", bytes(8)), ("long", b""), ("long", bytes(9))),
        *(("float", bytes(8)), ("double", struct.pack("<d", math.nan)), ("double", bytes(5))),
        *(("decimal(3, 1)", b""), ("decimal(3, 1)", struct.pack(">h", 1000))),
        *(("string", b"\xff"), ("date", bytes(8)), ("date", struct.pack("<i", 2**31 - 1))),
        *(("timestamp", struct.pack("<q", 2**63 - 1)), ("timestamp", bytes(7))),
        *(("boolean", b""), ("boolean", bytes(2)), ("binary", b"x"), ("uuid", bytes(16))),
        *(("decimal", b"\1"), ("decimal(x, y)", b"\1"), ("", b"\1")),
    ],
)
def test_bytes_that_mean_nothing_are_no_bound(kind: str, data: bytes) -> None:
    assert unpacked(data, kind) is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(("int", 2**31), ("int", True), ("int", 1.0), ("long", 2**63), ("long", "1.5")),
        *(("float", 0.1), ("float", 1e39), ("double", math.nan), ("float", math.nan)),
        *(("decimal(3, 1)", "1.25"), ("decimal(3, 1)", 100), ("decimal(3, 1)", "NaN")),
        *(("string", 5), ("string", "\ud800"), ("binary", "text"), ("date", "2026-02-30")),
        *(("date", datetime(2026, 1, 1)), ("timestamp", date(2026, 1, 1))),  # noqa: DTZ001
        *(("boolean", 1), ("boolean", "perhaps"), ("timestamp", 5), ("uuid", "x")),
    ],
)
def test_a_value_that_a_type_lacks_has_no_bytes(kind: str, value: Any) -> None:
    assert packed(value, kind) is None


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "-7", -7),
        ("long", " 9 ", 9),
        ("boolean", "true", True),
        ("double", "1e3", 1000.0),
        ("double", "Infinity", math.inf),
        ("float", "0.5", 0.5),
        ("decimal(5, 2)", "1.5", Decimal("1.50")),
        ("string", "5", "5"),
        ("date", "2026-01-31", date(2026, 1, 31)),
        ("timestamptz", "2026-01-31 10:00:00Z", datetime(2026, 1, 31, 10)),  # noqa: DTZ001
        ("timestamptz", "2026-01-31T10:00:00+02:00", datetime(2026, 1, 31, 8)),  # noqa: DTZ001
        ("timestamp", "2026-01-31 10:00:00.25", datetime(2026, 1, 31, 10, 0, 0, 250_000)),  # noqa: DTZ001
    ],
)
def test_texts_of_the_log_are_values(kind: str, text: str, value: Any) -> None:
    found = typed_value(text, kind)
    assert found == value
    assert type(found) is type(value)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert packed(moment, "timestamptz") == packed("2026-01-01 00:00:00Z", "timestamptz")


@given(
    value=st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-9, max_value=9)
)
def test_a_decimal_is_rounded_to_the_side_that_is_wanted(value: Decimal) -> None:
    low, high = (rounded(value, "decimal(3, 2)", up=up) for up in (False, True))
    assert low <= value <= high
    assert high - low <= Decimal("0.01")
    assert packed(low, "decimal(3, 2)") is not None


@given(kind=st.sampled_from([*VALUES, *DECIMALS, "uuid", ""]), data=st.binary(max_size=20))
@settings(max_examples=400)
def test_any_bytes_are_a_value_or_none(kind: str, data: bytes) -> None:
    value = value_in(data, kind)
    assert value is None or packed(value, kind) is not None
