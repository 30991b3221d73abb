"""Tables from rows, their default place, and appends of rows in one commit."""

from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from ledger import SettingsError
from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.testing import InMemoryLedger
from tests.tables.reading import rows_of, stored

ROWS = [{"id": 1, "day": "a"}, {"id": 2, "day": None}]


@pytest.fixture
def lake(memory: InMemoryLedger, tmp_path: Path) -> Ledger:
    return memory.connect(warehouse=str(tmp_path))


@pytest.mark.parametrize("make", [pa.Table.from_pylist, pd.DataFrame, list])
def test_a_table_from_rows_is_made_in_one_commit(lake: Ledger, make: Callable[[Any], Any]) -> None:
    row = lake.create_table("shop.sales", make(ROWS), partition_columns=["day"])
    assert rows_of(lake, "shop.sales") == ROWS
    assert rows_of(lake, row) == ROWS
    assert [(column.name, column.type) for column in row.definition.columns] == [
        ("id", "bigint"),
        ("day", "string"),
    ]
    assert "/main/shop/sales-" in row.definition.location
    assert lake.table("shop.sales").version == 0


def test_create_append_scan_needs_no_path(lake: Ledger) -> None:
    first = lake.create_table("t", pa.schema([pa.field("id", pa.int64(), nullable=False)]))
    assert not first.definition.columns[0].nullable
    lake.append("t", [{"id": 1}])
    lake.drop_table("t")
    second = lake.create_table("t", [("id", "bigint")])
    assert rows_of(lake, "t") == []
    assert first.definition.location != second.definition.location


def test_rows_need_a_place_and_the_error_names_two(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"location=.*LAKELEDGER_WAREHOUSE"):
        ledger.create_table("t", ROWS)
    ledger.create_table("t", ROWS, location=tmp_path)
    assert rows_of(ledger, "t") == ROWS
    with pytest.raises(ValueError, match="column x must have a type"):
        ledger.create_table("u", [{"x": None}], location=tmp_path / "u")


def test_an_append_is_one_commit(lake: Ledger) -> None:
    row = lake.create_table("t", ROWS)
    before = lake.token.position
    receipt = lake.append("t", pa.table({"id": [3]}))
    assert lake.token.position == before + 1
    assert receipt.versions == {row.table: 1}
    lake.append("t", [{"id": 4, "more": 1.5}], evolve=True)
    assert [each["more"] for each in rows_of(lake, "t")] == [None, None, None, 1.5]


def test_an_append_that_loses_leaves_no_file(lake: Ledger) -> None:
    row = lake.create_table("t", [("id", "bigint")])
    lake.append(row, [{"id": 1}], app=("job", 1))
    assert lake.append(row, [{"id": 1}], app=("job", 1)).skipped
    assert len(stored(row)) == 1
    lake.alter_table("t", columns=[("id", "bigint"), ("x", "int")])
    with pytest.raises(ConflictError):
        lake.append(row, [{"id": 2}])
    with pytest.raises(TypeError):
        lake.append("t", [{"id": "2"}])
    assert len(stored(row)) == 1


def test_a_relative_warehouse_begins_here_and_now(memory: InMemoryLedger, tmp_path: Path) -> None:
    with chdir(tmp_path):
        ledger = memory.connect(warehouse="lake")
    ledger.create_table("db.t", [("id", "INT")])
    ledger.append("db.t", [{"id": 1}])
    assert ledger.table("db.t").definition.location.startswith(f"{tmp_path}/lake/")
    far = memory.connect(warehouse="s3://bucket/lake").create_table("db.far", [("id", "INT")])
    assert far.definition.location.startswith("s3://bucket/lake/")
