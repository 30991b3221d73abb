"""Queries over tables of one position: the answers, what is read for them, what is refused."""

from pathlib import Path
from typing import Any

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.core.predicates.tree import Node
from ledger.expressions.build import condition_in
from ledger.snapshot.sql_text import QuerySyntaxError, condition, read_query
from ledger.testing import InMemoryLedger

FLIGHTS = [("id", "bigint"), ("tail", "string"), ("day", "int")]


@pytest.fixture
def lake(ledger: Ledger, tmp_path: Path) -> Ledger:
    """Return a client of two tables with rows."""
    for name, columns in (
        ("db.flights", FLIGHTS),
        ("planes", [("tail", "string"), ("kind", "string")]),
    ):
        by = ["day"] if name == "db.flights" else []
        location = str(tmp_path / name)
        ledger.create_table(name, columns, partition_columns=by, location=location)
    with ledger.transaction() as txn:
        txn.insert("db.flights", [{"id": n, "tail": f"N{n % 3}", "day": n % 2} for n in range(6)])
        txn.insert("planes", [{"tail": f"N{n}", "kind": kind} for n, kind in enumerate("ABC")])
    return ledger


def rows(ledger: Ledger, query: str, parameters: Any = None, **place: Any) -> list[tuple[Any, ...]]:
    found = ledger.sql(query, parameters, **place).to_arrow()
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


JOIN = "FROM db.flights f JOIN planes p USING (tail)"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*) FROM db.flights", [(6,)]),
        ("SELECT count(*) FROM main.db.flights", [(6,)]),
        ('SELECT count(*) FROM "db"."FLIGHTS"', [(6,)]),
        (
            """SELECT 'main.db.flights', "main".db.flights.id FROM main.db.flights
            WHERE main . db.flights.id = 5""",
            [("main.db.flights", 5)],
        ),
        ("SELECT count(*) FROM main.db.flights, db.flights f WHERE f.day = 0", [(18,)]),
        ("SELECT count(*) FROM planes", [(3,)]),
        ("SELECT count(*) FROM main.planes", [(3,)]),
        ("SELECT id FROM db.flights WHERE day = 1 ORDER BY id", [(1,), (3,), (5,)]),
        ("SELECT db.flights.id FROM db.flights WHERE id < 1", [(0,)]),
        ("SELECT flights.id FROM db.flights WHERE tail = 'N2' AND id > 2", [(5,)]),
        ("SELECT id FROM db.flights WHERE 3 <= id AND id BETWEEN 0 AND 3", [(3,)]),
        (
            f"SELECT p.kind, sum(f.id) {JOIN} GROUP BY ALL ORDER BY 1",
            [("A", 3), ("B", 5), ("C", 7)],
        ),
        (f"SELECT count(*) {JOIN} WHERE p.kind = 'A' AND f.day = 1", [(1,)]),
        ("FROM planes ORDER BY kind LIMIT 1", [("N0", "A")]),
        ("FROM planes SELECT kind ORDER BY ALL LIMIT 1", [("A",)]),
        ("SELECT * EXCLUDE (tail) FROM planes WHERE kind = 'B'", [("B",)]),
        ("SELECT COLUMNS('k.*') FROM planes WHERE kind = 'B'", [("B",)]),
        ("SELECT planes FROM planes WHERE kind = 'B'", [({"tail": "N1", "kind": "B"},)]),
        ("SELECT max(a.id) FROM db.flights a, db.flights b WHERE a.day = 0 AND b.day = 1", [(4,)]),
        ("SELECT count(*) FROM planes NATURAL JOIN db.flights", [(6,)]),
        ("WITH t AS (SELECT * FROM planes) SELECT count(*) FROM t, t AS u", [(9,)]),
        ("WITH planes AS (SELECT 1 AS x) SELECT x FROM planes", [(1,)]),
        (
            """SELECT kind FROM planes p WHERE EXISTS
            (SELECT 1 FROM db.flights f WHERE f.tail = p.tail AND f.id = 5)""",
            [("C",)],
        ),
        (
            """SELECT p.kind, f.id FROM planes p LEFT JOIN db.flights f
            ON f.tail = p.tail AND f.id > 4 WHERE p.kind <> 'B' ORDER BY 1""",
            [("A", None), ("C", 5)],
        ),
        ("SELECT id + 1 AS day FROM db.flights WHERE day = 1 ORDER BY 1 LIMIT 1", [(2,)]),
        ("SELECT 1 UNION ALL SELECT count(*) FROM planes ORDER BY 1", [(1,), (3,)]),
        ("VALUES (1), (2)", [(1,), (2,)]),
        ("SELECT i FROM range(2) t(i)", [(0,), (1,)]),
        ("SELECT 1;", [(1,)]),
    ],
)
def test_queries(lake: Ledger, query: str, expected: list[tuple[Any, ...]]) -> None:
    """Queries are answered as DuckDB does, whatever was left out of the scans."""
    assert rows(lake, query) == expected


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("SELECT id FROM db.flights WHERE tail = ? AND day = ?", ["N1", 0]),
        ("SELECT id FROM db.flights WHERE tail = $2 AND day = $1", [0, "N1"]),
        ("SELECT id FROM db.flights WHERE tail = $tail AND day = $day", {"tail": "N1", "day": 0}),
    ],
)
def test_values_are_given_apart_from_the_text(lake: Ledger, query: str, values: Any) -> None:
    assert rows(lake, query, values) == [(4,)]


def test_one_position(lake: Ledger, memory: InMemoryLedger) -> None:
    """All tables are read as of one position: the newest, or the one that is named."""
    before = lake.token
    other = memory.connect()
    with other.transaction() as txn:
        txn.delete("db.flights", "id >= 0")
        txn.delete("planes", "kind = 'A'")
    both = "SELECT (SELECT count(*) FROM db.flights), (SELECT count(*) FROM planes)"

    assert rows(lake, both, position=other.token) == [(0, 2)]
    assert rows(lake, both, position=before) == [(6, 3)]
    assert rows(lake, both, position=before.position) == [(6, 3)]
    assert rows(lake, "SELECT count(*) FROM planes", version=1) == [(3,)]
    version = other.reads().version_row(other.table("planes").table)
    assert version is not None
    assert lake.sql(both, at="2999-01-01T00:00:00Z").position >= version.position


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("INSERT INTO planes VALUES (1, 2)", "txn.insert"),
        ("UPDATE planes SET kind = 'x'", "txn.update"),
        ("DELETE FROM planes", "txn.delete"),
        ("MERGE INTO planes USING x ON true WHEN MATCHED THEN DELETE", "txn.merge"),
        ("CREATE TABLE t AS SELECT 1", "ledger.create_table"),
        ("DROP TABLE planes", "ledger.drop_table"),
        ("ALTER TABLE planes ADD COLUMN x INT", "ledger.alter_table"),
        ("TRUNCATE planes", "txn.delete"),
        ("COPY planes TO '/tmp/x.csv'", "COPY"),
        ("ATTACH 'x.db'", "must be a SELECT, got ATTACH"),
        ("SET threads = 1", "must be a SELECT, got SET"),
        ("PRAGMA version", "must be a SELECT, got PRAGMA"),
        ("SELECT 1; SELECT 2", "must be one query, got 2"),
        ("", "must be one query, got 0"),
        ("SELEKT 1", "SELEKT"),
        ("SELECT * FROM", "is not a query"),
        ("SELECT nothing FROM planes", "nothing"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled"),
        ("SELECT * FROM a.b.c.d", "DuckDB cannot answer"),
    ],
)
def test_anything_but_one_query_is_refused(lake: Ledger, query: str, said: str) -> None:
    with pytest.raises(QuerySyntaxError) as refused:
        lake.sql(query)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["nothing", "db.nothing", "'/etc/passwd'", "'x.parquet'"])
def test_a_name_that_no_table_has_is_refused(lake: Ledger, name: str) -> None:
    with pytest.raises((errors.UnknownTableError, QuerySyntaxError), match=r"no table|disabled"):
        lake.sql("SELECT * FROM " + name)  # noqa: S608


def test_a_version_is_of_one_table(lake: Ledger) -> None:
    with pytest.raises(ValueError, match="names 2; give position"):
        lake.sql("SELECT * FROM planes, db.flights", version=1)


def test_before_it_existed_a_table_is_not_empty(lake: Ledger, tmp_path: Path) -> None:
    before = lake.token
    lake.create_table("later", [("id", "int")], location=str(tmp_path / "later"))

    assert rows(lake, "SELECT * FROM later") == []
    with pytest.raises(errors.UnknownTableError, match="did not exist at position"):
        lake.sql("SELECT * FROM later", position=before)


def test_forms_of_an_answer(lake: Ledger) -> None:
    found = lake.sql("SELECT kind FROM planes ORDER BY kind")

    assert found.to_pylist() == [{"kind": each} for each in "ABC"]
    assert list(found.to_pandas()["kind"]) == list("ABC")
    assert found.to_polars()["kind"].to_list() == list("ABC")
    assert (len(found), found.schema.names) == (3, ["kind"])
    assert repr(found) == f"<SqlResult of 3 rows at position {found.position}: kind>"
    assert "<td>A</td>" in found._repr_html_()


def needs(query: str) -> list[tuple[str, list[str] | None, Node | None]]:
    """Return the tables of a query with the columns and the condition of their scans."""
    types = {"id": "bigint", "tail": "string", "day": "int", "at": "timestamp", "x": "double"}
    return [
        (
            ".".join(table.name),
            None if table.columns is None else sorted(table.columns & types.keys()),
            condition(table.comparisons, types),
        )
        for table in read_query(query).tables
    ]


@pytest.mark.parametrize(
    ("query", "columns", "where"),
    [
        ("SELECT id FROM t WHERE day = 1", ["day", "id"], "`day` = 1"),
        (
            "SELECT id FROM t WHERE t.day >= -1 AND 5 > day",
            ["day", "id"],
            "`day` >= -1 AND `day` < 5",
        ),
        ("SELECT 1 FROM t WHERE day BETWEEN 1 AND 2", ["day"], "`day` >= 1 AND `day` <= 2"),
        ("SELECT 1 FROM t WHERE tail = 'it''s'", ["tail"], "`tail` = 'it\\'s'"),
        ("SELECT count(*) FROM t", [], None),
        ("SELECT * FROM t WHERE day = 1", None, "`day` = 1"),
        ("SELECT id FROM t WHERE day = 1 OR id = 2", ["day", "id"], None),
        ("SELECT id FROM t WHERE NOT day = 1", ["day", "id"], None),
        ("SELECT id FROM t WHERE day = '1'", ["day", "id"], None),
        ("SELECT id FROM t WHERE tail = 1", ["id", "tail"], None),
        ("SELECT id FROM t WHERE x = 1 AND at > '2026-01-01'", ["at", "id", "x"], None),
        ("SELECT id FROM t WHERE day = 3000000000", ["day", "id"], None),
        ("SELECT id FROM t WHERE day = 1.5", ["day", "id"], None),
        ("SELECT id FROM t HAVING day = 1", ["day", "id"], None),
    ],
)
def test_what_is_read(query: str, columns: list[str] | None, where: str | None) -> None:
    """A scan reads the named columns, and comparisons that mean the same in Spark."""
    assert needs(query) == [("t", columns, condition_in(where))]


def test_a_doubled_quote_is_one_quote(lake: Ledger) -> None:
    with lake.transaction() as txn:
        txn.insert("planes", [{"tail": "it's", "kind": "D"}, {"tail": "its", "kind": "E"}])
    assert rows(lake, "SELECT kind FROM planes WHERE tail = 'it''s'") == [("D",)]


def test_what_holds_for_one_mention_of_a_table_need_not_hold_for_another() -> None:
    assert needs("SELECT id FROM t WHERE day = 1 UNION ALL SELECT id FROM t") == [
        ("t", ["day", "id"], None)
    ]
    assert needs("SELECT a.id FROM t a JOIN u b ON a.id = b.id WHERE b.day = 1") == [
        ("t", ["day", "id"], None),
        ("u", ["day", "id"], condition_in("day = 1")),
    ]
