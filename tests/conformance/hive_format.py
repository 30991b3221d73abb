"""Suite `hive-format`: the text forms of valid lists, what they answer, and how they compare.

The steps of a case are its questions in a fixed order: the parsed fields, the text written again,
then each point and range query. A comparison is one step.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ledger.core.lists.valid_lists import (
    ValidCompactorWriteIdList,
    ValidTxnList,
    ValidWriteIdList,
    compare,
)
from tests.conformance.suite import Case, Mismatch, Suite, at_step, require_known

ABOUT = {"kind", "name", "source", "note", "confidence", "tags"}
FIELDS = ("table", "hwm", "min_open", "open", "aborted")
POINT_QUERIES = ("is_valid", "is_aborted", "is_valid_base")
RANGE_QUERIES = ("range_valid", "range_aborted")
LIST_CASE = ABOUT | {"text", "parse_only", *FIELDS, *POINT_QUERIES, *RANGE_QUERIES}
COMPARE_CASE = ABOUT | {"a", "b", "expect"}

LISTS: dict[str, type[ValidTxnList | ValidWriteIdList]] = {
    "txn_list": ValidTxnList,
    "write_id_list": ValidWriteIdList,
    "compactor_list": ValidCompactorWriteIdList,
}


class Question(NamedTuple):
    """One thing asked of a list, the answer expected, and how to ask."""

    words: str
    expected: object
    ask: Callable[[], object]


def run(case: Case, log: str) -> None:
    """Run one case; the lists are values, so the log plays no part."""
    del log
    kind = case.get("kind")
    if kind == "compare":
        run_compare(case)
    elif kind in LISTS:
        run_list(case, LISTS[kind])
    else:
        raise Mismatch(1, f"a kind of {[*LISTS, 'compare']}", repr(kind))


def run_compare(case: Case) -> None:
    """Compare two write id lists; of the expectation only the sign counts."""
    require_known(1, case, COMPARE_CASE)
    with at_step(1):
        a, b = ValidWriteIdList.parse(case["a"]), ValidWriteIdList.parse(case["b"])
        answer, expected = compare(a, b), case["expect"]
        if (answer > 0, answer < 0) != (expected > 0, expected < 0):
            raise Mismatch(1, f"compare = {expected}", answer)


def run_list(case: Case, kind: type[ValidTxnList | ValidWriteIdList]) -> None:
    """Parse the text of a case and put all its questions to the list."""
    require_known(1, case, LIST_CASE)
    with at_step(1):
        parsed = kind.parse(case["text"])
    for step, question in enumerate(questions(case, parsed), 1):
        with at_step(step):
            answer = question.ask()
            if answer != question.expected:
                raise Mismatch(step, f"{question.words} = {question.expected}", answer)


def questions(case: Case, parsed: ValidTxnList | ValidWriteIdList) -> Iterator[Question]:
    """Yield everything a case says about the list of its text."""
    expected = {field: case[field] for field in FIELDS if field in case}
    yield Question("fields", expected, lambda: fields(parsed, expected))
    if not case.get("parse_only"):
        yield Question("text", case["text"], parsed.text)
    for name in POINT_QUERIES:
        for member, answer in case.get(name, {}).items():
            yield point_question(parsed, name, int(member), answer)
    for name in RANGE_QUERIES:
        for first, last, answer in case.get(name, []):
            yield range_question(parsed, name, (first, last), answer)


def fields(parsed: object, names: Case) -> dict[str, Any]:
    """Return the named fields of a list in the form of a case."""
    values = {name: getattr(parsed, name) for name in names}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def point_question(parsed: object, name: str, member: int, answer: object) -> Question:
    return Question(f"{name}({member})", answer, lambda: getattr(parsed, name)(member))


def range_question(parsed: object, name: str, bounds: tuple[int, int], answer: object) -> Question:
    """Return the question of the ids from the first bound to the last."""
    return Question(f"{name}{bounds}", answer, lambda: getattr(parsed, name)(*bounds).name)


SUITE = Suite(run)
