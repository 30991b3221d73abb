"""Views: queries that ledger.sql reads by name, at the position of the query that names them."""

from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.definitions.views import ViewText, view_properties, view_text
from ledger.errors import (
    CommandInvalidError,
    FilesUnknownError,
    LedgerError,
    TableExistsError,
    UnknownTableError,
)
from ledger.snapshot.sql_text import QuerySyntaxError
from ledger.snapshot.view_queries import text_for

ROWS: Final = [{"id": 1, "item": "pen", "n": 3}, {"id": 2, "item": "ink", "n": 5}]


@pytest.fixture
def lake(ledger: Ledger, tmp_path: Path) -> Ledger:
    ledger.create_table("v.sales", ROWS, location=str(tmp_path / "sales"))
    return ledger


def rows(ledger: Ledger, query: str, **place: Any) -> list[dict[str, Any]]:
    return ledger.sql(query, **place).to_pylist()


def test_a_view_is_read_as_its_query_whenever_it_is_read(lake: Ledger) -> None:
    lake.create_view("v.big", "SELECT id, n * 2 AS twice FROM v.sales WHERE n > 3")

    assert rows(lake, "FROM v.big") == [{"id": 2, "twice": 10}]

    lake.append("v.sales", [{"id": 3, "item": "cap", "n": 9}])

    assert rows(lake, "SELECT sum(twice) AS s FROM v.big") == [{"s": 28}]


def test_a_query_over_a_view_and_its_table_reads_all_that_both_need(lake: Ledger) -> None:
    lake.create_view("v.items", "SELECT item FROM v.sales")
    query = "SELECT i.item, s.n FROM v.items i JOIN v.sales s USING (item) WHERE s.id = 1"

    assert rows(lake, query) == [{"item": "pen", "n": 3}]
    assert rows(lake, "SELECT item FROM v.items ORDER BY item") == [
        {"item": "ink"},
        {"item": "pen"},
    ]


def test_views_read_views(lake: Ledger) -> None:
    lake.create_view("v.one", "SELECT id, n FROM v.sales")
    lake.create_view("two", "SELECT max(n) AS most FROM main.v.one")

    assert rows(lake, "SELECT most FROM two, v.one WHERE id = 1") == [{"most": 5}]


def test_a_view_is_read_as_it_was_at_a_position(lake: Ledger) -> None:
    lake.create_view("v.x", "SELECT id FROM v.sales")
    before = lake.token
    lake.create_view("v.x", "SELECT n FROM v.sales", replace=True)

    assert rows(lake, "FROM v.x LIMIT 1") == [{"n": 3}]
    assert rows(lake, "FROM v.x LIMIT 1", position=before) == [{"id": 1}]


def test_the_columns_of_a_view_are_those_of_its_query(lake: Ledger) -> None:
    row = lake.create_view("v.x", "SELECT id, item AS thing, n > 3 AS big FROM v.sales")

    assert [(each.name, each.type) for each in row.definition.columns] == [
        ("id", "bigint"),
        ("thing", "string"),
        ("big", "boolean"),
    ]
    assert [view.name for view in lake.views()] == ["v.x"]


@pytest.mark.parametrize(
    ("name", "query", "error"),
    [
        ("v.y", "SELECT nam FROM v.sales", QuerySyntaxError),
        ("v.y", "SELECT 1 FROM v.nothing", UnknownTableError),
        ("v.y", "DELETE FROM v.sales", QuerySyntaxError),
        ("v.y", "SELECT * FROM read_csv('/etc/passwd')", QuerySyntaxError),
        ("v.sales", "SELECT 1 AS x", TableExistsError),
        ("a:b", "SELECT 1 AS x", ValueError),
    ],
)
def test_a_view_that_cannot_be_read_is_not_created(
    lake: Ledger, name: str, query: str, error: type[Exception]
) -> None:
    with pytest.raises((error, CommandInvalidError)):
        lake.create_view(name, query)
    assert lake.views() == []


def test_views_that_read_each_other_are_refused_by_name(lake: Ledger) -> None:
    lake.create_view("v.a", "SELECT id FROM v.sales")
    lake.create_view("v.b", "SELECT id FROM v.a")
    for query in ("SELECT id FROM v.b", "SELECT id FROM v.a"):
        with pytest.raises(QuerySyntaxError, match="reads itself"):
            lake.create_view("v.a", query, replace=True)

    lake.drop_table("v.a")
    lake.create_view("v.a", "SELECT id FROM v.sales")
    lake.rename_table("v.sales", "v.old")
    lake.rename_table("v.b", "v.sales")
    with pytest.raises(QuerySyntaxError, match="reads itself"):
        lake.sql("FROM v.a")


def test_a_view_has_no_files_and_takes_no_rows(lake: Ledger) -> None:
    lake.create_view("v.x", "SELECT id FROM v.sales")

    with pytest.raises(FilesUnknownError, match=r"ledger\.sql"):
        lake.scan("v.x")
    with pytest.raises(LedgerError, match="is a view"):
        lake.append("v.x", [{"id": 1}])


def test_a_table_has_no_query_and_a_view_has_one(lake: Ledger) -> None:
    lake.create_view("v.x", "SELECT id FROM v.sales")

    with pytest.raises(ValueError, match="create_view"):
        lake.create_table("v.y", [("id", "bigint")], kind="view")
    with pytest.raises(ValueError, match=r"create_view|must be one of"):
        lake.alter_table("v.sales", properties={"lakeledger.view.text": "SELECT 1"})
    with pytest.raises(ValueError, match="create_view"):
        lake.alter_table("v.x", unset=["lakeledger.view.text"])
    with pytest.raises(TableExistsError, match="is a table"):
        lake.create_view("v.sales", "SELECT 1 AS x", replace=True)


def test_a_dropped_table_fails_its_views_by_name(lake: Ledger) -> None:
    lake.create_view("v.x", "SELECT id FROM v.sales")
    lake.drop_table("v.sales")

    with pytest.raises(UnknownTableError, match=r"v\.sales"):
        lake.sql("FROM v.x")


TRANSLATED: Final = [
    ("SELECT `id`, count(*) AS n FROM sales GROUP BY id", 'FROM "?v"?."?sales"?'),
    ("SELECT id FROM lake.v.sales WHERE n > 3 ORDER BY id", "NULLS FIRST"),
    ("WITH t AS (SELECT id FROM sales) SELECT * FROM t", r"FROM t\b"),
]


@pytest.mark.parametrize(("text", "has"), TRANSLATED)
def test_a_query_of_spark_is_read_under_the_names_of_the_ledger(
    lake: Ledger, text: str, has: str
) -> None:
    import re  # noqa: PLC0415 - for this test

    query = text_for("v.x", ViewText(text, "spark", "lake", "v"), "duckdb", "main")

    assert re.search(has, query)
    assert len(rows(lake, query)) in (1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 / 2 AS x",
        "SELECT n % 2 AS x FROM sales",
        "SELECT substring(item, 0, 2) AS x FROM sales",
        "SELECT CAST(n AS tinyint) AS x FROM sales",
        "SELECT * FROM sales TABLESAMPLE (10 PERCENT)",
        "SELECT item LIKE 'a%' AS x FROM sales",
        "SELECT explode(array(1, 2)) AS x",
        "SELECT concat('a', NULL) AS x",
        "SELECT n * 1.1 AS x FROM sales",
    ],
)
def test_what_another_engine_may_read_differently_is_refused(text: str) -> None:
    with pytest.raises(QuerySyntaxError, match="was written for Spark SQL"):
        text_for("v.x", ViewText(text, "spark", "lake", "v"), "duckdb", "main")


def test_the_query_of_a_view_is_kept_as_it_was_written() -> None:
    query = ViewText("SELECT  1 -- one", "spark", "lake", "v.w")
    kept = view_properties(query, {"comment": "one"})

    assert kept["comment"] == "one"
    with pytest.raises(ValueError, match="must not begin with"):
        view_properties(query, {"lakeledger.view.text": "SELECT 2"})
    with pytest.raises(TypeError):
        view_properties(query, {"a": 1})  # type: ignore[dict-item]
    assert view_text.__doc__
