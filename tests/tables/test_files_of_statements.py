"""Statements open the files that may hold their rows, and no others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from tests.tables.conftest import ledger, log, memory

__all__ = ["ledger", "log", "memory"]

Statement = Callable[[Ledger], Any]
SOURCE: Final = [{"id": 7, "n": 5}]
STATEMENTS: Final[dict[str, Statement]] = {
    "update": lambda ledger: ledger.update("db.t", {"n": 5}, "id = 7"),
    "delete": lambda ledger: ledger.delete("db.t", "id = 7"),
    "overwrite": lambda ledger: ledger.overwrite("db.t", SOURCE, "id = 7"),
}
WAYS: Final = ("marks", "rewrite")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_file_whose_bounds_exclude_every_row_is_not_opened(
    ledger: Ledger, tmp_path: Path, name: str, way: str
) -> None:
    rows = [{"id": number, "n": 0} for number in range(100)]
    place = tmp_path / "t"
    ledger.create_table("db.t", rows, location=place, properties={"lakeledger.rows": way})
    ledger.append("db.t", [{"id": number, "n": 0} for number in range(100, 200)])
    far = next(file for file in ledger.read("db.t") if '"id":100' in file.stats)
    (place / far.path).unlink()
    STATEMENTS[name](ledger)
    found = ledger.scan("db.t", "id < 100").to_arrow().to_pylist()

    assert len(found) == (99 if name == "delete" else 100)
    assert [row["n"] for row in found if row["id"] == 7] == ([] if name == "delete" else [5])
