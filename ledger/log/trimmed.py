"""The mark of a trim in the catalogs topic: what the log was before its first record.

A trim is an event. Records in front of it then leave the topic, the creation of the ledger among
them. So before they leave, the mark of the trim is written: where the log begins then, the head of
the log in front of that record, the creation of the ledger, and the place of the archive. Readers
look for marks only if the first record is gone. The mark of the first record left counts: those
of trims whose records are still there do not. So a trim that was interrupted, or whose events were
lost, changes nothing. The chain proves the mark: the first record that is left continues the head
in it, or the log is damaged.
"""

import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final, NamedTuple

from ledger.core.acceptance import LogHead, RecordKind, head_form, head_from
from ledger.core.events.events import LedgerCreated
from ledger.core.events.parts import Limits
from ledger.errors import LogDamagedError, LogTrimmedError
from ledger.log.acceptor import Acceptor
from ledger.log.port import Log, Topic, records_between
from ledger.log.wire.codec import record_kind

WRITE_S: Final = 35.0
LATELY_MS: Final = 2 * 60 * 1000
"""How old the mark of a trim under way is at most, with clocks that differ."""
FIELDS: Final = frozenset(
    {"topic", "below", "offset", "head", "created", "archive", "image", "position"}
)


class SectionProof(NamedTuple):
    """What a section of the verified image must hold, with digests as hexadecimal digits.

    `position` is that of the rows, and `checkpoint` that of the state checkpoint.
    """

    section: str
    position: int
    digest: str
    checkpoint: int
    checkpoint_digest: str


class TrimMark(NamedTuple):
    """A trim of the events topic with the id `topic`, by the event at `position`.

    The record at `offset` is the event at position `below`, and `head` is the log in front of it.
    `image` is the position of the rows in the archive, from which a reader begins. `proofs` are of
    the image that the trim verified, none in a mark without them.
    """

    topic: str
    below: int
    offset: int
    head: LogHead
    created: LedgerCreated
    archive: str
    image: int
    position: int
    proofs: tuple[SectionProof, ...] = ()


class LogStart(NamedTuple):
    """Where a log begins: its first offset, and the head in front of it; `mark` is of its trim."""

    offset: int
    head: LogHead
    mark: TrimMark | None = None


def start_of(log: Log, domain: int = 0) -> LogStart:
    """Return where a log begins, with a head of its own.

    Raises LogDamagedError if its beginning is gone without a trim, or if it lost all that a trim
    left; LogUnavailableError.
    """
    first, end = log.ends(Topic.EVENTS)
    if not first:
        return LogStart(0, LogHead())
    marks = trim_marks(log, domain)
    offset = min((each for each in marks if each >= first), default=None)
    if offset is None:
        raise LogDamagedError(
            1,
            f"the first record left is at offset {first}, history is gone, and no mark of a trim "
            "names that place. If this log was trimmed, lakeledger recover --adopt --backup PATH "
            "writes the mark again from the backup that the trim named",
        )
    mark = marks[offset]
    if end < offset:
        raise LogDamagedError(
            mark.below,
            f"the log ends at offset {end}, in front of the events that its last trim left. The "
            f"backup {mark.archive} holds all events up to that trim: restore it",
        )
    return LogStart(offset, mark.head.copy(), mark)


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
        writer.append(key_of(domain, mark.offset), json.dumps(fields).encode())
        writer.flush(WRITE_S)


def read_trim_mark(log: Log, domain: int = 0) -> TrimMark | None:
    """Return the newest mark of the present events topic, None if absent."""
    return next(reversed(trim_marks(log, domain).values()), None)


def trim_marks(log: Log, domain: int = 0) -> dict[int, TrimMark]:
    """Return the marks of the present events topic by offset, in the order they were written."""
    start, end = log.ends(Topic.CATALOGS)
    found: dict[int, TrimMark] = {}
    topic = log.topic_id(Topic.EVENTS) if start < end else ""
    for record in records_between(log, Topic.CATALOGS, start, end) if start < end else ():
        mark = mark_in(record.value) if record.key.startswith(key_of(domain)) else None
        # The topic of a restored ledger holds all events of its backup.
        if mark is not None and mark.topic == topic:
            found.pop(mark.offset, None)
            found[mark.offset] = mark
    return found


def marks_to_come(log: Log, position: int, now_ms: int, domain: int = 0) -> list[TrimMark]:
    """Return the marks of late above a position whose records are still there.

    Such a trim is under way, or was refused or interrupted.
    """
    (start, end), first = log.ends(Topic.CATALOGS), log.ends(Topic.EVENTS)[0]
    late = [
        mark
        for record in (records_between(log, Topic.CATALOGS, start, end) if start < end else ())
        if record.key.startswith(key_of(domain)) and now_ms - record.timestamp < LATELY_MS
        if (mark := mark_in(record.value)) is not None and mark.offset > first
    ]
    topic = log.topic_id(Topic.EVENTS) if late else ""
    return [mark for mark in late if mark.topic == topic and mark.below > position]


def is_continued(log: Log, mark: TrimMark) -> bool:
    """Return whether the log continues the head in a mark with the event that the mark names.

    A claim does not hold its chain, so records are read up to the next event that does.
    """
    acceptor, end = Acceptor(mark.head.copy()), log.ends(Topic.EVENTS)[1]
    if not log.ends(Topic.EVENTS)[0] <= mark.offset < end:
        return False
    records = records_between(log, Topic.EVENTS, mark.offset, end)
    try:
        for record in records:
            control = acceptor.take_control(record.value)
            if record.offset == mark.offset and (control is None or control.position != mark.below):
                return False
            if control is not None and record_kind(record.value) is not RecordKind.FENCED:
                return True
    except LogDamagedError:
        return False
    return True


def key_of(domain: int, offset: int | None = None) -> bytes:
    """Return the key of the mark at an offset, or what the keys of all marks begin with."""
    return f"{domain}/trimmed/{'' if offset is None else offset}".encode()


def mark_in(value: bytes) -> TrimMark | None:
    """Return the mark in a record, None for other bytes."""
    try:
        fields: Mapping[str, Any] = json.loads(value)
        ledger, name, domain, commands, events, limits = fields["created"]
        known = {name: fields[name] for name in FIELDS - {"head", "created"}}
        return TrimMark(
            head=head_from(fields["head"]),
            created=LedgerCreated(ledger, name, domain, commands, events, Limits(*limits)),
            proofs=tuple(SectionProof(*each) for each in fields.get("proofs", ())),
            **known,
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
