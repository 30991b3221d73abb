"""Slots: few places. A question that comes when all are taken waits in turn, and not for long."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from time import sleep
from typing import Final

from projections.web.answers.problems import BusyError

WAIT_S: Final = 10.0
BEGUN_AT_ONCE: Final = 16
# A long answer waits for short ones in such steps, earns that much for a stretch of its work, and
# waits at most so long at once: so it keeps about half its pace, however many short ones come.
STEP_S: Final = 0.002
EARNED_S: Final = 0.001
YIELDED_MAX_S: Final = 0.25


class Slots:
    """A number of places for `what`; a question that gets no place within `wait_s` is refused."""

    def __init__(self, number: int, what: str, wait_s: float = WAIT_S) -> None:
        self._free = asyncio.Semaphore(number)
        self._text = f"{number} {what} are under way; ask again in a moment"
        self._wait_s = wait_s

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Hold a place while the block runs; raises BusyError."""
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
    """A number of questions at once, and not one more."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold room while the block runs; raises BusyError."""
        if self._taken >= self._number:
            raise BusyError(f"{self._number} questions are under way; ask again in a moment")
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


class Precedence:
    """Lets short answers go first, since Python runs one thread at a time."""

    def __init__(self) -> None:
        self._short = 0
        self._left_s = YIELDED_MAX_S

    @contextmanager
    def short(self) -> Iterator[None]:
        """Count a short answer as under way while the block runs; for the event loop's thread."""
        self._short += 1
        try:
            yield
        finally:
            self._short -= 1

    def give_way(self) -> None:
        """Wait while short answers are under way, between two stretches of a long one."""
        self._left_s = min(YIELDED_MAX_S, self._left_s + EARNED_S)
        while self._short and self._left_s > 0:
            sleep(STEP_S)
            self._left_s -= STEP_S


class Turns:
    """Begins few questions in one round of the event loop, so that health has its turn in a crowd.

    Otherwise a thousand questions that come at once would all begin before anything else runs.
    """

    def __init__(self, number: int = BEGUN_AT_ONCE) -> None:
        self._number = number
        self._left = number
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        """Wait until the question may begin."""
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
