"""The mark of a restore in the catalogs topic: whether the events topic is a whole copy.

A ledger's first event holds the broker's id of the topic it was written to. A copy in another topic
may have lost its end, so it is refused without a mark. `lakeledger restore` compares a copy with
its backup and then marks it as whole. `lakeledger recover --adopt` marks a copy that it compared
with all that is left of the ledger. Readers look for the mark only if the id differs.
"""

import json
from contextlib import closing
from typing import Any, Final, NamedTuple

from ledger.errors import RestoreUnfinishedError
from ledger.log.port import Log, Topic, records_between

WRITE_S: Final = 35.0


class Restored(NamedTuple):
    """A restore into the events topic with the id `topic`.

    `digest` is the digest of the backup, which ends at `position` and has `records` records. Until
    `is_whole` the topic may hold less. A copy that was adopted without a backup has no digest.
    """

    ledger: str
    topic: str
    position: int
    records: int
    digest: str
    is_whole: bool


def key_of(domain: int) -> bytes:
    """Return the key of the mark of a domain."""
    return f"{domain}/restored".encode()


def write_restored(log: Log, domain: int, restored: Restored) -> None:
    """Write the mark and wait for its delivery; raises LogUnavailableError."""
    with closing(log.writer(Topic.CATALOGS)) as writer:
        writer.append(key_of(domain), json.dumps(restored._asdict()).encode())
        writer.flush(WRITE_S)


def read_restored(log: Log, domain: int) -> Restored | None:
    """Return the newest mark of a domain, or None; raises LogUnavailableError."""
    start, end = log.ends(Topic.CATALOGS)
    newest: Restored | None = None
    for record in records_between(log, Topic.CATALOGS, start, end) if start < end else ():
        if record.key == key_of(domain):
            newest = restored_in(record.value) or newest
    return newest


def check_finished(log: Log, domain: int) -> None:
    """Raise RestoreUnfinishedError if a restore has begun and not ended.

    Before it writes its first event, a sequencer would otherwise begin a new ledger.
    """
    found = read_restored(log, domain)
    if found is not None and found.topic == log.topic_id(Topic.EVENTS) and not found.is_whole:
        raise unfinished()


def unfinished() -> RestoreUnfinishedError:
    """Return the error for events that are still being restored."""
    return RestoreUnfinishedError(
        "the events are not whole: a restore from a backup is under way or was interrupted. Wait "
        "for its end, or run the same lakeledger restore again"
    )


def restored_in(value: bytes) -> Restored | None:
    """Return the mark in a record, None for other bytes."""
    try:
        fields: dict[str, Any] = json.loads(value)
        found = Restored(**fields)
    except (ValueError, TypeError, RecursionError):
        return None
    kinds = Restored.__annotations__
    is_one = all(isinstance(part, kinds[name]) for name, part in found._asdict().items())
    return found if is_one else None
