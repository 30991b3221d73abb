"""Commands over rows on this host, where a table has rows in the log."""

from pathlib import Path

from ledger.core.commands import TableWrite
from ledger.log.wire.file_list import AddFile, FileList, listed
from tests.core.parts import footprint
from tests.driver import CATALOG
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import command_line, told


def in_the_log() -> Followed:
    """Return a domain with a block of two bytes."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    rows = AddFile("rows:a", size=2, stats='{"numRecords":1}', rows=b"\0\xff")
    listed_rows = listed(footprint(), FileList([rows]))
    domain.commit(session, 0, TableWrite(table, domain.head.position, (), listed_rows))
    return domain


def test_blocks_are_shown_as_json_alone(tmp_path: Path) -> None:
    lakeledger = command_line(in_the_log(), tmp_path)
    files = ["table", "files", "flights", "--catalog", CATALOG]

    assert [row["rows"] for row in told(lakeledger(*files, "--output", "json"))] == ["00ff"]
    table = lakeledger(*files)
    assert "rows:a" in table.output
    assert "00ff" not in table.output
