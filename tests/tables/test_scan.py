"""Scans of tables: outputs, conditions, time travel, changes of the schema, errors."""

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from ledger.arrow.type_fields import field_number
from ledger.client import Ledger
from ledger.errors import (
    ConcurrentAppendException,
    FilesUnknownError,
    SettingsError,
    UnknownColumnError,
    UnknownVersionError,
    UnreadableTableError,
)
from ledger.expressions.build import col
from ledger.expressions.duckdb.evaluation import RowValueError
from ledger.expressions.parse import PredicateSyntaxError
from tests.tables.lake import FLIGHTS, Lake, flights


@pytest.fixture
def lake(ledger: Ledger, tmp_path: Path) -> Lake:
    return Lake(ledger, tmp_path)


@pytest.fixture
def table(lake: Lake) -> str:
    name = lake.create("db.flights", FLIGHTS, ["month"])
    lake.append(name, flights())
    return name


def ids(lake: Lake, where: Any = None, table: str = "db.flights", **asked: Any) -> list[int]:
    """Return the ids of a scan, in order."""
    found = lake.ledger.scan(table, where, ["id"], **asked)
    assert found.count() == len(found.to_arrow())
    return sorted(found.to_arrow()["id"].to_pylist())


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in order, with a text for NaN, which is not equal to itself."""
    nan = "NaN"
    given = [
        {k: nan if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
        for row in rows
    ]
    return sorted(given, key=lambda each: each["id"])


def test_every_output_has_the_rows(lake: Lake, table: str) -> None:
    scan = lake.ledger.scan(table)
    wanted = plain(flights())
    assert plain(scan.to_arrow().to_pylist()) == wanted
    assert plain(scan.to_batches().read_all().to_pylist()) == wanted
    assert plain(pa.table(scan).to_pylist()) == wanted
    assert plain(scan.to_polars().to_dicts()) == wanted
    assert plain(pl.DataFrame(scan).to_dicts()) == wanted
    frame = scan.to_pandas()
    assert sorted(frame["id"]) == [1, 2, 3, 4]
    assert list(frame.columns) == ["id", "month", "carrier", "delay"]
    with duckdb.connect() as connection:
        found = scan.to_duckdb(connection, "flights of 2013")
        assert found.count("*").fetchone() == (4,)
        sql = 'SELECT sum(id) FROM "flights of 2013"'
        assert connection.sql(sql).fetchone() == (10,)
    assert scan.count() == 4
    assert [field_number(each) for each in scan.schema] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (None, [1, 2, 3, 4]),
        ("month = 1", [1, 2]),
        ("month is null", [4]),
        ("month <> 1", [3]),
        ("not (month = 1)", [3]),
        ("carrier = 'UA'", [3, 4]),
        ("month = 2 and carrier = 'UA'", [3]),
        ("month = 2 or carrier = 'AA'", [1, 3]),
        ("delay > 1", [1, 3]),
        ("delay is null", [2]),
        ("id in (1, 4, 9)", [1, 4]),
        ("length(carrier) = 2 and id + 1 > 2", [3, 4]),
        ("true", [1, 2, 3, 4]),
        ("false", []),
        ("null", []),
        ((col("month") == 1) | (col("id") == 4), [1, 2, 4]),
    ],
)
def test_conditions(lake: Lake, table: str, where: Any, wanted: list[int]) -> None:
    """A scan has the rows for which its condition is TRUE, wherever the columns lie."""
    assert ids(lake, where, table) == wanted


def test_columns_come_in_the_order_asked_for(lake: Lake, table: str) -> None:
    scan = lake.ledger.scan(table, "id = 1", ["CARRIER", "month"])
    assert scan.schema.names == ["carrier", "month"]
    assert scan.to_arrow().to_pylist() == [{"carrier": "AA", "month": 1}]
    assert lake.ledger.scan(table, "id > 1", []).to_arrow().num_rows == 3
    assert lake.ledger.scan(table, columns=[]).to_arrow().num_rows == 4


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        (["carier"], UnknownColumnError, "no column carier, did you mean carrier"),
        ("id", TypeError, r"a list of names.*'id'"),
        ([1], TypeError, "a list of names"),
        (["id", "ID"], ValueError, "ID twice"),
    ],
)
def test_the_error_says_what_is_wrong_before_a_file_is_read(
    lake: Lake, table: str, columns: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        lake.ledger.scan(table, columns=columns)


def test_unknown_columns_and_conditions_are_named_at_once(lake: Lake, table: str) -> None:
    with pytest.raises(UnknownColumnError, match="did you mean carrier"):
        lake.ledger.scan(table, "carier = 'UA'")
    with pytest.raises(PredicateSyntaxError, match="RAND"):
        lake.ledger.scan(table, "rand() > 0.5")
    with pytest.raises(RowValueError, match="id - 1"):
        lake.ledger.scan(table, "10 / (id - 1) > 0").to_arrow()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("CASE WHEN p = 'None' THEN TRUE ELSE FALSE END", [2]),
        ("nvl2(p, 'a', 'b') = 'a'", [2, 3]),
        ("nvl2(p, 'a', 'b') = 'b'", [1]),
        ("replace(p, 'N', 'n') = 'none'", [2]),
    ],
)
def test_a_text_that_looks_like_null(lake: Lake, where: str, expected: list[int]) -> None:
    """The partition of a text None is another one than the partition of NULL."""
    table = lake.create("db.odd", [("id", "bigint"), ("p", "string")], ["p"])
    lake.append(table, [{"id": at, "p": p} for at, p in enumerate((None, "None", "x"), start=1)])
    found = lake.ledger.scan(table, where).to_arrow().to_pylist()
    assert sorted(row["id"] for row in found) == expected


def test_a_version_a_position_a_token_and_a_time_name_a_state(lake: Lake, table: str) -> None:
    receipt = lake.append(table, [{"id": 5, "month": 1}])
    rows = lake.ledger.reads().versions(lake.ledger.table(table).table, 10)
    second = datetime.fromtimestamp(rows[0].at / 1000, UTC)
    before = datetime.fromtimestamp(rows[1].at / 1000, UTC)
    assert ids(lake) == [1, 2, 3, 4, 5]
    assert ids(lake, version=1) == [1, 2, 3, 4]
    assert ids(lake, version=0) == []
    assert ids(lake, position=receipt.position - 1) == [1, 2, 3, 4]
    assert ids(lake, position=receipt.token) == [1, 2, 3, 4, 5]
    assert ids(lake, at=second) == [1, 2, 3, 4, 5]
    if before < second:
        assert ids(lake, at=before.isoformat()) == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="not several"):
        lake.ledger.scan(table, version=1, at=second)
    with pytest.raises(ValueError, match="must have a zone"):
        lake.ledger.scan(table, at="2026-01-01 00:00:00")
    with pytest.raises(ValueError, match="a time with a zone"):
        lake.ledger.scan(table, at="yesterday")
    with pytest.raises(TypeError, match="a datetime or a text"):
        lake.ledger.scan(table, at=5)  # type: ignore[arg-type]
    with pytest.raises(UnknownVersionError, match="its first is of"):
        lake.ledger.scan(table, at=before - timedelta(days=1))
    with pytest.raises(UnknownVersionError):
        lake.ledger.scan(table, version=9)
    with lake.ledger.transaction() as txn:
        txn.delete(table)
        assert txn.scan(table, at=second).count() == 5
        assert txn.scan(table).count() == 0
        with pytest.raises(ValueError, match="not several"):
            txn.scan(table, version=1, at=second)


def test_columns_follow_their_ids_through_all_changes(lake: Lake) -> None:
    name = lake.create("db.t", [("a", "int"), ("b", "string"), ("c", "float")])
    lake.append(name, [{"a": 1, "b": "x", "c": 1.5}])
    a, b, c = lake.ledger.table(name).definition.columns
    lake.ledger.alter_table(name, columns=[a, b._replace(name="label"), c])
    lake.append(name, [{"a": 2, "label": "y", "c": 2.5}])
    lake.ledger.alter_table(name, columns=[("label", "string"), ("a", "bigint")])
    changed = [("a", "bigint"), ("label", "string"), ("c", "string"), ("b", "date")]
    lake.ledger.alter_table(name, columns=changed)
    lake.append(name, [{"a": 3, "label": "z", "c": "new"}])
    rows = lake.ledger.scan(name).to_arrow().to_pylist()
    assert sorted(rows, key=lambda each: each["a"]) == [
        {"a": 1, "label": "x", "c": None, "b": None},
        {"a": 2, "label": "y", "c": None, "b": None},
        {"a": 3, "label": "z", "c": "new", "b": None},
    ]
    assert ids_by_a(lake, "c is null and b is null") == [1, 2]
    assert ids_by_a(lake, "label in ('x', 'z')") == [1, 3]
    assert lake.ledger.scan(name, version=1).to_arrow().to_pylist() == [
        {"a": 1, "b": "x", "c": 1.5}
    ]
    with pytest.raises(UnknownColumnError):
        lake.ledger.scan(name, "label = 'x'", version=1)


def ids_by_a(lake: Lake, where: str) -> list[int]:
    return sorted(lake.ledger.scan("db.t", where).to_arrow()["a"].to_pylist())


def test_files_that_cannot_matter_are_not_read(lake: Lake) -> None:
    name = lake.create("db.t", [("id", "bigint"), ("p", "string")], ["p"])
    for at in range(3):
        lake.append(name, [{"id": at * 10 + n, "p": "x"} for n in range(3)])
    lake.append(name, [{"id": 5, "p": "y"}])
    paths = [each.path for each in lake.ledger.read(name)]
    gone = [each.path for each in lake.ledger.read(name) if '"maxValues":{"id":2}' in each.stats]
    assert len(gone) == 1
    lake.remove_data(name, *gone, *(path for path in paths if path.startswith("p=y")))
    assert ids(lake, "id > 9 and p = 'x'", name) == [10, 11, 12, 20, 21, 22]
    assert ids(lake, "p = 'x' and id in (11, 99)", name) == [11]
    with pytest.raises(UnreadableTableError, match="not there"):
        lake.ledger.scan(name, "id > 1").to_arrow()


def test_batches_are_read_as_they_are_wanted(lake: Lake) -> None:
    name = lake.create("db.t", [("id", "bigint")])
    for at in range(12):
        lake.append(name, [{"id": at}], writer=f"{at:02}-")
    paths = sorted(each.path for each in lake.ledger.read(name))
    lake.remove_data(name, paths[-1])
    reader = lake.ledger.scan(name).to_batches()
    assert reader.read_next_batch().to_pylist() == [{"id": 0}]
    with pytest.raises(UnreadableTableError, match=paths[-1]):
        reader.read_all()


def test_an_empty_table_needs_no_location(lake: Lake) -> None:
    lake.ledger.create_table("db.empty", [("id", "bigint")])
    assert lake.ledger.scan("db.empty").to_arrow().schema.names == ["id"]
    assert lake.ledger.scan("db.empty").count() == 0
    lake.ledger.append("db.empty", ["f"])
    with pytest.raises(SettingsError, match="location"):
        lake.ledger.scan("db.empty").to_arrow()
    lake.ledger.create_table("db.outside", [("id", "bigint")], kind="external", location="/t")
    with pytest.raises(FilesUnknownError, match="external"):
        lake.ledger.scan("db.outside")


def test_a_scan_is_short_to_print(lake: Lake, table: str) -> None:
    scan = lake.ledger.scan(table, "carrier < '<b>'")
    assert repr(scan).startswith("<Scan of db.flights where carrier < '<b>': 3 files, 4 columns")
    assert "carrier &lt; &#x27;&lt;b&gt;&#x27;" in scan._repr_html_()
    assert "<th>id: int64</th>" in scan._repr_html_()


def test_a_txn_scans_its_snapshot_and_its_own_changes_alone(lake: Lake, table: str) -> None:
    with lake.ledger.transaction() as txn:
        txn.insert(table, [{"id": 9, "month": 1}])
        txn.delete(table, "id = 1")
        lake.append(table, [{"id": 7, "month": 2}])
        assert sorted(txn.scan(table, columns=["id"]).to_arrow()["id"].to_pylist()) == [2, 3, 4, 9]
        assert txn.scan(table, "month = 1").count() == 2
        assert txn.scan(table, version=1).count() == 4
        txn.create_table("db.new", [("x", "int")], location=str(lake.folder / "new"))
        txn.insert("db.new", [{"x": 1}])
        assert txn.scan("db.new", "x = 1").to_arrow().to_pylist() == [{"x": 1}]
    assert ids(lake) == [2, 3, 4, 7, 9]
    assert lake.ledger.scan("db.new").count() == 1


@pytest.mark.parametrize("record", [True, False])
def test_a_scan_of_a_txn_is_a_read(lake: Lake, table: str, record: bool) -> None:  # noqa: FBT001
    txn = lake.ledger.begin(level="serializable")
    assert txn.scan(table, "month = 2", record=record).count() == 1
    lake.append(table, [{"id": 7, "month": 2}])
    txn.insert(table, [{"id": 8, "month": 1}])
    if record:
        with pytest.raises(ConcurrentAppendException) as raised:
            txn.commit()
        assert "ConcurrentAppendException" in raised.value._repr_html_()
    else:
        assert "<th>version</th>" in txn.commit()._repr_html_()


def test_a_scan_of_an_ended_txn_is_refused(lake: Lake, table: str) -> None:
    txn = lake.ledger.begin()
    txn.commit()
    with pytest.raises(ValueError, match="has ended"):
        txn.scan(table)


def test_tables_and_files_in_a_notebook(lake: Lake, table: str) -> None:
    """Tables and reads have a form in HTML, with escaped texts and few files."""
    row = lake.ledger.create_table("db.<b>", [("x", "int")], location="/t")
    assert "db.&lt;b&gt;" in row._repr_html_()
    assert "<td>bigint</td>" in lake.ledger.table(table)._repr_html_()
    lake.ledger.append("db.<b>", [f"f{at}" for at in range(30)])
    assert "and 10 more" in lake.ledger.read("db.<b>")._repr_html_()
    assert "3 files of db.flights" in lake.ledger.read(table)._repr_html_()
