"""Keys sort as their parts do, and come apart again."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.rows import keys
from projections.rows.keys import number_key, pair_key
from projections.rows.packing import INT_BYTES, Part, pack, text_part

NUMBERS = st.integers(min_value=0, max_value=2**64 - 1)
TEXTS = st.text(alphabet=st.characters(exclude_characters="\0", codec="utf-8"))
PARTS = st.tuples(TEXTS, NUMBERS, TEXTS, NUMBERS, st.binary())


@given(st.lists(PARTS, min_size=2))
def test_order(tuples: list[tuple[str, int, str, int, bytes]]) -> None:
    """The order of keys is the order of their tuples."""
    keys = [pack(*parts) for parts in sorted(tuples)]
    assert all(lower <= upper for lower, upper in pairwise(keys))


@given(PARTS)
def test_unpacking_gives_back_what_was_packed(parts: tuple[str, int, str, int, bytes]) -> None:
    assert unpack(pack(*parts), str, int, str, int, bytes) == parts


@given(NUMBERS, NUMBERS, TEXTS, st.binary())
def test_joined(first: int, second: int, text: str, rest: bytes) -> None:
    """A key that is joined of ready parts is the one that they are packed to."""
    assert number_key(b"l", first) + text_part(text) + rest == pack(b"l", first, text, rest)
    assert pair_key(b"d", first, second) + text_part(text) == pack(b"d", first, second, text)


@given(PARTS, st.integers(min_value=0, max_value=5))
def test_the_first_parts_are_a_prefix_of_the_key(parts: tuple[Any, ...], count: int) -> None:
    assert pack(*parts).startswith(pack(*parts[:count]))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((b"w", 1, 258), b"w" + bytes(7) + b"\x01" + bytes(6) + b"\x01\x02"),
        (("db", "t"), b"db\0t\0"),
        ((b"n", "é"), b"n\xc3\xa9\0"),
        ((), b""),
    ],
)
def test_the_bytes_of_keys_stay_what_they_are(parts: tuple[Part, ...], expected: bytes) -> None:
    assert pack(*parts) == expected


@pytest.mark.parametrize(
    ("part", "error"), [("a\0b", ValueError), (-1, OverflowError), (2**64, OverflowError)]
)
def test_a_part_that_would_not_sort_is_refused(part: Part, error: type[Exception]) -> None:
    with pytest.raises(error):
        pack(part)


@pytest.mark.parametrize(
    ("key", "kinds"), [(b"1234567", (int,)), (b"text", (str,)), (b"12345678!", (int,)), (b"x", ())]
)
def test_a_key_without_its_parts_is_refused(key: bytes, kinds: tuple[type[Part], ...]) -> None:
    with pytest.raises(ValueError, match="key"):
        unpack(key, *kinds)


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


def test_each_kind_of_row_has_a_first_byte_of_its_own() -> None:
    kinds = Counter(kind[:1] for kind in vars(keys).values() if isinstance(kind, bytes))

    assert {kind for kind, count in kinds.items() if count > 1} == {b"!"}
