"""Time zones of sessions: what a time of day of a zone is in UTC, as Java's clock has it.

Zones are those of the pinned package tzdata, never those of a machine: whoever judges a predicate
answers as every other does. A time that a zone skips is as much later, one that it has twice is the
earlier of both. A zone is also an offset such as +02:00. UTC has the name "", and needs no rules.
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
    """Return the one name of a zone that was written like this, "" for UTC.

    Raises UndecidableError for a zone that is not known.
    """
    if name in ALIASES_OF_UTC:
        return UTC_NAME
    ahead = offset_of(name)
    if ahead is None:
        zone_of(name)
        return name
    return offset_name(ahead) if ahead else UTC_NAME


def offset_of(name: str) -> timedelta | None:
    """Return how far ahead of UTC a zone is that is named by that, None for another name."""
    found = OFFSET_FORM.fullmatch(name)
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    ahead = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if ahead > OFFSET_MAX or max(minutes, seconds) >= SIXTY:
        raise UndecidableError(f"no time zone is {name} from UTC")
    return -ahead if found[1] == "-" else ahead


def offset_name(ahead: timedelta) -> str:
    """Return the name of the zone that is so far ahead of UTC."""
    sign, whole = "-" if ahead < timedelta() else "+", abs(ahead) // timedelta(seconds=1)
    minutes, seconds = divmod(whole, SIXTY)
    ending = f":{seconds:02}" if seconds else ""
    return f"{sign}{minutes // SIXTY:02}:{minutes % SIXTY:02}{ending}"


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return the names of all zones with rules of their own."""
    return frozenset(read("zones").decode().split())


@lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """Return the rules of a zone; raises UndecidableError for one that is not known."""
    if name in ALIASES_OF_UTC:
        return UTC
    ahead = offset_of(name)
    if ahead is not None:
        return timezone(ahead)
    # A name may come from anybody, and is looked for among those that there are.
    if name not in zone_names():
        raise UndecidableError(f"no time zone is called {name!r}")
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - who stays in UTC never loads it

    return ZoneInfo.from_file(BytesIO(read(f"zoneinfo/{name}")), key=name)


def read(name: str) -> bytes:
    """Return a table of the package of zones; it is as fixed as the modules of a package are."""
    from pkgutil import get_data  # noqa: PLC0415 - as above

    found = get_data(TABLES, name)
    assert found is not None
    return found


def to_utc(local: datetime, zone: str) -> datetime:
    """Return the instant of a time of day; skipped ones are later, of two the earlier is meant."""
    if not zone:
        return local
    return local.replace(tzinfo=zone_of(zone), fold=0).astimezone(UTC).replace(tzinfo=None)


def to_local(moment: datetime, zone: str) -> datetime:
    """Return the time of day of an instant."""
    if not zone:
        return moment
    local = moment.replace(tzinfo=UTC).astimezone(zone_of(zone))
    return local.replace(tzinfo=None, fold=0)


def start_of_day(day: date, zone: str) -> datetime:
    """Return the first instant of a day; a zone that skips its midnight begins it after that."""
    midnight = datetime.combine(day, time())
    if not zone:
        return midnight
    rules = zone_of(zone)
    before = midnight.replace(tzinfo=rules, fold=0).utcoffset() or timedelta()
    after = midnight.replace(tzinfo=rules, fold=1).utcoffset() or timedelta()
    if after <= before:
        return midnight - before
    # Midnight is skipped: the change lies between what it would be by the rules before and after.
    early, late = midnight - after, midnight - before
    while late - early > timedelta(seconds=1):
        middle = early + ((late - early) // 2 // timedelta(seconds=1)) * timedelta(seconds=1)
        if to_local(middle, zone) - middle == before:
            early = middle
        else:
            late = middle
    return late
