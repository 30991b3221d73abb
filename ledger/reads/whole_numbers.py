"""Whole numbers of callers: Python's, NumPy's, and any other object with `__index__`.

The entry points of read models and the SDK turn them into ints, so no later code checks types.
"""

import re
from operator import index
from typing import Final, SupportsIndex

from ledger.core.limits import NUMBER_MAX

# The name of the most rows wanted: below 0 some readers would return all rows.
LIMIT: Final = "limit"
# The most rows of one question; a longer listing is requested in pages.
ROWS_MAX: Final = 100_000
DIGITS: Final = re.compile(r"[0-9]{1,19}", re.ASCII)


def number_of(text: str) -> int | None:
    """Return the position, version or id in a text, None if the text is not one."""
    # Checked first: Python refuses to convert thousands of digits.
    found = int(text) if DIGITS.fullmatch(text) is not None else None
    return found if found is not None and found <= NUMBER_MAX else None


def whole_number(name: str, number: SupportsIndex) -> int:
    """Return a number as an int; raises TypeError unless it is a whole number.

    Raises ValueError for a negative `limit`.
    """
    try:
        found = int(index(number))
    except TypeError:
        raise TypeError(f"{name} is {number!r}, which is no whole number") from None
    if name == LIMIT and not 0 <= found <= NUMBER_MAX:
        raise ValueError(f"{LIMIT} is {found}; it is a number from 0 to 2**63 - 1")
    return found


def whole_or_none(name: str, number: SupportsIndex | None) -> int | None:
    """Return a number as an int, None if it is left out; raises as `whole`."""
    return None if number is None else whole_number(name, number)
