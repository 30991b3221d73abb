"""The command that deletes data files that no reader needs."""

import os
from pathlib import Path

import pytest

from ledger.machine.exit_codes import ExitCode
from tests.core.parts import table_of
from tests.driver import CATALOG
from tests.projections.filing import commit
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import Lakeledger, command_line, told

TABLE = ("table", "vacuum", "flights", "--catalog", CATALOG)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a table with a live file, a removed one and an orphan, all old."""
    folder = tmp_path / "flights"
    folder.mkdir()
    for name in ("live.parquet", "removed.parquet", "orphan.parquet"):
        (folder / name).write_bytes(b"rows")
        os.utime(folder / name, (0, 0))
    return folder


@pytest.fixture
def lakeledger(tmp_path: Path, folder: Path) -> Lakeledger:
    """Return a way to run the command line on the host with the table."""
    domain = Followed()
    session = domain.open_session()
    made = table_of(("hour", "string"), by=["hour"])._replace(location=str(folder))
    table = domain.create_table(session, "flights", made=made)
    commit(domain, session, table, ["live.parquet", "removed.parquet"])
    commit(domain, session, table, [], ["removed.parquet"])
    return command_line(domain, tmp_path)


def test_dry_run(lakeledger: Lakeledger, folder: Path) -> None:
    """A dry run says what would go, and deletes nothing."""
    found = told(lakeledger(*TABLE, "--dry-run", "--output", "json"))

    assert [(each["path"], each["why"]) for each in found["files"]] == [
        ("orphan.parquet", "orphan"),
        ("removed.parquet", "released"),
    ]
    assert (found["dry_run"], found["bytes"]) == (True, 8)
    assert len(list(folder.iterdir())) == 3


def test_asks_first(lakeledger: Lakeledger, folder: Path) -> None:
    """Without a terminal and without --yes what would go is shown, and nothing is deleted."""
    done = lakeledger(*TABLE)

    assert done.exit_code == ExitCode.USAGE
    assert "2 files would be deleted, 8 B" in done.stderr
    assert "give --yes" in done.stderr
    assert len(list(folder.iterdir())) == 3


def test_deletes(lakeledger: Lakeledger, folder: Path) -> None:
    """Once confirmed the files are deleted and named; then there is nothing left to do."""
    done = lakeledger(*TABLE, "--yes")

    assert [line.split()[-1] for line in done.stdout.splitlines()] == [
        "orphan.parquet",
        "removed.parquet",
    ]
    assert "2 files deleted, 8 B" in done.stderr
    assert [each.name for each in folder.iterdir()] == ["live.parquet"]
    assert "0 files deleted, 0 B" in lakeledger(*TABLE).stderr


def test_old_enough(lakeledger: Lakeledger, folder: Path) -> None:
    """Files younger than the given age stay."""
    too_young = str(10**6)
    assert "0 files deleted" in lakeledger(*TABLE, "--yes", "--older-than", too_young).stderr
    assert len(list(folder.iterdir())) == 3
