"""Rows to Avro bytes: for one schema, a function from a record's values to its encoding.

A row is a tuple of values in the order of the schema's fields, as the named tuples of the core are;
rows nest. The library's own writer wants dicts and looks every field up by name, several times. A
sequencer writes one event for each command it decides, so this is where its time goes; what is
read stays with the library, but for the numbers that every reader wants of every event. The
encoding is that of the Avro specification 1.11, "Binary encoding"; the tests hold every byte
against the library.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import call
from typing import Any, Final

Write = Callable[[Any], bytes]

LONG_BITS: Final = 64
# A long is looked up fourteen bits at a time, those more follow after and those that end it.
PAIR_BITS: Final = 14
PAIRS: Final = 1 << PAIR_BITS
GOING_ON: Final = tuple(bytes((pair & 0x7F | 0x80, pair >> 7 | 0x80)) for pair in range(PAIRS))
ENDING: Final = tuple(
    bytes((pair,)) if pair < 0x80 else bytes((pair & 0x7F | 0x80, pair >> 7))  # noqa: PLR2004
    for pair in range(PAIRS)
)


UNFIT: Final = (TypeError, OverflowError, ValueError)


def long_bytes(value: int) -> bytes:
    """Return a long: zigzag, then seven bits a byte, the least first.

    Raises OverflowError for more than 64 bits, TypeError for what is no integer.
    """
    try:
        left = value << 1 ^ value >> 63
    except TypeError:
        raise TypeError(f"{value!r} is no whole number") from None
    if left < PAIRS:
        return ENDING[left]
    if left >> LONG_BITS:
        raise OverflowError(f"{value} does not fit {LONG_BITS} bits")
    found = GOING_ON[left & PAIRS - 1]
    left >>= PAIR_BITS
    while left >= PAIRS:
        found += GOING_ON[left & PAIRS - 1]
        left >>= PAIR_BITS
    return found + ENDING[left]


def longs_bytes(values: Iterable[int]) -> bytes:
    """Return the longs of a row one after the other."""
    return b"".join(map(long_bytes, values))


def read_longs(data: bytes, at: int, count: int) -> list[int]:
    """Return longs that stand in a row from a place on.

    Every client hears of every event and wants no more of it than the numbers it begins with.
    Raises IndexError if the bytes end before, OverflowError for what is longer than 64 bits.
    """
    found: list[int] = []
    for _ in range(count):
        left, shift = 0, 0
        while (byte := data[at]) > 0x7F:  # noqa: PLR2004 - the bit that says that more follow
            left |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if shift >= LONG_BITS:
                break
        left |= byte << shift
        if left >> LONG_BITS:
            raise OverflowError(f"the number before byte {at} does not fit {LONG_BITS} bits")
        found.append(left >> 1 ^ -(left & 1))
        at += 1
    return found


def bytes_bytes(value: bytes) -> bytes:
    """Return bytes behind their length; raises TypeError for anything else."""
    try:
        return long_bytes(len(value)) + value
    except TypeError:
        raise TypeError(f"{value!r} is no bytes") from None


def string_bytes(value: str) -> bytes:
    """Return a text in UTF-8 behind its length; raises TypeError for anything else."""
    try:
        return bytes_bytes(str.encode(value))
    except TypeError:
        raise TypeError(f"{value!r} is no text") from None


def boolean_bytes(value: bool) -> bytes:  # noqa: FBT001 - the value to write
    """Return a boolean; raises TypeError for anything else, for "no" would be true."""
    if value is True:
        return b"\1"
    if value is False:
        return b"\0"
    raise TypeError(f"{value!r} is neither True nor False")


PRIMITIVES: Final[Mapping[str, Write]] = {
    "long": long_bytes,
    "bytes": bytes_bytes,
    "string": string_bytes,
    "boolean": boolean_bytes,
}


def row_writer(schema: Mapping[str, Any]) -> Write:
    """Return what writes the rows of a record schema, whose names are resolved.

    What it returns raises TypeError, ValueError or OverflowError for what does not fit the schema,
    and names the field.
    """
    return record_writer(schema, {})


def writer_of(schema: Any, named: dict[str, Write]) -> Write:
    """Return what writes values of any schema that occurs here; `named` are the types met so far.

    Raises NotImplementedError for one that does not occur.
    """
    if isinstance(schema, list):
        return optional_writer(schema, named)
    if isinstance(schema, str):
        return PRIMITIVES.get(schema) or named[schema]
    match schema["type"]:
        case "record":
            return record_writer(schema, named)
        case "array":
            return array_writer(writer_of(schema["items"], named))
        case "enum":
            return enum_writer(schema["symbols"])
        case str() as primitive if primitive in PRIMITIVES:
            return PRIMITIVES[primitive]
        case other:
            raise NotImplementedError(f"rows hold no {other}")


def record_writer(schema: Mapping[str, Any], named: dict[str, Write]) -> Write:
    """Return what writes rows: one value after the other."""
    writers = tuple(writer_of(field["type"], named) for field in schema["fields"])
    width = len(writers)

    def write(row: Sequence[Any]) -> bytes:
        if len(row) != width:
            raise ValueError(f"a row of {schema['name']} has {width} values, not {len(row)}")
        try:
            return b"".join(map(call, writers, row))
        except UNFIT as problem:
            raise misfit(schema, writers, row, problem) from problem

    named[schema["name"]] = write
    return write


def misfit(
    schema: Mapping[str, Any], writers: Sequence[Write], row: Sequence[Any], problem: Exception
) -> Exception:
    """Return the error for a row, some field of which does not fit, with the name of that field."""
    kind = next(each for each in UNFIT if isinstance(problem, each))
    for field, write, value in zip(schema["fields"], writers, row, strict=True):
        try:
            write(value)
        except UNFIT as error:
            return kind(f"{field['name']} of {schema['name'].rpartition('.')[2]}: {error}")
    return kind(str(problem))


def array_writer(write_item: Write) -> Write:
    """Return what writes sequences: one block behind its count, and the empty block."""

    def write(items: Sequence[Any]) -> bytes:
        if not items:
            return b"\0"
        return long_bytes(len(items)) + b"".join(map(write_item, items)) + b"\0"

    return write


def optional_writer(branches: Sequence[Any], named: dict[str, Write]) -> Write:
    """Return what writes a value or None, behind the number of its branch; null comes first."""
    if len(branches) != 2 or branches[0] != "null":  # noqa: PLR2004 - None and the value
        raise NotImplementedError(f"rows hold no union of {branches}")
    write_value = writer_of(branches[1], named)
    return lambda value: b"\0" if value is None else b"\2" + write_value(value)


def enum_writer(symbols: Sequence[str]) -> Write:
    """Return what writes the numbers of symbols."""
    numbers = {symbol: long_bytes(number) for number, symbol in enumerate(symbols)}

    def write(symbol: str) -> bytes:
        try:
            return numbers[symbol]
        except (KeyError, TypeError):
            raise ValueError(f"{symbol!r} is none of {', '.join(symbols)}") from None

    return write
