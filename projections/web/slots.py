"""Slots: places that are few. Whoever comes when all are taken waits in turn, and not for long."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from projections.web.problems import BusyError

WAIT_S: Final = 10.0


class Slots:
    """So many places for `what`; a place that does not come free within `wait_s` is refused."""

    def __init__(self, number: int, what: str, wait_s: float = WAIT_S) -> None:
        self._free = asyncio.Semaphore(number)
        self._text = f"{number} {what} are under way; ask again in a moment"
        self._wait_s = wait_s

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Have a place while the block runs; raises BusyError."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free.acquire()
        except TimeoutError:
            raise BusyError(self._text) from None
        try:
            yield
        finally:
            self._free.release()


class Room:
    """So many questions at once, and not one more."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have room while the block runs; raises BusyError."""
        if self._taken >= self._number:
            raise BusyError(f"{self._number} questions are under way; ask again in a moment")
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
