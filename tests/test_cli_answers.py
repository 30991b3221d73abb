"""Answers of commands: a table for people, JSON for programs, and nothing that breaks a line."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from ledger.cli.answers import Output, answer, answer_rows, piped, say, shown
from tests.test_cli import lakeledger

HOSTILE = r"[/] [bold]no markup[/bold] [Errno 2] t:100:1234:7 \[0]" + "\\"


@pytest.fixture(autouse=True)
def no_columns() -> Iterator[None]:
    """Let answers go to a pipe, whatever width runs the tests."""
    width = os.environ.pop("COLUMNS", None)
    yield
    if width is not None:
        os.environ["COLUMNS"] = width


FIELDS: dict[str, Any] = {
    "ledger": "lake",
    "tables": [1, 2],
    "dropped": {},
    "reason": HOSTILE,
    "ended": None,
}


def test_a_program_gets_every_field_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    answer(FIELDS, Output.JSON)
    assert json.loads(capsys.readouterr().out) == FIELDS


def test_a_person_gets_a_line_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    answer(FIELDS, Output.TABLE)
    lines = [line.split(None, 1) for line in capsys.readouterr().out.splitlines()]
    assert [[each.strip() for each in line] for line in lines] == [
        ["ledger", "lake"],
        ["tables", "1, 2"],
        ["dropped", "-"],
        ["reason", HOSTILE],
        ["ended", "-"],
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [("name", "a"), ("path", "x" * 300), ("at", "1")],
        [("path", "name"), ("x" * 300, "a"), ("y", "b")],
        [("name", "paths"), ("\u8868", "a 1\na 22"), ("a", "-")],
    ],
)
def test_a_pipe_gets_no_line_filled_up_with_blanks(rows: list[tuple[str, str]]) -> None:
    lines = list(piped(rows))
    begins = {cell_len(line[: line.rindex("  ") + 2]) for line in lines}

    assert lines == [line.rstrip() for line in lines]
    assert len(begins) == 1


@pytest.mark.parametrize("columns", ["", "300"])
def test_a_command_does_not_fill_lines_up_either(tmp_path: Path, columns: str) -> None:
    lines = lakeledger(tmp_path, "config", "show", COLUMNS=columns).stdout.splitlines()
    assert lines == [line.rstrip() for line in lines] != []


@pytest.mark.parametrize(
    ("text", "cell"),
    [("a\nb", r"a\x0ab"), ("a\x1b[2Jb", r"a\x1b[2Jb"), ("a\rb", r"a\x0db"), ("a\x9bb", r"a\x9bb")],
)
def test_a_row_is_one_line_and_no_command_to_a_screen(
    capsys: pytest.CaptureFixture[str], text: str, cell: str
) -> None:
    answer_rows([{"reason": text}], Output.TABLE)
    assert capsys.readouterr().out.splitlines() == ["reason", cell]


ROWS = [{"txn": 7, "reason": HOSTILE}, {"txn": 8, "reason": ""}]


def test_rows_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A program gets a list, an empty one too."""
    for rows in (ROWS, []):
        answer_rows(rows, Output.JSON)
        assert json.loads(capsys.readouterr().out) == rows


def test_a_person_gets_a_header_and_a_line_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    answer_rows(ROWS, Output.TABLE)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["txn", "reason"], ["7", *HOSTILE.split()], ["8", "-"]]


LONG = "0123456789" * 20


@pytest.mark.parametrize(
    ("columns", "is_whole"), [("40", False), ("", True)], ids=["screen", "pipe"]
)
@pytest.mark.parametrize("options", [[], ["--origin"]], ids=["record", "rows"])
def test_a_long_path_is_shown_to_its_end(
    tmp_path: Path, options: list[str], columns: str, *, is_whole: bool
) -> None:
    told = lakeledger(
        tmp_path, "config", "show", *options, LAKELEDGER_STORE=LONG, COLUMNS=columns
    ).stdout

    assert "".join(re.findall(r"\d", told.partition("store")[2].partition("reads_url")[0])) == LONG
    assert (LONG in told) == is_whole


def test_no_rows_as_table(capsys: pytest.CaptureFixture[str]) -> None:
    """A person is told that there is nothing."""
    answer_rows([], Output.TABLE)
    assert capsys.readouterr().out == "none\n"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (0, "0"),
        (False, "False"),
        (None, "-"),
        ("", "-"),
        ([], "-"),
        ({}, "-"),
        (("a", 1), "a, 1"),
        ({"a": 1, "b": 2}, "a 1, b 2"),
        ([{"a": 1, "b": None}, {"a": 2, "b": ""}], "a 1, b -\na 2, b -"),
        ({"a": {"b": 1, "c": [2, 3]}, "d": []}, "a (b 1, c (2, 3)), d -"),
    ],
)
def test_what_is_not_there_is_a_dash(value: Any, cell: str) -> None:
    assert shown(value) == cell


def test_what_is_said_of_the_work_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"{HOSTILE} {'long ' * 100}end"
    say(line)
    assert capsys.readouterr() == ("", f"{line}\n")
