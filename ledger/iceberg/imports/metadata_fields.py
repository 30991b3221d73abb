"""Fields of JSON in the metadata of an Iceberg table, each read with the type it must have."""

import json
from collections.abc import Mapping
from typing import Any, Final

SIGNED_BITS: Final = 63
TEXT_CHARS_MAX: Final = 1 << 20
SHOWN_CHARS: Final = 80


class MetadataShapeError(ValueError):
    """A part of the metadata has no shape that a writer of Iceberg gives it."""


class MetadataFields:
    """The fields of one JSON object; `what` names it in messages."""

    def __init__(self, what: str, fields: Any) -> None:
        if not isinstance(fields, dict):
            raise MetadataShapeError(f"{what} must be a JSON object, got {shown(fields)}")
        self.what = what
        self.fields: Mapping[str, Any] = fields

    def get(self, key: str) -> Any:
        """Return a field as it is, None if it is missing."""
        return self.fields.get(key)

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; raises MetadataShapeError for any other value."""
        found = self.fields.get(key)
        if found is None and default is not None:
            return default
        if not is_text(found):
            raise self.odd(key, "a text")
        return str(found)

    def number(self, key: str, default: int | None = None) -> int:
        """Return a whole number of 64 bits; raises MetadataShapeError for any other value."""
        found: Any = self.fields.get(key)
        if found is None and default is not None:
            return default
        if not is_whole(found):
            raise self.odd(key, "a whole number of 64 bits")
        return int(found)

    def known_number(self, key: str) -> int | None:
        """Return a whole number as `number` does, None if it is missing."""
        return None if self.fields.get(key) is None else self.number(key)

    def texts(self, key: str, limit: int) -> list[str]:
        """Return a list of at most `limit` texts, empty if it is missing."""
        found = self.items(key, limit)
        if not all(map(is_text, found)):
            raise self.odd(key, "a list of texts")
        return found

    def items(self, key: str, limit: int) -> list[Any]:
        """Return a list of at most `limit` values, empty if it is missing."""
        found = self.fields.get(key)
        found = [] if found is None else found
        if not isinstance(found, list):
            raise self.odd(key, "a list")
        if len(found) > limit:
            raise MetadataShapeError(
                f"{key} of {self.what} must have {limit} entries at most, got {len(found)}"
            )
        return found

    def texts_by_name(self, key: str, limit: int) -> dict[str, str]:
        """Return at most `limit` texts by name, none if the field is missing."""
        found = self.fields.get(key)
        found = {} if found is None else found
        if not isinstance(found, dict) or not all(map(is_text, [*found, *found.values()])):
            raise self.odd(key, "an object of texts")
        if len(found) > limit:
            raise MetadataShapeError(
                f"{key} of {self.what} must have {limit} entries at most, got {len(found)}"
            )
        return found

    def odd(self, key: str, wanted: str) -> MetadataShapeError:
        """Return the error for a field that is missing or of another type."""
        return MetadataShapeError(
            f"{key} of {self.what} must be {wanted}, got {shown(self.fields.get(key))}"
        )


def shown(found: Any) -> str:
    """Return the beginning of a value in JSON, for a message."""
    return json.dumps(found, default=str)[:SHOWN_CHARS]


def is_text(found: Any) -> bool:
    """Return whether a value is a text that every store takes: JSON can spell half a letter."""
    if not isinstance(found, str) or len(found) > TEXT_CHARS_MAX or "\0" in found:
        return False
    try:
        found.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_whole(found: Any) -> bool:
    """Return whether a value is a whole number of 64 bits, one of them the sign."""
    is_number = isinstance(found, int) and not isinstance(found, bool)
    return is_number and -(2**SIGNED_BITS) <= found < 2**SIGNED_BITS
