"""Bounds that another writer recorded leave out no row, whatever its form of them has lost."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from ledger.delta.importer import import_delta
from ledger.expressions.bounds import file_may_hold, may_hold
from ledger.expressions.column_bounds import group_bounds
from ledger.expressions.duckdb.evaluation import duck
from ledger.files.footers import added_by_footers
from ledger.files.storage import storage_at
from ledger.reads.port import FileRow
from ledger.testing import InMemoryLedger
from tests.conditions import row_condition
from tests.conditions import tree_of as parsed
from tests.tables.files import column, file_row, schema_of

tree_of = cache(parsed)
FACE = "\U0001f600"
LOCAL = datetime(2024, 2, 29, 23, 59, 59, 999999)  # noqa: DTZ001 - a local time
VALUES: Mapping[str, tuple[str, Sequence[Any]]] = {
    "whole": ("decimal(18,0)", [Decimal(10**18 - 1), Decimal(-79885072506131933), Decimal(5)]),
    "money": ("decimal(18,2)", [Decimal("644710474463037.58"), Decimal("-0.01"), Decimal("9.99")]),
    "wide": (
        "decimal(38,10)",
        [Decimal("1234567890123456789.0123456789"), Decimal("-9876543210987654321.0000000001")],
    ),
    "big": ("bigint", [2**63 - 1, -(2**63) + 1, 2**53 + 1, 0]),
    "x": ("double", [0.1 + 0.2, -0.0, 1e300, 5e-324, -1 / 3]),
    "f": ("float", [0.10000000149011612, -2.5, 16777216.0]),
    "s": (
        "string",
        ["", "z" * 40, "z" * 31 + FACE + "a", FACE, "\uffffz", "é" * 33, "a?", "a?b", "\ue000"],
    ),
    "d": ("date", [date(2024, 1, 1), date(1582, 10, 15), date(1001, 1, 1), date(1, 3, 1)]),
    "t": ("timestamp", [LOCAL.replace(tzinfo=UTC), datetime(1899, 12, 31, 23, tzinfo=UTC)]),
    "n": ("timestamp_ntz", [LOCAL, LOCAL.replace(microsecond=0), LOCAL.replace(year=1496)]),
}
SCHEMA = schema_of(
    *(column(name, kind, at) for at, (name, (kind, _)) in enumerate(VALUES.items(), 1))
)
OPERATORS = ("=", "<", "<=", ">", ">=", "<=>")


def halves(text: str, count: int) -> str:
    """Return the first 16-bit halves of a text; half a letter stays half."""
    return text.encode("utf-16-le")[: 2 * count].decode("utf-16-le", "surrogatepass")


def cut(count: int, ending: str, half: str | None) -> Callable[[str, bool], Any]:
    """Return how a writer cuts texts: `half` stands for half a letter, None = it stays."""

    def spelled(text: str, is_high: bool) -> str:  # noqa: FBT001
        found = halves(text, count)
        if half is not None:
            found = found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            found = found.replace("\ufffd", half)
        return found + ending if is_high and found != text else found

    return spelled


def at_unit(unit: timedelta, form: str, *, is_nearest: bool = False) -> Callable[[Any, bool], Any]:
    """Return how a writer cuts or rounds times to a unit."""

    def spelled(value: datetime, _is_high: bool) -> str:  # noqa: FBT001
        start = datetime(1, 1, 1, tzinfo=value.tzinfo)
        found = start + (value - start + (unit / 2 if is_nearest else timedelta(0))) // unit * unit
        return f"{found.isoformat(timespec=form)}".replace("+00:00", "Z")

    return spelled


def by_julius(value: date, _is_high: bool) -> str:  # noqa: FBT001
    """Return an old day as the calendar of Julius has it in the sixteenth century."""
    return (value + timedelta(days=10 if 1500 < value.year < 1583 else 0)).isoformat()


MILLISECOND = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)
TIMES = [
    at_unit(MILLISECOND, "milliseconds"),
    at_unit(MILLISECOND, "milliseconds", is_nearest=True),
    at_unit(SECOND, "milliseconds"),
    at_unit(SECOND, "seconds"),
    at_unit(60 * SECOND, "minutes"),
    at_unit(60 * SECOND, "milliseconds"),
]
LOSSES: Mapping[str, Sequence[Callable[[Any, bool], Any]]] = {
    **{name: [lambda value, _: float(value)] for name in ("whole", "money", "wide")},
    "big": [lambda value, _: int(float(value)), lambda value, _: value],
    "x": [lambda value, _: float(f"{value:.15g}"), lambda value, _: value],
    "f": [lambda value, _: float(f"{value:.6g}"), lambda value, _: value],
    "s": [
        cut(count, ending, half)
        for count in (1, 2, 31, 32, 33, 64)
        for ending in ("", "\ufffd", "\U0010ffff")
        for half in (None, "?", "\ufffd")
    ],
    "d": [by_julius],
    **dict.fromkeys(("t", "n"), TIMES),
}


def literal(name: str, value: Any) -> str:
    """Return a value of a column in SQL."""
    if name in {"d", "t", "n"}:
        return f"'{value.isoformat(*' ' * (name != 'd')).removesuffix('+00:00')}'"
    if name == "s":
        return f"'{value}'"
    return f"{value!r}e0" if name in {"x", "f"} and "e" not in repr(value) else f"{value}"


@cache
def conditions(*names: str) -> Sequence[str]:
    """Return conditions that compare each of the columns with each of its values."""
    found = [f"{name} IS {each}NULL" for name in names for each in ("", "NOT ")]
    for name in names:
        for value in VALUES[name][1]:
            text = literal(name, value)
            found += [f"{name} {sign} {text}" for sign in OPERATORS]
            found += [f"NOT ({text} {sign} {name})" for sign in OPERATORS]
    return found


def rows(name: str, seed: int) -> list[Any]:
    drawn = random.Random(seed)  # noqa: S311 - no secret
    return drawn.choices([*VALUES[name][1], None], k=drawn.randint(1, 3))


@cache
def compiled(where: str) -> str:
    return row_condition(where, SCHEMA).sql


def hits(table: pa.Table, wheres: Sequence[str]) -> list[str]:
    """Return the conditions that a row of a table fulfils."""
    asked = ", ".join(f"coalesce(bool_or({compiled(each)}), false)" for each in wheres)
    with duck() as connection:
        connection.register("rows", table)
        found = connection.sql(f"SELECT {asked} FROM rows").fetchone()  # noqa: S608 - of the test
    assert found is not None
    return [where for where, is_hit in zip(wheres, found, strict=True) if is_hit]


def skips(where: str, file: FileRow) -> bool:
    """Return whether the statistics of a file exclude a condition."""
    return not file_may_hold(tree_of(where), file, SCHEMA, lambda _: SCHEMA)


def stats(name: str, values: Sequence[Any], loss: Callable[[Any, bool], Any], key: Any) -> str:
    """Return statistics as a writer records them that sorts by a key and loses something."""
    known = [value for value in values if value is not None]
    found: dict[str, Any] = {"numRecords": len(values), "minValues": {}, "maxValues": {}}
    if known:
        found["minValues"] = {name: loss(min(known, key=key), not known)}
        found["maxValues"] = {name: loss(max(known, key=key), bool(known))}
    return json.dumps(found)


def by_halves(value: Any) -> Any:
    """Order texts as Java and JavaScript do, by halves of letters."""
    return value.encode("utf-16-be") if isinstance(value, str) else value


KEYS: Sequence[Any] = (None, by_halves)


@pytest.mark.parametrize("name", VALUES)
def test_no_form_of_bounds_leaves_out_a_file_with_a_row(name: str) -> None:
    lost = []
    for seed in range(6):
        values = rows(name, seed)
        table = pa.table({name: pa.array(values, SCHEMA.arrow.field(name).type)})
        wheres = hits(table, conditions(name))
        texts = {stats(name, values, loss, key) for loss in LOSSES[name] for key in KEYS}
        for text in texts:
            file = file_row("a.parquet", stats=text)
            lost += [(where, text) for where in wheres if skips(where, file)]
    assert not lost, (len(lost), lost[0])


@pytest.mark.parametrize(
    ("found", "where"),
    [
        ('{"numRecords":3,"minValues":{"x":1.5},"maxValues":{"x":"NaN"}}', "x = 0e0"),
        ('{"numRecords":3,"minValues":{"x":"NaN"},"maxValues":{"x":2.5}}', "x = 9e0"),
        ('{"minValues":{"s":"é"},"maxValues":{"s":"z"},"nullCount":{"s":0}}', "s = 'b'"),
        ('{"minValues":{"money":5},"maxValues":{"money":-5}}', "money = 9"),
        ('{"minValues":{"t":"2024-01-01T00:00:00"},"maxValues":{}}', "t = '2023-12-31 20:00:00'"),
        ('{"numRecords":1,"minValues":{},"maxValues":{}}', "s IS NULL"),
        ('{"numRecords":1,"nullCount":{}}', "s IS NOT NULL"),
    ],
)
def test_odd_bounds_are_no_bounds(found: str, where: str) -> None:
    assert not skips(where, file_row("a.parquet", stats=found))


def by_arrow(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, row_group_size=2)


def by_old_arrow(path: Path, table: pa.Table) -> None:
    """Write a file in the first form of Parquet, with decimals in whole numbers."""
    pq.write_table(table, path, version="1.0", store_decimal_as_integer=True)


def by_polars(path: Path, table: pa.Table) -> None:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    found.write_parquet(path, statistics="full")


def by_duckdb(path: Path, table: pa.Table) -> None:
    """Write a file as DuckDB does."""
    with duckdb.connect() as connection:
        connection.register("given", table)
        connection.execute(f"COPY (SELECT * FROM given) TO '{path}' (FORMAT parquet)")  # noqa: S608


def drawn(seed: int) -> pa.Table:
    random_ = random.Random(seed)  # noqa: S311 - no secret
    count = random_.randint(1, 4)
    columns = {name: random_.choices([*of, None], k=count) for name, (_, of) in VALUES.items()}
    return pa.table(columns, schema=SCHEMA.arrow.remove_metadata())


@pytest.mark.parametrize("write", [by_arrow, by_old_arrow, by_polars, by_duckdb])
def test_footers_of_other_writers(tmp_path: Path, write: Callable[[Path, pa.Table], None]) -> None:
    """Neither the statistics made of a footer nor the footer itself leave out a row."""
    lost, skipped, all_conditions = [], 0, conditions(*VALUES)
    for seed in range(4):
        write(tmp_path / f"{seed}.parquet", drawn(seed))
        (file,) = added_by_footers(storage_at(str(tmp_path)), SCHEMA, [f"{seed}.parquet"]).files
        row = file_row(file.path, stats=file.stats)
        opened = pq.ParquetFile(tmp_path / file.path)
        lost += [hit for hit in hits(opened.read(), all_conditions) if skips(hit, row)]
        leaves = {each.name: at for at, each in enumerate(opened.schema_arrow)}
        for at in range(opened.metadata.num_row_groups):
            bounds = group_bounds(opened.metadata.row_group(at), leaves, SCHEMA, is_other=True)
            out = {
                condition
                for condition in all_conditions
                if not may_hold(tree_of(condition), bounds)
            }
            lost += [hit for hit in hits(opened.read_row_group(at), all_conditions) if hit in out]
            skipped += len(out)
    assert skipped
    assert not lost, (len(lost), lost[0])


def test_a_scan_of_an_imported_table_finds_what_a_scan_of_all_rows_has(tmp_path: Path) -> None:
    for seed in range(5):
        write_deltalake(tmp_path / "t", drawn(seed), mode="append")
    with InMemoryLedger() as found:
        ledger = found.connect()
        import_delta(ledger, tmp_path / "t", "t")
        every = ledger.scan("t").to_arrow()
        wheres = hits(every, conditions(*VALUES)[::6])
        lost = [where for where in wheres if not ledger.scan("t", where).count()]
    assert not lost


@pytest.mark.parametrize(
    ("kind", "unit", "values"),
    [
        ("timestamp", pa.timestamp("ms", "UTC"), [1, 10**12]),
        ("timestamp", pa.timestamp("ns", "UTC"), [10**15, 10**18]),
        ("bigint", pa.decimal128(10, 2), [Decimal("1.00"), Decimal("2.00")]),
    ],
)
def test_footers_of_other_types(tmp_path: Path, kind: str, unit: Any, values: list[Any]) -> None:
    """Bounds that a file keeps in another unit are not taken for bounds of the column."""
    pq.write_table(pa.table({"v": pa.array(values, unit)}), tmp_path / "a.parquet")
    schema = schema_of(column("v", kind, 1))
    (file,) = added_by_footers(storage_at(str(tmp_path)), schema, ["a.parquet"]).files
    assert json.loads(file.stats)["minValues"] == {}
