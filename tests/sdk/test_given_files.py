"""Files as callers have them: what is taken, as which text, and what is refused by name."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.core.commands import TableWrite
from ledger.expressions.build import col
from ledger.log.wire.file_list import AddFile, RemoveFile
from ledger.transaction.transaction import Transaction

NOON, EAST = datetime(2024, 1, 5, 12, 30), timezone(timedelta(hours=2))  # noqa: DTZ001 - naive
DAY = date(2024, 1, 5)
NULL = "__HIVE_DEFAULT_PARTITION__"
TAKEN: list[tuple[str, Any, str | None]] = [
    ("INT", "01", "1"),
    ("INT", 1, "1"),
    ("INT", np.int64(1), "1"),
    ("INT", np.uint8(1), "1"),
    ("INT", 3.0, "3"),
    ("INT", Decimal(3), "3"),
    ("INT", pa.scalar(3), "3"),
    ("INT", None, None),
    ("INT", NULL, None),
    ("INT", pd.NA, None),
    ("BIGINT", 2**63 - 1, "9223372036854775807"),
    ("DOUBLE", 1, "1.0"),
    ("DOUBLE", 0.1, "0.1"),
    ("DOUBLE", np.float64("nan"), "NaN"),
    ("FLOAT", np.float32(0.1), "0.1"),
    ("DECIMAL(5,2)", Decimal("1.5"), "1.50"),
    ("DECIMAL(5,2)", 7, "7.00"),
    ("BOOLEAN", True, "true"),
    ("BOOLEAN", np.bool_(False), "false"),  # noqa: FBT003 - a value like any other
    ("DATE", DAY, "2024-01-05"),
    ("DATE", pd.Timestamp("2024-01-05"), "2024-01-05"),
    ("DATE", np.datetime64("2024-01-05"), "2024-01-05"),
    ("DATE", pd.NaT, None),
    ("TIMESTAMP", NOON.replace(tzinfo=EAST), "2024-01-05 10:30:00Z"),
    ("TIMESTAMP", pd.Timestamp("2024-01-05 12:30", tz="Europe/Paris"), "2024-01-05 11:30:00Z"),
    ("TIMESTAMP", "2024-1-5 12:30", "2024-01-05 12:30:00"),
    ("TIMESTAMP_NTZ", NOON, "2024-01-05 12:30:00"),
    ("TIMESTAMP_NTZ", np.datetime64("2024-01-05T12:30:00.000001000"), "2024-01-05 12:30:00.000001"),
    ("STRING", "01", "01"),
    ("STRING", np.str_("01"), "01"),
    ("STRING", "", None),
    ("array<int>", "[1]", "[1]"),
]
REFUSED: list[tuple[str, Any, str]] = [
    ("INT", "march", r"must be a whole number from -2147483648 .* \(INT\), got 'march'"),
    ("INT", 3.5, "must be a whole number, got 3.5"),
    ("INT", float("nan"), "must be a whole number, or None for NULL, got nan"),
    ("INT", True, "must be a whole number, got True"),
    ("INT", DAY, r"must be a whole number, got datetime.date\(2024, 1, 5\)"),
    ("INT", b"1", "must be a whole number, got b'1'"),
    ("INT", np.array([1, 2]), "must be a single value, not an array"),
    ("TINYINT", 300, r"must be a whole number from -128 to 127 \(TINYINT\), got 300"),
    ("DOUBLE", 2**53 + 1, "must be a number that a double holds exactly, got 9007199254740993"),
    ("DOUBLE", True, "must be a number, got True"),
    ("DECIMAL(5,2)", 1.5, "must be a Decimal, a whole number or a text, got 1.5"),
    ("DECIMAL(5,2)", Decimal("1.555"), "must be a number with at most 3 digits before the point"),
    ("BOOLEAN", 1, "must be True or False, got 1"),
    ("DATE", "2024-13-45", "must be a day such as 2024-01-31"),
    ("DATE", NOON, "must be a date, or a datetime at midnight without a zone, got"),
    ("DATE", 20240105, "must be a date, got 20240105"),
    ("TIMESTAMP", NOON, "must be a datetime with a zone"),
    ("TIMESTAMP", DAY, "must be a datetime with a zone, or a text, got"),
    ("TIMESTAMP_NTZ", NOON.replace(tzinfo=UTC), "must be a datetime without a zone, got"),
    ("TIMESTAMP_NTZ", pd.Timestamp(1), "must be a time in whole microseconds"),
    ("STRING", 1, r"must be a text \(a number may be spelled in more than one way there\), got 1"),
    ("array<int>", [1], "must be a text, as its type is not known"),
]


def partitioned(ledger: Ledger, kind: str) -> int:
    return ledger.create_table("t", [("p", kind), ("x", "int")], partition_columns=["p"]).table


@pytest.mark.parametrize(("kind", "value", "text"), TAKEN, ids=str)
def test_values_that_are_taken(ledger: Ledger, kind: str, value: Any, text: str | None) -> None:
    """The log has the one text of the value, and a removal by the same value is of that file."""
    table = partitioned(ledger, kind)
    ledger.append(table, [AddFile("a", (value,))])
    with ledger.transaction() as txn:
        txn.add_files(table, [AddFile("b", [value])])  # type: ignore[arg-type]

    found = [each.partition for each in ledger.read(table)]
    with ledger.transaction() as txn:
        txn.remove_files(table, [AddFile("a", (value,)), RemoveFile("b", (value,))])

    assert [(text,), (text,)] == found
    assert ledger.read(table).paths == []


@pytest.mark.parametrize(("kind", "value", "said"), REFUSED, ids=str)
def test_values_that_are_refused(ledger: Ledger, kind: str, value: Any, said: str) -> None:
    """The error names file, column and value, and nothing is noted."""
    table, before = partitioned(ledger, kind), ledger.token
    with pytest.raises((TypeError, ValueError), match=f"file 'a': partition column p {said}"):
        ledger.append(table, [AddFile("a", (value,))])
    assert before == ledger.token

    with ledger.transaction() as txn, pytest.raises((TypeError, ValueError), match="column p"):
        txn.add_files(table, [AddFile("a", (value,))])
    assert ledger.read(table).paths == []


def test_a_bad_value_of_the_log_can_be_removed(ledger: Ledger) -> None:
    row = ledger.create_table("t", [("p", "string"), ("x", "int")], partition_columns=["p"])
    ledger.append(row, [AddFile("bad", ("march",)), AddFile("a", ("3",)), AddFile("b", ("4",))])
    ledger.alter_table("t", columns=[("p", "int"), ("x", "int")])
    ledger.append("t", [AddFile("c", ("5",))])

    assert ledger.read("t", "p = 5").paths == ["a", "b", "bad", "c"]
    with ledger.transaction() as txn:
        txn.remove_files("t", [each for each in txn.read("t") if each.path == "bad"])
    assert ledger.read("t").paths == ["a", "b", "c"]


def test_a_bad_value_can_be_removed_by_hand(ledger: Ledger) -> None:
    row = ledger.create_table("t", [("p", "string")], partition_columns=["p"])
    ledger.append(row, [AddFile("bad", ("march",))])
    ledger.alter_table("t", columns=[("p", "int")])
    with ledger.transaction() as txn:
        txn.remove_files("t", [RemoveFile("bad", ("march",))])

    assert ledger.read("t").paths == []


def test_of_a_table_that_names_no_columns_a_value_is_the_text_that_it_is(ledger: Ledger) -> None:
    table = ledger.create_table("t", partition_columns=["p"]).table
    ledger.append(table, [AddFile("a", ("01",)), AddFile("b", (None,))])

    assert [each.partition for each in ledger.read(table)] == [("01",), (None,)]
    with pytest.raises(TypeError, match="column p must be a text, as its type is not known, got 1"):
        ledger.append(table, [AddFile("c", (1,))])  # type: ignore[arg-type]


def test_a_path_may_be_a_path_a_size_a_number_of_numpy(ledger: Ledger, tmp_path: Path) -> None:
    table = ledger.create_table("t", [("x", "int")], location=tmp_path).table
    odd: Any = Path("b"), (), np.int64(512), np.int64(7)
    ledger.append(table, [Path("d/a"), AddFile(*odd)])
    ledger.append(table, np.array(["c"]))
    ledger.append(table, pd.Series(["e"]))

    found = [(each.path, each.size, each.modified) for each in ledger.read(table)]
    assert found == [("b", 512, 7), ("c", 0, 0), ("d/a", 0, 0), ("e", 0, 0)]
    assert str(tmp_path) == ledger.table("t").definition.location
    with ledger.transaction() as txn:
        txn.remove_files(table, [Path("d/a"), Path("b")])
    assert ledger.read(table).paths == ["c", "e"]


@pytest.mark.parametrize("number", [512.0, "512", True, None, float("nan")])
def test_sizes_that_are_refused(ledger: Ledger, number: Any) -> None:
    """The message tells value and file."""
    ledger.create_table("t", [("x", "int")])
    with pytest.raises(TypeError, match=f"size of file 'a' must be a whole number, got {number!r}"):
        ledger.append("t", [AddFile("a", (), number)])


def numbers() -> Iterator[int]:
    yield 5


FRAME = pd.DataFrame({"a": [1], "b": [2]})
NO_LISTS: dict[str, tuple[Any, str]] = {
    "frame": (FRAME, "a list, got a DataFrame: its columns would be taken for them"),
    "arrow table": (pa.table({"a": [1]}), "a list, got a Table: its columns"),
    "dict": ({"a": 1}, "a list, got a dict: its keys would be taken for them"),
    "text": ("a", r"a list.*such as \['a'\]"),
    "path": (Path("a"), r"a list.*such as \[PosixPath"),
    "bytes": (b"ab", "a list of texts, got bytes"),
    "number": (5, r"a list.*got (5|\[5\])"),
    "nothing": (None, "a list.*got None"),
}
TAKERS: dict[str, Callable[[Ledger, Transaction, Any], object]] = {
    "append": lambda ledger, _, given: ledger.append("t", given),
    "add": lambda _, txn, given: txn.add_files("t", given),
    "remove": lambda _, txn, given: txn.remove_files("t", given),
    "rewrite from": lambda _, txn, given: txn.rewrite_files("t", given, []),
    "rewrite to": lambda _, txn, given: txn.rewrite_files("t", [], given),
    "commit_once": lambda ledger, _, given: ledger.commit_once(given),
    "begin": lambda ledger, _, given: ledger.begin(tables=given),
    "write_ids": lambda _, txn, given: txn.write_ids(given),
    "app": lambda _, txn, given: txn.app("job", 1, tables=given),
    "wrote": lambda _, txn, given: txn.abort(wrote=given),
    "allocate": lambda ledger, _, given: ledger.allocate(given, []),
    "forget txns": lambda ledger, _, given: ledger.forget_aborted(given),
    "forget ids": lambda ledger, _, given: ledger.forget_aborted(table="t", write_ids=given),
    "columns": lambda ledger, _, given: ledger.create_table("u", given),
    "partition columns": lambda ledger, _, given: ledger.create_table(
        "u", [("a", "int")], partition_columns=given
    ),
    "changed columns": lambda ledger, _, given: ledger.alter_table("t", columns=given),
    "unset": lambda ledger, _, given: ledger.alter_table("t", unset=given),
    "features": lambda _, txn, given: txn.set_protocol("t", 1, 2, given),
}
ROWS = frozenset({"frame", "arrow table"})
TAKE_ROWS = frozenset({"append", "columns"})
GIVEN_AS_NONE = frozenset({"wrote", "changed columns"})
TAKE_PAIRS = frozenset({"columns", "changed columns"})


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("odd", NO_LISTS)
def test_what_is_no_list(ledger: Ledger, taker: str, odd: str) -> None:
    ledger.create_table("t", [("x", "int")])
    given, said = NO_LISTS[odd]
    if isinstance(given, str) and taker in TAKE_PAIRS:
        said = r"a list of pairs.*such as \[\('id', 'bigint'\)\], got 'a'"
    if odd == "dict" and taker in TAKE_ROWS:
        said = r"a list of (files|columns.*), got \{'a': 1\}: rows are .*\[\{'id': 1\}\]"
    if given is None and taker in GIVEN_AS_NONE:
        pytest.skip("left out, it is not given")
    if odd in ROWS and taker in TAKE_ROWS:
        pytest.skip("these are rows, which this method takes")
    txn, before = ledger.begin(), ledger.token

    with pytest.raises(TypeError, match=said):
        TAKERS[taker](ledger, txn, given)

    assert before == ledger.token
    txn.abort()


@pytest.mark.parametrize("taker", ["append", "add", "remove", "rewrite from", "rewrite to"])
@pytest.mark.parametrize("given", [numbers, lambda: [b"a"], lambda: [("a", ())], lambda: [FRAME]])
def test_lists_of_what_is_no_file(
    ledger: Ledger, taker: str, given: Callable[[], Iterator[object]]
) -> None:
    ledger.create_table("t", [("x", "int")])
    with (
        ledger.transaction() as txn,
        pytest.raises(TypeError, match=r"a file to (add|remove) must be"),
    ):
        TAKERS[taker](ledger, txn, given())

    assert ledger.read("t").paths == []


def test_what_helps_with_a_frame(ledger: Ledger) -> None:
    """A caller that comes with rows is told what a ledger of files takes."""
    ledger.create_table("t", [("x", "int")])
    for given in (FRAME, {"a": [1]}):
        with (
            ledger.transaction() as txn,
            pytest.raises(TypeError, match="Write its rows into files, and give a list of AddFile"),
        ):
            txn.add_files("t", given)


def test_a_list_of_what_is_no_write(ledger: Ledger) -> None:
    with pytest.raises(TypeError, match="each write must be a TableWrite, got 'a'"):
        ledger.commit_once(["a"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"writes must be a list, .*TableWrite"):
        ledger.commit_once(TableWrite(1, 0, (), None))  # type: ignore[arg-type]


def test_what_was_read_from_one_table_is_removed_from_no_other(ledger: Ledger) -> None:
    for name in ("t", "u"):
        ledger.create_table(name, [("x", "int")])
        ledger.append(name, ["a"])
    with (
        ledger.transaction() as txn,
        pytest.raises(ValueError, match=r"read from table 2, got files of table t \(1\)"),
    ):
        txn.remove_files("u", txn.read("t"))

    assert ledger.read("u").paths == ["a"]


def test_numbers_of_libraries(ledger: Ledger) -> None:
    """A version, of a table or of an application, and a constant may be NumPy's."""
    table = partitioned(ledger, "int")
    number: Any = np.int64(3)
    ledger.append(table, [AddFile("a", (3,))], app=("job", number))  # type: ignore[arg-type]

    assert ledger.read("t", col("p") == number, version=np.int64(1)).paths == ["a"]  # type: ignore[arg-type]
    assert ledger.read("t", col("p").isin(np.int32(4))).paths == []  # type: ignore[arg-type]
    with ledger.transaction() as txn:
        assert txn.read("t", version=np.int64(1)).paths == ["a"]  # type: ignore[arg-type]
    assert ledger.append(table, [AddFile("b", (3,))], app=("job", 3)).skipped  # type: ignore[arg-type]


@pytest.mark.parametrize("odd", ["\n", "\x00", "\x1b", "\x7f", "\x85", "\u2028", "\ud800"])
def test_names_with_control_characters(ledger: Ledger, odd: str) -> None:
    ledger.create_table("t", [("x", "int")])
    with ledger.transaction() as txn:
        name = f"m.a{odd}b"
        refused: list[Callable[[], object]] = [
            lambda: ledger.create_table(name),
            lambda: txn.create_table(name),
            lambda: ledger.rename_table("t", name),
            lambda: txn.rename_table("t", name),
            lambda: ledger.create_table("u", [(name, "int")]),
            lambda: ledger.alter_table("t", columns=[(name, "int")]),
        ]
        for call in refused:
            with pytest.raises(ValueError, match="must not hold"):
                call()

    assert [table.name for table in ledger.tables()] == ["t"]
