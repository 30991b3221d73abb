"""The command that shows what commits changed in a table, for people and for programs."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from ledger.errors import UnknownVersionError
from ledger.machine.exit_codes import ExitCode
from tests.driver import CATALOG
from tests.projections.rows_of_a_host import Lakeledger, command_line, played

TABLE = ("table", "changes", "flights", "--catalog", CATALOG)


@pytest.fixture
def lakeledger(tmp_path: Path) -> Lakeledger:
    """Return a way to run the command line on a host with a few commits."""
    return command_line(played(), tmp_path)


def commits(result: Result) -> list[Any]:
    """Return the objects that a command wrote, a line each."""
    assert result.exit_code == ExitCode.DONE, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_commit_is_a_line_and_the_oldest_comes_first(lakeledger: Lakeledger) -> None:
    lines = lakeledger(*TABLE).stdout.splitlines()

    found = [(line.split()[0], line.split(" etl ")[-1]) for line in lines]
    assert [version for version, _ in found] == ["0", "1", "2", "3"]
    assert "2 files added, 0 removed, 20 B" in lines[1]
    assert "DELETE" in lines[2]
    assert "0 files added, 1 removed, 0 B" in lines[2]
    assert "0 files added, 0 removed, 0 B" in lines[3]


def test_a_program_gets_an_object_for_each_commit(lakeledger: Lakeledger) -> None:
    found = commits(lakeledger(*TABLE, "--output", "json"))

    signs = [[(each["path"], each["added"]) for each in one["files"]] for one in found]
    assert signs == [[], [("a", True), ("b", True)], [("a", False)], []]
    for place in (found[1]["token"], "1"):
        rest = commits(lakeledger(*TABLE, "--output", "json", "--after", place))
        assert rest == found[2:]


def test_a_place_that_is_none_is_refused_with_what_it_must_be(lakeledger: Lakeledger) -> None:
    assert "a version or a token" in lakeledger(*TABLE, "--after", "first").stderr
    other = lakeledger(*TABLE, "--after", "another:0:5")
    assert (other.exit_code, "is not of this ledger" in other.stderr) == (ExitCode.USAGE, True)
    assert isinstance(lakeledger(*TABLE, "--after", "9").exception, UnknownVersionError)
