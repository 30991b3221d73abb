"""A long body is refused by its first fault, within a bound of time."""

import json
from time import thread_time
from typing import Any, Final

import pytest

from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.errors import LimitExceededError
from ledger.reads.metadata import Bounds, MetadataQuestion, Read
from ledger.reads.remote.http_form import read_json, to_json
from projections.web.answers.asked import Asked
from projections.web.answers.metadata_questions import READS_MAX, question_in

SOON_S: Final = 0.5
MANY: Final = 49_000
LISTED: Final = ValidWriteIdList("main.t", 9, (), (), None)


def fields(number: int) -> dict[str, list[int]]:
    return {f"field-{n}": [] for n in range(number)}


QUESTIONS = [
    ([0] * MANY, "Expected `object`, got `array`"),
    ({"reads": [{}] * READS_MAX}, r"missing required field `table` - at `\$.reads\[0\]`"),
    ({"reads": [[]] * READS_MAX}, r"got `array` - at `\$.reads\[0\]`"),
    ({"reads": [0] * READS_MAX}, r"got `int` - at `\$.reads\[0\]`"),
    ({"reads": [{"table": 1}] * READS_MAX}, r"field `write_ids` - at `\$.reads\[0\]`"),
    ({"reads": [fields(MANY)]}, "unknown field `field-0`"),
    ({"reads": [], **fields(MANY)}, "unknown field `field-0`"),
    (fields(MANY), "unknown field `field-0`"),
    ({"reads": fields(MANY)}, r"got `object` - at `\$.reads`"),
    ({"reads": [{"table": 1, "write_ids": {"open": [""] * MANY}}]}, "Expected `int`, got `str`"),
    ({"reads": [{"table": ["x"] * MANY, "write_ids": None}]}, "Expected `int | str`, got `array`"),
    ({"reads": "x" * MANY}, "Expected `array`, got `str`"),
    ({"bounds": {"token": ["x"] * MANY}}, "Expected `int`, got `array`"),
]


@pytest.mark.parametrize(("form", "says"), QUESTIONS, ids=range(len(QUESTIONS)))
def test_the_first_fault_counts(form: Any, says: str) -> None:
    body = json.dumps(form).encode()
    began_s = thread_time()
    with pytest.raises(ValueError, match=says.replace("int | str", r"int \| str")):
        read_json(MetadataQuestion, body)
    assert thread_time() - began_s < SOON_S


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"hwm":' + b"[" * MANY, "Invalid JSON|Expected|unknown field"),
        (b" " * MANY, "Invalid JSON: Input data was truncated"),
        (b'{"reads":[NaN]}' + b" " * MANY, "Invalid JSON"),
        (b"\xff" * MANY, "Invalid JSON"),
        (b'{"hwm":' + b"9" * MANY + b"}", "out of range|unknown field"),
    ],
    ids=["deep", "blank", "NaN", "no text", "a long number"],
)
def test_what_is_no_json(body: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_json(MetadataQuestion, body)
    with pytest.raises(ValueError, match=says):
        read_json(ValidTxnList, body)


def test_the_bound_on_reads_of_one_question_is_checked_before_any_is_answered() -> None:
    body = to_json(MetadataQuestion([Read(1, None)] * (READS_MAX + 1)))
    with pytest.raises(LimitExceededError, match="10001 reads were asked for"):
        question_in(Asked({}, [], body))


@pytest.mark.parametrize("number", [0, 1, READS_MAX])
def test_long_questions_are_read_whole(number: int) -> None:
    reads = [Read(f"db.{n}", LISTED, n, "stats:" + "x" * 90, n, "main") for n in range(number)]
    question = MetadataQuestion(reads, Bounds(7, 8, 9, "latest"))
    assert read_json(MetadataQuestion, to_json(question)) == question


def test_long_lists_of_numbers() -> None:
    txns = ValidTxnList(MANY, tuple(range(1, MANY)), (), 1)
    assert read_json(ValidTxnList, to_json(txns)) == txns
