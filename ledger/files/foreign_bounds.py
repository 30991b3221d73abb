"""What a bound that another writer recorded may have lost, by the type of its column.

A log keeps bounds as JSON and a file keeps them in its footer, and both are hints of their writer:
decimals pass through doubles, texts and times are cut, old days are counted by the calendar of
Julius. Such a bound is made wider by as much, before it leaves out anything. The ledger's own files
keep their exact bounds, except for old days: a Spark session may write these in either calendar.
"""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from ledger.core.predicates.types import Kind, SparkType
from ledger.files.file_writers import writer_of

Ends = tuple[Any, Any]
"""The least and the greatest value, None for one that is not known."""

# Bits of a number that its text may still have: doubles of 15 digits, floats of 6.
DOUBLE_BITS: Final = 46
FLOAT_BITS: Final = 16
DOUBLE_TINY: Final = 1e-320
FLOAT_TINY: Final = 1e-43
# From here on letters take two halves in UTF-16: one half, or a mark in its place, may be left of
# a letter that was cut. Writers that sort by halves also order these letters otherwise.
HALVES_FROM: Final = "\ud800"
# What some writers put in the place of half a letter.
UNKNOWN_LETTER: Final = "?"
# Both calendars, and the clocks of all zones, agree from these years on.
SAME_DAYS_FROM: Final = 1583
SAME_TIMES_FROM: Final = 1901
CALENDARS: Final = timedelta(days=14)
UNITS: Final = (timedelta(minutes=1), timedelta(seconds=1), timedelta(milliseconds=1))
ZERO: Final = timedelta(0)


def is_foreign(path: str) -> bool:
    """Return whether the file at a path is of another writer, by its name."""
    return writer_of(path) is None


def widened(kind: SparkType, ends: Ends, *, is_float: bool, is_other: bool) -> Ends:
    """Return bounds that hold whatever the recorded ones may have lost.

    `is_other` says that the writer is another one, `is_float` that a DOUBLE is a FLOAT.
    """
    low, high = ends
    if is_other and low is not None and high is not None and low > high:
        return None, None  # The writer has ordered the values otherwise.
    if is_other and kind.kind is Kind.STRING:
        return low_text(low), high_text(high)
    if is_other and kind.kind is Kind.DOUBLE and (low is None or high is None):
        return None, None  # An infinity or NaN is not spelled: its writer may have compared NaN.
    below, above = (margin(end, is_float=is_float, is_other=is_other) for end in ends)
    return moved(low, below, -1), moved(high, above, 1)


def moved(value: Any, by: Any, sign: int) -> Any:
    """Return a bound that lies further out, None where its type has no such value."""
    if value is None or by is None:
        return value
    try:
        return value + sign * by
    except OverflowError:
        return None


def margin(value: Any, *, is_float: bool, is_other: bool) -> Any:  # noqa: PLR0911 - one a type
    """Return how far from a recorded bound a value may lie, None for a bound that is exact."""
    if isinstance(value, date):
        return old_days(value) + (lost_time(value) if is_other else ZERO)
    if not is_other or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return abs(value) >> DOUBLE_BITS
    if isinstance(value, Decimal):
        return abs(value) / 2**DOUBLE_BITS
    if isinstance(value, float) and is_float:
        return abs(value) / 2**FLOAT_BITS + FLOAT_TINY
    if isinstance(value, float):
        return abs(value) / 2**DOUBLE_BITS + DOUBLE_TINY
    return None


def old_days(value: date) -> timedelta:
    """Return by how much the calendars differ at an old day or time."""
    same_from = SAME_TIMES_FROM if isinstance(value, datetime) else SAME_DAYS_FROM
    return CALENDARS if value.year < same_from else ZERO


def lost_time(value: date) -> timedelta:
    """Return the unit to which a time may have been cut, at most a minute: it is a whole one."""
    if not isinstance(value, datetime):
        return ZERO
    minute, second, millisecond = UNITS
    if value.microsecond:
        return millisecond
    return second if value.second else minute


def low_text(text: str | None) -> str | None:
    """Return a lower bound of a text in the order of code points."""
    return None if text is None else before_halves(text)


def high_text(text: str | None) -> str | None:
    """Return the beginning of an upper bound whose end may be cut: a longer text may follow."""
    return None if text is None else before_halves(text).rstrip(UNKNOWN_LETTER)


def before_halves(text: str) -> str:
    """Return a text up to its first letter that UTF-16 orders otherwise, or that stands for one."""
    return next((text[:at] for at, each in enumerate(text) if each >= HALVES_FROM), text)
