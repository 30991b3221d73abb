"""Checks of texts, names and lists that a caller gives."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from ledger.core.state.tables import odd_character
from ledger.errors import SettingsError


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


SHOWN_CHARS_MAX = 80


def check_list(what: str, given: object, *singles: type, cure: str = "") -> None:
    """Raise TypeError for anything but a list: a single item, a mapping, or a data frame.

    Each letter of a text, key of a mapping or column of a frame would be taken for one of `what`.
    `cure` says what to give instead.
    """
    helps = f". {cure}" if cure else ""
    if isinstance(given, (str, PathLike, *singles)):
        raise TypeError(f"{what} must be a list, such as [{given!r}], got {given!r}")
    kind = type(given).__name__
    if isinstance(given, bytes | bytearray | memoryview):
        raise TypeError(f"{what} must be a list of texts, got {kind}")
    if isinstance(given, Mapping):
        raise TypeError(
            f"{what} must be a list, got a {kind}: its keys would be taken for them{helps}"
        )
    if hasattr(type(given), "columns"):
        raise TypeError(
            f"{what} must be a list, got a {kind}: its columns would be taken for them{helps}"
        )
    if not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a list, got {shown(given)}")


def shown(given: object) -> str:
    """Return the repr of a value, cut if it is long."""
    text = repr(given)
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[:SHOWN_CHARS_MAX]}..."


def check_arrow() -> None:
    """Raise SettingsError if the libraries for rows are not installed."""
    from importlib.util import find_spec  # noqa: PLC0415 - only statements over rows need it

    missing = [each for each in ("pyarrow", "duckdb") if find_spec(each) is None]
    if missing:
        raise SettingsError(
            f"rows need {' and '.join(missing)}, which are not installed: "
            "pip install 'lakeledger[arrow]'"
        )
