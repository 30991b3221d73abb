"""A query has the answer of a DuckDB that holds all columns and rows, whatever its names mean."""

import logging
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from ledger.client import Ledger
from ledger.errors import LedgerError, UnknownTableError
from ledger.snapshot.sql_text import QuerySyntaxError
from tests.tables.test_sql import rows

TABLES = {
    "db.t": ("id BIGINT, amount BIGINT, name STRING, current_date INT", 3),
    "db.u": ("id BIGINT, day BIGINT, t STRUCT<id: BIGINT, x: STRING>", 4),
    "d2.t": ("id BIGINT, other STRING", 3),
    "own": ('_file STRING, `a.b` BIGINT, a STRUCT<b: BIGINT>, `q"t` STRING, İ BIGINT', 3),
}
DUCK = {
    "db.t": "SELECT i AS id, 100 * i AS amount, 'n' || i AS name, i::INT AS current_date",
    "db.u": "SELECT i AS id, i % 2 AS day, {'id': 7 - i, 'x': 'x' || i} AS t",
    "d2.t": "SELECT i + 1 AS id, 'o' || i AS other",
    "own": """SELECT 'f' || i AS _file, i AS "a.b", {'b': 10 - i} AS a, 'q' AS "q""t", i AS "İ" """,
}
QUERIES = """
SELECT sum(amount)::BIGINT FROM db.t AS v(amount)
SELECT * FROM db.t AS v(amount, id, name) WHERE id = 200
SELECT name FROM db.t AS v(a, id, name) WHERE v.id = 200
SELECT q FROM db.t AS v(p, q) ORDER BY q
SELECT p, r FROM db.t AS v(p, q, r) WHERE p >= 1 ORDER BY p
SELECT v.name FROM d2.t JOIN db.t AS v(x, id, name) ON t.id = x WHERE v.id = 100
WITH v(amount) AS (SELECT id FROM db.t) SELECT sum(amount)::BIGINT FROM v
WITH t AS (SELECT 5 AS id), u AS (SELECT * FROM t) SELECT * FROM u
WITH u AS (SELECT id FROM db.u WHERE id = 1) SELECT u.id, d.day FROM u, db.u d ORDER BY ALL
WITH own AS (SELECT _file FROM own) SELECT * FROM own ORDER BY 1
WITH RECURSIVE own AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM own WHERE n < 3) FROM own
WITH RECURSIVE r AS (FROM d2.t UNION FROM d2.t WHERE id IN (SELECT id - 1 FROM r)) FROM r ORDER BY 1
SELECT (SELECT max(x.id) FROM db.t x WHERE x.id = y.id AND y.day = 1) FROM db.u y ORDER BY y.id
SELECT id FROM db.u y WHERE EXISTS (FROM db.t WHERE db.t.id = y.id AND y.day >= 0) ORDER BY 1
SELECT l.z FROM db.t, LATERAL (SELECT t.id + 1 AS z WHERE t.id = 1) l
SELECT a.id, b.day FROM db.t a ASOF JOIN db.u b ON a.id >= b.id WHERE b.day = 1 ORDER BY 1
SELECT t.id FROM db.t POSITIONAL JOIN (SELECT 5 AS five) WHERE t.id = 1
SELECT db.t.id, d2.t.other FROM db.t, d2.t WHERE d2.t.id = 1 ORDER BY 1
SELECT id, other FROM db.t JOIN d2.t USING (id) WHERE db.t.id = 1
SELECT a.id, b.other FROM db.t a LEFT JOIN d2.t b USING (id) WHERE a.id = 0
SELECT #2 FROM db.t ORDER BY 1
SELECT column_name FROM (DESCRIBE db.t)
SELECT count(*) FROM (SUMMARIZE db.t)
SELECT current_date FROM db.t ORDER BY 1
SELECT db.t FROM db.t ORDER BY ALL LIMIT 1
SELECT u.t.x FROM db.u u WHERE u.id = 2
SELECT t.id FROM db.u WHERE t.id = 7
SELECT t.x FROM db.u AS t(id, day, t) WHERE day = 1 ORDER BY 1
SELECT * FROM (PIVOT db.u ON day USING count(*) GROUP BY id) ORDER BY id
PIVOT (SELECT id, day FROM db.u) ON day USING count(*)
FROM db.u PIVOT (sum(id) FOR day IN (0, 1) GROUP BY day) ORDER BY ALL
SELECT count(*) FROM (UNPIVOT (SELECT id, amount FROM db.t) ON COLUMNS(*) INTO NAME n VALUE v)
SELECT COLUMNS(c -> c LIKE 'n%') FROM db.t ORDER BY 1
SELECT v.i FROM (VALUES (1), (2)) v(i), db.t WHERE t.id = v.i ORDER BY 1
SELECT x.day FROM unnest([1, 2]) x(day), db.u WHERE u.id = 0 AND x.day = 1
SELECT range FROM range(3) r WHERE range = 1
SELECT id + 1 AS amount FROM db.t WHERE amount = 100
SELECT "a.b", a.b FROM own WHERE "a.b" = 1
SELECT "a.b" FROM own WHERE a.b = 8
SELECT "q""t" FROM own WHERE "İ" = 1
SELECT _FILE FROM OWN WHERE _file = 'f2'
SELECT id FROM db.t WHERE id = 1 UNION BY NAME FROM d2.t WHERE other = 'o1' ORDER BY ALL
SELECT id FROM db.t WHERE name IN (FROM (SELECT 'n1'))
SELECT count(*) FROM db.t USING SAMPLE 100%
(TABLE d2.t) ORDER BY 1
FROM x: db.t SELECT x.id WHERE x.id = 2
""".strip().splitlines()


@pytest.fixture(scope="module")
def whole() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute("CREATE SCHEMA db; CREATE SCHEMA d2")
        for name, (_, count) in TABLES.items():
            made.execute(f"CREATE TABLE {name} AS {DUCK[name]} FROM range({count}) r(i)")
        yield made


@pytest.fixture
def lake(ledger: Ledger, tmp_path: Path, whole: duckdb.DuckDBPyConnection) -> Ledger:
    """Return a client of the tables, each row in a file of its own."""
    for name, (columns, count) in TABLES.items():
        pairs = [tuple(each.strip().split(" ", 1)) for each in split(columns)]
        named = [(name_.strip("`"), type_) for name_, type_ in pairs]
        ledger.create_table(name, named, location=str(tmp_path / name))
        for at in range(count):
            given = whole.execute(f"FROM {name} LIMIT 1 OFFSET {at}").to_arrow_table()
            ledger.append(name, given)
    return ledger


def split(columns: str) -> list[str]:
    """Return the columns of a list whose types may have commas."""
    found: list[str] = []
    for each in columns.split(","):
        if found and found[-1].count("<") > found[-1].count(">"):
            found[-1] += f",{each}"
        else:
            found.append(each)
    return found


def test_answers_are_duckdb_s(lake: Ledger, whole: duckdb.DuckDBPyConnection) -> None:
    for query in QUERIES:
        assert rows(lake, query) == whole.execute(query).fetchall(), query


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT nam FROM db.t", r'Candidate bindings: "name"'),
        ("SELCT * FROM db.t", r'is not a query: syntax error at or near "SELCT"'),
        ("SELECT * FROM db.ttt", r"no table db.ttt, did you mean db.t\?.*ledger.tables"),
        ("SELECT * FROM query_table('db.t')", "must be named in FROM"),
        ("SELECT * FROM query('FROM db.t')", "must be named in FROM"),
        ("SELECT " + "(" * 3000 + "1" + ")" * 3000, "too deep|recursion|nested"),
        ("SELECT " + "+".join(["1"] * 5000), "too deep|depth"),
    ],
)
def test_an_error_names_what_is_wrong(lake: Ledger, query: str, said: str) -> None:
    with pytest.raises((QuerySyntaxError, UnknownTableError), match=said):
        lake.sql(query)


def test_a_schema_that_duckdb_has_itself_is_refused_by_name(ledger: Ledger, tmp_path: Path) -> None:
    for each in ("temp", "system", "memory", "information_schema", "pg_catalog"):
        ledger.create_table(f"{each}.t", [("id", "int")], location=str(tmp_path / each))
        with pytest.raises(LedgerError, match=f"got {each}.t: read it with scan"):
            ledger.sql(f"SELECT * FROM {each}.t")  # noqa: S608


def test_parser_is_quiet(lake: Ledger, capfd: pytest.CaptureFixture[str]) -> None:
    """What the parser logs does not reach a program that has set up no logs."""
    kept = logging.getLogger().handlers[:]
    logging.getLogger().handlers.clear()
    try:
        with pytest.raises(QuerySyntaxError, match="must be a SELECT, got CALL"):
            lake.sql("CALL pragma_version()")
    finally:
        logging.getLogger().handlers.extend(kept)
    assert "unsupported syntax" not in capfd.readouterr().err
