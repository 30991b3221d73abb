"""What is told of files of dropped and replaced tables that wait for a vacuum."""

from pathlib import Path

from ledger.cli.answers import Output
from ledger.cli.machine.status import seen_in_rows
from ledger.reads.port import Reads
from ledger.testing import InMemoryLedger
from projections.reads.dropped_files import WaitingFiles, waiting_files
from projections.web.answers.asked import Asked
from projections.web.pages.page import PageView
from projections.web.pages.tables import tables

ROW = [{"a": 1}]


def test_files_of_dropped_tables_are_counted(memory: InMemoryLedger, tmp_path: Path) -> None:
    ledger = memory.connect(warehouse=str(tmp_path / "a warehouse"))
    assert waiting_files(memory.reads) == WaitingFiles()
    for name in ("db.t", "db.u", "db.empty"):
        ledger.create_table(name, [("a", "INT")])
    for name in ("db.t", "db.t", "db.u"):
        ledger.append(name, ROW)
    sizes = [file.size for file in memory.reads.files(ledger.table("db.t").table)]
    for name in ("db.t", "db.empty"):
        ledger.drop_table(name)
    assert waiting_files(memory.reads) == WaitingFiles(1, 2, sum(sizes))
    said = waiting_files(memory.reads).text()
    assert said.startswith("2 files of ")
    assert told(memory.reads) == (said, said)
    ledger.vacuum("db.t", older_than_h=0)
    assert told(memory.reads) == (None, "")


def told(reads: Reads) -> tuple[str | None, str]:
    """Return what `status` and the page of tables say to people."""
    position = reads.position()
    page = PageView(reads, Asked({}, ()), "tables", position, position)
    return seen_in_rows(reads, None, Output.TABLE)["waiting_for_vacuum"], tables(page)["waiting"]


def test_tables_beyond_the_bounds_are_counted(memory: InMemoryLedger, tmp_path: Path) -> None:
    ledger = memory.connect(warehouse=str(tmp_path))
    for name in ("db.t", "db.u", "db.v"):
        ledger.create_table(name, ROW)
        ledger.drop_table(name)
    ledger.create_table("db.c", [("a", "INT")], location="s3://bucket/c")
    ledger.drop_table("db.c")
    assert waiting_files(memory.reads)[1::2] == (3, 1)
    found = waiting_files(memory.reads, files_max=2)
    assert (found.tables, found.files, found.unseen) == (2, 2, 2)
    found = waiting_files(memory.reads, tables_max=1)
    assert (found.tables, found.unseen, found.text()) == (0, 4, "4 dropped tables not looked at")
