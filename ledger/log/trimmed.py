"""The mark of a trim in the catalogs topic: what the log was before its first record.

A trim is an event. Records in front of it then leave the topic, the creation of the ledger among
them. So before they leave, the mark of the trim is written: where the log begins now, the head of
the log in front of that record, the creation of the ledger, and the place of the archive. Readers
look for the mark only if the first record is gone. The chain proves it: the first record that is
left continues the head in the mark, or the log is damaged.
"""

import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final, NamedTuple

from ledger.core.acceptance import LogHead, head_form, head_from
from ledger.core.events.events import LedgerCreated
from ledger.core.events.parts import Limits
from ledger.errors import LogDamagedError, LogTrimmedError
from ledger.log.port import Log, Topic, records_between

WRITE_S: Final = 35.0
FIELDS: Final = frozenset(
    {"topic", "below", "offset", "head", "created", "archive", "image", "position"}
)


class TrimMark(NamedTuple):
    """A trim of the events topic with the id `topic`, by the event at `position`.

    The record at `offset` is the event at position `below`, and `head` is the log in front of it.
    `image` is the position of the rows in the archive, from which a reader begins.
    """

    topic: str
    below: int
    offset: int
    head: LogHead
    created: LedgerCreated
    archive: str
    image: int
    position: int


class LogStart(NamedTuple):
    """Where a log begins: its first offset, and the head in front of it; `mark` is of its trim."""

    offset: int
    head: LogHead
    mark: TrimMark | None = None


def start_of(log: Log, domain: int = 0) -> LogStart:
    """Return where a log begins, with a head of its own.

    Raises LogDamagedError if its beginning is gone without a trim, LogUnavailableError.
    """
    first, _ = log.ends(Topic.EVENTS)
    if not first:
        return LogStart(0, LogHead())
    mark = read_trim_mark(log, domain)
    if mark is None or first > mark.offset:
        raise LogDamagedError(1, f"the first record left is at offset {first}, history is gone")
    return LogStart(mark.offset, mark.head.copy(), mark)


def begun_at(log: Log, domain: int = 0) -> tuple[LogHead, int]:
    """Return the head and the offset from which the first events left are read; raises as above."""
    begun = start_of(log, domain)
    return begun.head, begun.offset


def check_whole(log: Log, domain: int = 0) -> None:
    """Raise LogTrimmedError if a log begins with a trim, and as `start_of`."""
    mark = start_of(log, domain).mark
    if mark is not None:
        raise trimmed(mark)


def trimmed(mark: TrimMark) -> LogTrimmedError:
    """Return the error for a reader that wants the events in front of the first one left."""
    return LogTrimmedError(
        f"the events below position {mark.below} were trimmed from the log. They are in the backup "
        f"{mark.archive}, with an image of rows to begin with: start the process without --image "
        "off, or with --image PATH if the backup lies elsewhere now, and with --rebuild if its own "
        "rows end before the log begins. To read the events, restore the backup into another "
        "cluster",
        below=mark.below,
        archive=mark.archive,
    )


def write_trim_mark(log: Log, domain: int, mark: TrimMark) -> None:
    """Write the mark and wait for its delivery; raises LogUnavailableError."""
    fields = mark._asdict() | {"head": head_form(mark.head), "created": list(mark.created)}
    with closing(log.writer(Topic.CATALOGS)) as writer:
        writer.append(key_of(domain), json.dumps(fields).encode())
        writer.flush(WRITE_S)


def read_trim_mark(log: Log, domain: int = 0) -> TrimMark | None:
    """Return the newest mark of the present events topic, None if absent."""
    start, end = log.ends(Topic.CATALOGS)
    newest: TrimMark | None = None
    for record in records_between(log, Topic.CATALOGS, start, end) if start < end else ():
        if record.key == key_of(domain):
            newest = mark_in(record.value) or newest
    # The topic of a restored ledger holds all events of its backup.
    return newest if newest is not None and newest.topic == log.topic_id(Topic.EVENTS) else None


def key_of(domain: int) -> bytes:
    """Return the key of the mark of a domain."""
    return f"{domain}/trimmed".encode()


def mark_in(value: bytes) -> TrimMark | None:
    """Return the mark in a record, None for other bytes."""
    try:
        fields: Mapping[str, Any] = json.loads(value)
        ledger, name, domain, commands, events, limits = fields["created"]
        known = {name: fields[name] for name in FIELDS - {"head", "created"}}
        return TrimMark(
            head=head_from(fields["head"]),
            created=LedgerCreated(ledger, name, domain, commands, events, Limits(*limits)),
            **known,
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
