"""Keys of rows, packed so that their bytes sort as their parts do.

A number takes 8 bytes, big-endian and unsigned. A text is its UTF-8 and a closing zero byte, so
that "ab" sorts before "abc" whatever follows. Raw bytes may be a prefix of fixed length, or the
last part. For keys of numbers alone `struct.Struct(">cQQ")` gives the same bytes in an eighth of
the time. Each projection decides which parts make its keys.
"""

from typing import Any

Part = int | str | bytes
"""A number of 0 to 2**64 - 1, a text without zero bytes, or raw bytes."""

INT_BYTES = 8


def pack(*parts: Part) -> bytes:
    """Return the key of `parts`; the key of the first few of them is a prefix of it.

    Raises:
        ValueError: a text holds a zero byte.
        OverflowError: a number is negative or above 2**64 - 1.
    """
    return b"".join([_packed(part) for part in parts])


def text_part(text: str) -> bytes:
    """Return a text as part of a key, for keys whose parts are joined without `pack`.

    Raises:
        ValueError: it holds a zero byte.
    """
    if "\0" in text:
        raise ValueError(f"a text in a key must hold no zero byte, got {text!r}")
    return text.encode() + b"\0"


def unpack(key: bytes, *kinds: type[Part]) -> tuple[Any, ...]:
    """Return the parts of a packed key, one of each kind in order.

    `bytes` takes all the rest, so it must be last: cut a prefix off before.

    Raises:
        ValueError: the key does not have these parts.
    """
    parts: list[Part] = []
    rest = key
    for kind in kinds:
        part, rest = _unpacked(rest, kind)
        parts.append(part)
    if rest:
        raise ValueError(f"the key must end with its last part, got {rest!r} after it in {key!r}")
    return tuple(parts)


def _packed(part: Part) -> bytes:
    if isinstance(part, int):
        return part.to_bytes(INT_BYTES, "big")
    if isinstance(part, bytes):
        return part
    return text_part(part)


def _unpacked(rest: bytes, kind: type[Part]) -> tuple[Part, bytes]:
    if kind is int:
        if len(rest) < INT_BYTES:
            raise ValueError(f"a number of a key must have {INT_BYTES} bytes, got {rest!r}")
        return int.from_bytes(rest[:INT_BYTES], "big"), rest[INT_BYTES:]
    if kind is bytes:
        return rest, b""
    text, end, rest = rest.partition(b"\0")
    if not end:
        raise ValueError(f"a text of a key must end with a zero byte, got {text!r}")
    return text.decode(), rest
