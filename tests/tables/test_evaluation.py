"""The DuckDB that judges rows: connections share a database, and nothing else."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import duckdb
import pyarrow as pa
import pytest

from ledger.expressions.duckdb.evaluation import close_database, database, duck

PATIENCE_S = 60


def judged(number: int) -> list[bool]:
    with duck() as connection:
        connection.register("rows", pa.table({"a": [number, -1]}))
        found = connection.execute(f"SELECT a = {number} FROM rows").to_arrow_table()  # noqa: S608
        return [bool(each) for each in found.column(0).to_pylist()]


def test_a_table_that_one_connection_registers_is_unknown_to_others_also_after_its_end() -> None:
    with duck() as one, duck() as other:
        one.register("rows", pa.table({"a": [1]}))
        with pytest.raises(duckdb.CatalogException):
            other.execute("SELECT * FROM rows")
    with duck() as later, pytest.raises(duckdb.CatalogException):
        later.execute("SELECT * FROM rows")


def test_each_connection_is_set_up() -> None:
    for _ in range(2):
        with duck() as connection:
            found = connection.execute(
                "SELECT current_setting('TimeZone'), current_setting('disabled_optimizers')"
            ).fetchone()
            assert found == (
                "UTC",
                "expression_rewriter,filter_pushdown,in_clause,join_filter_pushdown",
            )
            with pytest.raises(duckdb.PermissionException):
                connection.execute("SELECT * FROM read_csv('/etc/hosts')")
            connection.execute("SET TimeZone = 'Europe/Oslo'")


def test_threads_judge_tables_of_the_same_name_each_its_own() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(judged, range(64))) == [[True, False]] * 64


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_judges_conditions_and_ends() -> None:
    rows = pa.table({"a": pa.array(range(500_000))})
    query = "SELECT a % 7 = 0 AS b, count(*) FROM rows GROUP BY 1 ORDER BY 1"
    with duck() as connection:
        connection.register("rows", rows)
        connection.execute(query).fetchall()
    former = database()
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE_S)
        is_shared = database() is former
        with duck() as connection:
            connection.register("rows", pa.table({"a": [1, 7]}))
            found = connection.execute(query).fetchall()
        close_database()  # As at the end of Python: it waits for the threads of the database.
        os._exit(is_shared or found != [(False, 1), (True, 1)])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert judged(1) == [True, False]


def test_a_long_list_of_values_keeps_the_order_of_rows() -> None:
    """Row by row: a condition is judged over rows that come in pieces of any size."""
    wanted = [7, 8, 9, 20, 499, 500, *range(600, 640)]
    ends = [0, 1, 2, 2, 1_000, 71_000, 71_003]
    pieces = [pa.record_batch({"a": pa.array(range(*span), pa.int64())}) for span in pairwise(ends)]
    rows = pa.Table.from_batches(pieces)
    with duck() as connection:
        connection.register("rows", rows)
        listed = ", ".join(map(str, wanted))
        sql = f"SELECT a IN ({listed}) FROM rows"  # noqa: S608
        hit = connection.execute(sql).to_arrow_table().column(0)
    assert rows.filter(hit)["a"].to_pylist() == wanted
