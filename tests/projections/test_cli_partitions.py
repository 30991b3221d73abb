"""The command that lists the partitions of a table."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ledger.core.commands import TableWrite
from ledger.core.partitions.keys import place_of
from ledger.log.wire.file_list import AddFile, FileList, listed
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
def test_the_partitions_are_those_with_files_now_or_then_and_their_rows_are_counted(
    lakeledger: Lakeledger, options: list[str], files: list[int], rows: list[int]
) -> None:
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
def test_spellings_of_one_value_are_one_partition(lakeledger: Lakeledger) -> None:
    found = told(lakeledger(*COMMAND))

    assert [(row["partition"], row["files"], row["size"], row["rows"]) for row in found] == [
        ({"day": None}, 2, 20, None),
        ({"day": "1"}, 2, 20, None),
        ({"day": "x"}, 1, 10, None),
        ({"day": "y"}, 1, 10, None),
        ({"hour": "1"}, 1, 10, None),
    ]


@pytest.mark.parametrize(
    ("spark_type", "ordered"),
    [
        ("int", [None, "-3", "2", "10", "odd"]),
        ("string", [None, "10", "2", "b"]),
        ("decimal(4,1)", [None, "-1.5", "9.5", "10"]),
        ("double", [None, "-2.0", "1e1", "20.0"]),
        ("date", [None, "0999-12-31", "2026-02-01", "2026-10-01"]),
        ("boolean", [None, "false", "true"]),
        ("", [None, "10", "9"]),
    ],
)
def test_order_of_values(spark_type: str, ordered: list[str | None]) -> None:
    """Values are in the order of their type: NULL first, texts that are no value of it last."""
    given = sorted(ordered, key=str)
    assert sorted(given, key=lambda each: place_of((each,), (spark_type,))) == ordered


def test_the_command_lists_partitions_by_their_values(tmp_path: Path) -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights", made=table_of(("day", "int"), by=["day"]))
    for day in ("10", "9", "100", "2"):
        said = listed(footprint(), FileList([AddFile(f"day={day}/a", (day,), 3 * 1024 * 1024)]))
        domain.commit(session, 0, TableWrite(table, domain.head.position, (), said))
    lakeledger = command_line(domain, tmp_path)
    found = told(lakeledger(*COMMAND, "--limit", "3"))
    shown = lakeledger(*COMMAND[:-2])
    assert [each["partition"]["day"] for each in found] == ["2", "9", "10"]
    assert [each["size"] for each in found] == [3 * 1024 * 1024] * 3
    assert shown.stdout.count("3.0 MiB") == 4
    assert "4 partitions, 4 files, 12.0 MiB" in shown.stderr
