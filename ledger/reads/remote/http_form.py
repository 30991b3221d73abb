"""The JSON form of answers of `ledger.reads.port`, and back without loss.

Rows and valid lists are objects by field, sequences are lists, bytes are hex digits. An error is an
object with its name in `ledger.errors`, its message and its fields. Server and client share this
module and the paths in `ledger.reads.remote.http`.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ledger.errors import (
    IncompatibleError,
    LedgerError,
    LimitExceededError,
    LogRewrittenError,
    ReaderBehindError,
    SnapshotTooOldError,
    UnknownTableError,
    UnknownVersionError,
)

Answer = TypeVar("Answer")

NOTHING: Final = "NothingFound"
"""The name in an answer that stands for None: nothing has that number or name."""

BAD_REQUEST: Final = "BadRequest"
"""The name in an answer to a question that makes no sense, such as a negative position."""

# Errors that answer a question; any other one means that the server cannot answer at all.
RAISED: Final[Mapping[str, type[LedgerError]]] = {
    kind.__name__: kind
    for kind in (
        *(LimitExceededError, LogRewrittenError, ReaderBehindError, SnapshotTooOldError),
        *(UnknownTableError, UnknownVersionError),
    )
}
SCALARS: Final = (str, int, float, type(None))


def form_of(answer: Any) -> Any:
    """Return an answer as objects, lists, texts and numbers."""
    if isinstance(answer, SCALARS):
        return answer
    if isinstance(answer, bytes):
        return answer.hex()
    if is_dataclass(answer):
        return {each.name: form_of(getattr(answer, each.name)) for each in fields(answer)}
    if isinstance(answer, Mapping):
        return {name: form_of(each) for name, each in answer.items()}
    if hasattr(answer, "_fields"):
        return {name: form_of(each) for name, each in zip(answer._fields, answer, strict=True)}
    return [form_of(each) for each in answer]


def to_json(answer: Any) -> bytes:
    """Return an answer as JSON.

    Rows become objects one at a time: all at once would take many times their bytes.
    """
    if isinstance(answer, list):
        return b"[" + b",".join(map(to_json, answer)) + b"]"
    return json.dumps(form_of(answer), ensure_ascii=False, separators=(",", ":")).encode()


def from_json(kind: type[Answer], data: bytes) -> Answer:
    """Return the answer of this kind that JSON says; raises IncompatibleError if it says none."""
    try:
        return read_json(kind, data)
    except ValueError as problem:
        raise IncompatibleError(
            f"this is no {getattr(kind, '__name__', kind)}: {problem}. Install the same version of "
            "lakeledger on both sides"
        ) from problem


def read_json(kind: type[Answer], data: bytes) -> Answer:
    """Return a value of this kind from JSON; raises ValueError with the place that is wrong."""
    form: Any = kind
    try:
        found: Answer = reader_of(form).validate_json(data)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where} {first['msg']}".strip()) from problem
    return found


@cache
def reader_of(kind: Any) -> TypeAdapter[Any]:
    """Return the reader of a kind of answer; a dataclass takes no settings, and holds no bytes."""
    return TypeAdapter(
        kind, config=None if is_dataclass(kind) else ConfigDict(val_json_bytes="hex")
    )


def error_form(error: LedgerError) -> dict[str, Any]:
    """Return an error as fields."""
    return {
        "error": type(error).__name__,
        "message": str(error),
        "retry_unchanged": error.retry_unchanged,
        "fields": {name: each for name, each in vars(error).items() if isinstance(each, SCALARS)},
    }


def error_from(form: Mapping[str, Any]) -> LedgerError | None:
    """Return the error of a form, None if it does not answer a question."""
    kind, said = RAISED.get(str(form.get("error"))), form.get("fields")
    if kind is None or not isinstance(said, dict):
        return None
    # Made as pickle does, without its constructor: that would compose a message, which is here.
    error = kind.__new__(kind, str(form.get("message")))
    vars(error).update(said)
    if form.get("retry_unchanged") is False:
        # A bound of the server stays; a bound of the ledger may have room later.
        error.retry_unchanged = False
    return error
