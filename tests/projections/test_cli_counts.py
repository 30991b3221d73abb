"""Counts in words: one is told as one, by commands and by what the SDK shows."""

import os
import re
from pathlib import Path
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.reads.amounts import amount
from ledger.testing import InMemoryLedger
from tests.core.parts import table_of
from tests.driver import CATALOG
from tests.projections.filing import commit
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import Lakeledger, command_line

NOUNS: Final = (
    *("attempts", "bytes", "columns", "commits", "events", "files", "partitions", "positions"),
    *("records", "rows", "sessions", "settings", "tables", "txns", "versions", "users", "others"),
)
ONE_OF_MANY: Final = re.compile(rf"(?<![\w.,:+-])1 (?:[a-z]+ )?(?:{'|'.join(NOUNS)})\b")
TABLE: Final = ("flights", "--catalog", CATALOG)


@pytest.fixture
def lakeledger(tmp_path: Path) -> Lakeledger:
    """Return the command line of a host with one table, one live file and one to be deleted."""
    folder = tmp_path / "flights"
    folder.mkdir()
    for name in ("live.parquet", "removed.parquet"):
        (folder / name).write_bytes(b"r")
        os.utime(folder / name, (0, 0))
    domain = Followed()
    session = domain.open_session()
    made = table_of(("hour", "string"), by=["hour"])._replace(location=str(folder))
    table = domain.create_table(session, "flights", made=made)
    commit(domain, session, table, ["removed.parquet"])
    commit(domain, session, table, ["live.parquet"], ["removed.parquet"])
    return command_line(domain, tmp_path)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["table", "list"], ""),
        (["table", "show", *TABLE], ""),
        (["table", "files", *TABLE], "1 file,"),
        (["table", "history", *TABLE], ""),
        (["table", "changes", *TABLE], "1 file added, 1 removed"),
        (["table", "partitions", *TABLE], "1 partition, 1 file,"),
        (["table", "vacuum", *TABLE, "--dry-run", "--older-than", "0"], "1 file would be deleted"),
        (["table", "vacuum", *TABLE, "--older-than", "0"], "delete 1 file of table flights"),
        (["table", "vacuum", "--all", "--catalog", CATALOG, "--older-than", "0"], "delete 1 file"),
        (["diff", "1"], ""),
        (["txn", "list"], ""),
        (["watermark", "explain"], ""),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else each,
)
def test_commands(lakeledger: Lakeledger, command: list[str], said: str) -> None:
    """No command says `1 files`."""
    done = lakeledger(*command)
    told = f"{done.stdout} {done.stderr} {done.exception}"
    assert "No such command" not in told
    assert said in " ".join(told.split())
    assert ONE_OF_MANY.search(told) is None


def test_one_column_and_one_file_are_shown_in_the_singular(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger: Ledger = memory.connect(warehouse=str(tmp_path))
        ledger.create_table("db.t", [{"id": 1}])
        ledger.run(lambda txn: txn.overwrite("db.t", [{"id": 2}]))
        shown = [
            ledger.scan("db.t"),
            ledger.read("db.t"),
            ledger.sql("SELECT id FROM db.t"),
            ledger.table("db.t"),
            ledger.read("db.t").files[0],
            ledger.vacuum("db.t", older_than_h=0.0),
        ]
        texts = [repr(each) for each in shown]
    found = [text for text in texts if ONE_OF_MANY.search(text)]
    assert found == []
    assert sum("1 file" in text for text in texts) == 3
    assert "1 column" in texts[0]
    assert "1 row " in texts[2]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 files"), (1, "1 file"), (2, "2 files"), (3_708, "3,708 files"), (None, "? files")],
)
def test_one_has_no_s_and_thousands_stand_apart(number: int | None, text: str) -> None:
    assert amount(number, "file") == text
