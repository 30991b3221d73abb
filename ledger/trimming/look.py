"""A look at a log: where it begins and why, what a trim would rely on, which processes follow it.

`lakeledger status`, the pages and the metrics show it. Nothing is read in full, and nothing is
verified: a trim does that.
"""

from contextlib import suppress
from typing import Final, NamedTuple

from ledger.backup.images.reading import newest_image
from ledger.backup.images.starting import OFF
from ledger.backup.place import open_place
from ledger.config.config import load
from ledger.errors import AccessDeniedError, LedgerError
from ledger.log.consumers import BEGIN_ANEW, PIN, RUNS_MS, Consumer, registered
from ledger.log.log_end import last_position
from ledger.log.port import Log, Topic
from ledger.log.trim_notes import TrimNote, read_trim_note
from ledger.log.trimmed import TrimMark, start_of
from ledger.machine.growth import Growth, events_held, growth, least_days_left, rows_held, time_at
from ledger.machine.room import HostPlaces
from ledger.reads.port import Reads

MS: Final = 1000
GROWN_MS: Final = 60 * 60 * 1000
"""For how long the growth of a log counts as known: to learn it takes many reads."""


class LastTrim(NamedTuple):
    """The last trim: `below` is the first position left, `records` how many left in all.

    The event of the trim is at `position`. `archive` holds the events, and an image of `image`.
    """

    below: int
    records: int
    position: int
    archive: str
    image: int


class ConsumerSeen(NamedTuple):
    """A process that follows the log: how far behind its end it is, and how old its word is.

    `host` is empty if its record cannot be read, and then a trim waits for it.
    """

    role: str
    name: str
    host: str
    position: int
    behind: int
    at: int
    age_s: int

    @property
    def is_waited_for(self) -> bool:
        """Whether it must come on by itself: a pin never does, and a cache may have ended."""
        return self.role not in {PIN, *BEGIN_ANEW}

    @property
    def has_ended(self) -> bool:
        """Whether it begins anew each time, and was silent for so long that no trim waits."""
        return bool(self.host) and self.role in BEGIN_ANEW and self.age_s * MS > RUNS_MS


class ImageSeen(NamedTuple):
    """The newest image of rows in `archive`, or the `problem` of looking for it.

    A process that begins with it reads the log from `checkpoint` on. `age_s` is for how long the
    log has had an event that the image lacks.
    """

    archive: str
    position: int = 0
    checkpoint: int = 0
    age_s: int = 0
    problem: str = ""


class LogLook(NamedTuple):
    """A log as it was at a time, in milliseconds; `first` and `last` are its positions.

    `consumers` is None for a ledger without their topic, or without the right to read it. `a_day`
    is what a day adds, as it was at `grown_at`; the first disk of this host is full in `days_left`.
    """

    at: int
    first: int
    last: int
    trim: LastTrim | None
    image: ImageSeen | None
    consumers: list[ConsumerSeen] | None
    policy: TrimNote | None
    a_day: Growth | None
    grown_at: int
    days_left: float | None

    @property
    def slowest(self) -> ConsumerSeen | None:
        """The consumer for which a trim waits first."""
        running = (each for each in self.consumers or () if not each.has_ended)
        return min(running, key=lambda consumer: consumer.position, default=None)


class Whereabouts(NamedTuple):
    """The ledger of a log, its places on this host, and the setting `log.archive`."""

    ledger: str
    places: HostPlaces
    archive: str | None = None


def look_at(
    log: Log,
    where: Whereabouts,
    now_ms: int,
    before: LogLook | None = None,
    *,
    last: int | None = None,
) -> LogLook:
    """Return how a log is now; `before` is the last look.

    `last` is its last position; None reads the log for it from the newest checkpoint on. Raises
    LogUnavailableError, LogDamagedError.
    """
    ledger, places, archive = where
    begun = start_of(log)
    last, mark = last_position(log, 0) if last is None else last, begun.mark
    a_day, grown_at = grown(log, ledger, places, now_ms, before)
    return LogLook(
        now_ms,
        begun.head.position + 1,
        last,
        None if mark is None else trim_of(mark),
        seen_image(log, archive_of(archive, mark, places), now_ms),
        seen_consumers(log, last, now_ms),
        read_trim_note(log),
        a_day,
        grown_at,
        None if a_day is None else least_days_left(a_day, places.disks()),
    )


def trim_of(mark: TrimMark) -> LastTrim:
    """Return the trim of a mark."""
    return LastTrim(mark.below, mark.offset, mark.position, mark.archive, mark.image)


def archive_of(archive: str | None, mark: TrimMark | None, places: HostPlaces) -> str | None:
    """Return the backup that the next trim relies on: the configured one, else the last one."""
    if archive is not None and archive != OFF:
        return archive
    taken = places.last_backup()
    if taken is not None:
        return taken.path
    return None if mark is None else mark.archive


def seen_image(log: Log, archive: str | None, now_ms: int) -> ImageSeen | None:
    """Return the newest image of a backup, None without a backup or an image in it."""
    if archive is None:
        return None
    try:
        image = newest_image(open_place(archive))
    except LedgerError as problem:
        return ImageSeen(archive, problem=str(problem))
    if image is None:
        return None
    offset = min(section.offset for section in image.sections.values())
    first, end = log.ends(Topic.EVENTS)
    at = time_at(log, Topic.EVENTS, max(first, offset)) if offset < end else None
    age_s = 0 if at is None else max(0, now_ms - at) // MS
    return ImageSeen(archive, image.position, image.checkpoint, age_s)


def seen_consumers(log: Log, last: int, now_ms: int) -> list[ConsumerSeen] | None:
    """Return the registered consumers with their lag and age."""
    with suppress(AccessDeniedError):
        found = registered(log)
        return None if found is None else [consumer_seen(each, last, now_ms) for each in found]
    return None


def consumer_seen(consumer: Consumer, last: int, now_ms: int) -> ConsumerSeen:
    """Return how a consumer is, beside the newest position."""
    role, name, host, position, at, _ = consumer
    behind, age_s = max(0, last - position), max(0, now_ms - at) // MS
    return ConsumerSeen(role, name, host, position, behind, at, age_s)


def grown(
    log: Log, ledger: str, places: HostPlaces, now_ms: int, before: LogLook | None
) -> tuple[Growth | None, int]:
    """Return what a day adds, and when that was learned."""
    if before is not None and now_ms - before.grown_at < GROWN_MS:
        return before.a_day, before.grown_at
    events = events_held(log, ledger, places.store)
    if events is None:
        return None, now_ms
    return growth(log, now_ms, events, rows_held(places.store, load().settings)), now_ms


class TrimTold(NamedTuple):
    """The event of a trim: its time in milliseconds, the user and program, and the reason."""

    at: int
    by: str
    reason: str


def trim_told(reads: Reads, position: int) -> TrimTold | None:
    """Return the event at a position, None while no row shows it."""
    events = reads.history(position - 1, 1)
    if not events or events[0].position != position:
        return None
    event = events[0]
    session = reads.session(event.session)
    by = "" if session is None else f"{session.user}@{session.host} {session.application}".strip()
    return TrimTold(event.at, by, event.message)
