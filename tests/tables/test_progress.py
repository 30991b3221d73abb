"""Progress of long work: when it is shown, and what it says."""

from io import StringIO
from itertools import chain
from pathlib import Path

import pytest
from rich.console import Console

from ledger.client import Ledger
from ledger.files.progress import WorkBar, shown


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), force_terminal=True, width=80)


def said(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_long_work_is_shown(console: Console) -> None:
    with WorkBar("vacuum db.flights", silent_s=0.0, console=console) as bar:
        bar(3, 7)
    assert "vacuum db.flights" in said(console)
    assert "3/7" in said(console)
    assert said(console).endswith("\x1b[2K")


def test_an_unknown_amount_is_shown(console: Console) -> None:
    with WorkBar("insert db.flights, rows", silent_s=0.0, console=console) as bar:
        bar(65_536)
    assert "65536/?" in said(console)


def test_short_work_is_not_shown(console: Console) -> None:
    with WorkBar("vacuum db.flights", silent_s=3_600.0, console=console) as bar:
        bar(3, 7)
    assert said(console) == ""


def test_all_items_come_in_their_order_with_or_without_a_watcher() -> None:
    assert list(shown(iter("abc"), None, "letters")) == ["a", "b", "c"]


def test_an_optimize_reads_each_file_once(ledger: Ledger, tmp_path: Path) -> None:
    columns = [("id", "bigint"), ("p", "int")]
    ledger.create_table("db.t", columns, partition_columns=["p"], location=tmp_path)
    for number in range(6):
        ledger.append("db.t", [{"id": number, "p": number % 2}])
    with ledger.transaction() as txn:
        assert txn.optimize("db.t") == (6, 2)
    found = (each.values() for each in ledger.scan("db.t").to_arrow().to_pylist())
    assert sorted(chain(*found)) == [0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 4, 5]
