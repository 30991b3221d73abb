"""The values of settings: from the text of a variable, or from a value of TOML, to their kind."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

WORDS: Final = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def fitted(kind: Any, value: Any) -> Any:
    """Return a value as the kind of a setting; raises ValueError that says what it must be.

    A kind is str, int, float, bool, Path, a Literal, or one of them or None.
    """
    if get_origin(kind) in {Union, UnionType}:
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is Literal:
        return one_of(get_args(kind), value)
    return READERS[kind](value)


def one_of(known: tuple[Any, ...], value: Any) -> Any:
    """Return a value that must be one of some."""
    if value not in known:
        raise ValueError(f"must be {' or '.join(map(repr, known))}")
    return value


def text(value: Any) -> str:
    """Return a value that must be a text."""
    if not isinstance(value, str):
        raise ValueError("must be a text")  # noqa: TRY004 - as every other value
    return value


def path(value: Any) -> Path:
    """Return a value that must be a path."""
    if not isinstance(value, str | Path):
        raise ValueError("must be a path")  # noqa: TRY004
    return Path(value)


def int_value(value: Any) -> int:
    """Return a value that must be a whole number."""
    number = None
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        number = int(value)
    elif isinstance(value, str):
        try:
            number = int(value)
        except ValueError:
            number = None
    if number is None:
        raise ValueError("must be a whole number")
    return number


def number(value: Any) -> float:
    """Return a value that must be a number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("must be a number") from None


def flag(value: Any) -> bool:
    """Return a value that must be true or false."""
    if isinstance(value, bool):
        return value
    found = WORDS.get(str(value).strip().lower()) if isinstance(value, str | int) else None
    if found is None:
        raise ValueError("must be true or false")
    return found


READERS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    str: text,
    Path: path,
    int: int_value,
    float: number,
    bool: flag,
}
"""How the values of each kind are read."""
