"""Whole numbers as callers bring them: those of Python, of NumPy, and whatever else says it is one.

They become plain ones where a read model or the SDK is asked. Nothing behind that has to tell a
number from a text.
"""

from operator import index
from typing import Final, SupportsIndex

from ledger.core.limits import NUMBER_MAX

# How many rows are wanted at most: below none, some readers would give all of them.
LIMIT: Final = "limit"


def whole(name: str, number: SupportsIndex) -> int:
    """Return a number as a plain one; raises TypeError for what is no whole number.

    Raises ValueError for a `limit` that is none.
    """
    try:
        found = int(index(number))
    except TypeError:
        raise TypeError(f"{name} is {number!r}, which is no whole number") from None
    if name == LIMIT and not 0 <= found <= NUMBER_MAX:
        raise ValueError(f"{LIMIT} is {found}; it is a number from 0 to 2**63 - 1")
    return found


def whole_or_none(name: str, number: SupportsIndex | None) -> int | None:
    """Return a number as a plain one, None if it is left out; raises as `whole`."""
    return None if number is None else whole(name, number)


def numbers(**given: SupportsIndex) -> dict[str, int]:
    """Return numbers as plain ones, by their names; raises as `whole`."""
    return {name: whole(name, number) for name, number in given.items()}


def numbers_given(**given: SupportsIndex | None) -> dict[str, int]:
    """Return those numbers that are not left out as plain ones; raises as `whole`."""
    return numbers(**{name: number for name, number in given.items() if number is not None})
