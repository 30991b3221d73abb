"""Suite `cache`: every operation reaches the caches, and no altered expectation gets past it."""

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main, run_cases
from tests.conformance.cache import OPERATIONS, SKIPPED, SUITE, run
from tests.conformance.cache_samples import CASES, END, LISTED, Steps, given, reads, step, writes
from tests.conformance.logs import MemoryLedgers
from tests.conformance.suite import Mismatch, Skipped

SHARED = Path(__file__).parents[3] / "shared" / "cases" / "cache_cases.json"

HIT = {"source": "cache", "metadata": "v0"}
READS = [
    (name, number)
    for name, steps in CASES.items()
    for number, each in enumerate(steps, 1)
    if each["op"] == "read"
]
UNREADABLE: list[tuple[dict[str, Any], str]] = [
    (step("vacuum", table="db.t"), "an operation of .* got 'vacuum'"),
    (step("commit", txn="T7", force=True), r"got also \['force'\]"),
    (step("commit", txn="T404"), "got KeyError: 'T404'"),
    (step("catch_up", cache="M"), "got KeyError: 'upto'"),
    (step("drop_table", txn=None, table="db.other"), "no table is called db.other"),
    ({"cache": "M"}, "got KeyError: 'op'"),
    (step("given", tables=[{"table": "db.u", "size": 1}], caches=[]), r"not \['size'\]"),
    (step("given", tables=[], caches=[{"cache": "M", "mode": 1}]), r"not \['mode'\]"),
    (reads(LISTED, "cache v0") | {"expect": {**HIT, "position": 1}}, r"not \['position'\]"),
    (reads(LISTED, "cache v0") | {"expect": {**HIT, "reason": "absent"}}, r"\(hit\)"),
]
FORGETTING: list[dict[str, Any]] = [
    {"txn": "T14", "table": None},
    {"txn": None, "table": "db.t", "write_ids": [14]},
    {"table": "db.t", "write_ids": [8, 14], "write_id": None},
    {"table": "db.t", "ids": [14]},
    {"table": "db.t", "write_id": 14},
    {"table": "db.t"},
]


@pytest.mark.parametrize("steps", CASES.values(), ids=CASES)
def test_what_the_rules_say_passes(steps: Steps) -> None:
    run({"name": "as expected", "steps": steps}, MemoryLedgers())


def test_every_operation_is_in_a_case() -> None:
    assert {each["op"] for steps in CASES.values() for each in steps} == OPERATIONS.keys()


@pytest.mark.parametrize("expect", ["expect", "expect_multi_version"])
@pytest.mark.parametrize(("name", "number"), READS)
def test_an_altered_answer_fails(name: str, number: int, expect: str) -> None:
    steps = list(copy.deepcopy(CASES[name]))
    steps[number - 1][expect]["metadata"] = "another"

    with pytest.raises(Mismatch, match=f"^step {number}: .*another"):
        run({"steps": steps}, MemoryLedgers())


@pytest.mark.parametrize("expect", ["expect", "expect_multi_version"])
@pytest.mark.parametrize(("name", "number"), READS)
def test_an_altered_source_fails(name: str, number: int, expect: str) -> None:
    steps = list(copy.deepcopy(CASES[name]))
    source = steps[number - 1][expect]["source"]
    steps[number - 1][expect]["source"] = "store" if source == "cache" else "cache"

    with pytest.raises(Mismatch, match=f"^step {number}: "):
        run({"steps": steps}, MemoryLedgers())


@pytest.mark.parametrize(
    "altered", [None, {"list": "14:7,8"}, {"committed": True}, {"metadata": "v0"}]
)
def test_an_altered_entry_fails(altered: dict[str, Any] | None) -> None:
    steps = list(copy.deepcopy(CASES["alter and commit"]))
    number = next(at for at, each in enumerate(steps, 1) if each["op"] == "entry")
    steps[number - 1]["expect"] = altered

    with pytest.raises(Mismatch, match=f"^step {number}: "):
        run({"steps": steps}, MemoryLedgers())


@pytest.mark.parametrize(("last", "told"), UNREADABLE)
def test_what_the_suite_cannot_do_fails(last: dict[str, Any], told: str) -> None:
    with pytest.raises(Mismatch, match=f"^step 2: .*{told}"):
        run({"steps": [given("M"), last]}, MemoryLedgers())


@pytest.mark.parametrize("forgotten", FORGETTING)
def test_what_is_forgotten_may_be_named_by_txn_or_by_ids(forgotten: dict[str, Any]) -> None:
    start = [given("M"), *writes("T14", 14), step("abort", txn="T14"), END]
    also_8 = 8 in forgotten.get("write_ids", []) or forgotten == {"table": "db.t"}
    listed = "14:7,12" if also_8 else "14:7,8,12"
    after = [reads(listed, "store v0", "cache v0"), step("forget_aborted", **forgotten), END]

    run({"steps": [*start, *after, reads(listed, "cache v0")]}, MemoryLedgers())


def test_null_is_no_value_of_what_may_be_left_out() -> None:
    told = dict.fromkeys(["table_id", "own_txn", "token", "wait_for", "object", "fill"])
    start = given("M", open=None, objects=None) | {"via_cache": None}
    read = {**reads(LISTED, "cache v0"), **told, "expect_multi_version": None}

    run({"steps": [start, step("open_txn", txn="A", via_cache=None), read]}, MemoryLedgers())


def test_an_unknown_field_of_a_case_fails() -> None:
    with pytest.raises(Mismatch, match=r"got also \['seed'\]"):
        run({"steps": [], "seed": 1}, MemoryLedgers())


@pytest.mark.parametrize("name", SKIPPED)
def test_what_the_ledger_refuses_is_skipped(name: str) -> None:
    with pytest.raises(Skipped, match="first_committer_wins"):
        run({"name": name, "steps": [step("unheard of")]}, MemoryLedgers())


def test_events_are_applied_when_they_are_handed_over() -> None:
    start = [given("M"), step("commit", txn="T7")]
    behind = reads("13:8,12", "store v0")
    there = reads("13:8,12", "cache v0")

    run({"steps": [*start, behind, END, there]}, MemoryLedgers())


@pytest.mark.parametrize(
    "log", ["memory", pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.slow])]
)
def test_the_shared_cases_pass(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every case passes in both modes, or is the one that is skipped."""
    if not SHARED.exists():
        pytest.skip(f"the case files are not part of this repository: {SHARED.name} is not there")

    status = main(["cache", str(SHARED), "--log", log])

    assert status == 0, capsys.readouterr().out


@pytest.mark.kafka
def test_the_same_cases_pass_over_a_broker(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [{"steps": steps} for steps in CASES.values()]

    run_cases(SUITE, cases, log="kafka", verbose=False)

    assert capsys.readouterr().out == f"{len(CASES)} passed, 0 failed\n"
