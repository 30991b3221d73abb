"""The note of the policy that trims a log, in the catalogs topic: when it last tried, and the end.

So another leader neither tries again too soon nor begins to count the time of refusals anew, and
`lakeledger status` of any host shows why nothing leaves the log.
"""

import json
from contextlib import closing
from typing import Any, Final, NamedTuple

from ledger.log.port import Log, Topic, records_between

WRITE_S: Final = 35.0


class TrimNote(NamedTuple):
    """The last try of the policy: `at`, and since when it has been refused, in milliseconds.

    It keeps the events of `keep_days`. `why` is the refusal; without one it is "", and `since` 0.
    """

    at: int
    keep_days: float
    since: int = 0
    why: str = ""

    def after(self, at: int, keep_days: float, why: str) -> "TrimNote":
        """Return the note of the next try, with the time since when tries are refused."""
        return TrimNote(at, keep_days, (self.since or at) if why else 0, why)

    def refused_s(self, now_ms: int) -> float:
        """Return for how long every try has been refused, 0 if the last one was not."""
        return max(0, now_ms - self.since) / 1000 if self.why else 0.0


def key_of(domain: int) -> bytes:
    """Return the key under which the newest note is kept."""
    return f"{domain}/trim-policy".encode()


def write_trim_note(log: Log, note: TrimNote, domain: int = 0) -> None:
    """Write the note and wait for its delivery; raises LogUnavailableError."""
    with closing(log.writer(Topic.CATALOGS)) as writer:
        writer.append(key_of(domain), json.dumps(note._asdict()).encode())
        writer.flush(WRITE_S)


def read_trim_note(log: Log, domain: int = 0) -> TrimNote | None:
    """Return the newest note, None if no policy has tried yet; raises LogUnavailableError."""
    start, end = log.ends(Topic.CATALOGS)
    newest: TrimNote | None = None
    for record in records_between(log, Topic.CATALOGS, start, end) if start < end else ():
        if record.key == key_of(domain):
            newest = trim_note_in(record.value) or newest
    return newest


def trim_note_in(value: bytes) -> TrimNote | None:
    """Return the note in a record, None for other bytes."""
    try:
        fields: dict[str, Any] = json.loads(value)
        note = TrimNote(**fields)
    except (ValueError, TypeError, RecursionError):
        return None
    kinds = (int, int | float, int, str)
    return note if all(map(isinstance, note, kinds)) else None
