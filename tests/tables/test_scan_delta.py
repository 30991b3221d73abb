"""Generated Delta tables: what a scan shows is what deltalake wrote."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ledger.client import Ledger
from ledger.delta.importer import import_delta

letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(letters, max_size=5) | st.sampled_from(["a/b", "a=b", "a%20b", "a:b", " ", "é?#"])
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001 - local times
moments = moments.map(lambda each: each.replace(fold=0))
PARTITIONS: dict[str, tuple[pa.DataType, Any]] = {
    "p_text": (pa.string(), texts.filter(lambda text: text not in ("", "."))),
    "p_int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "p_day": (pa.date32(), st.dates(date(1, 1, 1))),
    "p_bool": (pa.bool_(), st.booleans()),
    # deltalake 1.6.3 writes -1.5 as -1.-5, and then cannot read it.
    "p_moment": (
        pa.timestamp("us", "UTC"),
        st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001
            lambda each: each.replace(tzinfo=UTC, fold=0)
        ),
    ),
    "p_money": (pa.decimal128(7, 2), st.decimals(0, 99999, places=2)),
}
VALUES: dict[str, tuple[pa.DataType, Any]] = {
    "number": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "small": (pa.int8(), st.integers(-128, 127)),
    "short": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "whole": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "real": (pa.float64(), st.floats()),
    "half": (pa.float32(), st.floats(width=32)),
    "truth": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), st.dates(date(1, 1, 1))),
    "text": (pa.string(), texts),
    "bytes": (pa.binary(), st.binary(max_size=4)),
    "money": (pa.decimal128(38, 10), st.decimals(-(10**20), 10**20, places=10)),
    "moment": (pa.timestamp("us", "UTC"), moments.map(lambda each: each.replace(tzinfo=UTC))),
    "local": (pa.timestamp("us"), moments),
    "tags": (pa.list_(pa.string()), st.lists(texts | st.none(), max_size=3)),
    "pairs": (
        pa.map_(pa.string(), pa.int32()),
        st.dictionaries(texts, st.none() | st.integers(0, 9), max_size=2).map(
            lambda each: list(each.items())
        ),
    ),
    "inner": (
        pa.struct([("x", pa.int32()), ("y", pa.list_(pa.struct([("z", pa.string())])))]),
        st.fixed_dictionaries(
            {
                "x": st.none() | st.integers(0, 9),
                "y": st.none() | st.lists(st.fixed_dictionaries({"z": texts}), max_size=2),
            }
        ),
    ),
}
FIELDS = {**PARTITIONS, **VALUES}
rows = st.lists(
    st.fixed_dictionaries({name: st.none() | each for name, (_, each) in FIELDS.items()}),
    max_size=4,
)
by = st.lists(st.sampled_from(list(PARTITIONS)), max_size=2, unique=True)
NAME = "db.generated"


def plain(value: Any) -> Any:
    """Return a value of which equal values have one text: there is one NaN and one zero."""
    if isinstance(value, Mapping):
        return sorted((key, plain(each)) for key, each in value.items())
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return value.normalize() if value else 0
    return value


def in_order(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return rows as texts, in order."""
    return sorted(repr(plain(each)) for each in found)


@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows, rows, by)
def test_a_scan_shows_what_was_written(
    ledger: Ledger, first: list[Any], second: list[Any], partition_by: list[str]
) -> None:
    schema = pa.schema([(name, type_) for name, (type_, _) in FIELDS.items()])
    with TemporaryDirectory() as folder:
        for each in (first, second):
            data = pa.Table.from_pylist(each, schema=schema)
            write_deltalake(folder, data, mode="append", partition_by=partition_by)
        import_delta(ledger, Path(folder), NAME)
        try:
            written = [*first, *second]
            assert in_order(ledger.scan(NAME).to_arrow().to_pylist()) == in_order(written)
            assert ledger.scan(NAME).count() == len(written)
            for name in ("p_int", "number", "text"):
                missing = [each for each in written if each[name] is None]
                assert ledger.scan(NAME, f"{name} is null").count() == len(missing)
            above = [each for each in written if (each["small"] or 0) > 0]
            found = ledger.scan(NAME, "small > 0").to_arrow().to_pylist()
            assert in_order(found) == in_order(above)
            assert ledger.scan(NAME, version=0).count() == len(first)
        finally:
            ledger.drop_table(NAME)
