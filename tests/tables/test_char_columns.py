"""Conditions on columns of CHAR, whose texts Spark fills up with spaces to be compared."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ledger.client import Ledger
from ledger.expressions.build import col
from ledger.expressions.parse import PredicateSyntaxError
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger
from tests.tables.char_rows import COLUMNS, FOUND, ROWS

NUMBERS = ("c = 12", "p = 12")
"""A text that is no number fails."""


@pytest.fixture
def ledger(memory: InMemoryLedger, tmp_path: Path) -> Ledger:
    ledger = memory.connect(warehouse=str(tmp_path))
    ledger.create_table("db.t", COLUMNS, partition_columns=["p"])
    ledger.append("db.t", ROWS)
    return ledger


def ids(ledger: Ledger, where: Any = None) -> list[int]:
    """Return the ids of the rows that a condition finds."""
    return sorted(ledger.scan("db.t", where=where).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("where", FOUND)
def test_conditions(ledger: Ledger, where: str) -> None:
    """Each condition finds, deletes and changes the rows that Spark finds."""
    if where in NUMBERS:
        with ledger.transaction() as txn:
            txn.delete("db.t", "id <> 6")
    assert ids(ledger, where) == FOUND[where]
    with ledger.transaction() as txn:
        txn.update("db.t", {"id": "id + 10"}, where=where)
    changed = {each - 10 for each in ids(ledger, "id > 10")}
    assert changed == set(FOUND[where])
    before = ids(ledger)
    with ledger.transaction() as txn:
        txn.delete("db.t", where)
    assert ids(ledger) == [each for each in before if each <= 10]


def test_an_expression_means_what_the_text_means(ledger: Ledger) -> None:
    assert ids(ledger, col("c") == "ab") == [1]
    assert ids(ledger, col("p").isin("x", "xyz")) == [1, 2, 3]
    with ledger.transaction() as txn:
        txn.overwrite("db.t", [{"id": 9, "p": "x"}], where=col("p") == "x")
    assert ids(ledger) == [2, 4, 5, 6, 9]


def test_merge(ledger: Ledger) -> None:
    """Two columns of CHAR compare at one length, beside a text of a source nothing is filled up."""
    source = pa.table({"k": ["ab", "abcde", "q    "], "n": [1, 2, 3]})
    with ledger.transaction() as txn:
        update = {"id": "source.n + 20"}
        txn.merge("db.t", source, "target.c = source.k", when_matched_update=update)
    assert ids(ledger) == [1, 4, 5, 6, 22, 23]


def test_files_of_other_writers(ledger: Ledger, tmp_path: Path) -> None:
    """A text that its writer did not fill up is found as Spark finds it."""
    ledger.create_table("db.u", [("id", "INT"), ("c", "CHAR(5)")])
    path = tmp_path / "u.parquet"
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32()), "c": ["ab", "abcdefg"]}), path)
    with ledger.transaction() as txn:
        txn.add_files("db.u", [AddFile(path=str(path), size=path.stat().st_size)])
    found = ledger.scan("db.u", where="c = 'ab'").to_arrow()["id"].to_pylist()
    longer = ledger.scan("db.u", where="c = 'abcdefg'").to_arrow()["id"].to_pylist()
    assert (found, longer) == ([1], [2])


@pytest.mark.parametrize(
    "where", ["c = upper('ab')", "c IN ('ab', 'a' || 'b')", "c = s || ''", "c IN ('ab', NULL)"]
)
def test_refused(ledger: Ledger, where: str) -> None:
    """A computed text is refused: Spark fills up what it computes early, and nothing else."""
    with pytest.raises(PredicateSyntaxError, match="CHAR"):
        ids(ledger, where)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("s = 'a\0b'", [1]),
        (col("s") == "a\0b", [1]),
        ("s LIKE 'a\0%'", [1, 3]),
        ("s LIKE '%\0%'", [1, 3]),
        ("s LIKE 'a%\0%c'", [3]),
        ("contains(s, '\0')", [1, 3]),
        ("s > 'a'", [1, 3]),
        ("s IN ('a', '\0')", [2]),
        ("s = 'a\0' || 'b'", [1]),
        ("replace(s, '\0', '') = 'ab'", [1]),
    ],
)
def test_the_character_0_is_one_like_any_other(
    memory: InMemoryLedger, tmp_path: Path, where: Any, found: list[int]
) -> None:
    ledger = memory.connect(warehouse=str(tmp_path))
    rows = [{"id": 1, "s": "a\0b"}, {"id": 2, "s": "a"}, {"id": 3, "s": "a\0bc"}]
    ledger.create_table("db.t", [("id", "INT"), ("s", "STRING")])
    ledger.append("db.t", rows)
    assert ids(ledger, where) == found
    with ledger.transaction() as txn:
        txn.update("db.t", {"s": "s || '\0'"}, where=where)
    assert ids(ledger, "endswith(s, '\0')") == found
