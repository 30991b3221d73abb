"""Instants and local times in a session time zone, as DuckDB's SQL.

The engines differ about local times that a zone has twice or not at all. So a local time becomes an
instant only in a zone without changes of its offset.
"""

import re
from typing import Final

from ledger.expressions.duckdb.terms import refused, string

FIXED: Final = re.compile(r"([+-])([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?")


def ahead_seconds(zone: str) -> int | None:
    """Return how far a zone is ahead of UTC, None if that depends on the time."""
    if not zone:
        return 0
    found = FIXED.fullmatch(zone)
    if found is None:
        return None
    hours, minutes, seconds = (int(group or 0) for group in found.groups()[1:])
    ahead = hours * 3600 + minutes * 60 + seconds
    return -ahead if found[1] == "-" else ahead


def local_of(sql: str, zone: str) -> str:
    """Return the local time of an instant."""
    ahead = ahead_seconds(zone)
    if ahead is None:
        return f"timezone({string(zone)}, {sql})"
    return moved(f"timezone('UTC', {sql})", ahead)


def instant_of(sql: str, zone: str) -> str:
    """Return the instant of a local time; raises PredicateSyntaxError if it is not certain."""
    ahead = ahead_seconds(zone)
    if ahead is None:
        raise refused(
            f"a local time as an instant in time zone {zone}, where one local time may be two "
            "instants,"
        )
    return f"timezone('UTC', {moved(sql, -ahead)})"


def moved(sql: str, seconds: int) -> str:
    """Return a timestamp moved by seconds."""
    return f"({sql} + to_seconds({seconds}))" if seconds else sql
