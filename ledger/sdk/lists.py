"""Checks of lists that a caller gives."""

from collections.abc import Iterable, Mapping
from os import PathLike

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
