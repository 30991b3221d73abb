"""Avro's binary encoding and its schemas, read with bounds.

The schema of a file comes from any program. So it is checked first: it must be small, no type may
hold itself, and every item of a list must have bytes. Then the work is bounded by the bytes. Fields
are known by the ids in the schema, never by name.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ledger.iceberg.limits import DEPTH_MAX, SCHEMA_NODES_MAX, IcebergFormatError, json_object

LONG_BYTES_MAX: Final = 10
KEYS: Final = ("int", "long", "string")
FIXED_BYTES_MAX: Final = 1024
FLOAT: Final = struct.Struct("<f")
DOUBLE: Final = struct.Struct("<d")

Read = Callable[["AvroBytes"], Any]
"""Reads one value."""


class AvroBytes:
    """Avro's binary encoding, read from left to right; `items` may still be read in lists.

    Each read raises IcebergFormatError for bytes that end too early.
    """

    def __init__(self, data: bytes, items: int) -> None:
        self._data = data
        self._at = 0
        self.items = items

    @property
    def is_at_end(self) -> bool:
        """Whether all bytes are read."""
        return self._at >= len(self._data)

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise IcebergFormatError(f"an Avro file is cut short, {size} bytes were to come")
        found = self._data[self._at : end]
        self._at = end
        return found

    def long(self) -> int:
        """Return a whole number of 64 bits."""
        data, at = self._data, self._at
        number, shift = 0, 0
        try:
            while True:
                byte = data[at]
                at += 1
                number |= (byte & 0x7F) << shift
                if byte < 0x80:  # noqa: PLR2004 - the last byte has no high bit
                    break
                shift += 7
                if shift >= 7 * LONG_BYTES_MAX:
                    raise IcebergFormatError("a number of an Avro file has too many bytes")
        except IndexError:
            raise IcebergFormatError("an Avro file is cut short within a number") from None
        self._at = at
        return (number >> 1) ^ -(number & 1)

    def bytes(self) -> bytes:
        """Return bytes behind their number."""
        return self.take(self.long())

    def text(self) -> str:
        """Return a text behind the number of its bytes."""
        try:
            return self.bytes().decode()
        except UnicodeDecodeError:
            raise IcebergFormatError("a text of an Avro file is not UTF-8") from None

    def boolean(self) -> bool:
        """Return a truth, one byte."""
        return self.take(1) == b"\1"

    def floating(self, form: struct.Struct) -> float:
        """Return a float or a double."""
        return float(form.unpack(self.take(form.size))[0])

    def block(self) -> int:
        """Return the number of items in the next block of a list, 0 at its end."""
        count = self.long()
        if count < 0:
            self.long()
            count = -count
        self.items -= count
        if self.items < 0:
            raise IcebergFormatError("the lists of an Avro file have too many items")
        return count


class AvroSchema:
    """What reads the records of a schema, checked; raises IcebergFormatError for an odd one."""

    def __init__(self, text: str) -> None:
        schema = json_object("the schema of an Avro file", text)
        self._nodes = 0
        self._named: dict[str, tuple[Read, int]] = {}
        if schema.get("type") != "record":
            raise IcebergFormatError("the schema of an Avro file must be a record")
        self.read, _ = self._record(schema, 0)

    def _type(self, kind: Any, depth: int) -> tuple[Read, int]:
        """Return what reads a type, and the least number of bytes of its values."""
        self._nodes += 1
        if self._nodes > SCHEMA_NODES_MAX or depth > DEPTH_MAX:
            raise IcebergFormatError("the schema of an Avro file is too large")
        if isinstance(kind, list):
            return self._union(kind, depth)
        word = kind.get("type") if isinstance(kind, dict) else kind
        if isinstance(kind, dict) and isinstance(word, dict | list):
            return self._type(word, depth + 1)
        if isinstance(word, str) and word in PLAIN:
            return PLAIN[word]
        if isinstance(word, str) and word in self._named:
            return self._named[word]
        if isinstance(kind, dict) and word in ("record", "array", "fixed"):
            made = {"record": self._record, "array": self._array, "fixed": fixed}[word](kind, depth)
            if word == "fixed" and isinstance(kind.get("name"), str):
                # No record is known by name, so none can hold itself.
                self._named[kind["name"]] = made
            return made
        raise IcebergFormatError(f"the schema of an Avro file has the type {str(kind)[:80]!r}")

    def _record(self, kind: Mapping[str, Any], depth: int) -> tuple[Read, int]:
        fields = kind.get("fields")
        if not isinstance(fields, list):
            raise IcebergFormatError("a record of an Avro schema must have fields")
        parts, ids, least = [], set[int](), 0
        for field in fields:
            number = field.get("field-id") if isinstance(field, dict) else None
            if type(number) is not int:
                raise IcebergFormatError(
                    f"a field of an Avro schema must have a field-id, got {str(field)[:80]}"
                )
            read, size = self._type(field.get("type"), depth + 1)
            if number in ids:
                raise IcebergFormatError(f"two fields of an Avro record have the id {number}")
            ids.add(number)
            parts.append((number, read))
            least += size
        return lambda data: {number: read(data) for number, read in parts}, least

    def _array(self, kind: Mapping[str, Any], depth: int) -> tuple[Read, int]:
        read, size = self._type(kind.get("items"), depth + 1)
        if not size:
            raise IcebergFormatError("an item of a list in an Avro schema must have bytes")
        if kind.get("logicalType") == "map":
            return map_reader(kind.get("items"), read), 1

        def items(data: AvroBytes) -> list[Any]:
            found: list[Any] = []
            while count := data.block():
                found += [read(data) for _ in range(count)]
            return found

        return items, 1

    def _union(self, kinds: Sequence[Any], depth: int) -> tuple[Read, int]:
        branches = [nothing if each == "null" else self._type(each, depth + 1)[0] for each in kinds]

        def value(data: AvroBytes) -> Any:
            at = data.long()
            if not 0 <= at < len(branches):
                raise IcebergFormatError(f"an Avro file has a value of the branch {at}")
            return branches[at](data)

        return value, 1


def map_reader(item: Any, read: Read) -> Read:
    """Return what reads a list of keys and values as a dict; the key is the first field."""
    fields = item.get("fields") if isinstance(item, dict) else None
    if not isinstance(fields, list) or len(fields) != 2 or plain(fields[0]) not in KEYS:  # noqa: PLR2004 - key, value
        raise IcebergFormatError("a map of an Avro schema must have keys and values")

    def pairs(data: AvroBytes) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        while count := data.block():
            for _ in range(count):
                key, value = read(data).values()
                found[key] = value
        return found

    return pairs


def plain(field: Any) -> Any:
    """Return the type of a field, which some writers put into another object."""
    kind = field.get("type") if isinstance(field, dict) else None
    return kind.get("type") if isinstance(kind, dict) else kind


def fixed(kind: Mapping[str, Any], _depth: int) -> tuple[Read, int]:
    """Return what reads a number of bytes that the schema says."""
    size = kind.get("size")
    if type(size) is not int or not 1 <= size <= FIXED_BYTES_MAX:
        raise IcebergFormatError(f"a fixed type of an Avro schema must have a size, got {size!r}")
    return lambda data: data.take(size), size


def nothing(_data: AvroBytes) -> None:
    """Return NULL, which has no bytes."""


PLAIN: Final[Mapping[str, tuple[Read, int]]] = {
    "int": (AvroBytes.long, 1),
    "long": (AvroBytes.long, 1),
    "string": (AvroBytes.text, 1),
    "bytes": (AvroBytes.bytes, 1),
    "boolean": (AvroBytes.boolean, 1),
    "float": (lambda data: data.floating(FLOAT), 4),
    "double": (lambda data: data.floating(DOUBLE), 8),
}
