"""Murmur3 with 32 bits and the seed 0: the hash of Iceberg's buckets."""

from typing import Final

FIRST: Final = 0xCC9E2D51
SECOND: Final = 0x1B873593
MASK: Final = 0xFFFFFFFF


def hash_of_long(number: int) -> int:
    """Return the hash of a whole number as eight bytes; it has no sign."""
    return hash_of_bytes((number & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little"))


def hash_of_bytes(data: bytes) -> int:
    """Return the hash of bytes; it has no sign."""
    state, whole = 0, len(data) & ~3
    for at in range(0, whole, 4):
        state ^= mixed(int.from_bytes(data[at : at + 4], "little"))
        state = (turned(state, 13) * 5 + 0xE6546B64) & MASK
    if whole < len(data):
        state ^= mixed(int.from_bytes(data[whole:], "little"))
    return finished(state ^ len(data))


def mixed(block: int) -> int:
    """Return a block of four bytes as it enters the state."""
    return turned(block * FIRST & MASK, 15) * SECOND & MASK


def turned(number: int, bits: int) -> int:
    """Return a number whose highest bits come in from below."""
    return ((number << bits) | (number >> (32 - bits))) & MASK


def finished(state: int) -> int:
    """Return the hash of a state: each bit of it reaches all others."""
    state = (state ^ (state >> 16)) * 0x85EBCA6B & MASK
    state = (state ^ (state >> 13)) * 0xC2B2AE35 & MASK
    return state ^ (state >> 16)
