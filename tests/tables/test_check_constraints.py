"""CHECK constraints: which rows a table takes, and when it takes a constraint."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.core.commands import LEVELS, AlterTable, Property, TableDefinition
from ledger.errors import (
    ConcurrentAppendException,
    ConstraintViolatedError,
    MetadataChangedException,
)
from ledger.reads.rows import TableRow
from ledger.session.session import UNNUMBERED
from ledger.transaction.transaction import Transaction
from tests.tables.reading import rows_of, stored

NAME = "shop.sales"
COLUMNS = [("id", "int"), ("day", "date"), ("item", "string"), ("price", "double")]
GOOD = {"id": 1, "item": "pen", "price": 1.0}


def named(name: str, condition: str) -> Mapping[str, str]:
    return {f"delta.constraints.{name}": condition}


@pytest.fixture
def sales(ledger: Ledger, tmp_path: Path) -> TableRow:
    row = ledger.create_table(
        NAME, COLUMNS, location=tmp_path / "sales", properties=named("Positive", "price > 0")
    )
    ledger.append(NAME, [GOOD])
    return row


Doing = Callable[[Ledger, Transaction, Any], Any]
ON = "target.id = source.id"
WRITES: Mapping[str, Doing] = {
    "append": lambda ledger, _, price: ledger.append(NAME, [GOOD, {"id": 2, "price": price}]),
    "insert": lambda _, txn, price: txn.insert(NAME, [GOOD, {"id": 2, "price": price}]),
    "insert and evolve": lambda _, txn, price: txn.insert(
        NAME, [{"id": 2, "price": price, "more": 1}], evolve=True
    ),
    "overwrite": lambda _, txn, price: txn.overwrite(NAME, [{"id": 1, "price": price}], "id = 1"),
    "update by a value": lambda _, txn, price: txn.update(NAME, {"price": price}),
    "update by an expression": lambda _, txn, price: txn.update(
        NAME, {"price": "CAST(NULL AS DOUBLE)" if price is None else f"price * {price}"}
    ),
    "merge that updates": lambda _, txn, price: txn.merge(
        NAME, [{"id": 1, "price": price}], ON, when_matched_update={"price": "source.price"}
    ),
    "merge that inserts": lambda _, txn, price: txn.merge(
        NAME,
        [{"id": 2, "price": price}],
        ON,
        when_not_matched_insert={"id": "source.id", "price": "source.price"},
    ),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("price", [-1.0, 0.0, None, 2.5])
def test_every_new_row_is_checked(
    ledger: Ledger, sales: TableRow, write: str, price: float | None
) -> None:
    """A row counts as good only if the condition is true, as in Delta: NULL breaks it too."""
    with ledger.begin() as txn:
        if price == 2.5:
            WRITES[write](ledger, txn, price)
            txn.commit()
            assert any(row["price"] == price for row in rows_of(ledger, NAME))
            return
        with pytest.raises(ConstraintViolatedError) as raised:
            WRITES[write](ledger, txn, price)
        txn.abort()
    assert (raised.value.table, raised.value.constraint) == (NAME, "positive")
    assert raised.value.condition == "price > 0"
    assert raised.value.row == {"price": price}
    assert f"price > 0), got a row with price = {price!r}" in str(raised.value)
    assert len(rows_of(ledger, NAME)) == 1
    assert len(stored(sales)) == 1


CONDITIONS: Sequence[tuple[str, Mapping[str, Any], int]] = [
    ("price > 0 OR item IS NULL", {"price": -1.0}, 1),
    ("price > 0 OR item IS NULL", {"price": None, "item": "pen"}, 0),
    ("price IS NULL OR price > 0", {"price": None}, 1),
    ("item IN ('pen', 'ink')", {"item": "ink"}, 1),
    ("item IN ('pen', 'ink')", {"item": "nib"}, 0),
    ("item IN ('pen', NULL)", {"item": "nib"}, 0),
    ("length(item) BETWEEN 2 AND 4", {"item": "nibs"}, 1),
    ("length(item) BETWEEN 2 AND 4", {"item": "pencil"}, 0),
    ("day >= '2024-01-01' AND id > 0", {"id": 0}, 0),
    ("NOT isnan(price)", {"price": float("nan")}, 0),
    ("id <> 3 AND id <> 4", {"id": 4}, 0),
]


@pytest.mark.parametrize(("condition", "row", "taken"), CONDITIONS)
def test_conditions_mean_what_they_mean_in_spark_sql(
    ledger: Ledger, tmp_path: Path, condition: str, row: Mapping[str, Any], taken: int
) -> None:
    ledger.create_table(NAME, COLUMNS, location=tmp_path, properties=named("c", condition))
    if taken:
        ledger.append(NAME, [row])
    else:
        with pytest.raises(ConstraintViolatedError):
            ledger.append(NAME, [row])
    assert ledger.scan(NAME).count() == taken


def test_several_constraints(ledger: Ledger, sales: TableRow) -> None:
    """Each constraint holds."""
    ledger.alter_table(sales, properties=named("small", "id < 100"))
    with pytest.raises(ConstraintViolatedError, match="small"):
        ledger.append(NAME, [{"id": 100, "price": 1.0}])
    with pytest.raises(ConstraintViolatedError, match="positive"):
        ledger.append(NAME, [{"id": 1, "price": -1.0}])


def test_rows_in_folders(ledger: Ledger, tmp_path: Path) -> None:
    """A table whose rows lie in folders has no constraints: any writer puts rows there."""
    given = named("few", "id < 3")
    with pytest.raises(ValueError, match="lie in folders"):
        ledger.create_table(
            NAME, COLUMNS, location=tmp_path, layout="directories", properties=given
        )
    row = ledger.create_table(NAME, COLUMNS, location=tmp_path, layout="directories")
    with pytest.raises(ValueError, match="lie in folders"):
        ledger.alter_table(row, properties=given)


def test_rows_that_are_kept_are_not_checked(ledger: Ledger, sales: TableRow) -> None:
    with ledger.transaction() as txn:
        txn.insert(sales, [{"id": 2, "price": 1.0}, {"id": 3, "price": 1.0}])
    definition = ledger.table(NAME).definition
    known = [each for each in definition.properties if not each.key.startswith("delta.c")]
    # As an import does it: what came from elsewhere was checked there.
    import_of(ledger, sales, [*known, Property("delta.constraints.c", "id > 2")])
    with ledger.transaction() as txn:
        txn.update(sales, {"price": 2.0}, "id = 3")
        txn.optimize(sales)
    with ledger.transaction() as txn:
        txn.delete(sales, "id = 2")
    assert [row["id"] for row in rows_of(ledger, NAME)] == [1, 3]


def import_of(ledger: Ledger, row: TableRow, properties: Sequence[Property]) -> None:
    """Alter a table as an import does: by the command itself."""
    with ledger.begin() as txn:
        definition = ledger.table(row.name).definition._replace(properties=sorted(properties))
        txn.ask(AlterTable(*UNNUMBERED, txn.id, 0, row.table, definition, "IMPORT"))
        txn.commit()


@pytest.mark.parametrize("condition", ["soundex(item) = 'P500'", "no_column > 0"])
@pytest.mark.parametrize("write", WRITES)
def test_a_condition_that_cannot_be_evaluated_refuses_new_rows(
    ledger: Ledger, sales: TableRow, write: str, condition: str
) -> None:
    import_of(ledger, sales, [Property("delta.constraints.odd", condition)])
    with ledger.begin() as txn:
        with pytest.raises(ValueError, match="which is not checked here") as raised:
            WRITES[write](ledger, txn, 2.5)
        txn.abort()
    assert f"delta.constraints.odd ({condition})" in str(raised.value)
    assert len(stored(sales)) == 1


REFUSED: Sequence[tuple[str, str]] = [
    ("prise > 0", "did you mean price"),
    ("price", "BOOLEAN"),
    ("price >", "price >"),
    ("price > rand()", "rand"),
    ("id IN (SELECT 1)", "not supported"),
]


@pytest.mark.parametrize(("condition", "said"), REFUSED)
def test_what_is_no_constraint(ledger: Ledger, sales: TableRow, condition: str, said: str) -> None:
    """A constraint must be a condition that can be checked; it is refused where it is given."""
    given = named("bad", condition)
    for refused in (
        lambda: ledger.alter_table(sales, properties=given),
        lambda: ledger.create_table("shop.other", COLUMNS, location="/tmp/o", properties=given),  # noqa: S108
        lambda: in_txn(ledger, lambda txn: txn.alter_table(sales, properties=given)),
        lambda: in_txn(
            ledger,
            lambda txn: txn.create_table("shop.o", COLUMNS, location="/tmp/o", properties=given),  # noqa: S108
        ),
    ):
        with pytest.raises(ValueError, match="constraint bad of table shop") as raised:
            refused()
        assert said in str(raised.value)
    assert ledger.table(NAME).definition == sales.definition


def in_txn(ledger: Ledger, work: Callable[[Transaction], Any]) -> None:
    with ledger.transaction() as txn:
        work(txn)


def test_rows_that_are_there_are_checked(ledger: Ledger, sales: TableRow) -> None:
    for condition, values in (("price > 1", {"price": 1.0}), ("day IS NOT NULL", {"day": None})):
        with pytest.raises(ConstraintViolatedError) as raised:
            ledger.alter_table(sales, properties=named("more", condition))
        assert raised.value.row == values
        with pytest.raises(ConstraintViolatedError), ledger.transaction() as txn:
            txn.alter_table(sales, properties=named("more", condition))
    assert ledger.table(NAME).definition == sales.definition
    ledger.alter_table(sales, properties=named("more", "price >= 1"))
    with pytest.raises(ConstraintViolatedError, match="more"):
        ledger.append(NAME, [{"price": 0.5}])


def test_a_txn_checks_the_rows_that_it_has_written_itself(ledger: Ledger, sales: TableRow) -> None:
    with ledger.transaction() as txn:
        txn.insert(sales, [{"id": 7, "price": 7.0}])
        with pytest.raises(ConstraintViolatedError):
            txn.alter_table(sales, properties=named("small", "id < 7"))
        txn.alter_table(sales, properties=named("small", "id < 8"))
        with pytest.raises(ConstraintViolatedError):
            txn.insert(sales, [{"id": 8, "price": 7.0}])
    assert len(rows_of(ledger, NAME)) == 2


@pytest.mark.parametrize("level", ["WriteSerializable", "Serializable"])
def test_rows_that_come_meanwhile(ledger: Ledger, sales: TableRow, level: str) -> None:
    """A commit that adds rows after they were checked wins, and one planned before loses."""
    ledger.alter_table(sales, properties={"delta.isolationLevel": level})
    with ledger.begin() as txn, ledger.begin() as other:
        txn.alter_table(sales, properties=named("small", "id < 100"))
        other.insert(sales, [{"id": 100, "price": 1.0}])
        other.commit()
        with pytest.raises(ConcurrentAppendException):
            txn.commit()
    with ledger.begin() as other:
        other.insert(sales, [{"id": 200, "price": 1.0}])
        ledger.alter_table(sales, properties=named("small", "id < 200"))
        with pytest.raises(MetadataChangedException):
            other.commit()
    assert [row["id"] for row in rows_of(ledger, NAME)] == [1, 100]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("row", [{"id": 100, "price": 1.0}, {"id": 99, "price": 1.0}])
def test_a_constraint_is_checked_again(
    ledger: Ledger, sales: TableRow, level: str, row: Mapping[str, Any]
) -> None:
    ledger.alter_table(sales, properties={"delta.isolationLevel": level})
    calls = 0

    def change(before: TableDefinition) -> TableDefinition:
        nonlocal calls
        calls += 1
        if calls == 2:  # The txn of the change is open.
            ledger.append(NAME, [row])
        small = Property("delta.constraints.small", "id < 100")
        return before._replace(properties=sorted([*before.properties, small]))

    if row["id"] == 100:
        with pytest.raises(ConstraintViolatedError, match="id = 100"):
            ledger.alter_table(NAME, change)
    else:
        ledger.alter_table(NAME, change)
    assert calls == 4
    assert len(rows_of(ledger, NAME)) == 2


def test_a_txn_judged_by_no_reads_cannot_add_a_constraint(ledger: Ledger, sales: TableRow) -> None:
    ledger.alter_table(sales, properties={"delta.isolationLevel": "SnapshotIsolation"})
    with ledger.transaction() as txn, pytest.raises(ValueError, match="level="):
        txn.alter_table(sales, properties=named("small", "id < 100"))
    with ledger.transaction(level="write-serializable") as txn:
        txn.alter_table(sales, properties=named("small", "id < 100"))


def test_a_constraint_planned_before_a_change_is_refused(ledger: Ledger, sales: TableRow) -> None:
    position = ledger.reads().position()
    after = ledger.table(NAME).definition._replace(
        properties=[Property("delta.constraints.a", "id > 0")]
    )
    ledger.alter_table(sales, properties={"owner": "ada"})
    with pytest.raises(MetadataChangedException):
        ledger.alter_table(sales, after, read_at=position)
    ledger.alter_table(sales, after, read_at=ledger.reads().position())
    assert ledger.table(NAME).definition.properties == after.properties


COLUMN_CHANGES: Mapping[str, list[tuple[str, str]]] = {
    "dropped": COLUMNS[:3],
    "renamed": [*COLUMNS[:3], ("cost", "double")],
}


@pytest.mark.parametrize("change", COLUMN_CHANGES)
def test_the_columns_of_a_constraint_stay(ledger: Ledger, sales: TableRow, change: str) -> None:
    columns = COLUMN_CHANGES[change]
    with pytest.raises(ValueError, match=r"column price .* the constraint positive"):
        ledger.alter_table(sales, columns=columns)
    ledger.alter_table(sales, columns=[*COLUMNS[1:], ("more", "int")])
    ledger.alter_table(sales, unset=["delta.constraints.positive"])
    ledger.alter_table(sales, columns=columns)
    ledger.append(NAME, [{"item": "pen"}])
    assert ledger.scan(NAME).count() == 2


def test_a_constraint_on_a_column_of_the_same_change(ledger: Ledger, sales: TableRow) -> None:
    """A new column and a constraint on it are two changes."""
    columns = [*COLUMNS, ("more", "int")]
    with pytest.raises(ValueError, match="column more"):
        ledger.alter_table(sales, columns=columns, properties=named("c", "more > 0"))
    ledger.alter_table(sales, columns=columns)
    with pytest.raises(ConstraintViolatedError):
        ledger.alter_table(sales, properties=named("c", "more > 0"))
    ledger.alter_table(sales, properties=named("c", "more IS NULL OR more > 0"))
