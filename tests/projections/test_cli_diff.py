"""The commands `diff` and `bisect`: what changed, and the commit at which a check fails."""

import sys
from pathlib import Path

import pytest

from ledger.cli.log.bisect import CheckVerdict, FirstBad, first_bad
from ledger.machine.process import ExitCode
from tests.driver import CATALOG
from tests.projections.filing import commit
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import command_line, told

COMMITS = 6


def grown() -> Followed:
    """Return a domain with a table of several versions, by two users."""
    domain = Followed()
    sessions = [domain.open_session(user) for user in ("ada", "bob")]
    table = domain.create_table(sessions[0], "flights")
    for number in range(COMMITS):
        commit(domain, sessions[number % 2], table, [f"file-{number}"])
    return domain


def test_a_program_gets_all_of_the_difference(tmp_path: Path) -> None:
    lakeledger, domain = command_line(grown(), tmp_path), grown()
    last = domain.head.position
    found = told(lakeledger("diff", str(last - 2), "-ojson"))

    assert (found["from"], found["to"], found["events"]) == (last - 2, last, 2)
    assert found["users"] == {"ada": 1, "bob": 1}
    assert [(each["name"], each["change"]) for each in found["tables"]] == [
        (f"{CATALOG}.flights", "changed")
    ]
    assert (found["tables"][0]["files_added"], found["tables"][0]["rows_added"]) == (2, 2)
    assert told(lakeledger("diff", found["from_at"], found["to_at"], "-ojson"))["to"] == last
    assert told(lakeledger("diff", "1970-01-01", "-ojson"))["from"] == 0
    assert "+2 -0" in lakeledger("diff", str(last - 2)).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["9", "2"], ExitCode.USAGE, "must not be behind B, got position 9"),
        (["99999"], ExitCode.NOT_FOUND, "the newest position"),
        (["soon"], ExitCode.USAGE, "A must be a time like"),
    ],
)
def test_diff_of_nothing(tmp_path: Path, arguments: list[str], code: ExitCode, part: str) -> None:
    """What is no position or time, or is not there, is refused by name."""
    result = command_line(grown(), tmp_path)("diff", *arguments)
    assert getattr(result.exception, "exit_code", result.exit_code) == code
    assert part in str(result.exception) + result.output


@pytest.mark.parametrize("bad_from", range(1, COMMITS + 1))
def test_the_first_version_that_a_check_fails_at_is_found(tmp_path: Path, bad_from: int) -> None:
    lakeledger = command_line(grown(), tmp_path)
    seen = "int(os.environ['BISECT_VERSION'])"
    code = f"import os, sys; print('noise'); sys.exit({seen} >= {bad_from})"
    found = told(
        lakeledger(
            *("bisect", "flights", "--catalog", CATALOG, "-ojson"),
            *("--check", f'{sys.executable} -c "{code}"'),
        )
    )
    assert (found["last_good"], found["first_bad"]) == (bad_from - 1, bad_from)
    assert found["user"] == ("ada", "bob")[(bad_from - 1) % 2]
    assert found["checks"] <= 5


@pytest.mark.parametrize(
    ("check", "code", "part"),
    [
        ("true", ExitCode.FAILED, "version 6 is good, not bad"),
        ("false", ExitCode.FAILED, "version 0 is bad, not good"),
        ("sh -c 'exit 125'", ExitCode.FAILED, "version 0 is skipped, not good"),
        ("sh -c 'exit 200'", ExitCode.FAILED, "is no verdict"),
        ("no-such-program-here", ExitCode.USAGE, "cannot run"),
        ("'", ExitCode.USAGE, "must be a command"),
        ("", ExitCode.USAGE, "an empty one"),
    ],
)
def test_checks_that_say_nothing(tmp_path: Path, check: str, code: ExitCode, part: str) -> None:
    """A check that does not tell a good version from a bad one ends the command, by name."""
    result = command_line(grown(), tmp_path)(
        "bisect", "flights", "--catalog", CATALOG, "--check", check
    )
    assert (result.exit_code, part in result.stderr) == (code, True)


@pytest.mark.parametrize(
    ("bad_from", "skipped", "found"),
    [
        (5, (), FirstBad(4, 5, (), 5)),
        (5, (5,), FirstBad(4, 6, (5,), 0)),
        (5, (3, 4, 5, 6), FirstBad(2, 7, (3, 4, 5, 6), 0)),
        (1, (), FirstBad(0, 1, (), 0)),
        (9, tuple(range(1, 9)), FirstBad(0, 9, tuple(range(1, 9)), 10)),
    ],
)
def test_skipped_versions_between_the_last_good_and_the_first_bad_one_are_named(
    bad_from: int, skipped: tuple[int, ...], found: FirstBad
) -> None:
    def check(version: int) -> CheckVerdict:
        if version in skipped:
            return CheckVerdict.SKIPPED
        return CheckVerdict.BAD if version >= bad_from else CheckVerdict.GOOD

    result = first_bad(0, 9, check)
    assert result[:3] == found[:3]
    assert not found.checks or result.checks == found.checks


def test_versions_that_a_cut_left_out_are_passed_over_and_none_of_them_is_named() -> None:
    def check(version: int) -> CheckVerdict:
        if 3 <= version < 8:
            return CheckVerdict.LOST
        return CheckVerdict.BAD if version >= 8 else CheckVerdict.GOOD

    result = first_bad(0, 9, check)
    assert result[:3] == (2, 8, ())
    assert result.checks <= 6
