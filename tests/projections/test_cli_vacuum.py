"""The command that deletes data files that no reader needs."""

import json
import os
from pathlib import Path

import pytest

from ledger.machine.exit_codes import ExitCode
from tests.core.parts import table_of
from tests.driver import CATALOG
from tests.projections.filing import commit
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import Lakeledger, command_line, told

DRY = ("--dry-run", "--older-than", "0", "--output", "json")
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


def test_a_dry_run_says_what_would_go(lakeledger: Lakeledger, folder: Path) -> None:
    found = told(lakeledger(*TABLE, "--dry-run", "--output", "json"))

    assert [(each["path"], each["why"]) for each in found["files"]] == [
        ("orphan.parquet", "orphan"),
        ("removed.parquet", "released"),
    ]
    assert (found["dry_run"], found["bytes"]) == (True, 8)
    assert len(list(folder.iterdir())) == 3


def test_without_a_terminal_nothing_is_deleted(lakeledger: Lakeledger, folder: Path) -> None:
    done = lakeledger(*TABLE)

    assert done.exit_code == ExitCode.USAGE
    assert "2 files would be deleted, 8 B" in done.stderr
    assert "give --yes" in done.stderr
    assert len(list(folder.iterdir())) == 3


def test_a_dropped_table_goes_by_name_by_id_and_with_all(tmp_path: Path, folder: Path) -> None:
    domain = Followed()
    session = domain.open_session()
    made = table_of(("hour", "string"), by=["hour"])._replace(location=str(folder))
    table = domain.create_table(session, "flights", made=made)
    commit(domain, session, table, ["live.parquet"])
    domain.drop_table(session, table)
    far = made._replace(location="/far", layout="directories")
    domain.create_table(session, "places", made=far)
    run = command_line(domain, tmp_path)

    for given in (["flights"], [str(table)]):
        found = told(run("table", "vacuum", *given, "--catalog", CATALOG, *DRY))
        assert len(found["files"]) == 3, given
    lines = run("table", "vacuum", "--all", "--catalog", CATALOG, *DRY).stdout.splitlines()
    found = {each["table"]: each for each in map(json.loads, lines)}
    assert len(found["flights"]["files"]) == 3
    assert "lie in folders" in found["places"]["note"]
    assert run("table", "vacuum", "--catalog", CATALOG).exit_code == ExitCode.USAGE


def test_files_younger_than_the_given_age_stay(lakeledger: Lakeledger, folder: Path) -> None:
    too_young = str(10**6)
    found = told(lakeledger(*TABLE, *DRY, "--older-than", too_young))
    assert found["files"] == []
    assert len(list(folder.iterdir())) == 3
