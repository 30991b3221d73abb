"""Bloom filters of files: written by a property, and asked where bounds leave a group in."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.client import Ledger
from ledger.files.bloom_filters import filter_of, xxh64
from ledger.files.data_reading import OpenedFile
from ledger.snapshot.scan_rows import RowSource, groups_holding

NAME = "db.t"
COUNT = 60_000
START = datetime(1960, 1, 1, tzinfo=UTC)
# Even values are there and odd ones are not, so that no bound leaves one of them out.
VALUES: dict[str, tuple[str, pa.DataType, Callable[[int], Any]]] = {
    "i": ("int", pa.int32(), lambda at: at - COUNT),
    "g": ("bigint", pa.int64(), lambda at: (at - COUNT) * 10**9),
    "s": ("string", pa.string(), lambda at: f"the name of number {at:06d}, which is a long text"),
    "d": ("date", pa.date32(), lambda at: date(1960, 1, 1) + timedelta(days=at)),
    "t": ("timestamp", pa.timestamp("us", "UTC"), lambda at: START + timedelta(microseconds=at)),
}
SPELLED: dict[str, Callable[[Any], str]] = {
    "s": lambda text: f"'{text}'",
    "d": lambda day: f"DATE'{day}'",
    "t": lambda at: f"TIMESTAMP'{at.replace(tzinfo=None)}'",
}


def literal(column: str, at: int) -> str:
    return SPELLED.get(column, str)(VALUES[column][2](at))


def filled(ledger: Ledger, folder: Path, **properties: str) -> None:
    columns = [(name, kind) for name, (kind, _, _) in VALUES.items()]
    ledger.create_table(
        NAME,
        [*columns, ("wide", "string")],
        location=folder,
        properties={f"lakeledger.{key}": value for key, value in properties.items()},
    )
    places = [(at * 7919 % COUNT) * 2 for at in range(COUNT)]
    arrays = {
        name: pa.array([make(at) for at in places], kind)
        for name, (_, kind, make) in VALUES.items()
    }
    wide = [f"{at * 48271 % 2147483647:x}" * 12 for at in range(COUNT)]
    ledger.append(NAME, pa.table({**arrays, "wide": wide}))


def groups_of(ledger: Ledger, where: str) -> list[int]:
    """Return the row groups that a scan reads of the only file."""
    source: RowSource = ledger.scan(NAME, where)._source  # noqa: SLF001 - what it plans
    (file,) = source.files
    opened = OpenedFile(source.storage(), file, source.schema, source.schema)
    try:
        return list(groups_holding(opened, source.tree) or ())
    finally:
        opened.close()


@pytest.fixture
def table(ledger: Ledger, tmp_path: Path) -> Ledger:
    """Return a client of a table with filters of all columns that may have one."""
    filled(ledger, tmp_path, bloom=", ".join(VALUES))
    return ledger


def test_a_group_without_a_value_is_not_read(table: Ledger) -> None:
    for column in VALUES:
        absent = [literal(column, at) for at in range(1, 41, 2)]
        read = [value for value in absent if groups_of(table, f"{column} = {value}")]
        assert len(read) < 5, column
        there = [literal(column, at) for at in (0, 2, COUNT, 2 * COUNT - 2)]
        assert all(groups_of(table, f"{column} = {value}") == [0] for value in there), column
        assert table.scan(NAME, f"{column} IN ({', '.join([*there, *absent])})").count() == 4


def test_a_filter_is_asked_within_a_larger_condition(table: Ledger) -> None:
    absent = next(
        value
        for value in (literal("s", at) for at in range(1, 41, 2))
        if not groups_of(table, f"s = {value}")
    )
    left_out = (f"{absent} = s AND i < 5", f"(s = {absent} OR s = {absent})", f"s <=> {absent}")
    assert [groups_of(table, where) for where in left_out] == [[]] * 3
    kept = (f"s <> {absent}", f"NOT s = {absent}", f"s = {absent} OR i = 0", f"s >= {absent}")
    assert [groups_of(table, where) for where in kept] == [[0]] * 4
    assert table.scan(NAME, f"s <> {absent}").count() == COUNT


def test_only_named_columns_have_filters(ledger: Ledger, tmp_path: Path) -> None:
    filled(ledger, tmp_path, bloom="s")
    (path,) = tmp_path.rglob("*.parquet")
    group = pq.read_metadata(path).row_group(0)
    has = {group.column(at).path_in_schema: group.column(at).bloom_filter_length for at in range(6)}
    assert {name for name, length in has.items() if length} == {"s"}
    assert groups_of(ledger, f"i = {literal('i', 1)}") == [0]


def test_a_small_group_is_read_without_its_filter(ledger: Ledger, tmp_path: Path) -> None:
    columns = [("i", "int")]
    given = {"lakeledger.bloom": "i"}
    ledger.create_table(NAME, columns, location=tmp_path, properties=given)
    ledger.append(NAME, [{"i": 0}, {"i": 2}])
    assert groups_of(ledger, "i = 1") == [0]
    assert ledger.scan(NAME, "i = 1").count() == 0


HASHES = {
    b"": 0xEF46DB3751D8E999,
    b"abc": 0x44BC2CF5AD770999,
    b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
}


def test_the_hash_is_the_one_of_the_format() -> None:
    assert {data: xxh64(data) for data in HASHES} == HASHES


@given(st.lists(st.text(max_size=80), min_size=1, max_size=30))
def test_a_filter_has_each_value_that_arrow_put_there(values: list[str]) -> None:
    sink = pa.BufferOutputStream()
    rows = pa.table({"s": values})
    with pq.ParquetWriter(sink, rows.schema, bloom_filter_options={"s": True}) as writer:
        writer.write_table(rows)
    data = sink.getvalue().to_pybytes()
    part = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(0)
    start = part.bloom_filter_offset
    has = filter_of(data[start : start + part.bloom_filter_length], part.physical_type)
    assert has is not None
    assert all(map(has, values))


def test_bytes_of_another_form_are_no_filter() -> None:
    assert filter_of(b"", "INT32") is None
    assert filter_of(b"\x15\x40\x1c\x1c\x00", "INT32") is None
    assert filter_of(b"\x15\x40" + bytes(13) + bytes(32), "INT32") is None
