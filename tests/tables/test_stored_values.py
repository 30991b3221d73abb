"""What a column demands is checked on the values that are stored, at every depth, by every verb."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.errors import ConstraintViolatedError
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.tables.reading import rows_of

CHECK = "delta.constraints.known"
NOT_NULL = pa.schema([("id", pa.int64()), pa.field("p", pa.string(), nullable=False)])
KNOWN = {CHECK: "p IS NOT NULL"}
WORDS: list[tuple[str, Any, str]] = [
    ("struct<a:varchar(3)>", {"a": "abcd"}, r"column p\.a .*varchar\(3\)"),
    ("array<varchar(3)>", ["abc", None, "abcd"], r"column p\.element"),
    ("map<string,varchar(3)>", {"k": "abcd"}, r"column p\.value"),
    ("map<varchar(3),int>", {"abcd": 1}, r"column p\.key"),
    (
        "array<struct<m:map<string,array<char(3)>>>>",
        [{"m": {"k": ["abcd"]}}],
        r"p\.element\.m\.value",
    ),
    ("struct<a:int NOT NULL>", {"a": None}, r"p\.a is NOT NULL"),
    ("array<struct<a:int NOT NULL>>", [{"a": None}], r"p\.element\.a is NOT NULL"),
    ("varchar(3)", "abcd", "room for 3"),
]
EMPTY = [
    (NOT_NULL, {}, "p is NOT NULL"),
    ([("id", "bigint"), ("p", "string")], KNOWN, "constraint known"),
]

VERBS: dict[str, Callable[[Ledger, Transaction, Any], object]] = {
    "append": lambda ledger, _, p: ledger.append("t", [{"id": 1, "p": p}]),
    "evolve": lambda ledger, _, p: ledger.append("t", [{"id": 1, "p": p, "n": 1}], evolve=True),
    "insert": lambda _, txn, p: txn.insert("t", [{"id": 1, "p": p}]),
    "overwrite": lambda _, txn, p: txn.overwrite("t", [{"id": 1, "p": p}]),
    "merge": lambda _, txn, p: txn.merge(
        "t", [{"id": 1, "p": p}], "target.id = source.id", when_not_matched_insert=True
    ),
}


@pytest.fixture
def lake(memory: InMemoryLedger, tmp_path: Path) -> Ledger:
    return memory.connect(warehouse=str(tmp_path))


@pytest.mark.parametrize("verb", VERBS)
def test_an_empty_text_in_a_partition_column(lake: Ledger, verb: str) -> None:
    """It is NULL, so NOT NULL and CHECK refuse it, as Delta does; so is Hive's name of NULL."""
    for columns, options, said in EMPTY:
        lake.create_table("t", columns, partition_columns=["p"])
        if options:
            lake.alter_table("t", properties=options)
        for given in ("", "__HIVE_DEFAULT_PARTITION__"):
            txn = lake.begin()
            with pytest.raises((ValueError, ConstraintViolatedError), match=said):
                VERBS[verb](lake, txn, given)
            txn.abort()
        lake.append("t", [{"id": 0, "p": "x"}])
        for change in ({"p": "''"}, {"p": "trim(' ')"}):
            with pytest.raises((ValueError, ConstraintViolatedError), match=said):
                lake.run(lambda txn, change=change: txn.update("t", change))  # type: ignore[misc]
        assert rows_of(lake, "t") == [{"id": 0, "p": "x"}]
        lake.drop_table("t")


@pytest.mark.parametrize("verb", ["append", "insert", "overwrite"])
def test_a_long_text_or_a_null_is_refused_with_its_place(lake: Ledger, verb: str) -> None:
    for kind, given, said in WORDS:
        lake.create_table("t", [("id", "bigint"), ("p", kind)])
        txn = lake.begin()
        with pytest.raises(ValueError, match=said):
            VERBS[verb](lake, txn, given)
        txn.abort()
        assert rows_of(lake, "t") == []
        lake.drop_table("t")


def test_char_is_padded_at_every_depth(lake: Ledger) -> None:
    kind = "struct<a:char(3),l:array<char(2)>,m:map<char(2),varchar(2)>>"
    lake.create_table("t", [("id", "bigint"), ("p", "char(3)"), ("s", kind)])
    given = {"a": "x", "l": ["y", None], "m": {"k": "v"}}
    lake.append("t", [{"id": 1, "p": "a", "s": given}, {"id": 2, "p": "ab", "s": None}])
    first, second = rows_of(lake, "t")
    assert first == {"id": 1, "p": "a  ", "s": {"a": "x  ", "l": ["y ", None], "m": [("k ", "v")]}}
    assert second == {"id": 2, "p": "ab ", "s": None}
    lake.run(lambda txn: txn.update("t", {"p": "'z'"}, "id = 2"))
    assert rows_of(lake, "t")[1]["p"] == "z  "
