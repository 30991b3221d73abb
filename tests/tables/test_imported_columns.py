"""Columns that other engines compute or check, and columns whose type Arrow lacks."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ledger.client import Ledger
from ledger.core.commands import Column, Property
from ledger.errors import UnreadableTableError
from ledger.log.wire.file_list import AddFile
from ledger.transaction.transaction import Transaction

NAME = "db.imported"
ID = Column("id", "bigint", nullable=True, id=1)


def create(ledger: Ledger, folder: Path, *columns: Column, **properties: str) -> None:
    given = [Property(key.replace("_", "."), value) for key, value in properties.items()]
    named = {each.key: each.value for each in given}
    ledger.create_table(NAME, [ID, *columns], location=folder, properties=named)


def with_metadata(key: str, value: Any) -> Column:
    """Return a column with an entry of Delta's metadata."""
    return Column("c", "int", nullable=True, id=2, metadata=json.dumps({key: value}))


Doing = Callable[[Ledger, Transaction], Any]
STATEMENTS: Mapping[str, Doing] = {
    "insert": lambda _, txn: txn.insert(NAME, [{"id": 1}]),
    "append": lambda ledger, _: ledger.append(NAME, [{"id": 1}]),
    "delete": lambda _, txn: txn.delete(NAME),
    "update": lambda _, txn: txn.update(NAME, {"id": 1}),
    "overwrite": lambda _, txn: txn.overwrite(NAME, [{"id": 1}]),
    "merge": lambda _, txn: txn.merge(
        NAME, [{"id": 1}], "target.id = source.id", when_matched_delete=True
    ),
    "optimize": lambda _, txn: txn.optimize(NAME),
}
REFUSED: list[tuple[Column | None, dict[str, str], str]] = [
    (with_metadata("delta.invariants", '{"expression":"c > 0"}'), {}, "column c .* invariant")
]


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("refused", REFUSED)
def test_no_statement_writes_rows_without_the_values_and_the_checks_that_the_table_wants(
    ledger: Ledger,
    tmp_path: Path,
    refused: tuple[Column | None, dict[str, str], str],
    statement: str,
) -> None:
    column, properties, said = refused
    create(ledger, tmp_path, *([column] if column else []), **properties)
    with pytest.raises(ValueError, match=said), ledger.transaction() as txn:
        STATEMENTS[statement](ledger, txn)
    assert ledger.scan(NAME).count() == 0


def test_rows_of_a_table_that_is_appended_to_stay(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path, delta_appendOnly="true")
    ledger.append(NAME, [{"id": 1}])
    ledger.append(NAME, [{"id": 2}])
    with ledger.transaction() as txn:
        for change in ("delete", "update", "overwrite", "merge"):
            with pytest.raises(ValueError, match=r"has delta\.appendOnly = true"):
                STATEMENTS[change](ledger, txn)
        txn.optimize(NAME)
    assert ledger.scan(NAME).count() == 2
    assert len(list(tmp_path.rglob("*.parquet"))) == 3


ODD = Column("v", "interval day to second", nullable=True, id=2)


@pytest.fixture
def odd(ledger: Ledger, tmp_path: Path) -> Ledger:
    """Return a client of a table that has a column whose type Arrow lacks."""
    create(ledger, tmp_path, ODD)
    data = pa.table({"id": [1, 2], "v": [10, 20]})
    pq.write_table(data, tmp_path / "a.parquet")
    ledger.append(NAME, [AddFile("a.parquet", size=1)])
    return ledger


def test_other_columns_are_read(odd: Ledger) -> None:
    assert odd.scan(NAME, "id > 1", ["id"]).to_arrow().to_pylist() == [{"id": 2}]
    assert odd.scan(NAME, columns=["id"]).count() == 2
    assert odd.sql(f"SELECT sum(id) AS s FROM {NAME}").to_pylist() == [{"s": 3}]  # noqa: S608
    assert odd.sql(f"SELECT count(*) AS n FROM {NAME}").to_pylist() == [{"n": 2}]  # noqa: S608
    said = "column v: .*'interval day to second'.*Name the other columns"
    for ask in (
        lambda: odd.scan(NAME),
        lambda: odd.scan(NAME, columns=["id", "v"]),
        lambda: odd.scan(NAME, "v IS NULL", ["id"]),
        lambda: odd.sql(f"SELECT * FROM {NAME}"),  # noqa: S608
        lambda: odd.changes(NAME, after=0).rows().read_all(),
    ):
        with pytest.raises(UnreadableTableError, match=said):
            ask()


def test_a_column_that_is_not_read_is_not_lost(odd: Ledger) -> None:
    changes: list[Callable[[Transaction], Any]] = [
        lambda txn: txn.delete(NAME, "id = 1"),
        lambda txn: txn.update(NAME, {"id": 1}),
        lambda txn: txn.insert(NAME, [{"id": 1, "v": 1}]),
        lambda txn: txn.update(NAME, {"v": None}),
    ]
    with odd.transaction() as txn:
        for change in changes:
            with pytest.raises(UnreadableTableError, match="column v"):
                change(txn)
        txn.insert(NAME, [{"id": 3}])
    assert odd.scan(NAME, columns=["id"]).count() == 3
    with odd.transaction() as txn:
        txn.delete(NAME)
    assert odd.scan(NAME, columns=["id"]).count() == 0
