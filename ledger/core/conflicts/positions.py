"""Positions: the places in the log of the winners that share a key, oldest first."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

SLACK: Final = 32


class Positions:
    """Ascending positions; the oldest leave first."""

    __slots__ = ("_items", "_start")

    def __init__(self) -> None:
        self._items: list[int] = []
        self._start = 0

    def __eq__(self, other: object) -> bool:
        """Tell whether both hold the same positions."""
        return isinstance(other, Positions) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[int]:
        """Return the positions, ascending."""
        return iter(self._items[self._start :])

    def add(self, position: int) -> None:
        """Add the newest position; the same one twice counts once."""
        if not self._items or self._items[-1] != position:
            self._items.append(position)

    def after(self, position: int) -> int:
        """Return the least position above `position`, or 0."""
        items = self._items
        if items[-1] <= position:
            return 0
        return items[bisect_right(items, position, self._start)]

    def count_after(self, position: int) -> int:
        """Return how many lie above `position`."""
        return len(self._items) - bisect_right(self._items, position, self._start)

    def all_after(self, position: int) -> list[int]:
        """Return the positions above `position`, ascending."""
        return self._items[bisect_right(self._items, position, self._start) :]

    def drop_through(self, position: int) -> bool:
        """Drop all up to `position`; return whether the rest is empty."""
        items = self._items
        self._start = bisect_right(items, position, self._start)
        if self._start == len(items):
            return True
        if self._start > SLACK and self._start * 2 > len(items):
            del items[: self._start]
            self._start = 0
        return False


def least(*positions: int) -> int:
    """Return the least position that is not 0, else 0."""
    return min(filter(None, positions), default=0)
