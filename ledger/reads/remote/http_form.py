"""The JSON form of answers of `ledger.reads.port`, and back without loss.

Rows and valid lists are objects by field, sequences are lists, bytes are hex digits. An error is an
object with its name in `ledger.errors`, its message and its fields. Server and client share this
module and the paths in `ledger.reads.remote.http`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, partial, reduce
from operator import or_
from types import UnionType
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from msgspec import DecodeError, Struct, ValidationError, defstruct, field
from msgspec.json import Decoder
from msgspec.structs import astuple

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
FromForm = Callable[[Any], Any]

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
    if isinstance(answer, Mapping):
        return {name: form_of(each) for name, each in answer.items()}
    if names := names_of(answer):
        return {name: form_of(getattr(answer, name)) for name in names}
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
    """Return a value of this kind from JSON; raises ValueError with the first fault and its place.

    Other programs may send numbers and flags as texts.
    """
    record: Any = kind
    form, value_of = form_of_kind(record)
    try:
        found: Answer = value_of(Decoder(form, strict=False).decode(data))
    except ValidationError:
        raise
    except DecodeError as problem:
        raise ValueError(f"Invalid JSON: {problem}") from problem
    except RecursionError:
        raise ValueError("Invalid JSON: it is nested too deeply") from None
    return found


@cache
def form_of_kind(kind: Any) -> tuple[Any, FromForm]:
    """Return the type that JSON of this kind is read as, and the function from that to the kind."""
    if kind is bytes:
        return str, bytes.fromhex
    if names := names_of(kind):
        return form_of_record(kind, names)
    if isinstance(kind, type) and hasattr(kind, "__orig_bases__"):
        return kind.__orig_bases__[0], kind
    origin, inner = get_origin(kind), () if get_origin(kind) is Literal else get_args(kind)
    items = [form_of_kind(each) for each in inner if each is not Ellipsis]
    read = next((read for _, read in items if read is not itself), itself)
    if read is itself:
        return kind, itself
    forms = tuple(form for form, _ in items)
    if origin is UnionType:
        # A union has one kind of object at most: anything else in it is its own value.
        return reduce(or_, forms), lambda form: read(form) if isinstance(form, Struct) else form
    items_in = tuple if origin is tuple else list
    return list.__class_getitem__(forms), lambda form: items_in(map(read, form))


def form_of_record(kind: Any, names: Sequence[str]) -> tuple[type[Struct], FromForm]:
    """Return an object with the fields of a row or dataclass, and the function from it to one."""
    hints, defaults = get_type_hints(kind), getattr(kind, "_field_defaults", {})
    inner = [form_of_kind(hints[name]) for name in names]
    reads = [(n, read) for n, (_, read) in enumerate(inner) if read is not itself]

    def value_of(form: Struct) -> Any:
        row = list(astuple(form))
        for n, read in reads:
            row[n] = read(row[n])
        return kind(*row)

    own = [
        (name, form, field(default_factory=partial(itself, defaults[name])))
        if name in defaults
        else (name, form)
        for name, (form, _) in zip(names, inner, strict=True)
    ]
    return defstruct(kind.__name__, own, forbid_unknown_fields=not is_dataclass(kind)), value_of


def names_of(kind: Any) -> Sequence[str]:
    """Return the fields of a row or dataclass, none for any other type."""
    if is_dataclass(kind):
        return [own.name for own in fields(kind)]
    fields_of_row: Sequence[str] = getattr(kind, "_fields", ())
    return fields_of_row


def itself(found: Any) -> Any:
    """Return a value that is in JSON as it is."""
    return found


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
