"""Commands about conflicts: who lost, in what, and why, for people and for programs."""

from pathlib import Path

import pytest

from ledger.machine.process import ExitCode
from tests.projections.rows_of_a_host import Lakeledger, command_line, played, told


@pytest.fixture
def lakeledger(tmp_path: Path) -> Lakeledger:
    return command_line(played(), tmp_path)


def test_conflicts_are_listed_in_the_order_of_the_log(lakeledger: Lakeledger) -> None:
    found = told(lakeledger("conflict", "list", "--output", "json"))

    assert [row["txn"] for row in found] == [2, 0]
    assert {row["rule"] for row in found} == {"file_removed_twice"}
    assert [row["over"] for row in found] == ["file a", "file a"]
    after = str(found[0]["position"])
    assert told(lakeledger("conflict", "list", "--after", after, "--output", "json")) == found[1:]


def test_people_are_told_in_words_why_a_txn_lost(lakeledger: Lakeledger) -> None:
    found = told(lakeledger("txn", "show", "2", "--output", "json"))
    text = " ".join(lakeledger("txn", "show", "2").stdout.split())

    assert found["evidence"]["rule"] == "file_removed_twice"
    assert "came first, to file a of table 1 lake.flights. To go on, " in text
    assert "See lakeledger conflict explain 2" in text
    assert "{" not in text


@pytest.mark.parametrize("which", [["2"], ["--position", "10"]], ids=" ".join)
def test_conflict_explain(lakeledger: Lakeledger, which: list[str]) -> None:
    """A conflict is explained with names: of the table, and of the file that both met in."""
    found = told(lakeledger("conflict", "explain", *which, "--output", "json"))
    text = lakeledger("conflict", "explain", *which).stdout

    assert found["table"] == {"id": 1, "name": "lake.flights"}
    assert found["unit"]["paths"] == ["a"]
    assert found["winner"]["operation"] == "DELETE"
    assert found["attempted"][0]["footprint"]["operation"] == "WRITE"
    assert "over    table 1 lake.flights, file a" in text
    assert found["remedy"] in text


@pytest.mark.parametrize(
    ("which", "code"),
    [
        (["1"], ExitCode.NOT_FOUND),
        (["99"], ExitCode.NOT_FOUND),
        (["--position", "6"], ExitCode.NOT_FOUND),
        (["--position", "99"], ExitCode.NOT_FOUND),
        ([], ExitCode.USAGE),
        (["2", "--position", "10"], ExitCode.USAGE),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_no_conflict(lakeledger: Lakeledger, which: list[str], code: ExitCode) -> None:
    """Who did not lose has nothing to be explained."""
    assert lakeledger("conflict", "explain", *which).exit_code == code
