"""The beginning of a ledger, and the difference to the loss of its events.

A sequencer begins a ledger if there are no events. If the events topic was lost or re-created, that
would be a second ledger under the name of the first: it would decide the old commands again, and
clients would take it for the ledger they know. So a ledger begins only without traces of an earlier
one. Its first events are in the log before its leader beats and before a session opens, so records
in any other topic are a trace. The end offset of a topic shows them even after retention or
compaction. Only commands that open a session may come before the beginning of a ledger.

Traces are looked up before the end of the events, so that a ledger which begins in between is never
taken for a loss.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from ledger.core.acceptance import RecordKind
from ledger.core.commands import OpenSession
from ledger.core.events.events import LedgerCreated
from ledger.errors import AccessDeniedError, EventsLostError, LogDamagedError, TopicMissingError
from ledger.log.batches import check_topic
from ledger.log.port import REQUIRED, Log, LogReader, Topic, records_between
from ledger.log.restored import check_finished
from ledger.log.wire.codec import decode_command, record_kind

TRACES: Final = tuple(topic for topic in Topic if topic is not Topic.EVENTS)
"""The topics whose records are traces of a ledger whose events are gone."""

ANSWER_S: Final = 5.0


class Trace(NamedTuple):
    """A topic that got records, and its end offset."""

    topic: Topic
    end: int


def find_traces(log: Log, timeout_s: float = ANSWER_S) -> list[Trace]:
    """Return the traces of a ledger; call this before looking up the end of its events.

    Raises LogUnavailableError if the broker does not answer.
    """
    found: list[Trace] = []
    for topic in TRACES:
        # A role may lack the right to a topic, and uses the topics that it may read.
        with suppress(AccessDeniedError):
            end = end_of(log, topic, timeout_s)
            if end and not (topic is Topic.COMMANDS and only_opens_sessions(log, timeout_s)):
                found.append(Trace(topic, end))
    return found


def traces_behind(log: Log, read_to: int, timeout_s: float) -> list[Trace]:
    """Return the traces of a ledger whose events end at `read_to`; none if there are more events.

    To look for traces may mean to read many commands. Raises as `find_traces`.
    """
    return find_traces(log, timeout_s) if end_of(log, Topic.EVENTS, timeout_s) <= read_to else []


def only_opens_sessions(log: Log, timeout_s: float) -> bool:
    """Tell whether all commands are still there, and all of them open a session."""
    start, end = log.ends(Topic.COMMANDS, timeout_s)
    commands = records_between(log, Topic.COMMANDS, start, end)
    return not start and all(
        isinstance(decode_command(command.value), OpenSession) for command in commands
    )


def end_of(log: Log, topic: Topic, timeout_s: float = ANSWER_S) -> int:
    """Return the end offset of a topic, 0 if there is no such topic."""
    try:
        if topic not in REQUIRED:
            # Few ledgers have this topic. The look-up of an id finds faster that it is absent.
            log.topic_id(topic)
        return log.ends(topic, timeout_s)[1]
    except TopicMissingError:
        return 0


def events_lost(traces: Iterable[Trace], rows: Iterable[str] = ()) -> EventsLostError:
    """Return the error for a ledger without events, with the traces and rows that are left."""
    return EventsLostError([*(f"its {topic} topic ends at {end}" for topic, end in traces), *rows])


def check_not_lost(
    log: Log, read_to: int = 0, domain: int = 0, *, rows: Collection[str] = ()
) -> None:
    """Raise EventsLostError if the events end at `read_to` and there are traces or `rows`.

    The caller has read the events up to there and found no LedgerCreated; `rows` describes stored
    rows of the ledger. Raises RestoreUnfinishedError while a restore is under way,
    LogUnavailableError if the broker does not answer.
    """
    traces = traces_behind(log, read_to, ANSWER_S)
    if (traces or rows) and end_of(log, Topic.EVENTS) <= read_to:
        with suppress(TopicMissingError):
            check_finished(log, domain)
        raise events_lost(traces, rows)


def check_same_topic(log: Log, created: LedgerCreated) -> None:
    """Raise as `check_topic`, and EventsLostError if the events topic is empty or absent.

    For a reader that knows the ledger from another source than its events, such as a checkpoint.
    """
    try:
        check_topic(log, created)
    except (LogDamagedError, TopicMissingError):
        check_not_lost(log)
        raise


def holds_history(events: LogReader, end: int, wait_s: float = ANSWER_S) -> bool:
    """Tell whether the events before `end` are more than claims to lead.

    `events` begins at its first record. An unreadable record counts as history.
    """
    while events.next_offset() < end:
        records = events.read(1, wait_s)
        if not records or record_kind(records[0].value) is not RecordKind.FENCED:
            return True
    return False
