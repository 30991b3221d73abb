"""What a client gives as JSON, member by member.

A member of another type than the protocol says is refused by its name: a guess would commit what
the client did not mean.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from projections.iceberg.errors import bad_request

SHOWN_CHARS: Final = 80
LONG: Final = range(-(1 << 63), 1 << 63)
"""The numbers that Iceberg has."""

Given = Mapping[str, Any]
"""A JSON object of a request."""


def object_of(what: str, given: Any) -> Given:
    """Return a JSON object; raises IcebergRefusal for anything else."""
    if not isinstance(given, dict):
        raise bad_request(f"{what} must be a JSON object, got {shown(given)}")
    return given


def object_in(given: Given, key: str, what: str) -> Given:
    """Return a member that is an object; raises IcebergRefusal for another one, or for none."""
    return object_of(f"{key} of {what}", given.get(key))


def list_in(given: Given, key: str, what: str, most: int) -> Sequence[Any]:
    """Return a member that is a list of `most` items or fewer, empty if it is absent or null.

    Raises IcebergRefusal for anything else.
    """
    found = given.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise bad_request(f"{key} of {what} must be a list, got {shown(found)}")
    if len(found) > most:
        raise bad_request(f"{key} of {what} must have {most} items at most, got {len(found)}")
    return found


def text_in(given: Given, key: str, what: str) -> str:
    """Return a member that is a text without zero bytes; raises IcebergRefusal for another one."""
    return text_of(f"{key} of {what}", given.get(key))


def text_of(what: str, given: Any) -> str:
    """Return a text that records take; raises IcebergRefusal for anything else."""
    if not isinstance(given, str):
        raise bad_request(f"{what} must be a text, got {shown(given)}")
    try:
        data = given.encode()
    except UnicodeEncodeError:
        raise bad_request(f"{what} must not hold half of a letter, got {given!r}") from None
    if b"\0" in data:
        raise bad_request(f"{what} must have no zero byte, got {shown(given)}")
    return given


def number_in(given: Given, key: str, what: str) -> int:
    """Return a member that is a whole number of 64 bits; raises IcebergRefusal for another one."""
    found = given.get(key)
    if type(found) is not int or found not in LONG:
        raise bad_request(f"{key} of {what} must be a whole number, got {shown(found)}")
    return found


def number_or_none(given: Given, key: str, what: str) -> int | None:
    """Return a member that is a whole number, None if it is absent or null; as `number_in`."""
    return None if given.get(key) is None else number_in(given, key, what)


def texts_in(given: Given, key: str, what: str) -> Mapping[str, str]:
    """Return a member that is an object of texts, empty if it is absent or null.

    Raises IcebergRefusal for anything else.
    """
    if given.get(key) is None:
        return {}
    found = object_in(given, key, what)
    return {
        text_of(f"a key in {key} of {what}", name): text_of(f"{name} in {key} of {what}", value)
        for name, value in found.items()
    }


def names_in(given: Given, key: str, what: str, most: int) -> Sequence[str]:
    """Return a member that is a list of texts; raises IcebergRefusal for anything else."""
    return [
        text_of(f"an item in {key} of {what}", each) for each in list_in(given, key, what, most)
    ]


def shown(given: object) -> str:
    """Return a value as a message shows it."""
    text = repr(given)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
