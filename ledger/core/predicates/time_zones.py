"""Time zones of sessions: local times in UTC and back, with the rules of Java's clock.

The zones come from the pinned package tzdata, never from the machine, so all readers judge a
predicate alike. A local time that a zone skips counts as that much later, and one that occurs twice
is the earlier instant. A zone may also be an offset such as +02:00. UTC has the name "".
"""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from io import BytesIO
from typing import Final

from ledger.core.predicates.types import UndecidableError

UTC_NAME: Final = ""
OFFSET_FORM: Final = re.compile(
    r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2})(?::?([0-9]{2}))?)?"
)
OFFSET_MAX: Final = timedelta(hours=18)
SIXTY: Final = 60
ALIASES_OF_UTC: Final = frozenset(
    {
        *("", "UTC", "Z", "GMT", "UT", "UCT", "Zulu", "Greenwich", "Universal", "GMT0", "UTC0"),
        *("Etc/UTC", "Etc/GMT", "Etc/UCT", "Etc/Zulu", "Etc/Greenwich", "Etc/Universal"),
        *("Etc/GMT0", "Etc/GMT+0", "Etc/GMT-0", "GMT+0", "GMT-0"),
    }
)
TABLES: Final = "tzdata"


def canonical_zone(name: str) -> str:
    """Return the canonical name of a zone, "" for UTC.

    Raises UndecidableError for an unknown zone.
    """
    if name in ALIASES_OF_UTC:
        return UTC_NAME
    ahead = offset_of(name)
    if ahead is None:
        zone_of(name)
        return name
    return offset_name(ahead) if ahead else UTC_NAME


def offset_of(name: str) -> timedelta | None:
    """Return how far a zone is ahead of UTC if its name is an offset, else None."""
    found = OFFSET_FORM.fullmatch(name)
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    ahead = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if ahead > OFFSET_MAX or max(minutes, seconds) >= SIXTY:
        raise UndecidableError(f"a time zone must be at most {OFFSET_MAX} from UTC, got {name}")
    return -ahead if found[1] == "-" else ahead


def offset_name(ahead: timedelta) -> str:
    """Return the name of the zone with this offset from UTC."""
    sign, whole = "-" if ahead < timedelta() else "+", abs(ahead) // timedelta(seconds=1)
    minutes, seconds = divmod(whole, SIXTY)
    ending = f":{seconds:02}" if seconds else ""
    return f"{sign}{minutes // SIXTY:02}:{minutes % SIXTY:02}{ending}"


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return the names of all zones in tzdata."""
    return frozenset(read("zones").decode().split())


@lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """Return the rules of a zone; raises UndecidableError for an unknown zone."""
    if name in ALIASES_OF_UTC:
        return UTC
    ahead = offset_of(name)
    if ahead is not None:
        return timezone(ahead)
    # A client may send any name, so it is checked before it becomes part of a path.
    if name not in zone_names():
        raise UndecidableError(f"unknown time zone {name!r}")
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - a process that stays in UTC never loads it

    return ZoneInfo.from_file(BytesIO(read(f"zoneinfo/{name}")), key=name)


def read(name: str) -> bytes:
    """Return a file of tzdata, which is as fixed as the modules of a package."""
    from pkgutil import get_data  # noqa: PLC0415 - as above

    found = get_data(TABLES, name)
    assert found is not None
    return found


def to_utc(local: datetime, zone: str) -> datetime:
    """Return the instant of a local time: later if it is skipped, the earlier of two."""
    if not zone:
        return local
    return local.replace(tzinfo=zone_of(zone), fold=0).astimezone(UTC).replace(tzinfo=None)


def to_local(moment: datetime, zone: str) -> datetime:
    """Return the local time of an instant."""
    if not zone:
        return moment
    local = moment.replace(tzinfo=UTC).astimezone(zone_of(zone))
    return local.replace(tzinfo=None, fold=0)


def start_of_day(day: date, zone: str) -> datetime:
    """Return the first instant of a day, which is after midnight if the zone skips midnight."""
    midnight = datetime.combine(day, time())
    if not zone:
        return midnight
    rules = zone_of(zone)
    before = midnight.replace(tzinfo=rules, fold=0).utcoffset() or timedelta()
    after = midnight.replace(tzinfo=rules, fold=1).utcoffset() or timedelta()
    if after <= before:
        return midnight - before
    # Midnight is skipped. The change lies between midnight by the offsets before and after it.
    early, late = midnight - after, midnight - before
    while late - early > timedelta(seconds=1):
        middle = early + ((late - early) // 2 // timedelta(seconds=1)) * timedelta(seconds=1)
        if to_local(middle, zone) - middle == before:
            early = middle
        else:
            late = middle
    return late
