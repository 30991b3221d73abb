"""Rows in the log: a follower tells how many wait, and for how long."""

from typing import Final

from ledger.log.wire.file_list import AddFile
from tests.core.parts import table_of
from tests.driver import Driver
from tests.web.lake import write
from tests.web.served import samples
from tests.web.test_health import followed

ROWS: Final = b"rows"
STATS: Final = '{"numRecords":3}'


def driven(*paths: str) -> tuple[Driver, int]:
    """Return a ledger with a table and these blocks of 3 rows in it, and the table."""
    driver = Driver()
    session = driver.open_session("ada")
    table = driver.create_table(session, "small", made=table_of(("id", "int")))
    for path in paths:
        block = AddFile(path, (), len(ROWS), 7, stats=STATS, rows=ROWS)
        driver.commit(session, 0, write(table, [block]))
    return driver, table


def test_a_follower_measures_the_rows_that_wait_for_a_flusher() -> None:
    with followed(driven("rows:1", "rows:2")[0]) as served:
        found = samples(served)
    assert (found["lakeledger_logged_rows"], found["lakeledger_logged_bytes"]) == (6, 8)
    assert found["lakeledger_logged_oldest_seconds"] > 0


def test_without_such_rows_the_measures_are_zero() -> None:
    with followed(driven()[0]) as served:
        found = samples(served)
    assert {found[f"lakeledger_logged_{of}"] for of in ("rows", "bytes", "oldest_seconds")} == {0}


def test_the_page_of_a_table_tells_of_its_rows_in_the_log() -> None:
    driver, table = driven("rows:1", "rows:2")
    with followed(driver) as served:
        text = served.ask(f"/ui/table?table={table}").data.decode()
    assert "6 rows in 2 blocks, 8 B" in text
