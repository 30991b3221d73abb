"""Known faults of DuckLake under two writers, step by step, with the rows to read by hand.

    python -m tests.consistency faults-of-ducklake

Each has the number of its public report, and says what one writer after the other would leave.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from tests.consistency.subjects.ducklake import load, version


@contextmanager
def lake(options: str = "") -> Iterator[Any]:
    """Yield a connection with a new DuckLake, whose catalog is a file of DuckDB."""
    with (
        tempfile.TemporaryDirectory() as place,
        duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection,
    ):
        load(connection)
        at = f"ATTACH 'ducklake:{place}/m.ducklake' AS lake (DATA_PATH '{Path(place)}/d'{options})"
        connection.execute(at)
        yield connection


def rows(connection: Any, query: str) -> Any:
    return connection.execute(query).fetchall()


def both(connection: Any, one: str, other: str) -> list[str]:
    """Let two txns run side by side and commit in order; return what became of each."""
    cursors = [connection.cursor(), connection.cursor()]
    for cursor, statements in zip(cursors, (one, other), strict=True):
        cursor.execute("BEGIN")
        for statement in statements.split(";"):
            cursor.execute(statement)
    return [committed(cursor) for cursor in cursors]


def committed(cursor: Any) -> str:
    try:
        cursor.execute("COMMIT")
    except duckdb.Error as error:
        return f"refused ({' '.join(str(error).split())[:90]})"
    return "committed"


def replaced_twice() -> Iterator[object]:
    """Issue 1393: two txns delete an absent key and insert it. In order: one row."""
    with lake() as connection:
        connection.execute("CREATE TABLE lake.t AS SELECT range AS k, 0 AS v FROM range(40)")
        change = "DELETE FROM lake.t WHERE k = 42; INSERT INTO lake.t VALUES (42, 1)"
        yield both(connection, change, change)
        yield rows(connection, "SELECT * FROM lake.t WHERE k = 42")


def merged_twice() -> Iterator[object]:
    """Two MERGE of one absent key. In order: one row."""
    with lake() as connection:
        connection.execute("CREATE TABLE lake.t AS SELECT range AS k, 0 AS v FROM range(40)")
        change = (
            "MERGE INTO lake.t USING (SELECT 42 AS k, 1 AS v) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v)"
        )
        yield both(connection, change, change)
        yield rows(connection, "SELECT * FROM lake.t WHERE k = 42")


def deleted_in_two_stores() -> Iterator[object]:
    """Issue 1215: one row deleted in the catalog and in a file. In order: 900 rows, none < 100."""
    with lake(", DATA_INLINING_ROW_LIMIT 10") as connection:
        connection.execute("CREATE TABLE lake.t AS SELECT range AS k FROM range(1000)")
        yield both(connection, "DELETE FROM lake.t WHERE k < 5", "DELETE FROM lake.t WHERE k < 100")
        yield rows(connection, "SELECT count(*), count(*) FILTER (k < 100) FROM lake.t")
        yield rows(
            connection,
            "SELECT count(k), count(*) FILTER (k < 100) FROM (SELECT * FROM lake.t WHERE k >= 0)",
        )


def deleted_from_a_merged_file() -> Iterator[object]:
    """Issue 1472: a delete from a file that was merged and expired meanwhile. In order: row 2."""
    with lake(", DATA_INLINING_ROW_LIMIT 0") as connection:
        connection.execute("CREATE TABLE lake.t (id INT, p INT)")
        connection.execute("INSERT INTO lake.t VALUES (1, 1)")
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        cursor.execute("SELECT id FROM lake.t").fetchall()
        connection.execute("INSERT INTO lake.t VALUES (2, 1)")
        connection.execute("CALL ducklake_merge_adjacent_files('lake')")
        connection.execute("CREATE TABLE lake.u (i INT)")
        connection.execute("CALL ducklake_expire_snapshots('lake', versions => [3, 4])")
        cursor.execute("DELETE FROM lake.t WHERE id = 1")
        yield committed(cursor)
        yield rows(connection, "SELECT id FROM lake.t ORDER BY id")


FAULTS: tuple[Callable[[], Iterator[object]], ...] = (
    replaced_twice,
    merged_twice,
    deleted_in_two_stores,
    deleted_from_a_merged_file,
)


def main() -> int:
    """Show every fault with its rows."""
    print(version())
    for fault in FAULTS:
        print(fault.__doc__)
        try:
            for seen in fault():
                print(f"    {seen}")
        except duckdb.Error as error:
            print(f"    {' '.join(str(error).split())[:200]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
