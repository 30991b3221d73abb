"""Lists as a caller gives them: what is none is refused by name."""

from collections.abc import Iterable, Mapping
from os import PathLike

SHOWN_CHARS_MAX = 80


def check_list(what: str, given: object, *singles: type, cure: str = "") -> None:
    """Raise TypeError for what is no list: one thing in its place, a mapping, or a table of data.

    Each letter of a text, key of a mapping or column of a frame would be taken for one of `what`.
    `cure` says what to give in its place.
    """
    helps = f". {cure}" if cure else ""
    if isinstance(given, (str, PathLike, *singles)):
        raise TypeError(f"{what} are a list, such as [{given!r}]")
    kind = type(given).__name__
    if isinstance(given, bytes | bytearray | memoryview):
        raise TypeError(f"{what} are a list, and {kind} is none: give texts, one by one")
    if isinstance(given, Mapping):
        raise TypeError(
            f"{what} are a list, and a {kind} is none: its keys would be taken for it{helps}"
        )
    if hasattr(type(given), "columns"):
        raise TypeError(
            f"{what} are a list, and a {kind} is none: its columns would be taken for it{helps}"
        )
    if not isinstance(given, Iterable):
        raise TypeError(f"{what} are a list, not {shown(given)}")


def shown(given: object) -> str:
    """Return how something looks, the beginning of it if that is long."""
    text = repr(given)
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[:SHOWN_CHARS_MAX]}..."
