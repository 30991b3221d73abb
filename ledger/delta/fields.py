"""Fields of the actions of a Delta log, each read with the type it must have."""

import json
import math
import re
from collections.abc import Container, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, TypeGuard

from ledger.log.wire.file_extras import DeletionVector

BITS: Final = 63
WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
VECTOR_KINDS: Final = frozenset({"u", "i", "p"})
# What JSON has no numbers for, as Spark writes it there.
DOUBLES: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


class ShapeError(ValueError):
    """An action has no shape that a Delta writer gives it."""


class BeyondError(ShapeError):
    """An action is of a newer Delta than is known here."""


class ActionFields:
    """The fields of one action, each read with its type; raises ShapeError for another."""

    def __init__(self, action: str, fields: Mapping[str, Any]) -> None:
        self.action = action
        self._fields = fields

    def get(self, key: str) -> Any:
        """Return a field as it is, None if it is missing."""
        return self._fields.get(key)

    def text(self, key: str, *, default: str | None = None) -> str:
        """Return a text; raises ShapeError for any other value."""
        found = self._fields.get(key)
        if found is None and default is not None:
            return default
        if not is_text(found):
            raise self.odd(key, "text")
        return str(found)

    def words(self, key: str) -> str:
        """Return a text that nothing depends on, "" for anything else."""
        found = self._fields.get(key)
        return found if is_text(found) else ""

    def number(self, key: str, *, default: int | None = None) -> int:
        """Return a whole number that is not negative and has 63 bits."""
        found: Any = self._fields.get(key)
        if found is None and default is not None:
            return default
        found = whole_number(found)
        if not is_number(found):
            raise self.odd(key, "whole number")
        return int(found)

    def amount(self, key: str, *, default: int | None = None) -> int:
        """Return a whole number as `number` does, 0 for a negative one: it means not known."""
        found = whole_number(self._fields.get(key))
        return 0 if is_signed_number(found) and found < 0 else self.number(key, default=default)

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """Return true or false."""
        found = self._fields.get(key)
        if found is None and default is not None:
            return default
        if not isinstance(found, bool):
            raise self.odd(key, "true or false")
        return found

    def texts(self, key: str) -> list[str]:
        """Return a list of texts, empty if it is missing."""
        found = self._fields.get(key)
        found = [] if found is None else found
        if not isinstance(found, list) or not all(map(is_text, found)):
            raise self.odd(key, "list of texts")
        return found

    def values(self, key: str) -> dict[str, str | None]:
        """Return texts or nulls by name; a number or a switch is taken as its text in JSON."""
        found = self._fields.get(key)
        if not isinstance(found, dict):
            raise self.odd(key, "map of texts")
        texts = {name: json_scalar(each) for name, each in found.items()}
        if not all(
            is_text(name) and (each is None or is_text(each)) for name, each in texts.items()
        ):
            raise self.odd(key, "map of texts")
        return texts

    def rest(self, known: Container[str]) -> str:
        """Return the fields that are not `known` in JSON, "" without any."""
        found = {key: each for key, each in self._fields.items() if key not in known}
        text = json.dumps(found, separators=(",", ":"), ensure_ascii=False) if found else ""
        # An escape can spell half a letter, which no text can hold.
        return text.encode(errors="replace").decode()

    def check_listed(self, key: str, texts: Iterable[str | None]) -> None:
        """Raise ShapeError for texts that no list of files takes: they have a zero byte."""
        if any("\0" in text for text in texts if text is not None):
            raise self.odd(key, "text without zero bytes")

    def odd(self, key: str, wanted: str) -> ShapeError:
        """Return the error for a field that is missing or of another type."""
        found = json.dumps(self._fields.get(key), default=str)[:80]
        return ShapeError(f"{self.action} has {found} as {key}, where a {wanted} belongs")


def is_text(found: Any) -> TypeGuard[str]:
    """Return whether a value is a text to write: JSON escapes can spell half a letter."""
    if not isinstance(found, str):
        return False
    try:
        found.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(found: Any) -> bool:
    """Tell whether a value is a whole number of 63 bits that is not negative."""
    return is_signed_number(found) and found >= 0


def is_signed_number(found: Any) -> bool:
    """Tell whether a value is a whole number of 64 bits, one of them the sign."""
    is_whole = isinstance(found, int) and not isinstance(found, bool)
    return is_whole and -(2**BITS) <= found < 2**BITS


def whole_number(found: Any) -> Any:
    """Return a whole number that is written as a text or with a fraction of zero as what it is."""
    if isinstance(found, str) and WHOLE.fullmatch(found):
        return int(found)
    return int(found) if isinstance(found, float) and found.is_integer() else found


def json_scalar(found: Any) -> Any:
    """Return the text in JSON of a number or a switch, anything else as it is."""
    return json.dumps(found) if isinstance(found, bool | int | float) else found


def path_of(fields: ActionFields) -> str:
    """Return the path of a file, as it stands in the log."""
    path = fields.text("path")
    if not path or "\0" in path:
        raise fields.odd("path", "path")
    return path


def partition_values_of(fields: ActionFields) -> dict[str, str | None]:
    """Return the partition values of a file by column."""
    found = fields.values("partitionValues")
    fields.check_listed("partitionValues", found.values())
    return found


def vector_of(fields: ActionFields) -> str:
    """Return the unique id of a deletion vector, "" without one (PROTOCOL.md)."""
    found = fields.get("deletionVector")
    if found is None:
        return ""
    if not isinstance(found, dict):
        raise fields.odd("deletionVector", "JSON object")
    vector = ActionFields(f"{fields.action}.deletionVector", found)
    if vector.text("storageType") not in VECTOR_KINDS:
        raise vector.odd("storageType", "one of u, i and p")
    vector.check_listed("pathOrInlineDv", [vector.text("pathOrInlineDv")])
    offset = found.get("offset")
    ending = "" if offset is None else f"@{vector.number('offset')}"
    return f"{vector.text('storageType')}{vector.text('pathOrInlineDv')}{ending}"


def descriptor_of(fields: ActionFields) -> DeletionVector | None:
    """Return where a deletion vector lies, None without one, or if its size is not recorded."""
    found = fields.get("deletionVector")
    if not isinstance(found, dict):
        return None
    size, rows = found.get("sizeInBytes"), found.get("cardinality")
    if type(size) is not int or type(rows) is not int or min(size, rows) < 0:
        return None
    return DeletionVector(
        found["storageType"], found["pathOrInlineDv"], found.get("offset"), size, rows
    )


def stats_of(fields: ActionFields) -> str:
    """Return the statistics of a file as JSON; a checkpoint may have them parsed only."""
    stats, parsed = fields.get("stats"), fields.get("stats_parsed")
    if stats is not None or not isinstance(parsed, dict):
        text = fields.text("stats", default="")
        fields.check_listed("stats", [text])
        return text
    return json.dumps(stated(parsed), separators=(",", ":"))


def stated(found: Any) -> Any:
    """Return values as Delta writes them; unknown values of a struct are left out."""
    if not isinstance(found, dict):
        return plain_value(found)
    values = {key: stated(each) for key, each in found.items()}
    return {key: each for key, each in values.items() if each is not None}


def plain_value(found: Any) -> str | int | float | None:
    """Return a value as Delta writes it into statistics, None for other values.

    A rounded bound is not a bound: a file with rows beyond it would be left out.
    """
    match found:
        case str() | int():
            return found
        case float():
            return found if math.isfinite(found) else DOUBLES[str(found)]
        case Decimal():
            number = float(found) if found.as_tuple().exponent else int(found)
            return number if Decimal(str(number)) == found else None
        case datetime():
            return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case date():
            return found.isoformat()
        case _:
            return None
