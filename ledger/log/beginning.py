"""The beginning of a ledger, and how it is told from the loss of its events.

Where there are no events a sequencer begins a ledger. Had the topic of events been lost, or made
anew, that would be another ledger in the name of the first: it would decide the old commands again,
and clients would take it for the one they know. So a ledger begins only where nothing else of it is
there. Its first events are in the log before its leader beats and before a session is open, so
whatever another topic was given came later. What retention or compaction has removed since counts
too: the end of a topic tells of it. Only sessions may be asked for before: who does keeps no ledger
from its beginning.

Traces are looked for first and the end of the events after that: who begins a ledger meanwhile is
then never taken for a loss.
"""

from collections.abc import Collection, Iterable
from contextlib import closing, suppress
from typing import Final, NamedTuple

from ledger.core.acceptance import RecordKind
from ledger.core.commands import OpenSession
from ledger.core.events.events import LedgerCreated
from ledger.errors import (
    AccessDeniedError,
    LogDamagedError,
    LogUnavailableError,
    TopicMissingError,
)
from ledger.log.batches import check_topic
from ledger.log.codec import decode_command, record_kind
from ledger.log.errors import EventsLostError
from ledger.log.port import REQUIRED, Log, LogReader, Topic
from ledger.log.restored import check_finished

TRACES: Final = tuple(topic for topic in Topic if topic is not Topic.EVENTS)
"""The topics that tell of a ledger whose events are gone."""

ANSWER_S: Final = 5.0
READ_MAX: Final = 500
READ_S: Final = 2.0


class Trace(NamedTuple):
    """A topic that was given records, and the offset behind the last of them."""

    topic: Topic
    end: int


def find_traces(log: Log, timeout_s: float = ANSWER_S) -> list[Trace]:
    """Return what other topics tell of a ledger, whose events are to be looked at after this.

    Raises LogUnavailableError if the broker does not answer.
    """
    found: list[Trace] = []
    for topic in TRACES:
        # A role may not know of each topic, and goes by those that it knows.
        with suppress(AccessDeniedError):
            end = end_of(log, topic, timeout_s)
            if end and not (topic is Topic.COMMANDS and asks_for_sessions(log, timeout_s)):
                found.append(Trace(topic, end))
    return found


def asks_for_sessions(log: Log, timeout_s: float) -> bool:
    """Tell whether the commands are nothing but questions for a session, none of them removed."""
    start, end = log.ends(Topic.COMMANDS, timeout_s)
    with closing(log.reader(Topic.COMMANDS, start)) as commands:
        while not start and commands.next_offset() < end:
            records = commands.read(READ_MAX, READ_S)
            if not records and commands.next_offset() < end:
                raise LogUnavailableError(
                    f"the commands could not be read from offset {commands.next_offset()}, their "
                    f"end is {end}; see whether the broker runs"
                )
            if not all(isinstance(decode_command(each.value), OpenSession) for each in records):
                return False
    return not start


def end_of(log: Log, topic: Topic, timeout_s: float = ANSWER_S) -> int:
    """Return the offset behind the last record of a topic, 0 if there is no such topic."""
    try:
        if topic not in REQUIRED:
            # Few ledgers have it, and of one that is not there its id is told sooner.
            log.topic_id(topic)
        return log.ends(topic, timeout_s)[1]
    except TopicMissingError:
        return 0


def events_lost(traces: Iterable[Trace], rows: Iterable[str] = ()) -> EventsLostError:
    """Return the error for a ledger of which these traces are left, and rows besides."""
    return EventsLostError([*(f"its {topic} go on to {end}" for topic, end in traces), *rows])


def check_not_lost(
    log: Log, read_to: int = 0, domain: int = 0, *, rows: Collection[str] = ()
) -> None:
    """Raise EventsLostError if the events end at `read_to`, say of no ledger, and traces do.

    The caller has read the events up to there and found no beginning; `rows` is what it knows of
    rows of the ledger. Raises RestoreUnfinishedError if a restore brings the events back,
    LogUnavailableError if the broker does not answer.
    """
    traces = find_traces(log)
    if (traces or rows) and end_of(log, Topic.EVENTS) <= read_to:
        with suppress(TopicMissingError):
            check_finished(log, domain)
        raise events_lost(traces, rows)


def check_same_topic(log: Log, created: LedgerCreated) -> None:
    """Raise as `check_topic`, and EventsLostError if the other topic holds nothing or is not there.

    For whoever knows of a ledger from elsewhere than its events, such as a checkpoint.
    """
    try:
        check_topic(log, created)
    except (LogDamagedError, TopicMissingError):
        check_not_lost(log)
        raise


def holds_history(events: LogReader, end: int, wait_s: float = ANSWER_S) -> bool:
    """Tell whether a topic of events that ends there holds more than claims to lead.

    `events` begins at its first record. What cannot be read counts as history.
    """
    while events.next_offset() < end:
        records = events.read(1, wait_s)
        if not records or record_kind(records[0].value) is not RecordKind.FENCED:
            return True
    return False
