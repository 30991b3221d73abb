"""Properties of the upkeep of a table: when its rows leave the log, and whether files are joined.

The process `lakeledger serve flusher` obeys them.
"""

from typing import Final, NamedTuple

from ledger.core.commands import TableDefinition

FLUSH_BYTES: Final = "lakeledger.flush.bytes"
FLUSH_ROWS: Final = "lakeledger.flush.rows"
FLUSH_SECONDS: Final = "lakeledger.flush.seconds"
MAINTAIN: Final = "lakeledger.maintain"
FLUSHES: Final = (FLUSH_BYTES, FLUSH_ROWS, FLUSH_SECONDS)
UPKEEP: Final = (*FLUSHES, MAINTAIN)

SWITCH: Final = ("on", "off")
NUMBER_MAX: Final = 10**9
MAX_DIGITS: Final = 10
MS: Final = 1000


class FlushBounds(NamedTuple):
    """How much of a table may wait in the log, and for how long, before it goes into files."""

    size: int = 4 << 20
    rows: int = 10_000
    age_s: int = 30

    def are_reached(self, size: int, rows: int, since_ms: int, now_ms: int) -> bool:
        """Return whether bytes and rows that wait since a time go into files now."""
        is_old = now_ms - since_ms >= self.age_s * MS
        return is_old or size >= self.size or rows >= self.rows


DEFAULT: Final = FlushBounds()


def flush_bounds(definition: TableDefinition) -> FlushBounds:
    """Return the bounds that a table has by its properties, the default ones for the rest."""
    known = {each.key.lower(): each.value for each in definition.properties or ()}
    size, rows, age_s = (
        number_in(known.get(key, "")) or usual for key, usual in zip(FLUSHES, DEFAULT, strict=True)
    )
    return FlushBounds(size, rows, age_s)


def is_maintained(definition: TableDefinition) -> bool:
    """Return whether small and worn files of a table are written anew by themselves."""
    known = {each.key.lower(): each.value.lower() for each in definition.properties or ()}
    return known.get(MAINTAIN) == "on"


def reason_against_upkeep(key: str, value: str) -> str:
    """Return why a property of the upkeep cannot have a value, "" if it can, or is another one."""
    small = key.lower()
    if small == MAINTAIN and value.lower() not in SWITCH:
        return f"its property {key} must be on or off, got {value!r}"
    if small in FLUSHES and number_in(value) is None:
        return f"its property {key} must be a whole number from 1 to {NUMBER_MAX}, got {value!r}"
    return ""


def number_in(value: str) -> int | None:
    """Return the number that a value names, None for another value."""
    text = value.strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > MAX_DIGITS:
        return None
    number = int(text)
    return number if 0 < number <= NUMBER_MAX else None
