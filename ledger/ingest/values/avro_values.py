"""Values of Avro: the bytes of a record by its schema, with bounds for what bytes may ask for.

A schema becomes a function, which is made once. Every length, branch and symbol is checked against
the bytes that are there, so that a record costs no more than its size.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, localcontext
from struct import Struct
from typing import Any, Final
from uuid import UUID

DEPTH_MAX: Final = 100
VARINT_BYTES: Final = 10
DECIMAL_BYTES_MAX: Final = 64
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LOCAL_EPOCH: Final = EPOCH.replace(tzinfo=None)
DAY_ZERO: Final = date(1970, 1, 1).toordinal()
FLOAT: Final = Struct("<f")
DOUBLE: Final = Struct("<d")

Read = Callable[[bytes, int, int], tuple[Any, int]]
"""Takes bytes, a place and how deep it is; returns a value and the place behind it."""


class AvroTypes:
    """The types of one schema; `named` has its records, enums and fixed ones by full names."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._made: dict[str, Read] = {}
        self._least: dict[str, int] = {}

    def of(self, schema: Any) -> Read:
        """Return what reads a type; raises ValueError for arrays whose items have no bytes."""
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            return PLAIN[schema] if schema in PLAIN else self._by_name(schema)
        kind = schema["type"]
        if kind in {"record", "error", "enum", "fixed"}:
            return logical(schema, self._by_name(schema["name"]))
        if kind == "array":
            return self._array(schema)
        if kind == "map":
            return self._map(schema)
        return logical(schema, self.of(kind))

    def _by_name(self, name: str) -> Read:
        if name not in self._made:

            def within(data: bytes, at: int, depth: int) -> tuple[Any, int]:
                return self._made[name](data, at, depth)

            # A type within itself is read by what is made here.
            self._made[name] = within
            schema = self._named[name]
            make = {"enum": symbols, "fixed": bytes_of_length}.get(schema["type"], self._record)
            self._made[name] = make(schema)
        return self._made[name]

    def _least_of(self, schema: Any) -> int:
        """Return the fewest bytes of a value."""
        if isinstance(schema, list):
            return 1
        if isinstance(schema, str):
            return LEAST[schema] if schema in LEAST else self._least_of(self._named[schema])
        kind = schema["type"]
        if kind == "fixed":
            return int(schema["size"])
        if kind not in {"record", "error"}:
            return 1 if kind in {"enum", "array", "map"} else self._least_of(kind)
        name = schema["name"]
        if name not in self._least:
            # A record that is within itself without a union has no value at all.
            self._least[name] = 0
            self._least[name] = sum(self._least_of(each["type"]) for each in schema["fields"])
        return self._least[name]

    def _record(self, schema: Any) -> Read:
        readers = [(each["name"], self.of(each["type"])) for each in schema["fields"]]

        def read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
            found = {}
            depth = deeper(depth)
            for name, reader in readers:
                found[name], at = reader(data, at, depth)
            return found, at

        return read

    def _union(self, branches: Any) -> Read:
        readers = [self.of(each) for each in branches]

        def read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
            number, at = long(data, at, depth)
            if not 0 <= number < len(readers):
                raise ValueError(f"a union has {len(readers)} branches, got the branch {number}")
            return readers[number](data, at, deeper(depth))

        return read

    def _array(self, schema: Any) -> Read:
        items = self.of(schema["items"])
        if not self._least_of(schema["items"]):
            raise ValueError(
                "an array must have items with bytes, got items such as null or an empty record: "
                "a few bytes could ask for any number of them"
            )

        def read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
            found: list[Any] = []
            depth = deeper(depth)
            while True:
                count, at = block(data, at)
                if not count:
                    return found, at
                for _ in range(count):
                    value, at = items(data, at, depth)
                    found.append(value)

        return read

    def _map(self, schema: Any) -> Read:
        values = self.of(schema["values"])

        def read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
            found: dict[str, Any] = {}
            depth = deeper(depth)
            while True:
                count, at = block(data, at)
                if not count:
                    return found, at
                for _ in range(count):
                    key, at = text(data, at, depth)
                    found[key], at = values(data, at, depth)

        return read


def deeper(depth: int) -> int:
    """Return the next depth; raises ValueError for values within too many others."""
    if depth >= DEPTH_MAX:
        raise ValueError(f"its values must be within at most {DEPTH_MAX} others")
    return depth + 1


def block(data: bytes, at: int) -> tuple[int, int]:
    """Return how many items follow, 0 at the end of an array or map."""
    count, at = long(data, at, 0)
    if count < 0:
        _, at = long(data, at, 0)
    return abs(count), at


def long(data: bytes, at: int, _: int) -> tuple[int, int]:
    """Return a number of 64 bits."""
    byte = data[at]
    found, shift = byte & 127, 7
    at += 1
    while byte > 127:  # noqa: PLR2004 - the bit that says that more follows
        if shift == 7 * VARINT_BYTES:
            raise ValueError(f"a number must have at most {VARINT_BYTES} bytes")
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        shift += 7
    if found >> 64:
        raise ValueError("a number must have at most 64 bits")
    return (found >> 1) ^ -(found & 1), at


def whole(data: bytes, at: int, depth: int) -> tuple[int, int]:
    """Return a number of 32 bits."""
    found, at = long(data, at, depth)
    if not -(1 << 31) <= found < 1 << 31:
        raise ValueError("an int must have at most 32 bits")
    return found, at


def part(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    """Return some bytes; raises IndexError if there are fewer."""
    if length < 0:
        raise ValueError(f"a length must be 0 or more, got {length}")
    if at + length > len(data):
        raise IndexError
    return data[at : at + length], at + length


def octets(data: bytes, at: int, depth: int) -> tuple[bytes, int]:
    """Return bytes behind their length."""
    length, at = long(data, at, depth)
    return part(data, at, length)


def text(data: bytes, at: int, depth: int) -> tuple[str, int]:
    """Return a text."""
    found, at = octets(data, at, depth)
    return found.decode(), at


def truth(data: bytes, at: int, _: int) -> tuple[bool, int]:
    """Return true or false."""
    if data[at] > 1:
        raise ValueError(f"a boolean must be 0 or 1, got {data[at]}")
    return data[at] == 1, at + 1


def real(form: Struct) -> Read:
    """Return what reads a number with a point."""

    def read(data: bytes, at: int, _: int) -> tuple[float, int]:
        found, behind = part(data, at, form.size)
        return form.unpack(found)[0], behind

    return read


def symbols(schema: Any) -> Read:
    """Return what reads an enum: its values are texts."""
    names = schema["symbols"]

    def read(data: bytes, at: int, depth: int) -> tuple[str, int]:
        number, at = long(data, at, depth)
        if not 0 <= number < len(names):
            raise ValueError(f"an enum has {len(names)} symbols, got the symbol {number}")
        return names[number], at

    return read


def bytes_of_length(schema: Any) -> Read:
    """Return what reads bytes of a fixed length."""
    size = schema["size"]
    return lambda data, at, _: part(data, at, size)


def logical(schema: Any, kind: Read) -> Read:
    """Return what reads values with a meaning of their own; an unknown one changes nothing."""
    name, of = schema.get("logicalType"), schema["type"]
    if name == "decimal" and of in {"bytes", "fixed"}:
        scale = schema.get("scale", 0)
        return changed(kind, lambda value: decimal_of(value, scale))
    change = MEANINGS.get((of, name))
    return kind if change is None else changed(kind, change)


def changed(kind: Read, change: Callable[[Any], Any]) -> Read:
    """Return what reads values, and changes them."""

    def read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
        value, at = kind(data, at, depth)
        return change(value), at

    return read


def decimal_of(value: bytes, scale: int) -> Decimal:
    """Return the number that bytes are, with all its digits."""
    if len(value) > DECIMAL_BYTES_MAX:
        raise ValueError(f"a decimal must have at most {DECIMAL_BYTES_MAX} bytes")
    with localcontext(prec=3 * DECIMAL_BYTES_MAX):
        return Decimal(int.from_bytes(value, signed=True)).scaleb(-scale)


def time_of(microseconds: int) -> time:
    """Return the time of a day; raises ValueError for more than a day."""
    if not 0 <= microseconds < timedelta(days=1) // timedelta(microseconds=1):
        raise ValueError("a time must be within a day")
    return (LOCAL_EPOCH + timedelta(microseconds=microseconds)).time()


PLAIN: Final[Mapping[str, Read]] = {
    "null": lambda _, at, __: (None, at),
    "boolean": truth,
    "int": whole,
    "long": long,
    "float": real(FLOAT),
    "double": real(DOUBLE),
    "bytes": octets,
    "string": text,
}
LEAST: Final = {**dict.fromkeys(PLAIN, 1), "null": 0, "float": FLOAT.size, "double": DOUBLE.size}
"""The fewest bytes of a value."""

MEANINGS: Final[Mapping[tuple[str, str | None], Callable[[Any], Any]]] = {
    ("int", "date"): lambda value: date.fromordinal(DAY_ZERO + value),
    ("int", "time-millis"): lambda value: time_of(value * 1000),
    ("long", "time-micros"): time_of,
    ("long", "timestamp-millis"): lambda value: EPOCH + timedelta(milliseconds=value),
    ("long", "timestamp-micros"): lambda value: EPOCH + timedelta(microseconds=value),
    ("long", "local-timestamp-millis"): lambda value: LOCAL_EPOCH + timedelta(milliseconds=value),
    ("long", "local-timestamp-micros"): lambda value: LOCAL_EPOCH + timedelta(microseconds=value),
    ("fixed", "uuid"): lambda value: str(UUID(bytes=value)),
}
"""What values of a type mean; a uuid that is a text stays one."""
