"""Keys sort as their parts do, and come apart again."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.rows.keys import number_key, pair_key
from projections.rows.packing import Part, pack, text_part, unpack

NUMBERS = st.integers(min_value=0, max_value=2**64 - 1)
TEXTS = st.text(alphabet=st.characters(exclude_characters="\0", codec="utf-8"))
PARTS = st.tuples(TEXTS, NUMBERS, TEXTS, NUMBERS, st.binary())


@given(st.lists(PARTS, min_size=2))
def test_order(tuples: list[tuple[str, int, str, int, bytes]]) -> None:
    """The order of keys is the order of their tuples."""
    keys = [pack(*parts) for parts in sorted(tuples)]
    assert all(lower <= upper for lower, upper in pairwise(keys))


@given(PARTS)
def test_unpack(parts: tuple[str, int, str, int, bytes]) -> None:
    """Unpacking gives back what was packed."""
    assert unpack(pack(*parts), str, int, str, int, bytes) == parts


@given(NUMBERS, NUMBERS, TEXTS, st.binary())
def test_joined(first: int, second: int, text: str, rest: bytes) -> None:
    """A key that is joined of ready parts is the one that they are packed to."""
    assert number_key(b"l", first) + text_part(text) + rest == pack(b"l", first, text, rest)
    assert pair_key(b"d", first, second) + text_part(text) == pack(b"d", first, second, text)


@given(PARTS, st.integers(min_value=0, max_value=5))
def test_prefix(parts: tuple[Any, ...], count: int) -> None:
    """The key of the first few parts is a prefix of the key."""
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
def test_bytes(parts: tuple[Part, ...], expected: bytes) -> None:
    """The bytes of keys stay what they are, since stores are full of them."""
    assert pack(*parts) == expected


@pytest.mark.parametrize(
    ("part", "error"),
    [("a\0b", ValueError), (-1, OverflowError), (2**64, OverflowError)],
)
def test_refused_part(part: Part, error: type[Exception]) -> None:
    """A part that would not sort or not come back is refused."""
    with pytest.raises(error):
        pack(part)


@pytest.mark.parametrize(
    ("key", "kinds"),
    [(b"1234567", (int,)), (b"text", (str,)), (b"12345678!", (int,)), (b"x", ())],
)
def test_refused_key(key: bytes, kinds: tuple[type[Part], ...]) -> None:
    """A key that does not have the parts asked for is refused."""
    with pytest.raises(ValueError, match="key"):
        unpack(key, *kinds)
