"""Checks of texts and names that a caller gives."""

from typing import Any

from ledger.core.state.tables import odd_character


def check_text(what: str, given: Any) -> None:
    """Raise TypeError for anything but a text, ValueError for a text that no record takes."""
    if not isinstance(given, str):
        raise TypeError(f"{what} must be a text, got {given!r}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{what} must not hold half of a letter (a lone surrogate), got {given!r}: decode it "
            "anew, or leave the half out"
        ) from None


def check_name_of(what: str, name: Any) -> None:
    """Raise TypeError or ValueError for a name that would break a line of output."""
    check_text(what, name)
    if (found := odd_character(name)) is not None:
        raise ValueError(f"{what} must not hold a control character, got {name!r} with {found!r}")
