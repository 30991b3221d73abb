"""Sets of ids with a fast minimum.

A 64-bit roaring bitmap keeps 100,000 neighbouring ids in a few bytes, and the garbage collector
does not scan it. It never reaches the wire or a digest: both use the sorted ids.
"""

from collections.abc import Iterable, Iterator

from pyroaring import BitMap64


class IdSet:
    """A set of non-negative integers with O(1) membership and minimum."""

    __slots__ = ("_bits",)

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._bits = BitMap64(ids)

    def add(self, member: int) -> None:
        """Add an id; adding it twice is allowed."""
        self._bits.add(member)

    def discard(self, member: int) -> None:
        """Remove an id if it is there."""
        self._bits.discard(member)

    def minimum(self, default: int) -> int:
        """Return the least id, or `default` for an empty set."""
        return int(self._bits.min()) if self._bits else default

    def below(self, bound: int) -> tuple[int, ...]:
        """Return the ids strictly below `bound`, ascending; costs what it returns."""
        ids: list[int] = []
        for member in self:
            if member >= bound:
                break
            ids.append(member)
        return tuple(ids)

    def __contains__(self, member: int) -> bool:
        """Tell whether an id is in the set."""
        return member in self._bits

    def __len__(self) -> int:
        """Return how many ids there are."""
        return len(self._bits)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the ids, ascending.

        pyroaring 1.2.0 never frees the iterator of an empty bitmap: a leader would lose 220 bytes
        with every txn that it opens.
        """
        return iter(self._bits) if self._bits else iter(())

    def __eq__(self, other: object) -> bool:
        """Tell whether both hold the same ids."""
        return isinstance(other, IdSet) and self._bits == other._bits

    __hash__ = None  # type: ignore[assignment]
