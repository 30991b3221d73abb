"""The conformance runner: what it counts, what it prints, and that it lets nothing pass unread."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ledger.core.lists.text import ID_MAX
from tests.conformance.__main__ import main, run_cases
from tests.conformance.hive_format import COMPARE_CASE, LISTS
from tests.conformance.suite import Case, Mismatch, Skipped, Suite, require_known

PASSING: list[dict[str, Any]] = [
    {
        "kind": "txn_list",
        "text": "11:4:4-8,10:2,9",
        "hwm": 11,
        "min_open": 4,
        "open": [4, 5, 6, 7, 8, 10],
        "aborted": [2, 9],
        "is_valid": {"1": True, "2": False, "12": False},
        "is_aborted": {"2": True, "4": False},
        "range_valid": [[4, 8, "NONE"], [3, 4, "SOME"], [11, 11, "ALL"]],
        "range_aborted": [[9, 9, "ALL"], [4, 8, "NONE"]],
    },
    {"kind": "txn_list", "text": "5:3", "hwm": 5, "open": [], "parse_only": True},
    {"kind": "write_id_list", "text": "t:5:3:3:", "table": "t", "is_valid_base": {"2": True}},
    {"kind": "compactor_list", "text": "t:5:9::3", "aborted": [3], "range_valid": [[2, 4, "ALL"]]},
    {"kind": "compare", "a": "t:5:9::", "b": "t:9:9::", "expect": -7},
]
FAILING: list[tuple[dict[str, Any], str]] = [
    (
        {"kind": "txn_list", "text": "5:9::", "hwm": 6},
        "step 1: expected fields = {'hwm': 6} got {'hwm': 5}",
    ),
    ({"kind": "txn_list", "text": "5:3"}, "step 2: expected text = 5:3 got 5:3::"),
    (
        {"kind": "write_id_list", "text": "t:5:9::", "is_valid": {"5": True, "6": True}},
        "step 4: expected is_valid(6) = True got False",
    ),
    (
        {"kind": "write_id_list", "text": "t:5:9::", "range_valid": [[5, 6, "ALL"]]},
        "step 3: expected range_valid(5, 6) = ALL got SOME",
    ),
    (
        {"kind": "compare", "a": "t:5:9::", "b": "t:9:9::", "expect": 0},
        "step 1: expected compare = 0 got -1",
    ),
    (
        {"kind": "txn_list", "text": "x:9::"},
        (
            "step 1: expected an answer got ValueError: "
            f"field hwm: an id must be 0 to {ID_MAX}, got 'x'"
        ),
    ),
    (
        {"kind": "compare", "a": "t:5:9::", "b": "t:9:9::", "expect": -1, "hint": 1},
        f"step 1: expected only fields of {sorted(COMPARE_CASE)} got also ['hint']",
    ),
    ({"kind": "digest"}, f"step 1: expected a kind of {[*LISTS, 'compare']} got 'digest'"),
]


def run_tagged(case: Case, log: str) -> None:
    """Do what the case says: a suite whose every outcome can be asked for."""
    require_known(1, case, ["name", "skip", "log", "broken"])
    if "skip" in case:
        raise Skipped(case["skip"])
    if case.get("log", log) != log:
        raise Mismatch(2, case["log"], log)
    if "broken" in case:
        raise LookupError("broken\non purpose")


def written(folder: Path, cases: object) -> str:
    file = folder / "cases.json"
    file.write_text(json.dumps(cases))
    return str(file)


def test_cases_that_agree_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the count is printed when every case passes, and the exit status is 0."""
    status = main(["hive-format", written(tmp_path, PASSING)])

    assert status == 0
    assert capsys.readouterr().out == "5 passed, 0 failed\n"


@pytest.mark.parametrize(("case", "told"), FAILING)
def test_a_difference_fails_its_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: dict[str, Any], told: str
) -> None:
    status = main(["hive-format", written(tmp_path, [*PASSING, case])])

    assert status == 1
    assert f"FAIL case 6: {told}\n5 passed, 1 failed\n" == capsys.readouterr().out


def test_skips_are_counted_by_tag(capsys: pytest.CaptureFixture[str]) -> None:
    cases: list[Case] = [
        {"skip": "gap"},
        {"name": "wrong log", "log": "kafka"},
        {"skip": "hazard"},
        {"broken": True},
        {"skip": "gap"},
        {},
    ]
    status = run_cases(Suite(run_tagged), cases, log="memory", verbose=False)

    assert status == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAIL wrong log: step 2: expected kafka got memory",
        "FAIL case 4: expected an answer got LookupError: broken on purpose",
        "skipped: 2 gap, 1 hazard",
        "1 passed, 2 failed, 3 skipped",
    ]


def test_verbose_names_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    run_cases(Suite(run_tagged), [{"name": "a"}, {"skip": "gap"}], log="memory", verbose=True)

    assert capsys.readouterr().out.splitlines()[:2] == ["pass a", "skip case 2: gap"]


def test_a_resource_lasts_for_the_run() -> None:
    seen: list[str] = []

    @contextmanager
    def broker(log: str) -> Iterator[str]:
        seen.append(f"open {log}")
        yield f"broker of {log}"
        seen.append("close")

    suite = Suite(lambda case, log: seen.append(f"{case['name']}: {log}"), broker)
    run_cases(suite, [{"name": "a"}, {"name": "b"}], log="kafka", verbose=False)

    assert seen == ["open kafka", "a: broker of kafka", "b: broker of kafka", "close"]


@pytest.mark.parametrize("cases", [{"kind": "compare"}, ["text"]])
def test_a_file_without_cases_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cases: object
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["hive-format", written(tmp_path, cases)])

    assert "it is not a JSON list of objects" in capsys.readouterr().err
