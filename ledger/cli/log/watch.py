"""Watch: events as they come, one line each, filtered by conditions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final, get_args

from ledger.clock import time_text
from ledger.core.commands import TableWrite
from ledger.core.conflicts.operations import altered, committed
from ledger.core.events.events import (
    AbortedForgotten,
    Body,
    Event,
    SessionClosed,
    SessionOpened,
    TableAltered,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.events.parts import CommittedPart
from ledger.core.events.subjects import named_tables, reason_of
from ledger.core.lists.text import runs_text
from ledger.errors import SettingsError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.log_end import nearest_head
from ledger.log.port import Log, Topic
from ledger.log.trimmed import start_of, trimmed

READ_MAX: Final = 1_000
WAIT_S: Final = 0.5
FIELDS: Final = ("position", "type", "txn", "session", "table", "operation", "outcome")
# The field with all values, for an event that may have several.
SEVERAL: Final = {"txn": "txns"}
NUMBERED: Final = frozenset({"position", "txn", "session", "table"})
TYPES: Final = sorted(kind.__name__ for kind in get_args(Body))

Line = dict[str, Any]


def line_of(event: Event) -> Line:
    """Return an event as a line; `operation` has the words of the tables' histories."""
    control, body = event
    outcome, message = reason_of(body)
    return {
        "position": control.position,
        "at": time_text(control.at),
        "type": type(body).__name__,
        "txn": control.txn,
        "txns": named_txns(event),
        # A session's number is the position at which it opened.
        "session": control.position if isinstance(body, SessionOpened) else control.session,
        "table": sorted(named_tables(body)),
        "operation": operations(body),
        "outcome": outcome,
        "message": message,
    }


def named_txns(event: Event) -> list[int]:
    """Return the txns of an event; with many of them its `txn` is 0 or the first."""
    control, body = event
    match body:
        case TxnOpened():
            return [*range(control.txn, control.txn + body.size)]
        case WriteIdsAllocated():
            return [*dict.fromkeys(each.txn for each in body.ids)]
        case SessionClosed() | TxnsExpired():
            return [end.txn for end in body.ends]
        case AbortedForgotten():
            return sorted({*body.txns, *(part.txn for part in body.parts)})
        case _:
            return [control.txn] if control.txn else []


def operations(body: Any) -> list[str]:
    """Return the operations of an event on tables, each once."""
    if isinstance(body, TableAltered):
        return [altered(body)]
    parts = [*getattr(body, "parts", ()), *getattr(body, "attempted", ())]
    words = (committed(part, ()) for part in parts if isinstance(part, CommittedPart | TableWrite))
    return [word for word in dict.fromkeys(words) if word]


def shown_line(line: Line) -> str:
    """Return a line as people read it."""
    tables = " ".join(f"table {each}" for each in line["table"])
    txns = f"txn {runs_text(line['txns'])}" if line["txns"] else ""
    # `txn show` has the session of a txn; other events show it only here.
    session = f"session {line['session']}" if line["session"] and not txns else ""
    rest = (session, txns, tables, ", ".join(line["operation"]), line["outcome"], line["message"])
    return " ".join([f"{line['position']:>8}", line["at"], line["type"], *filter(None, rest)])


def condition(texts: Sequence[str]) -> Callable[[Line], bool]:
    """Return the conjunction of conditions of the form `field=value`.

    A field with several values matches if one of them does. Type names and words match in any case.
    Raises SettingsError for an unknown field, another form, and an invalid number or type.
    """
    wanted = [text.partition("=") for text in texts]
    for text, (field, equals, value) in zip(texts, wanted, strict=True):
        if not equals or field not in FIELDS:
            raise SettingsError(
                "a condition must look like field=value, such as --where type=TxnCommitted, with "
                f"a field of {', '.join(FIELDS)}, got {text!r}"
            )
        if field in NUMBERED and not value.isdecimal():
            raise SettingsError(
                f"{text!r} holds for no event: {field} is a number, as in --where {field}=7"
            )
        if field == "type" and not matches(TYPES, value):
            raise SettingsError(f"{text!r} holds for no event: a type is one of {', '.join(TYPES)}")
    meant = [
        (SEVERAL.get(field, field), str(int(value)) if field in NUMBERED else value)
        for field, _, value in wanted
    ]
    return lambda line: all(matches(line[field], value) for field, value in meant)


def matches(found: Any, value: str) -> bool:
    """Return whether a field, or one of its values, equals this one."""
    several = found if isinstance(found, list) else [found]
    return any(str(each).lower() == value.lower() for each in several)


def watch(
    log: Log, domain: int, after: int | None, wait_s: float = WAIT_S
) -> Iterator[Event | None]:
    """Yield the events after position `after`, by default the ones to come; None = nothing new yet.

    None comes after the last event that the log held at the call, and then whenever there is no
    newer one. Reading begins at the newest checkpoint before the events. Raises as every reader
    does, and LogUnavailableError if the broker is unreachable before that end.
    """
    head, offset = nearest_head(log, domain)
    if after is not None and head.position > after:
        begun = start_of(log, domain)
        if begun.mark is not None and after < begun.head.position:
            raise trimmed(begun.mark)
        head, offset = begun.head, begun.offset
    end = log.ends(Topic.EVENTS)[1]
    first = end if after is None else 0
    batches = BatchAcceptor(log, Acceptor(head), offset)
    with closing(batches.open()) as reader:
        while True:
            records = reader.read(READ_MAX, wait_s)
            for record, event in batches.events(records):
                if event is None or record.offset < first:
                    continue
                if event.control.position > (after or 0):
                    yield event
            if not records and reader.next_offset() < end:
                # A reader cannot tell an unreachable broker from an empty topic; `ends` raises.
                end = log.ends(Topic.EVENTS)[1]
            if reader.next_offset() >= end:
                yield None
