"""Bloom filters of Parquet files: whether a row group has a value at all.

The form is that of the Parquet format: blocks of 256 bits, and the hash XXH64 of the plain bytes of
a value. A filter may say that a group has a value which it lacks, and never the other way round.
"""

import struct
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Final

BLOCK: Final = 32
LENGTH_AT: Final = 1
"""The length of the bits stands behind the first byte of the header."""

# What the header says behind the length: blocks of bits, XXH64, not compressed.
FORM: Final = bytes.fromhex("1c1c00001c1c00001c1c000000")
SALTS: Final = (
    *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
    *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
)
P1: Final = 0x9E3779B185EBCA87
P2: Final = 0xC2B2AE3D27D4EB4F
P3: Final = 0x165667B19E3779F9
P4: Final = 0x85EBCA77C2B2AE63
P5: Final = 0x27D4EB2F165667C5
BITS: Final = (1 << 64) - 1
DAY: Final = date(1970, 1, 1)
TIME: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - as the core has instants, in UTC

Has = Callable[[Any], bool]
"""Returns whether a row group may have a value of the core's type for its column."""


def filter_of(data: bytes, physical: str) -> Has | None:
    """Return the filter that some bytes of a file are, None for another form.

    `physical` is the type of Parquet of the values.
    """
    count, shift, at = 0, 0, LENGTH_AT
    while at < len(data) and shift < BLOCK:
        count |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            break
    size = count >> 1  # The sign is the lowest bit.
    bits = data[at + len(FORM) :]
    if data[at : at + len(FORM)] != FORM or len(bits) != size or not size or size % BLOCK:
        return None

    def has(value: Any) -> bool:
        plain = plain_bytes(value, physical)
        return plain is None or holds(bits, xxh64(plain))

    return has


def holds(bits: bytes, number: int) -> bool:
    """Return whether the bits of a hash are set."""
    block = ((number >> 32) * (len(bits) // BLOCK)) >> 32
    words = struct.unpack_from("<8I", bits, block * BLOCK)
    low = number & 0xFFFFFFFF
    return all(
        word >> (((low * salt) & 0xFFFFFFFF) >> 27) & 1
        for word, salt in zip(words, SALTS, strict=True)
    )


def plain_bytes(value: Any, physical: str) -> bytes | None:
    """Return a value as Parquet has it, None for one that it does not have in this form."""
    if isinstance(value, str) and physical == "BYTE_ARRAY":
        return value.encode()
    if isinstance(value, datetime):
        span = value - TIME
        value = (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds
    elif isinstance(value, date):
        value = (value - DAY).days
    form = {"INT32": "<i", "INT64": "<q"}.get(physical)
    if form is None or type(value) is not int:
        return None
    try:
        return struct.pack(form, value)
    except struct.error:
        return None


def xxh64(data: bytes) -> int:
    """Return the hash XXH64 of some bytes, without a seed."""
    place, size = 0, len(data)
    if size >= BLOCK:
        lanes = [(P1 + P2) & BITS, P2, 0, -P1 & BITS]
        while place + BLOCK <= size:
            for at, word in enumerate(struct.unpack_from("<4Q", data, place)):
                lanes[at] = mixed(lanes[at], word)
            place += BLOCK
        found = sum(turned(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            found = ((found ^ mixed(0, lane)) * P1 + P4) & BITS
    else:
        found = P5
    found = (found + size) & BITS
    while place + 8 <= size:
        found ^= mixed(0, struct.unpack_from("<Q", data, place)[0])
        found = (turned(found, 27) * P1 + P4) & BITS
        place += 8
    if place + 4 <= size:
        found ^= struct.unpack_from("<I", data, place)[0] * P1 & BITS
        found = (turned(found, 23) * P2 + P3) & BITS
        place += 4
    for byte in data[place:]:
        found ^= byte * P5 & BITS
        found = turned(found, 11) * P1 & BITS
    found = (found ^ found >> 33) * P2 & BITS
    found = (found ^ found >> 29) * P3 & BITS
    return found ^ found >> 32


def mixed(lane: int, word: int) -> int:
    """Return a lane of the hash with one more word."""
    return turned((lane + word * P2) & BITS, 31) * P1 & BITS


def turned(number: int, by: int) -> int:
    """Return 64 bits, rotated to the left."""
    number &= BITS
    return (number << by | number >> (64 - by)) & BITS
