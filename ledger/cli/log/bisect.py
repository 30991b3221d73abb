"""The command `bisect`: the commit of a table at which a check begins to fail.

The check is a command. It reads the version and the position to look at from its environment, and
its exit code says what it found, as for `git bisect run`.
"""

import os
import shlex
import subprocess
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Final, NamedTuple

import typer

from ledger.cli.answers import Output, OutputOption, answer, say
from ledger.cli.failures import Stopped
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption, TableArgument, number_option
from ledger.cli.reading import known_table, reading, when
from ledger.machine.exit_codes import ExitCode
from ledger.reads.port import Reads, TableRow, VersionRow

UNTESTABLE: Final = 125
SIGNALLED: Final = 128
STDERR: Final = 2
"""The file descriptor of standard error."""
# Other names than those of settings: a command of the check reads these.
VERSION: Final = "BISECT_VERSION"
POSITION: Final = "BISECT_POSITION"
TABLE: Final = "BISECT_TABLE"


class CheckVerdict(Enum):
    """What a check found in a version; `LOST` is a version that a cut of the log left out."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"
    LOST = "lost"


VERDICTS: Final = {0: CheckVerdict.GOOD, UNTESTABLE: CheckVerdict.SKIPPED}
"""What exit codes say; any other one says bad."""

Check = Callable[[int], CheckVerdict]


class FirstBad(NamedTuple):
    """The last version that is good, the first that is bad, and the ones between that were skipped.

    With skipped ones the first bad version is one of them, or `bad`.
    """

    good: int
    bad: int
    skipped: tuple[int, ...]
    checks: int


def bisect(
    name: TableArgument,
    check: Annotated[
        str,
        typer.Option(
            "--check",
            metavar="COMMAND",
            help="Exits with 0 for a good version, 125 to skip it, 1 to 127 for a bad one.",
        ),
    ],
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    good: Annotated[int | None, number_option("A good version; by default the first.")] = None,
    bad: Annotated[int | None, number_option("A bad version; by default the newest.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Find the commit of a table at which a check begins to fail.

    COMMAND gets the version and the position to look at as BISECT_VERSION and BISECT_POSITION, and
    the table as BISECT_TABLE. Its output goes to standard error.
    """
    words = words_of(check)
    with reading(ledger, output) as (_, reads):
        row = known_table(reads, catalog, name)
        newest = row.version if bad is None else bad
        oldest = 0 if good is None else good
        check_ends(row, oldest, newest)
        found = first_bad(oldest, newest, lambda version: judged(reads, row, version, words))
        answer(found_fields(reads, row, found), output)


def words_of(check: str) -> list[str]:
    """Return the words of a command; ends the command for a text that is not one."""
    try:
        words = shlex.split(check)
    except ValueError as problem:
        raise Stopped(f"--check must be a command, got {check!r}: {problem}", ExitCode.USAGE) from (
            problem
        )
    if not words:
        raise Stopped("--check must be a command, got an empty one", ExitCode.USAGE)
    return words


def check_ends(row: TableRow, good: int, bad: int) -> None:
    """End the command unless both versions exist and the good one comes first."""
    if bad > row.version or row.version < 0:
        raise Stopped(
            f"table {row.name} has versions up to {row.version}, got {bad}; see lakeledger table "
            "history",
            ExitCode.NOT_FOUND,
        )
    if good >= bad:
        raise Stopped(f"--good must be before --bad, got version {good} and {bad}", ExitCode.USAGE)


def judged(reads: Reads, row: TableRow, version: int, words: list[str]) -> CheckVerdict:
    """Return what the check finds in a version; ends the command if the check cannot run."""
    there = reads.version_row(row.table, version=version)
    if there is None:
        return CheckVerdict.LOST
    position = there.position
    environ = {
        **os.environ,
        VERSION: str(version),
        POSITION: str(position),
        TABLE: f"{row.catalog}.{row.name}",
    }
    try:
        # Its output is not the answer of this command.
        code = subprocess.run(words, env=environ, stdout=STDERR, check=False).returncode
    except OSError as problem:
        raise Stopped(
            f"the check {words[0]} cannot run: {problem.strerror}; give --check a program and its "
            "arguments, or sh -c '...'",
            ExitCode.USAGE,
        ) from problem
    if code < 0 or code >= SIGNALLED:
        raise Stopped(
            f"the check ended with {code} at version {version}, which is no verdict; it must exit "
            "with 0 for a good version, 125 to skip it, and 1 to 127 for a bad one",
            ExitCode.FAILED,
        )
    found = VERDICTS.get(code, CheckVerdict.BAD)
    say(f"version {version} at position {position}: {found.value} (exit code {code})")
    return found


def version_of(reads: Reads, row: TableRow, version: int) -> VersionRow:
    """Return a version of a table; ends the command if its row is not there."""
    found = reads.version_row(row.table, version=version)
    if found is None:
        raise Stopped(f"table {row.name} has no version {version}", ExitCode.NOT_FOUND)
    return found


def first_bad(good: int, bad: int, check: Check) -> FirstBad:
    """Return the first bad version between a good and a bad one, which are checked first.

    Ends the command if the good one is not good, or the bad one is not bad.
    """
    for version, wanted in ((good, CheckVerdict.GOOD), (bad, CheckVerdict.BAD)):
        found = check(version)
        if found is not wanted:
            raise Stopped(
                f"version {version} is {found.value}, not {wanted.value}: the check must pass at "
                "--good and fail at --bad; name other versions",
                ExitCode.FAILED,
            )
    skipped, lost, checks = set[int](), set[int](), 2
    while (tried := middle(good, bad, skipped | lost)) is not None:
        found = check(tried)
        checks += found is not CheckVerdict.LOST
        match found:
            case CheckVerdict.GOOD:
                good = tried
            case CheckVerdict.BAD:
                bad = tried
            case CheckVerdict.SKIPPED:
                skipped.add(tried)
            case CheckVerdict.LOST:
                lost.add(tried)
    left = tuple(sorted(each for each in skipped if good < each < bad))
    return FirstBad(good, bad, left, checks)


def middle(good: int, bad: int, skipped: set[int]) -> int | None:
    """Return the version nearest to the middle that was not skipped, None without one."""
    half = (good + bad) // 2
    for away in range(bad - good):
        for version in (half - away, half + away):
            if good < version < bad and version not in skipped:
                return version
    return None


def found_fields(reads: Reads, row: TableRow, found: FirstBad) -> dict[str, Any]:
    """Return the result as fields, with the commit of the first bad version."""
    commit = version_of(reads, row, found.bad)
    return {
        "table": f"{row.catalog}.{row.name}",
        "last_good": found.good,
        "first_bad": found.bad,
        "or_one_of": list(found.skipped),
        "position": commit.position,
        "at": when(commit.at),
        "txn": commit.txn,
        "user": commit.user,
        "operation": commit.operation,
        "adds": commit.adds,
        "removes": commit.removes,
        "checks": found.checks,
    }
