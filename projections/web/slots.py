"""Slots: places that are few. Whoever comes when all are taken waits in turn, and not for long."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from projections.web.problems import BusyError

WAIT_S: Final = 10.0
BEGUN_AT_ONCE: Final = 16


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


class Turns:
    """Begins few questions in one round of the event loop, so that a crowd leaves health its turn.

    A thousand that came at once would else all be begun before anything else is looked at.
    """

    def __init__(self, number: int = BEGUN_AT_ONCE) -> None:
        self._number = number
        self._left = number
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        """Return when it is time to begin."""
        loop = asyncio.get_running_loop()
        if self._left == self._number:
            loop.call_soon(self._next_round, loop)
        if self._left:
            self._left -= 1
            return
        waits = loop.create_future()
        self._waiting.append(waits)
        await waits

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = self._number
        while self._waiting and self._left:
            waits = self._waiting.popleft()
            if not waits.done():
                waits.set_result(None)
                self._left -= 1
        if self._left < self._number:
            loop.call_soon(self._next_round, loop)
