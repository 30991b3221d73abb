"""The order of rows in files, and the properties that name columns."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cmp_to_key
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.arrow.types import arrow_type
from ledger.client import Ledger
from ledger.core.partitions.transforms import PartitionTransform
from ledger.core.predicates.types import parse_type
from ledger.files.sorting import in_order
from ledger.properties.column_lists import SORT, keys_in

NAME = "db.t"
COLUMNS = [("p", "int"), ("a", "bigint"), ("b", "string"), ("f", "double"), ("m", "map<int,int>")]
ROWS: list[dict[str, Any]] = [
    {"p": at % 2, "a": (at * 7919) % 40, "b": [None, "x", "é", "", "z"][at % 5]}
    for at in range(200)
]


def create(ledger: Ledger, folder: Path, **properties: str) -> None:
    given = {f"lakeledger.{key}": value for key, value in properties.items()}
    ledger.create_table(NAME, COLUMNS, location=folder, partition_columns=["p"], properties=given)


def in_files(folder: Path) -> list[list[tuple[Any, ...]]]:
    """Return the values of b and a in each file, as they stand there."""
    read = [pq.ParquetFile(path).read(["b", "a"]) for path in sorted(folder.rglob("*.parquet"))]
    return [[tuple(row.values()) for row in table.to_pylist()] for table in read]


def wanted(row: tuple[Any, ...]) -> Any:
    """Return the key of `b DESC, a`: NULL comes last, and texts in the order of their bytes."""
    text, number = row
    return text is None, [-byte for byte in (text or "").encode()] + [1], number


def test_rows_of_each_file_are_in_the_order_of_the_table(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path, sort="b DESC, a")
    ledger.append(NAME, ROWS)
    ledger.append(NAME, [{**row, "a": row["a"] + 100} for row in ROWS])
    ledger.update(NAME, {"a": "-a"}, "a > 120")
    with ledger.transaction() as txn:
        txn.insert(NAME, ROWS[:7])
    found = in_files(tmp_path)
    assert found == [sorted(rows, key=wanted) for rows in found]
    assert sum(map(len, found)) > 600
    ledger.optimize(NAME)
    ledger.vacuum(NAME, older_than_h=0)
    found = in_files(tmp_path)
    assert found == [sorted(rows, key=wanted) for rows in found]
    assert sum(map(len, found)) == ledger.scan(NAME).count() == 407


def test_optimize_orders_files_from_before(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path)
    for start in range(0, 200, 50):
        ledger.append(NAME, ROWS[start : start + 50])
    assert any(rows != sorted(rows, key=wanted) for rows in in_files(tmp_path))
    ledger.alter_table(NAME, properties={"lakeledger.sort": "b desc nulls last, a asc"})
    ledger.optimize(NAME)
    ledger.vacuum(NAME, older_than_h=0)
    found = in_files(tmp_path)
    assert len(found) == 2
    assert found == [sorted(rows, key=wanted) for rows in found]


def test_optimize_orders_rows_by_transforms(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path, sort="truncate(10, a) DESC, b")
    ledger.append(NAME, ROWS)

    def key(row: tuple[Any, ...]) -> Any:
        text, number = row
        return -(number // 10), text is not None, (text or "").encode()

    written = in_files(tmp_path)
    assert written == [sorted(rows, key=key) for rows in written]
    assert any(rows != sorted(rows, key=lambda row: -row[1]) for rows in written)
    ledger.optimize(NAME, sort_by=["bucket(4, a)", "a"])
    ledger.vacuum(NAME, older_than_h=0)
    found = in_files(tmp_path)
    buckets = [[int(bucket_text(number)) for _, number in rows] for rows in found]
    assert len(found) == 2
    assert buckets == [sorted(numbers) for numbers in buckets]
    assert {number for numbers in buckets for number in numbers} == {0, 1, 2, 3}


def bucket_text(number: int) -> str:
    """Return the bucket of a number as partitions have it."""
    text = PartitionTransform("bucket", "a", 4).of_text(str(number), "bigint")
    assert text is not None
    return text


KINDS = {
    "bucket(5, {})": ("int", "bigint", "string", "date", "timestamp", "decimal(9,2)"),
    "truncate(7, {})": ("int", "bigint", "decimal(9,2)"),
    "truncate(2, {})": ("string",),
    "years({})": ("date", "timestamp", "timestamp_ntz"),
    "months({})": ("date", "timestamp", "timestamp_ntz"),
    "days({})": ("date", "timestamp", "timestamp_ntz"),
    "hours({})": ("timestamp", "timestamp_ntz"),
}
SPARE: dict[str, list[Any]] = {
    "int": [0, -1, 7, -2_147_483_648, 2_147_483_647, 15, -8],
    "bigint": [0, -1, 7, -(2**63) + 7, 2**63 - 1, 15, -8],
    "string": ["", "é", "ab", "aba", "z", "𝄞x"],
    "decimal(9,2)": [Decimal(text) for text in ("0.00", "-0.01", "9999999.99", "0.07", "-0.08")],
    "date": [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(9999, 12, 31)],
}
SPARE["timestamp_ntz"] = [
    *(datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1970, 1, 1)),  # noqa: DTZ001
    *(datetime(2024, 2, 29, 23), datetime(9999, 12, 31), datetime(1, 1, 1)),  # noqa: DTZ001
]
SPARE["timestamp"] = [each.replace(tzinfo=UTC) for each in SPARE["timestamp_ntz"]]


@pytest.mark.parametrize(("form", "kind"), [(form, kind) for form in KINDS for kind in KINDS[form]])
def test_rows_are_in_the_order_of_the_results_of_partitions(form: str, kind: str) -> None:
    """The results equal `transforms.of_value`, by which files are divided."""
    (key,) = keys_in(SORT, form.format("c"))
    type_ = parse_type(kind)
    assert key.transform is not None
    assert type_ is not None
    values = [None, *SPARE[kind], *reversed(SPARE[kind])]
    rows = pa.table({"c": pa.chunked_array([pa.array(values, arrow_type(kind))])})
    (table,) = in_order(rows.to_batches(max_chunksize=4), [key])
    first, *others = table["c"].to_pylist()

    def result(value: Any) -> Any:
        assert key.transform is not None
        plain = value.replace(tzinfo=None) if isinstance(value, datetime) else value
        text = key.transform.of_value(plain, type_)
        is_number = key.transform.kind in ("bucket", "truncate") and kind != "string"
        return Decimal(text) if is_number or key.transform.kind == "bucket" else text.encode()

    assert first is None
    assert others == sorted(values[1:], key=result)


REFUSED = {
    ("sort", "days(a)"): r"transforms that take their columns, got days\(a\) of type bigint",
    ("sort", "bucket(4, f)"): "got bucket",
    ("sort", "bucket(4, nope)"): "must name its columns, got nope",
    ("sort", "bucket(4, twice)"): "the computed column twice",
    ("sort", "bucket(a)"): "must have one width and a column",
    ("sort", "zorder(a)"): "must be a list of columns",
    ("sort", "bucket(4, a), BUCKET(4, A)"): "must name each column once",
    ("bloom", "bucket(4, a)"): "without an order",
    ("sort", "nope"): "must name its columns, got nope",
    ("sort", "a b"): "must be a list of columns",
    ("sort", "a,, b"): "must be a list of columns",
    ("sort", "a, A DESC"): "must name each column once",
    ("sort", "m"): "whose type has an order, got m",
    ("sort", "twice"): "columns that rows have, got the computed column twice",
    ("bloom", "a DESC"): "without an order",
    ("bloom", "f"): "whose type has a filter, got f",
    ("bloom", "p"): "got the partition column p",
    ("blom", "a"): "did you mean lakeledger.bloom",
}


@pytest.mark.parametrize(("key", "value"), REFUSED)
def test_a_list_that_no_writer_could_obey_is_refused(
    ledger: Ledger, tmp_path: Path, key: str, value: str
) -> None:
    ledger.create_table(
        NAME,
        [*COLUMNS, ("twice", "bigint GENERATED ALWAYS AS (a * 2)")],
        location=tmp_path,
        partition_columns=["p"],
    )
    with pytest.raises(ValueError, match=REFUSED[key, value]):
        ledger.alter_table(NAME, properties={f"lakeledger.{key}": value})


def test_a_list_names_a_renamed_column_anew(ledger: Ledger, tmp_path: Path) -> None:
    order = "b DESC NULLS FIRST, `a`, truncate(3, b) DESC"
    create(ledger, tmp_path, sort=order, bloom="b")

    def renamed(then: Any) -> Any:
        columns = [
            each._replace(name="the `b`") if each.name == "b" else each for each in then.columns
        ]
        return then._replace(columns=columns)

    ledger.alter_table(NAME, renamed)
    found = {each.key: each.value for each in ledger.table(NAME).definition.properties}
    assert found["lakeledger.sort"] == (
        "`the ``b``` DESC NULLS FIRST, a, truncate(3, `the ``b```) DESC"
    )
    assert found["lakeledger.bloom"] == "`the ``b```"
    ledger.append(NAME, [{"p": 1, "a": 1, "the `b`": "x"}])
    said = "sort of table db.t must name its columns, got the `b`"
    with pytest.raises(ValueError, match=said):
        ledger.alter_table(NAME, columns=[(name, kind) for name, kind in COLUMNS if name != "b"])
    gone = ["lakeledger.sort", "lakeledger.bloom"]
    ledger.alter_table(NAME, columns=[COLUMNS[0], COLUMNS[1]], unset=gone)


def as_spark(left: Any, right: Any) -> int:
    """Compare two numbers as Spark does: NaN is above all others."""
    one, two = ((math.isnan(each) and math.inf) or each for each in (left, right))
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) - math.isnan(right)
    return (one > two) - (one < two)


NUMBERS = st.lists(st.one_of(st.none(), st.sampled_from([-1.5, 0.0, 3.0, math.inf, math.nan])))
ORDERS = ("f", "f DESC", "f NULLS LAST", "f DESC NULLS FIRST")


@given(NUMBERS, st.sampled_from(ORDERS))
def test_numbers_are_ordered_as_spark_orders_them(values: list[Any], order: str) -> None:
    (key,) = keys_in(SORT, order)
    rows = pa.table({"f": pa.array(values, pa.float64())})
    found = pa.concat_tables(in_order([rows], [key]))["f"].to_pylist()
    plain = [each for each in values if each is not None]
    plain.sort(key=cmp_to_key(as_spark), reverse=key.is_descending)
    nulls = [None] * (len(values) - len(plain))
    assert repr(found) == repr(nulls + plain if key.has_nulls_first else plain + nulls)
