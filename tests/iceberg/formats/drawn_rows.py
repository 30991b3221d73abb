"""Drawn rows of all types, and a check that bounds and counts hold for them."""

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyiceberg.conversions import from_bytes
from pyiceberg.schema import Schema

from ledger.arrow.schema import TableSchema
from ledger.core.commands import TableDefinition
from ledger.files.statistics import FileStatistics
from ledger.iceberg.schemas import columns_of
from ledger.iceberg.statistics import FileMetrics
from ledger.iceberg.values import EPOCH, FIRST_DAY

LEAVES = {
    1: ("i", "int"),
    2: ("l", "long"),
    3: ("f", "float"),
    4: ("d", "double"),
    5: ("n", "decimal(12, 3)"),
    6: ("s", "string"),
    7: ("day", "date"),
    8: ("ts", "timestamp"),
    9: ("tz", "timestamptz"),
    10: ("raw", "binary"),
    11: ("yes", "boolean"),
}
PLACE = {
    "type": "struct",
    "fields": [
        {"id": 13, "name": "x", "required": False, "type": "long"},
        {"id": 14, "name": "t", "required": False, "type": "string"},
    ],
}
SCHEMA: dict[str, Any] = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        *(
            {"id": number, "name": name, "required": False, "type": kind}
            for number, (name, kind) in LEAVES.items()
        ),
        {"id": 12, "name": "place", "required": False, "type": PLACE},
    ],
}
TABLE = TableDefinition("managed", "listed", "/t", columns_of(SCHEMA), [], [])
THEIRS = Schema.model_validate(SCHEMA)
ARROW = TableSchema.of(TABLE).stored

MOMENTS = st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1))  # noqa: DTZ001
TEXTS = st.text(max_size=60)
ROW = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-(2**31), 2**31 - 1),
        "l": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(width=32),
        "d": st.none() | st.floats(),
        "n": st.none()
        | st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-3)),
        "s": st.none() | TEXTS,
        "day": st.none() | st.dates(date(1600, 1, 1), date(2200, 1, 1)),
        "ts": st.none() | MOMENTS,
        "tz": st.none() | MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC)),
        "raw": st.none() | st.binary(max_size=4),
        "yes": st.none() | st.booleans(),
        "place": st.none()
        | st.fixed_dictionaries(
            {"x": st.none() | st.integers(-(2**63), 2**63 - 1), "t": st.none() | TEXTS}
        ),
    }
)
ROWS = st.lists(ROW, max_size=6)


def values(rows: list[dict[str, Any]], number: int) -> list[Any]:
    """Return the values of a leaf by its id, NULL too."""
    if number in LEAVES:
        return [row[LEAVES[number][0]] for row in rows]
    name = "x" if number == 13 else "t"
    return [None if row["place"] is None else row["place"][name] for row in rows]


def plain(value: Any) -> Any:
    """Return a value as pyiceberg compares it: days and moments as numbers."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    return (value - FIRST_DAY).days if isinstance(value, date) else value


def order(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def check(metrics: FileMetrics, rows: list[dict[str, Any]]) -> None:
    """Fail for a bound or a count that is wrong for some row."""
    assert metrics.record_count == len(rows)
    for number in (*LEAVES, 13, 14):
        found = values(rows, number)
        kind = THEIRS.find_type(number)
        nulls = metrics.null_value_counts.get(number)
        assert nulls in (None, found.count(None))
        assert metrics.value_counts.get(number) in (None, len(rows))
        for side, is_low in ((metrics.lower_bounds, True), (metrics.upper_bounds, False)):
            if number not in side:
                continue
            bound: Any = order(from_bytes(kind, side[number]))  # type: ignore[arg-type]
            assert bound == bound  # noqa: PLR0124 - NaN is no bound
            known = [order(plain(each)) for each in found if each is not None]
            for each in known:
                if is_low and not (isinstance(each, float) and math.isnan(each)):
                    assert bound <= each
                elif not is_low:
                    # There is no upper bound beside NaN, which Spark puts above all numbers.
                    assert each <= bound


def own_stats(rows: list[dict[str, Any]]) -> tuple[str, pa.Table]:
    """Return the statistics that the ledger writes for rows."""
    table = pa.Table.from_pylist(rows, ARROW)
    known = FileStatistics(ARROW)
    known.add(table)
    return known.text, table
