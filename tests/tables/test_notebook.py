"""What a notebook shows: one short line for each result, and a table in HTML."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger

SHORT: Final = 100
TABLE: Final = "db.sales"

SHOWN: Final[dict[str, tuple[Callable[[Ledger], Any], str, str]]] = {
    "table": (
        lambda ledger: ledger.table(TABLE),
        "<Table main.db.sales (1), version 1, 2 columns>",
        "<td>bigint</td>",
    ),
    "read": (
        lambda ledger: ledger.read(TABLE),
        "<TableFiles: 2 files of db.sales, at position {at}>",
        "2 files of db.sales, at position {at}",
    ),
    "scan": (
        lambda ledger: ledger.scan(TABLE, "id = 1"),
        "<Scan of db.sales where id = 1: 2 files, 2 columns, at position {at}>",
        "<th>id: int64</th>",
    ),
    "commit": (
        lambda ledger: next(iter(ledger.changes(TABLE, after=0))),
        "<CommitChanges: version 1 of table 1, WRITE, at {at}>",
        "<td>added</td>",
    ),
    "vacuum": (
        lambda ledger: ledger.vacuum(TABLE, dry_run=True),
        "<VacuumReport: 0 files of 0 bytes would go from db.sales>",
        "<th>why</th>",
    ),
    "sql": (
        lambda ledger: ledger.sql("SELECT id FROM db.sales"),
        "<SqlResult of 2 rows at position {at}: id>",
        "<th>id</th>",
    ),
}


@pytest.fixture
def sales(ledger: Ledger, tmp_path: Path) -> Ledger:
    ledger.create_table(TABLE, [{"id": 1, "day": "<b>"}], location=tmp_path)
    ledger.append(TABLE, [{"id": 2, "day": "x"}])
    return ledger


@pytest.mark.parametrize(("make", "text", "html"), SHOWN.values(), ids=SHOWN)
def test_a_result_prints_as_one_line_that_names_what_it_is_and_has_a_table_in_html(
    sales: Ledger, make: Callable[[Ledger], Any], text: str, html: str
) -> None:
    at = sales.read(TABLE).position
    found = make(sales)
    assert repr(found) == text.format(at=at)
    assert len(text) <= SHORT
    assert html.format(at=at) in found._repr_html_()


def test_a_file_is_short(sales: Ledger) -> None:
    file = sales.read(TABLE).files[0]
    assert repr(file) == f"<File {file.path} of table 1, {file.size} bytes>"
    assert f"<td>{file.path}</td>" in file._repr_html_()
    assert repr(file._replace(removed=9)).endswith("removed at 9>")


LISTS: Final[dict[str, tuple[Callable[[Ledger], Any], str]]] = {
    "tables": (lambda ledger: ledger.tables(), "<td>main.db.sales</td>"),
    "progress": (lambda ledger: ledger.progress(), "<td>job</td><td>3</td>"),
    "history": (lambda ledger: ledger.history(TABLE), "<td>WRITE</td>"),
}


@pytest.mark.parametrize(("make", "html"), LISTS.values(), ids=LISTS)
def test_a_list_is_a_table_in_html(sales: Ledger, make: Callable[[Ledger], Any], html: str) -> None:
    sales.append(TABLE, [{"id": 3, "day": "y"}], app=("job", 3))

    assert isinstance(make(sales), list)
    assert html in make(sales)._repr_html_()
