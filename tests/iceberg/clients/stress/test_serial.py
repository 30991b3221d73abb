"""The judge of stress runs: it takes what a serial run explains, and names what none does."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.iceberg.clients.stress.journal import (
    APPEND,
    BOTH,
    COUNT,
    COUNTS,
    DONE,
    LINES,
    REFUSED,
    TOTALS,
    UNKNOWN,
    Attempt,
    Journal,
    attempts,
)
from tests.iceberg.clients.stress.serial import SerialRun, Version, netted

A: Final = "a/1/1"
B: Final = "b/1/1"


def lines(operation: str, *numbers: int, at: int = 5) -> Version:
    rows = [{"operation": operation, "number": number} for number in numbers or range(3)]
    return Version(LINES, 1, at, [], rows)


def counted(table: str, before: tuple[int, str], after: tuple[int, str], at: int = 5) -> Version:
    removed, added = (
        {"id": 0, "value": value, "operation": operation} for value, operation in (before, after)
    )
    return Version(table, 1, at, [removed], [added])


def played(*versions: Version, known: list[Attempt]) -> list[str]:
    run = SerialRun()
    for each in versions:
        run.play(each)
    run.judge(known)
    return run.wrong


def test_a_serial_run_is_taken_with_rewrites_between_and_unknown_outcomes() -> None:
    versions = [
        lines(A),
        Version(LINES, 2, 6, [], []),
        counted(COUNTS, (0, ""), (1, B), at=7),
        counted(COUNTS, (1, B), (2, "c/1/1"), at=8),
    ]
    known = [
        *(Attempt(A, APPEND, DONE), Attempt(B, COUNT, UNKNOWN), Attempt("c/1/1", COUNT, DONE)),
        *(Attempt("c/1/2", COUNT, UNKNOWN), Attempt("c/1/3", APPEND, REFUSED)),
    ]
    assert played(*versions, known=known) == []


@pytest.mark.parametrize(
    ("versions", "known", "fault"),
    [
        ([], [Attempt(A, APPEND, DONE)], "acknowledged, and is not there"),
        ([lines(A)], [Attempt(A, APPEND, REFUSED)], "was refused"),
        ([lines(A)], [], "no client began it"),
        ([lines(A), lines(A)], [Attempt(A, APPEND, DONE)], "changed {'stress.lines': 2}"),
        ([lines(A, 0, 1)], [Attempt(A, APPEND, DONE)], "added the rows [0, 1]"),
        ([lines(A)], [Attempt(A, BOTH, DONE)], "changed {'stress.lines': 1}"),
        (
            [lines(A, at=5), counted(TOTALS, (0, ""), (1, A), at=6)],
            [Attempt(A, BOTH, DONE)],
            "is not one commit",
        ),
        (
            [counted(COUNTS, (0, ""), (1, A)), counted(COUNTS, (0, ""), (1, B))],
            [Attempt(A, COUNT, DONE), Attempt(B, COUNT, DONE)],
            "replaced [(0, '')], but there was 1 by 'a/1/1'",
        ),
        ([counted(COUNTS, (0, ""), (2, A))], [Attempt(A, COUNT, DONE)], "made 2 of 0"),
    ],
)
def test_what_no_serial_run_explains_is_named(
    versions: list[Version], known: list[Attempt], fault: str
) -> None:
    wrong = played(*versions, known=known)
    assert any(fault in each for each in wrong), wrong


def test_journals(tmp_path: Path) -> None:
    """An operation without a noted outcome is unknown, also where its process was killed."""
    with Journal(tmp_path, "duckdb-1") as journal:
        done, open_ = journal.begin(APPEND), journal.begin(COUNT)
        journal.end(done, DONE)
    with next(tmp_path.glob("*.jsonl")).open("a") as file:
        file.write('{"operation": "duck')
    found = {each.operation: each for each in attempts(tmp_path)}
    assert (found[done].outcome, found[open_].outcome) == (DONE, UNKNOWN)
    assert found[done].client == "duckdb-1"


def test_rows_of_a_change_feed_are_removed_or_added() -> None:
    rows: list[dict[str, Any]] = [
        {"_change_type": kind, "id": number}
        for number, kind in enumerate(("delete", "insert", "update_preimage", "update_postimage"))
    ]
    found = netted(COUNTS, 3, 9, rows)
    assert [row["id"] for row in found.removed] == [0, 2]
    assert [row["id"] for row in found.added] == [1, 3]
