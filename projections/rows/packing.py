"""Keys of rows, packed so that their bytes sort as their parts do.

A number takes 8 bytes, big-endian and unsigned. A text is its UTF-8 and a closing zero byte, so
that "ab" sorts before "abc" whatever follows. Raw bytes may be a prefix of fixed length, or the
last part. For keys of numbers alone `struct.Struct(">cQQ")` gives the same bytes in an eighth of
the time. Each projection decides which parts make its keys.
"""

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


def _packed(part: Part) -> bytes:
    if isinstance(part, int):
        return part.to_bytes(INT_BYTES, "big")
    if isinstance(part, bytes):
        return part
    return text_part(part)
