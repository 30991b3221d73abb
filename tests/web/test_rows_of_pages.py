"""Pages with rows: first rows, statistics of columns, and SQL that reads tables alone."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pyarrow as pa
import pytest

from ledger.definitions.client_reads import open_log
from ledger.testing import InMemoryLedger
from tests.web.lake import Lake
from tests.web.served import Served, rows_in, serving

CANARY = "CANARY-4711"


class Shop(NamedTuple):
    """A server whose pages read rows, the id of its table, and a folder with a secret."""

    served: Served
    table: int
    folder: Path

    def page(self, path: str, **query: object) -> str:
        """Return the text of a page."""
        found = self.served.ask(f"/ui/{path}?{urlencode(query)}")
        assert found.status == 200, found.data
        return found.data.decode().replace("<wbr>", "")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Return a served ledger with one table of three rows."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "secret.csv").write_text(f"a\n{CANARY}\n")
    rows = pa.table(
        {
            "id": [1, 2, 3],
            "name": ["pen", "<b>ink</b>", None],
            "day": [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)],
        }
    )
    with InMemoryLedger() as memory:
        ledger = memory.connect(warehouse=folder / "warehouse")
        ledger.create_table("shop.orders", rows)
        table = ledger.table("shop.orders").table
        with serving(lambda: open_log(memory.log), reads_rows=True) as served:
            yield Shop(served, table, folder)


def test_a_page_shows_first_rows_and_what_statistics_say(shop: Shop) -> None:
    text = shop.page("rows", table=shop.table)
    assert "pen" in text
    assert "&lt;b&gt;ink&lt;/b&gt;" in text
    cells = re.sub(r"\s*<[^>]+>\s*", " ", text)
    assert re.search(r"day\s+date\s+2026-01-01\s+2026-01-03\s+0", cells, re.IGNORECASE)
    assert re.search(r"name\s+string\s+\S+\s+pen\s+1", cells, re.IGNORECASE)


def test_a_query_is_answered_as_of_the_position_of_the_page(shop: Shop) -> None:
    query = "SELECT name, id * 10 AS tens FROM shop.orders ORDER BY id"
    newest = shop.served.reads.position()
    text = shop.page("sql", q=query, at=newest)
    assert "<td>30</td>" in text
    assert "3 rows, as of position" in " ".join(text.split())
    assert "UnknownTableError" in shop.page("sql", q=query, at=1)


def test_an_answer_has_at_most_a_thousand_rows(shop: Shop) -> None:
    text = shop.page("sql", q="SELECT range AS n FROM range(5000)")
    assert text.count("<tr><td>") == 1_000
    assert "there are more" in text


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT * FROM read_csv('{folder}/secret.csv')", "QuerySyntaxError"),
        ("SELECT * FROM read_text('{folder}/secret.csv')", "QuerySyntaxError"),
        ("SELECT * FROM read_blob('{folder}/secret.csv')", "QuerySyntaxError"),
        ("SELECT * FROM read_parquet('{folder}/*')", "QuerySyntaxError"),
        ("SELECT * FROM glob('{folder}/*')", "QuerySyntaxError"),
        ("SELECT * FROM sniff_csv('{folder}/secret.csv')", "QuerySyntaxError"),
        ("SELECT * FROM '{folder}/secret.csv'", "UnknownTableError"),
        ('SELECT * FROM "{folder}/secret.csv"', "UnknownTableError"),
        ("FROM '{folder}/secret.csv'", "UnknownTableError"),
        ("SELECT (SELECT a FROM read_csv('{folder}/secret.csv'))", "QuerySyntaxError"),
        ("WITH x AS (SELECT * FROM read_csv('{folder}/secret.csv')) FROM x", "QuerySyntaxError"),
        (
            "SELECT * FROM query('SELECT * FROM read_csv(''{folder}/secret.csv'')')",
            "QuerySyntaxError",
        ),
        ("SELECT * FROM query_table('{folder}/secret.csv')", "QuerySyntaxError"),
        ("SELECT * FROM duckdb_secrets()", "QuerySyntaxError"),
        ("SELECT getenv('HOME')", "QuerySyntaxError"),
        ("ATTACH '{folder}/new.db' AS other", "QuerySyntaxError"),
        ("COPY (SELECT 1) TO '{folder}/new.csv'", "QuerySyntaxError"),
        ("COPY shop.orders FROM '{folder}/secret.csv'", "QuerySyntaxError"),
        ("EXPORT DATABASE '{folder}/new'", "QuerySyntaxError"),
        ("IMPORT DATABASE '{folder}'", "QuerySyntaxError"),
        ("INSTALL httpfs", "QuerySyntaxError"),
        ("LOAD httpfs", "QuerySyntaxError"),
        ("SET enable_external_access = true", "QuerySyntaxError"),
        ("RESET memory_limit", "QuerySyntaxError"),
        ("PRAGMA enable_external_access", "QuerySyntaxError"),
        ("CALL pragma_version()", "QuerySyntaxError"),
        ("CREATE TABLE x AS SELECT 1", "QuerySyntaxError"),
        ("DROP TABLE shop.orders", "QuerySyntaxError"),
        ("DELETE FROM shop.orders", "QuerySyntaxError"),
        ("SELECT 1; DROP TABLE shop.orders", "QuerySyntaxError"),
        ("SELECT * FROM information_schema.tables", "UnknownTableError"),
        ("SELECT * FROM nowhere", "UnknownTableError"),
        ("SELECT nothing FROM shop.orders", "QuerySyntaxError"),
        ("SELCT", "QuerySyntaxError"),
        ("SELECT 1" + " " * 11_000 + "+ 1", "LimitExceededError"),
    ],
)
def test_a_hostile_or_wrong_query_is_an_error_by_name(shop: Shop, query: str, error: str) -> None:
    """It reads and writes no file. A browser shows the text of the query, with the path."""
    before = {path.name for path in shop.folder.iterdir()}
    text = shop.page("sql", q=query.format(folder=shop.folder))
    alert = re.search(r'role="alert"[^>]*>([^<]*)', text)

    assert alert is not None, text
    assert alert[1].startswith(error)
    assert CANARY not in text
    assert {path.name for path in shop.folder.iterdir()} == before


def test_a_file_that_cannot_be_read_is_told_and_the_page_stands(lake: Lake) -> None:
    with serving(rows_in(lake), reads_rows=True) as served:
        text = served.ask(f"/ui/rows?table={lake.flights}").data.decode()
    assert "The rows cannot be read here: UnreadableTableError" in text
    assert "Statistics of columns" in text


def test_rows_are_off_unless_the_setting_allows_them(served: Served, lake: Lake) -> None:
    off = "reads no rows of tables"
    assert off in served.ask("/ui/sql?q=SELECT+1").data.decode()
    assert off in served.ask(f"/ui/rows?table={lake.flights}").data.decode()
