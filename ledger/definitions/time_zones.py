"""The time zone of a condition, as a client gives it."""

from datetime import datetime, timezone, tzinfo
from difflib import get_close_matches
from typing import Final

from ledger.core.predicates.time_zones import canonical_zone, offset_name, zone_names
from ledger.core.predicates.types import UndecidableError

ZoneLike = str | tzinfo
"""A time zone: a name or an offset, such as Europe/Berlin or +02:00, or Python's tzinfo."""

ANY_DAY: Final = datetime(2000, 1, 1)  # noqa: DTZ001 - a fixed offset has no other


def zone_named(time_zone: ZoneLike) -> str:
    """Return the one name of a time zone, "" for UTC.

    Raises ValueError for an unknown zone, TypeError for anything but a zone.
    """
    name = name_of(time_zone)
    try:
        return canonical_zone(name)
    except UndecidableError:
        raise ValueError(
            f"time_zone must be a time zone, such as 'Europe/Berlin' or '+02:00', got {name!r}"
            f"{nearest(name)}"
        ) from None


def name_of(time_zone: object) -> str:
    """Return the name of a time zone; raises TypeError for anything but a zone."""
    if isinstance(time_zone, str):
        return time_zone
    name = getattr(time_zone, "key", None)
    if isinstance(time_zone, tzinfo) and isinstance(name, str):
        return name
    ahead = time_zone.utcoffset(ANY_DAY) if isinstance(time_zone, timezone) else None
    if ahead is None:
        raise TypeError(
            f"time_zone must be the name of a time zone, such as 'Europe/Berlin', or an offset, "
            f"such as '+02:00', got {time_zone!r}"
        )
    return offset_name(ahead)


def nearest(name: str) -> str:
    """Return the question for a similar name, "" if no name is similar."""
    known = {each.lower(): each for each in sorted(zone_names())}
    cities = {each.rpartition("/")[2]: each for each in known}
    wanted = name.strip().lower().replace(" ", "_")
    found = get_close_matches(wanted, known, n=1, cutoff=0.75)
    found = found or [cities[each] for each in get_close_matches(wanted, cities, n=1)]
    return f"; did you mean {known[found[0]]!r}?" if found else ""
