"""A column that the table does not have is told with the nearest name, never passed over."""

import pickle
from collections.abc import Callable

import pytest

from ledger.client import Ledger
from ledger.errors import UnknownColumnError
from ledger.expressions.build import Expression, col
from ledger.log.wire.file_list import AddFile
from ledger.transaction.transaction import Transaction
from tests.conditions import tree_of

COLUMNS = [("month", "int"), ("Carrier", "string"), ("d", "date"), ("arr", "array<int>")]
KNOWN = [
    "month = 3",
    "MONTH = 3 and carrier like 'A%'",
    "arr[0] = 3 or exists(arr, v -> v > month)",
    "carrier.code = 1",
    "extract(year from d) = 2024 and timestampadd(HOUR, 1, d) > current_date",
    "current_user = carrier or user = carrier or localtimestamp > d",
    "month in (select x from elsewhere)",
    "rand() > 0.5",
    "d > interval 3 days",
]
UNKNOWN: list[tuple[str | Expression, str]] = [
    ("mnth = 3", "table t has no column mnth, did you mean month?"),
    ("month = 3 and carier = 'AA'", "has no column carier, did you mean Carrier?"),
    ("not (upper(carr) = 'X')", "has no column carr, did you mean arr?"),
    ("x > 1", "table t has no column x; it has month, Carrier, d, arr"),
    ("exists(arrr, v -> v > 1)", "no column arrr, did you mean arr?"),
    ("transform(arr, v -> v + monht)[0] > 1", "no column monht, did you mean month?"),
    ("case when mont > 1 then true else false end", "no column mont, did you mean month?"),
    (col("mnth") == 3, "no column mnth, did you mean month?"),
    (col("carrie").is_null() | (col("month") == 1), "no column carrie, did you mean Carrier?"),
]


@pytest.fixture
def table(ledger: Ledger) -> int:
    table = ledger.create_table("t", COLUMNS, partition_columns=["month"]).table
    ledger.append(table, [AddFile("a", ("1",)), AddFile("b", ("3",))])
    return table


def test_names_are_told_as_they_are_written_each_once() -> None:
    assert tree_of("b = 1 and A in (b, c) or f(d, 'e') = 2").columns() == [*"bAcd"]


@pytest.mark.parametrize("where", KNOWN)
def test_conditions_on_known_columns_are_taken(ledger: Ledger, table: int, where: str) -> None:
    assert "b" in ledger.read(table, where).paths


@pytest.mark.parametrize(("where", "said"), UNKNOWN, ids=str)
def test_client_and_txn_refuse_unknown_columns(
    ledger: Ledger, table: int, where: str | Expression, said: str
) -> None:
    with pytest.raises(UnknownColumnError) as raised:
        ledger.read(table, where)
    with ledger.transaction(level="serializable") as txn:
        for read in (txn.read, txn.depends_on):
            with pytest.raises(UnknownColumnError):
                read(table, where)
        ledger.append(table, [AddFile("c", ("3",))])
        txn.add_files(table, [AddFile("d", ("4",))])

    assert said in str(raised.value)
    assert txn.receipt is not None
    told = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - of this process
    assert (raised.value.column, table) == (told.column, told.table)


def test_a_column_of_another_time_counts_where_it_is_known(ledger: Ledger, table: int) -> None:
    reader = ledger.begin("read_only")
    ledger.alter_table("t", columns=[("month", "int"), ("tail", "string")])

    assert reader.read(table, "carrier = 'AA' or tail = 'N'").paths == ["a", "b"]
    assert ledger.read(table, "carrier = 'AA'", version=1).paths == ["a", "b"]
    with pytest.raises(UnknownColumnError, match="no column carrier"):
        ledger.read(table, "carrier = 'AA'")
    with ledger.transaction() as txn:
        txn.alter_table("t", columns=[("month", "int"), ("tail", "string"), ("x", "int")])
        assert txn.read("t", "x = 1").paths == ["a", "b"]
        with pytest.raises(UnknownColumnError, match="no column y"):
            txn.read("t", "y = 1")


def test_the_columns_of_a_table_that_names_none_are_not_known(ledger: Ledger) -> None:
    ledger.create_table("u")
    ledger.append("u", ["a"])

    assert ledger.read("u", "x = 1").paths == ["a"]


COARSE: list[tuple[str, str]] = [
    ("mnth=3", "table t has no partition column mnth, did you mean month?"),
    ("month=3/carrier=AA", "has no partition column carrier; it has month"),
    ("3", "a partition of table t must look like month=<value>.*, got '3'"),
    ("", "a partition of table t must look like .*, got ''"),
    ("month=3/month=4", "a partition of table t must look like"),
    ("month=%FF", "a partition of table t must look like"),
]
WRITES: list[Callable[[Transaction, str], object]] = [
    lambda txn, partition: txn.wrote("t", "insert", partition),
    lambda txn, partition: txn.wrote("t", "update", partition),
    lambda txn, partition: txn.wrote("t", "delete", partition),
]


def test_rows_come_only_where_a_value_is_one_of_its_column(ledger: Ledger, table: int) -> None:
    with ledger.transaction() as txn:
        for partition in ("month=march", "month=2147483648"):
            with pytest.raises(ValueError, match="partition column month must be a whole number"):
                txn.wrote(table, "insert", partition)
            txn.wrote(table, "update", partition)
            txn.wrote(table, "delete", partition)
        for partition in ("month=03", "month=", "month=__HIVE_DEFAULT_PARTITION__"):
            txn.wrote(table, "insert", partition)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(("partition", "said"), COARSE)
def test_a_partition_that_the_table_cannot_have_is_refused_and_nothing_is_declared(
    ledger: Ledger,
    table: int,
    write: Callable[[Transaction, str], object],
    partition: str,
    said: str,
) -> None:
    with ledger.transaction() as txn:
        with pytest.raises(ValueError, match=said):
            write(txn, partition)
        with pytest.raises(TypeError, match="a partition must be a text, got 3"):
            write(txn, 3)  # type: ignore[arg-type]
        write(txn, "Month=3/")

    assert txn.receipt is not None
    assert {table: 2} == txn.receipt.versions
