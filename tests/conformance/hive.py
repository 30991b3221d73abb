"""Suite `hive`: txns, write ids, snapshots, conflicts and cleaning, as Hive answers.

A step is one operation. It is put to the product in one call, the answer is said in the words of
the cases (`hive_steps`), and the words are compared here. What counts as equal besides the
expectation itself is the same for every case: either form of a cut list, and an ended txn that the
product still remembers where Hive has forgotten it.
"""

from collections.abc import Callable, Collection
from contextlib import closing
from typing import NamedTuple

from tests.conformance import hive_steps as steps
from tests.conformance.hive_case import HiveCase, Step
from tests.conformance.hive_steps import Answer
from tests.conformance.logs import Ledgers, ledgers
from tests.conformance.suite import Case, Mismatch, Skipped, Suite, at_step, require_known

ABOUT = {"name", "source", "confidence", "tags", "note", "steps"}
# What has no meaning here, or shall not be copied.
SKIPPED = ("hive_artifact", "hazard", "gap", "hive_specific", "optional_op_field")


class Operation(NamedTuple):
    """How a step is put to the product, and which fields it may have."""

    answer: Callable[[HiveCase, Step], Answer | None]
    fields: Collection[str]


OPERATIONS = {
    "open_txn": Operation(steps.open_txn, {"as", "type"}),
    "allocate_write_id": Operation(steps.allocate_write_id, {"txn", "txns", "table", "expect"}),
    "commit": Operation(steps.commit, {"txn", "writes", "expect"}),
    "abort": Operation(steps.abort, {"txn", "writes", "expect"}),
    "heartbeat": Operation(steps.heartbeat, {"txn", "expect"}),
    "timeout": Operation(steps.timeout, {"txn", "writes", "expect"}),
    "snapshot": Operation(steps.snapshot, {"txn", "as"}),
    "valid_txns": Operation(steps.valid_txns, {"snapshot", "expect"}),
    "valid_write_ids": Operation(
        steps.valid_write_ids, {"snapshot", "table", "expect", "expect_full"}
    ),
    "is_write_id_valid": Operation(
        steps.is_write_id_valid, {"snapshot", "table", "write_id", "expect"}
    ),
    "compact_aborted": Operation(steps.compact_aborted, {"txn"}),
    "watermark": Operation(steps.watermark, {"expect"}),
    "t2w_entries": Operation(steps.t2w_entries, {"table", "expect", "clean"}),
    "drop_table": Operation(steps.drop_table, {"table"}),
    "drop_database": Operation(steps.drop_database, {"db"}),
    "rename_table": Operation(steps.rename_table, {"table", "to"}),
}
# `expect_writeset` is the answer of another rule than the one this product follows (d1).
EVERY_STEP = {"op", "expect_writeset"}


def run(case: Case, ledgers: Ledgers) -> None:
    for tag in case.get("tags", ()):
        if tag in SKIPPED:
            raise Skipped(tag)
    require_known(1, case, ABOUT)
    with closing(ledgers.new()) as ledger:
        under_way = HiveCase(ledger, case["steps"])
        for number, step in enumerate(case["steps"], 1):
            with at_step(number):
                run_step(under_way, number, step)


def run_step(case: HiveCase, number: int, step: Step) -> None:
    """Run one step and compare its answer."""
    operation = OPERATIONS.get(step["op"])
    if operation is None:
        raise Mismatch(number, f"an operation of {sorted(OPERATIONS)}", repr(step["op"]))
    require_known(number, step, EVERY_STEP | set(operation.fields))
    answer = operation.answer(case, step)
    if answer is not None and not any(agrees(each, answer.got) for each in answer.accepted):
        raise Mismatch(number, " or ".join(map(str, answer.accepted)), answer.got)


def agrees(expected: object, got: object) -> bool:
    """Tell whether an answer is the expected one; of a list only the fields named are compared."""
    if isinstance(expected, dict) and isinstance(got, dict):
        return all(got[field] == value for field, value in expected.items())
    return type(expected) is type(got) and expected == got


SUITE = Suite(run, ledgers)
