"""The command that lists the partitions of a table."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ledger.core.commands import TableWrite
from ledger.log.file_list import AddFile, FileList, listed
from tests.core.parts import footprint, table_of
from tests.driver import CATALOG, STARTED_AT
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import Lakeledger, command_line, played, told

SECOND = (datetime.fromtimestamp(STARTED_AT / 1000, UTC) + timedelta(seconds=1)).isoformat()
COMMAND = ("table", "partitions", "flights", "--catalog", CATALOG, "--output", "json")


@pytest.fixture
def lakeledger(tmp_path: Path, request: pytest.FixtureRequest) -> Lakeledger:
    """Return a way to run the command line where rows are kept, of `played` unless it is told."""
    return command_line(getattr(request, "param", played)(), tmp_path)


@pytest.mark.parametrize(
    ("options", "files", "rows"),
    [
        ([], [1], [1]),
        (["--version", "1"], [2], [2]),
        (["--version", "0"], [], []),
        (["--position", "6"], [2], [2]),
        (["--as-of", SECOND], [1], [1]),
        (["--where", "hour = '1'"], [1], [1]),
        (["--where", "hour = '2'"], [], []),
    ],
    ids=str,
)
def test_table_partitions(
    lakeledger: Lakeledger, options: list[str], files: list[int], rows: list[int]
) -> None:
    """The partitions are those with files now or then, and their rows are counted."""
    found = told(lakeledger(*COMMAND, *options))

    assert [row["files"] for row in found] == files
    assert [row["rows"] for row in found] == rows
    assert all(row["partition"] == {"hour": "1"} for row in found)


def spelled() -> Followed:
    """Return a domain with a table that was partitioned otherwise, and spellings of a value."""
    domain = Followed()
    session = domain.open_session()
    columns = ("day", "int"), ("hour", "int")
    table = domain.create_table(session, "flights", made=table_of(*columns, by=["day"]))
    for path, value in (("a", "1"), ("b", "01"), ("c", "x"), ("d", "y"), ("e", None), ("f", "")):
        said = listed(footprint(), FileList([AddFile(path, (value,), 10)]))
        domain.commit(session, 0, TableWrite(table, domain.head.position, (), said))
    domain.alter_table(session, table, table_of(*columns, by=["hour"]), "REPLACE TABLE")
    said = listed(footprint(), FileList([AddFile("g", ("1",), 10)]))
    domain.commit(session, 0, TableWrite(table, domain.head.position, (), said))
    return domain


@pytest.mark.parametrize("lakeledger", [spelled], indirect=True)
def test_spellings_of_a_partition(lakeledger: Lakeledger) -> None:
    """Spellings of one value are one partition, values of former columns are another."""
    found = told(lakeledger(*COMMAND))

    assert [(row["partition"], row["files"], row["size"], row["rows"]) for row in found] == [
        ({"day": "1"}, 2, 20, None),
        ({"day": "x"}, 1, 10, None),
        ({"day": "y"}, 1, 10, None),
        ({"day": None}, 2, 20, None),
        ({"hour": "1"}, 1, 10, None),
    ]
