"""MERGE with every clause of Spark's."""

import math
from pathlib import Path
from typing import Any

import pytest

from ledger import ConcurrentAppendException, MergeClause
from ledger.client import Ledger
from ledger.errors import UnknownColumnError
from ledger.reads.rows import TableRow
from tests.tables.reading import rows_of

ROWS = [{"k": at, "p": at % 2, "v": f"old{at}"} for at in range(1, 5)]


@pytest.fixture
def stock(ledger: Ledger, tmp_path: Path) -> TableRow:
    columns = [("k", "bigint"), ("p", "int"), ("v", "string")]
    row = ledger.create_table("shop.stock", columns, partition_columns=["p"], location=tmp_path)
    with ledger.transaction() as txn:
        txn.insert(row, ROWS)
    return row


def merged(ledger: Ledger, table: TableRow, source: Any, on: str, **clauses: Any) -> list[Any]:
    """Return key and value of all rows after a merge."""
    with ledger.transaction() as txn:
        txn.merge(table, source, on, **clauses)
    return [(row["k"], row["v"]) for row in rows_of(ledger, table, "k")]


KEY = "target.k = source.k"
SOURCE: list[dict[str, Any]] = [
    {"k": 2, "p": 0, "v": "new2"},
    {"k": 9, "p": 1, "v": "new9"},
    {"k": None, "p": 0, "v": "x"},
]
OLD = [(1, "old1"), (2, "old2"), (3, "old3"), (4, "old4")]


def test_matching_rows_are_updated_others_are_inserted(ledger: Ledger, stock: TableRow) -> None:
    with ledger.transaction() as txn:
        counts = txn.merge(
            stock, SOURCE[:2], KEY, when_matched_update=True, when_not_matched_insert=True
        )
    assert (counts.inserted, counts.updated, counts.deleted) == (1, 1, 0)
    found = [(row["k"], row["v"]) for row in rows_of(ledger, stock, "k")]
    assert found == [(1, "old1"), (2, "new2"), (3, "old3"), (4, "old4"), (9, "new9")]
    again = merged(ledger, stock, SOURCE[2:], KEY, when_matched_update=True)
    assert again == found


CLAUSES: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("delete", {"when_matched_delete": True}, [OLD[0], OLD[2], OLD[3]]),
    ("delete some", {"when_matched_delete": "source.v = 'no'"}, OLD),
    (
        "values",
        {"when_matched_update": {"v": "concat(target.v, source.v)"}},
        [OLD[0], (2, "old2new2"), OLD[2], OLD[3]],
    ),
    (
        "delete before update",
        {"when_matched_delete": "target.k > 1", "when_matched_update": {"v": "'u'"}},
        [OLD[0], OLD[2], OLD[3]],
    ),
    ("insert", {"when_not_matched_insert": {"k": "k", "p": 7}}, [*OLD, (9, None)]),
    (
        "by source",
        {"when_not_matched_by_source_delete": "k < 4", "when_matched_update": {"v": "'m'"}},
        [(2, "m"), OLD[3]],
    ),
    (
        "in order",
        {
            "clauses": [
                MergeClause.update({"v": "'first'"}, "target.k = 3"),
                MergeClause.update({"v": "'second'"}, "target.k = 2"),
                MergeClause.delete(),
                MergeClause.insert({"k": "source.k + 1", "v": "'i'"}, "source.k = 9"),
                MergeClause.update_unmatched({"v": "'u'"}, "k = 1"),
                MergeClause.delete_unmatched("k = 4"),
            ]
        },
        [(1, "u"), (2, "second"), OLD[2], (10, "i")],
    ),
]


@pytest.mark.parametrize(
    ("clauses", "found"), [clause[1:] for clause in CLAUSES], ids=[clause[0] for clause in CLAUSES]
)
def test_each_clause_takes_the_rows_that_no_clause_before_it_took(
    ledger: Ledger, stock: TableRow, clauses: dict[str, Any], found: list[Any]
) -> None:
    assert merged(ledger, stock, SOURCE[:2], KEY, **clauses) == found


def test_a_row_may_match_one_row_only(ledger: Ledger, stock: TableRow) -> None:
    twice = [SOURCE[0], {**SOURCE[0], "v": "other"}]
    with pytest.raises(ValueError, match=r"MERGE_CARDINALITY_VIOLATION.*old2"):
        merged(ledger, stock, twice, KEY, when_matched_update=True)
    with pytest.raises(ValueError, match="MERGE_CARDINALITY_VIOLATION"):
        merged(ledger, stock, twice, KEY, when_matched_delete="source.v = 'other'")
    assert merged(ledger, stock, twice, KEY, when_not_matched_insert=True) == OLD
    assert merged(ledger, stock, twice, KEY, when_matched_delete=True) == [OLD[0], OLD[2], OLD[3]]


def test_only_partitions_of_the_source_are_read(ledger: Ledger, stock: TableRow) -> None:
    on = f"{KEY} AND target.p = source.p"
    txn = ledger.begin()
    txn.merge(stock, SOURCE[:1], on, when_matched_update=True)
    with ledger.transaction() as other:
        other.delete(stock, "p = 1")
    txn.commit()
    assert [row["v"] for row in rows_of(ledger, stock, "k")] == ["new2", "old4"]
    txn = ledger.begin()
    txn.merge(stock, SOURCE[:1], on, when_matched_update=True)
    with ledger.transaction() as other:
        other.delete(stock, "k = 4")
    with pytest.raises(ConcurrentAppendException):
        txn.commit()


@pytest.mark.parametrize("condition", ["", " AND target.k > 1.5", " AND source.k >= target.k"])
def test_nan_is_a_key(ledger: Ledger, tmp_path: Path, condition: str) -> None:
    keys = [math.nan, -0.0, 2.0, None, math.inf]
    ledger.create_table("db.nan", [("id", "int"), ("k", "double")], location=tmp_path)
    ledger.append("db.nan", [{"id": at, "k": key} for at, key in enumerate(keys)])
    source = [{"k": key} for key in (0.0, math.nan, 7.0)]
    on = f"target.k = source.k{condition}"
    with ledger.transaction() as txn:
        done = txn.merge("db.nan", source, on, when_matched_delete=True)
    assert done.deleted == (1 if "1.5" in condition else 2)
    left = {1, 2, 3, 4} if "1.5" in condition else {2, 3, 4}
    assert {row["id"] for row in rows_of(ledger, "db.nan")} == left


WRONG: list[tuple[Any, dict[str, Any], type[Exception]]] = [
    (SOURCE, {}, ValueError),
    (SOURCE, {"clauses": [MergeClause.delete(), MergeClause.update()]}, ValueError),
    (SOURCE, {"clauses": ["delete"]}, TypeError),
    (SOURCE, {"when_matched_update": "v = 1"}, TypeError),
    ([{"k": 1}], {"when_matched_update": True}, ValueError),
    ([{"k": "1"}], {"when_matched_delete": True}, TypeError),
    ("shop.other", {"when_matched_delete": True}, TypeError),
]


@pytest.mark.parametrize(("source", "clauses", "error"), WRONG)
def test_a_merge_that_cannot_be_meant_is_refused_and_changes_nothing(
    ledger: Ledger, stock: TableRow, source: Any, clauses: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        merged(ledger, stock, source, KEY, **clauses)
    assert [(row["k"], row["v"]) for row in rows_of(ledger, stock, "k")] == OLD


@pytest.mark.parametrize("name", ["null", "false", "current_date", "select"])
@pytest.mark.parametrize(
    "on", ["target.`{}` = source.`{}`", "target.`{}` = 3 AND target.n = source.n"]
)
def test_words_of_sql(ledger: Ledger, tmp_path: Path, name: str, on: str) -> None:
    """A partition column with the name of a constant is not taken for the constant."""
    columns = [("n", "int"), (name, "int")]
    row = ledger.create_table("t", columns, partition_columns=[name], location=tmp_path)
    ledger.append(row, [{"n": 1, name: 3}])
    with ledger.transaction() as txn:
        source, where = [{"n": 1, name: 3}], on.format(name, name)
        txn.merge(row, source, where, when_matched_update=True, when_not_matched_insert=True)
    assert ledger.scan(row).count() == 1


@pytest.mark.parametrize(
    ("source", "on", "said"),
    [
        (SOURCE, "k = k", r"^column k must say whose it is, as target\.k or source\.k does"),
        ([{"k": 2}], KEY, r"all columns of table shop\.stock for an update that names none"),
        ([{"k": 2}], KEY, r"it lacks p, v: give a dict of the columns to set"),
    ],
)
def test_wrong_merges_in_words(
    ledger: Ledger, stock: TableRow, source: Any, on: str, said: str
) -> None:
    """An error names the column, its table and the way out."""
    with pytest.raises((UnknownColumnError, ValueError), match=said):
        merged(ledger, stock, source, on, when_matched_update=True)
