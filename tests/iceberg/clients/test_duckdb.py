"""Statements of DuckDB's extension: after each, all readers agree."""

from collections.abc import Iterator
from typing import Any, Final

import duckdb
import pytest

from ledger.properties.column_mapping import PUBLISH
from tests.iceberg.clients.canonical import texts
from tests.iceberg.clients.duckdb_client import attach, attached
from tests.iceberg.clients.readers import NULL_PARTS, Served, agreed, duckdb_rows, pyiceberg_catalog

TABLE: Final = "db.t"
OTHER: Final = "db.other"
# Format and grain: rows are marked in place, or their files are written anew by the SDK.
FORMS: Final = [("2", "rewrite"), ("2", "marks"), ("3", "rewrite"), ("3", "marks")]


@pytest.fixture
def duck(lake: Served) -> Iterator[Any]:
    with attached(lake.uri) as connection:
        yield connection


def made(lake: Served, name: str = TABLE, form: str = "2", grain: str = "rewrite") -> None:
    """Make a table with ten rows by the SDK."""
    properties = {PUBLISH: "delta", "lakeledger.rows": grain, "iceberg.format-version": form}
    lake.ledger.create_table(name, [("id", "bigint"), ("v", "string")], properties=properties)
    lake.ledger.append(name, [{"id": n, "v": "a"} for n in range(10)])


def of(values: dict[int, str]) -> list[str]:
    """Return rows as all readers show them."""
    return texts({"id": n, "v": value} for n, value in values.items())


@pytest.mark.parametrize(("form", "grain"), FORMS)
def test_rows_change_by_duckdb_and_all_readers_see_them(
    lake: Served, duck: Any, form: str, grain: str
) -> None:
    made(lake, TABLE, form, grain)
    wanted = dict.fromkeys(range(10), "a")
    duck.execute(f"INSERT INTO lake.{TABLE} VALUES (10, 'b'), (11, NULL)")
    wanted |= {10: "b", 11: None}  # type: ignore[dict-item]
    assert agreed(lake, TABLE) == of(wanted)
    duck.execute(f"DELETE FROM lake.{TABLE} WHERE id IN (3, 10)")
    wanted = {n: value for n, value in wanted.items() if n not in (3, 10)}
    assert agreed(lake, TABLE) == of(wanted)
    duck.execute(f"UPDATE lake.{TABLE} SET v = 'c' WHERE id < 2 OR v IS NULL")
    wanted |= {0: "c", 1: "c", 11: "c"}
    assert agreed(lake, TABLE) == of(wanted)
    source = "SELECT 0 AS id, 'm' AS v UNION ALL SELECT 50, 'n'"
    duck.execute(
        f"MERGE INTO lake.{TABLE} t USING ({source}) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)"
    )
    wanted |= {0: "m", 50: "n"}
    assert agreed(lake, TABLE) == of(wanted)
    duck.execute(f"DELETE FROM lake.{TABLE} WHERE id = 0")
    duck.execute(f"DELETE FROM lake.{TABLE} WHERE id = 1")
    wanted = {n: value for n, value in wanted.items() if n > 1}
    assert agreed(lake, TABLE) == of(wanted)


@pytest.mark.parametrize(("form", "grain"), FORMS)
def test_changes_of_the_sdk_and_of_duckdb_follow_each_other(
    lake: Served, duck: Any, form: str, grain: str
) -> None:
    made(lake, TABLE, form, grain)
    wanted = dict.fromkeys(range(10), "a")
    duck.execute(f"DELETE FROM lake.{TABLE} WHERE id = 0")
    lake.ledger.delete(TABLE, "id = 1")
    duck.execute(f"UPDATE lake.{TABLE} SET v = 'd' WHERE id = 2")
    lake.ledger.update(TABLE, {"v": "'s'"}, "id = 3")
    del wanted[0], wanted[1]
    wanted |= {2: "d", 3: "s"}
    assert agreed(lake, TABLE) == of(wanted)
    lake.ledger.optimize(TABLE)
    duck.execute(f"DELETE FROM lake.{TABLE} WHERE id = 2")
    lake.ledger.delete(TABLE, "id = 3")
    del wanted[2], wanted[3]
    assert agreed(lake, TABLE) == of(wanted)
    newest = lake.ledger.history(TABLE, 1)[0].version
    lake.ledger.restore(TABLE, version=newest - 2)
    assert agreed(lake, TABLE) == of({**wanted, 2: "d", 3: "s"})


@pytest.mark.parametrize(("form", "grain"), FORMS)
def test_rows_are_inserted_and_deleted_in_one_transaction(
    lake: Served, duck: Any, form: str, grain: str
) -> None:
    made(lake, TABLE, form, grain)
    before = lake.ledger.history(TABLE, 1)[0].version
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO lake.{TABLE} VALUES (20, 'x'), (21, 'y')")
    duck.execute(f"DELETE FROM lake.{TABLE} WHERE id IN (0, 20)")
    duck.execute("COMMIT")
    assert lake.ledger.history(TABLE, 1)[0].version == before + 1
    wanted = {**dict.fromkeys(range(1, 10), "a"), 21: "y"}
    assert agreed(lake, TABLE) == of(wanted)


def test_several_tables_change_at_one_position(lake: Served, duck: Any) -> None:
    made(lake)
    made(lake, OTHER)
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO lake.{OTHER} SELECT id + 100, v FROM lake.{TABLE} WHERE id < 3")
    duck.execute(f"DELETE FROM lake.{TABLE} WHERE id < 3")
    duck.execute("COMMIT")
    moved, kept = (lake.ledger.history(name, 1)[0] for name in (OTHER, TABLE))
    assert moved.position == kept.position
    assert moved.txn == kept.txn
    assert agreed(lake, TABLE) == of(dict.fromkeys(range(3, 10), "a"))
    wanted = dict.fromkeys((*range(10), 100, 101, 102), "a")
    assert agreed(lake, OTHER) == of(wanted)
    with attached(lake.uri, f"main@{moved.position - 1}") as past:
        query = f"SELECT (SELECT count(*) FROM lake.{TABLE}), (SELECT count(*) FROM lake.{OTHER})"
        assert past.execute(query).fetchall() == [(10, 10)]
        assert duck.execute(query).fetchall() == [(7, 13)]


def test_a_transaction_that_loses_one_table_changes_none(lake: Served, duck: Any) -> None:
    made(lake)
    made(lake, OTHER)
    before = lake.ledger.history(OTHER, 1)[0].version
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO lake.{OTHER} VALUES (99, 'x')")
    duck.execute(f"UPDATE lake.{TABLE} SET v = 'x' WHERE id = 0")
    lake.ledger.update(TABLE, {"v": "'first'"}, "id = 0")
    with pytest.raises(duckdb.Error):
        duck.execute("COMMIT")
    assert lake.ledger.history(OTHER, 1)[0].version == before
    assert agreed(lake, TABLE) == of({**dict.fromkeys(range(10), "a"), 0: "first"})


def test_a_rollback_leaves_nothing(lake: Served, duck: Any) -> None:
    made(lake)
    position = lake.ledger.reads().position()
    duck.execute("BEGIN")
    duck.execute(f"INSERT INTO lake.{TABLE} VALUES (99, 'x')")
    duck.execute("ROLLBACK")
    assert lake.ledger.reads().position() == position
    assert agreed(lake, TABLE) == of(dict.fromkeys(range(10), "a"))


@pytest.mark.parametrize("form", ["2", "3"])
def test_tables_are_created_altered_and_dropped(lake: Served, duck: Any, form: str) -> None:
    duck.execute("CREATE SCHEMA lake.duck")
    duck.execute(
        f"CREATE TABLE lake.duck.c WITH ('format-version' = {form}) AS "
        "SELECT range AS id, 'v' || range % 3 AS v FROM range(100)"
    )
    wanted: list[dict[str, Any]] = [{"id": n, "v": f"v{n % 3}"} for n in range(100)]
    assert agreed(lake, "duck.c") == texts(wanted)
    duck.execute("ALTER TABLE lake.duck.c ADD COLUMN extra INTEGER")
    assert agreed(lake, "duck.c") == texts({**row, "extra": None} for row in wanted)
    duck.execute("INSERT INTO lake.duck.c VALUES (100, 'w', 7)")
    duck.execute("DELETE FROM lake.duck.c WHERE id < 98")
    left = [{**row, "extra": None} for row in wanted[98:]]
    assert agreed(lake, "duck.c") == texts([*left, {"id": 100, "v": "w", "extra": 7}])
    assert ("duck", "c") in pyiceberg_catalog(lake.uri).list_tables("duck")
    duck.execute("DROP TABLE lake.duck.c")
    assert pyiceberg_catalog(lake.uri).list_tables("duck") == []
    duck.execute("DROP SCHEMA lake.duck")


@pytest.mark.parametrize(
    "parts",
    [*("k", "year(ts)", "month(ts)", "day(ts)", "hour(ts)"), *("bucket(4, id)", "truncate(3, v)")],
)
def test_partitions_of_duckdb(lake: Served, duck: Any, parts: str) -> None:
    duck.execute("CREATE SCHEMA lake.duck")
    duck.execute(
        f"CREATE TABLE lake.duck.p (id BIGINT, k INTEGER, v VARCHAR, ts TIMESTAMP) "
        f"PARTITIONED BY ({parts})"
    )
    rows = (
        "SELECT range AS id, (range % 3)::INTEGER AS k, 'v-' || range AS v, "
        "TIMESTAMP '1969-12-30 12:00:00' + INTERVAL (range * 7) HOUR AS ts FROM range(20)"
    )
    duck.execute(f"INSERT INTO lake.duck.p {rows}")
    wanted = duckdb_rows(duck, rows)
    assert agreed(lake, "duck.p") == wanted
    duck.execute("INSERT INTO lake.duck.p VALUES (NULL, NULL, NULL, NULL)")
    duck.execute("DELETE FROM lake.duck.p WHERE id BETWEEN 5 AND 14")
    lake.ledger.append("duck.p", [{"id": 77, "k": 7, "v": "w", "ts": None}])
    lake.ledger.delete("duck.p", "id = 0")
    left = "id BETWEEN 1 AND 4 OR id > 14"
    more = "SELECT NULL, NULL, NULL, NULL UNION ALL SELECT 77, 7, 'w', NULL"
    assert agreed(lake, "duck.p", without=NULL_PARTS) == duckdb_rows(
        duck, f"SELECT * FROM ({rows}) WHERE {left} UNION ALL {more}"
    )


def test_older_snapshots_and_pinned_catalogs(lake: Served, duck: Any) -> None:
    made(lake)
    then = pyiceberg_catalog(lake.uri).load_table(TABLE).current_snapshot()
    assert then is not None
    duck.execute(f"DELETE FROM lake.{TABLE} WHERE id > 0")
    query = f"SELECT count(*) FROM lake.{TABLE} AT (VERSION => {then.snapshot_id})"
    assert duck.execute(query).fetchall() == [(10,)]
    position = lake.ledger.history(TABLE)[1].position
    attach(duck, lake.uri, "past", f"main@{position}")
    assert duck.execute(f"SELECT count(*) FROM past.{TABLE}").fetchall() == [(10,)]
    with pytest.raises(duckdb.Error):
        duck.execute(f"INSERT INTO past.{TABLE} VALUES (1, 'no')")
    assert agreed(lake, TABLE) == of({0: "a"})
