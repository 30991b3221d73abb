"""When the partition columns of a table changed, and which files a condition then leaves out."""

from collections.abc import Callable

import pytest

from ledger.snapshot.as_of import known_row
from ledger.snapshot.table_snapshot import TableSnapshot
from projections.queries import StoreReads
from tests.conditions import tree_of
from tests.core.parts import table_of
from tests.driver import Driver
from tests.oracle.reads import StateReads
from tests.projections.filing import commit
from tests.projections.followed import rows_of
from tests.web.served import serving

COLUMNS = ("a", "int"), ("b", "int")
BY_A, BY_B = table_of(*COLUMNS, by=["a"]), table_of(*COLUMNS, by=["b"])


def at_once(driver: Driver, session: int, table: int) -> int:
    """Partition the table otherwise; return where."""
    return driver.alter_table(session, table, BY_B, "REPLACE TABLE").control.position


def and_back(driver: Driver, session: int, table: int) -> int:
    """Partition the table otherwise, and then as it was."""
    at_once(driver, session, table)
    return driver.alter_table(session, table, BY_A, "REPLACE TABLE").control.position


def other_types(driver: Driver, session: int, table: int) -> int:
    """Give the partition column another type."""
    other = table_of(("a", "string"), ("b", "int"), by=["a"])
    return driver.alter_table(session, table, other, "CHANGE COLUMN").control.position


def other_column(driver: Driver, session: int, table: int) -> int:
    """Give the name of the partition column to another column, by one change."""
    a, b = BY_A.columns
    swapped = BY_A._replace(columns=[a._replace(name="b"), b._replace(name="a")])
    return driver.alter_table(session, table, swapped, "RENAME COLUMN").control.position


def in_txn(driver: Driver, session: int, table: int) -> int:
    """Partition the table otherwise in a txn, which takes effect with its commit."""
    txn = driver.open_txn(session)
    driver.alter_table(session, table, BY_B, "REPLACE TABLE", txn=txn)
    return driver.commit(session, txn).control.position


def and_more(driver: Driver, session: int, table: int) -> int:
    """Partition the table otherwise, then change all but that, and drop it."""
    found = at_once(driver, session, table)
    wider = table_of(*COLUMNS, ("c", "int"), by=["b"], owner="ada")
    driver.alter_table(session, table, wider, "ADD COLUMNS")
    driver.rename_table(session, table, "z")
    driver.drop_table(session, table)
    return found


def not_at_all(driver: Driver, session: int, table: int) -> int:
    """Change all but the partition columns, those in a txn that is aborted."""
    wider = table_of(*COLUMNS, ("c", "int"), by=["a"], owner="ada")
    driver.alter_table(session, table, wider, "ADD COLUMNS")
    txn = driver.open_txn(session)
    driver.alter_table(session, table, BY_B, "REPLACE TABLE", txn=txn)
    driver.abort(session, txn)
    return 0


def of_one_txn(driver: Driver, session: int, _table: int) -> int:
    """Create another table in a txn that partitions it otherwise before it commits."""
    txn = driver.open_txn(session)
    table = driver.create_table(session, "b", made=BY_A, txn=txn)
    driver.alter_table(session, table, BY_B, "REPLACE TABLE", txn=txn)
    return driver.commit(session, txn).control.position


@pytest.mark.parametrize(
    "play", [at_once, and_back, other_types, other_column, in_txn, and_more, not_at_all, of_one_txn]
)
def test_a_row_says_when_its_partitions_changed(play: Callable[[Driver, int, int], int]) -> None:
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "a", made=BY_A)
    place = play(driver, session, table)
    newest = driver.state.tables.next_table - 1
    store = rows_of(driver)

    with serving(lambda: StoreReads(store.reader())) as served:
        for reads in (StoreReads(store), StateReads(driver.log), served.reads):
            row = reads.table(newest)
            assert row is not None
            assert place == row.partitioned
            assert row in reads.tables(include_dropped=True)


@pytest.mark.parametrize(
    ("where", "found"), [("a = 1", [["x"], ["x", "y"]]), ("b = 7", [["x"], ["x"]])]
)
def test_files_from_before_a_repartition_are_found(where: str, found: list[list[str]]) -> None:
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "a", made=BY_B)
    before = commit(driver, session, table, ["x"]).control.position
    driver.alter_table(session, table, BY_A, "REPLACE TABLE")
    driver.alter_table(session, table, table_of(*COLUMNS, by=["a", "b"]), "REPLACE TABLE")
    driver.alter_table(session, table, BY_B if "b" in where else BY_A, "REPLACE TABLE")
    after = commit(driver, session, table, ["y"]).control.position
    store = rows_of(driver)

    with serving(lambda: StoreReads(store.reader())) as served:
        for reads in (StoreReads(store), StateReads(driver.log), served.reads):
            row = known_row(reads, table)
            assert found == [
                TableSnapshot(reads, row, place).read(tree_of(where)).paths
                for place in (before, after)
            ]
