"""Texts as a caller gives them: what no record takes, and what no name may hold."""

from typing import Any

from ledger.core.state.tables import odd_character


def check_text(what: str, given: Any) -> None:
    """Raise TypeError for what is no text, ValueError for one that no record takes."""
    if not isinstance(given, str):
        raise TypeError(f"{what} is a text, not {given!r}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{what} is {given!r}, which holds half of a letter (a lone surrogate): decode it "
            "anew, or leave that out"
        ) from None


def check_name_of(what: str, name: Any) -> None:
    """Raise TypeError or ValueError for a name that would break the line of whoever shows it."""
    check_text(what, name)
    if (found := odd_character(name)) is not None:
        raise ValueError(
            f"{what} is {name!r}, which holds the control character {found!r}: choose one without"
        )
