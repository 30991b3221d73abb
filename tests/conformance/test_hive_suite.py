"""Suite `hive`: every operation reaches the ledger, and no altered expectation gets past it."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main, run_cases
from tests.conformance.hive import OPERATIONS, SKIPPED, SUITE, run
from tests.conformance.hive_samples import CASES, Steps, opened, step, wrote
from tests.conformance.logs import MemoryLedgers
from tests.conformance.suite import Mismatch, Skipped

SHARED = Path(__file__).parents[3] / "shared" / "cases"
FILES = ["hive_cases.json", "hive_random_cases.json"]

NO_IDS: dict[str, Any] = {"hwm": 0, "min_open": None, "open": [], "aborted": []}
ALTERED: list[tuple[str, int, dict[str, Any], str]] = [
    ("write ids", 4, {"expect": 2}, "expected 2 got 1"),
    ("write ids", 5, {"expect": [2, 1]}, r"expected \[2, 1\] got \[1, 2\]"),
    ("write ids", 7, {"expect": 3}, "expected 3 got not_open"),
    ("write ids", 6, {"expect": "not_open"}, "expected not_open got 2"),
    ("snapshots", 2, {"expect": {"hwm": "T1"}}, "expected {'hwm': 'T1'} got {'hwm': 'none'"),
    ("snapshots", 10, {"expect": {"open": ["T1", "T2"]}}, "got .*'open': ."),
    ("snapshots", 10, {"expect": {"aborted": []}}, r"got .*'aborted': \['T1'\]"),
    ("snapshots", 10, {"expect": {"min_open": None}}, "got .*'min_open': 'T2'"),
    ("snapshots", 10, {"expect": {"text": ""}}, "expected an answer got KeyError: 'text'"),
    ("snapshots", 12, {"expect": NO_IDS, "expect_full": NO_IDS}, "got {'hwm': 2, 'min_open': 1"),
    ("snapshots", 13, {"expect": True}, "expected True got False"),
    ("snapshots", 13, {"expect": 0}, "expected 0 got False"),
    ("snapshots", 15, {"expect": False}, "expected False got True"),
    ("ends", 3, {"expect": "no_such_txn"}, "expected no_such_txn got ok"),
    ("ends", 4, {"expect": "no_such_txn"}, "expected no_such_txn got ok"),
    ("ends", 5, {"expect": "txn_aborted"}, "expected txn_aborted got ok"),
    ("ends", 6, {"expect": "ok"}, "expected ok got no_such_txn"),
    ("ends", 9, {"expect": "txn_aborted"}, "expected txn_aborted got ok"),
    ("ends", 10, {"expect": "ok"}, "expected ok got txn_aborted"),
    ("ends", 12, {"expect": "ok"}, "expected ok got no_such_txn"),
    ("ends", 14, {"expect": "txn_aborted"}, "expected txn_aborted got no_such_txn"),
    ("conflicts", 6, {"expect": "write_conflict"}, "expected write_conflict got ok"),
    ("conflicts", 7, {"expect": "ok"}, "expected ok got write_conflict"),
    ("conflicts", 8, {"expect": "write_conflict"}, "expected write_conflict got txn_aborted"),
    ("timeouts", 5, {"expect": "still_open"}, "expected still_open got aborted"),
    ("timeouts", 6, {"expect": "aborted"}, "expected aborted got still_open"),
    ("cleaning", 8, {"expect": "next"}, "expected next got T1"),
    ("cleaning", 9, {"expect": ["T2"]}, r"expected \['T2'\] got \['T1', 'T2'\]"),
    ("cleaning", 11, {"expect": []}, r"expected \[\] got \['T1', 'T2'\]"),
    ("cleaning", 12, {"expect": ["T1"]}, r"expected \['T1'\] got \[\]"),
    ("cleaning", 13, {"expect": "T1"}, "expected T1 got next"),
    ("tables", 8, {"expect": 2}, "expected 2 got 1"),
    ("tables", 9, {"expect": 1}, "expected 1 got 2"),
    ("tables", 14, {"expect": "T1"}, "expected T1 got T2"),
]
UNREADABLE: list[tuple[dict[str, Any], str]] = [
    (step("vacuum", table="db.t"), "an operation of .* got 'vacuum'"),
    (step("watermark", expect="next", within="1s"), r"got also \['within'\]"),
    (opened("T1", lost=True), r"got also \['lost'\]"),
    (opened("T1", type="REBALANCE"), "got KeyError: 'REBALANCE'"),
    (step("watermark"), "got KeyError: 'expect'"),
    ({"expect": "next"}, "got KeyError: 'op'"),
    (step("valid_txns", snapshot="S", expect={}), "got KeyError: 'S'"),
    (step("commit", txn="T1", writes=wrote("merge"), expect="ok"), "'merge' is no write"),
    (step("commit", txn="T1", writes=wrote("insert", rows=1), expect="ok"), "keyword argument"),
    (step("rename_table", table="db.t", to="db:s"), "refused CommandInvalid"),
    (step("compact_aborted", txn="T404"), "refused TxnNotAborted"),
]


@pytest.mark.parametrize("steps", CASES.values(), ids=CASES)
def test_what_hive_answers_passes(steps: Steps) -> None:
    run({"name": "as expected", "steps": steps}, MemoryLedgers())


def test_every_operation_is_in_a_case() -> None:
    assert {each["op"] for steps in CASES.values() for each in steps} == OPERATIONS.keys()


@pytest.mark.parametrize(("name", "number", "altered", "told"), ALTERED)
def test_an_altered_expectation_fails(
    name: str, number: int, altered: dict[str, Any], told: str
) -> None:
    steps = list(copy.deepcopy(CASES[name]))
    steps[number - 1].update(altered)

    with pytest.raises(Mismatch, match=f"^step {number}: .*{told}"):
        run({"steps": steps}, MemoryLedgers())


@pytest.mark.parametrize(("last", "told"), UNREADABLE)
def test_what_the_suite_cannot_put_to_the_ledger_fails(last: dict[str, Any], told: str) -> None:
    steps = [last, step("watermark", expect="next")]

    with pytest.raises(Mismatch, match=f"^step [12]: .*{told}"):
        run({"steps": steps}, MemoryLedgers())


def test_an_unknown_field_of_a_case_fails() -> None:
    with pytest.raises(Mismatch, match=r"got also \['seed'\]"):
        run({"steps": [], "seed": 1}, MemoryLedgers())


@pytest.mark.parametrize(
    ("number", "fields"),
    [
        (5, {"txn": "T1", "op": "commit"}),
        (9, {"txn": "T2", "op": "abort"}),
        (10, {"txn": "T2", "op": "commit"}),
        (11, {"txn": "T2", "op": "heartbeat"}),
    ],
)
def test_remembering_longer_than_hive_is_right(number: int, fields: dict[str, Any]) -> None:
    """Where Hive has forgotten an ended txn, the answer still known here passes."""
    steps = list(copy.deepcopy(CASES["ends"]))
    steps[number - 1] = {**fields, "expect": "no_such_txn"}

    run({"steps": steps}, MemoryLedgers())


@pytest.mark.parametrize("tag", SKIPPED)
def test_what_does_not_apply_is_skipped_by_its_tag(tag: str) -> None:
    with pytest.raises(Skipped, match=tag):
        run({"tags": ["hive_truncation", tag], "steps": [step("unheard of")]}, MemoryLedgers())


@pytest.mark.parametrize("tag", ["hive_truncation", "hive_memory_limit", "rule_difference", "slow"])
def test_a_case_of_any_other_tag_is_run(tag: str) -> None:
    with pytest.raises(Mismatch, match="unheard of"):
        run({"tags": [tag], "steps": [step("unheard of")]}, MemoryLedgers())


def test_a_run_counts_and_prints_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [{"steps": steps} for steps in CASES.values()]
    wrong = {"name": "wrong", "steps": [step("watermark", expect="T1")]}
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([*cases, wrong, {"tags": ["gap"], "steps": []}]))

    assert main(["hive", str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAIL wrong: step 1: expected T1 got next",
        "skipped: 1 gap",
        f"{len(CASES)} passed, 1 failed, 1 skipped",
    ]


@pytest.mark.parametrize(
    ("file", "log"),
    [
        *((file, "memory") for file in FILES),
        *(
            pytest.param(file, "kafka", marks=[pytest.mark.kafka, pytest.mark.slow])
            for file in FILES
        ),
    ],
)
def test_the_shared_cases_pass(file: str, log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every case recorded from Hive passes, or is skipped by its tag."""
    if not (SHARED / file).exists():
        pytest.skip(f"the case files are not part of this repository: {file} is not there")

    status = main(["hive", str(SHARED / file), "--log", log])

    assert status == 0, capsys.readouterr().out


@pytest.mark.kafka
def test_the_same_cases_pass_over_a_broker(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [{"steps": steps} for steps in CASES.values()]

    run_cases(SUITE, cases, log="kafka", verbose=False)

    assert capsys.readouterr().out == f"{len(CASES)} passed, 0 failed\n"
