"""Long bodies are refused by their first fault: to collect all would take all memory and time."""

import json
from time import thread_time
from typing import Any, Final

import pytest

from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.errors import LimitExceededError
from ledger.reads.metadata import Bounds, MetadataQuestion, Read
from ledger.reads.remote.http_form import to_json
from projections.web.answers.metadata_questions import READS_MAX, read_question
from projections.web.answers.shape import FEW_BYTES, read_shaped

# What is refused at once takes a tenth of it, what is collected ten times as much.
SOON_S: Final = 1.5
MANY: Final = 49_000
LISTED: Final = ValidWriteIdList("main.t", 9, (), (), None)


def fields(number: int) -> dict[str, list[int]]:
    """Return an object of so many fields."""
    return {f"field-{n}": [] for n in range(number)}


QUESTIONS = [
    ([0] * MANY, "NamedTuple should have at most 2 items"),
    ({"reads": [{}] * READS_MAX}, "reads, from number 0 on: 0.table Field required"),
    ({"reads": [[]] * READS_MAX}, "reads, from number 0 on: 0"),
    ({"reads": [0] * READS_MAX}, "reads, from number 0 on: 0"),
    ({"reads": [{"table": 1}] * READS_MAX}, "0.write_ids Field required"),
    ({"reads": [fields(MANY)]}, "an object must have at most 64 fields"),
    ({"reads": [], **fields(MANY)}, "an object must have at most 64 fields"),
    (fields(MANY), "an object must have at most 64 fields"),
    ({"reads": fields(MANY)}, "an object must have at most 64 fields"),
    ({"reads": [{"table": 1, "write_ids": {"open": [""] * MANY}}]}, "must hold whole numbers only"),
    ({"reads": [{"table": ["x"] * MANY, "write_ids": None}]}, "must hold whole numbers only"),
    ({"reads": "x" * MANY}, "reads Input should be"),
    ({"bounds": {"token": ["x"] * MANY}}, "must hold whole numbers only"),
]


@pytest.mark.parametrize(("form", "says"), QUESTIONS, ids=range(len(QUESTIONS)))
def test_the_first_fault_counts(form: Any, says: str) -> None:
    """A long body that is no question is told so soon, by where its first fault is."""
    body = json.dumps(form).encode()
    began_s = thread_time()
    with pytest.raises(ValueError, match=says):
        read_question(MetadataQuestion, body)
    assert thread_time() - began_s < SOON_S


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"[" * MANY, "Invalid JSON: it is nested too deeply"),
        (b" " * MANY, "Invalid JSON: Expecting value"),
        (b'{"reads":[NaN]}' + b" " * MANY, "JSON has no NaN"),
        (b"\xff" * MANY, "Invalid JSON"),
        (b'{"hwm":' + b"9" * MANY + b"}", "Invalid JSON"),
    ],
    ids=["deep", "blank", "NaN", "no text", "a long number"],
)
def test_what_is_no_json(body: bytes, says: str) -> None:
    """A long body that is no JSON is told so."""
    with pytest.raises(ValueError, match=says):
        read_question(MetadataQuestion, body)
    with pytest.raises(ValueError, match=says):
        read_shaped(ValidTxnList, body)


def test_too_many_reads() -> None:
    """More reads than go at once are refused before they are read."""
    body = json.dumps({"reads": [{}] * (READS_MAX + 1)}).encode()
    with pytest.raises(LimitExceededError, match="10001 reads were asked for"):
        read_question(MetadataQuestion, body)


@pytest.mark.parametrize("number", [0, 1, 99, 100, 101, 250])
def test_long_questions_are_read_whole(number: int) -> None:
    """A question of many reads is read as one of few is, each read in its place."""
    reads = [Read(f"db.{n}", LISTED, n, "stats:" + "x" * 90, n, "main") for n in range(number)]
    question = MetadataQuestion(reads, Bounds(7, 8, 9, "latest"))
    body = to_json(question) + b" " * FEW_BYTES
    assert read_question(MetadataQuestion, body) == question


def test_long_lists_of_numbers() -> None:
    """A list of txns may have as many numbers as it needs."""
    txns = ValidTxnList(MANY, tuple(range(1, MANY)), (), 1)
    assert read_shaped(ValidTxnList, to_json(txns)) == txns
