"""Waiting for a position: one look at the store serves all that wait."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic

from ledger.errors import ReaderBehindError, ReadsUnavailableError
from projections.web.answers.asked import Asked
from projections.web.server.readers import Answer, Readers, Source

PAUSE_S: Final = 0.004


class PositionWaiting(Generic[Source]):
    """Returns the position of the rows, and waits until they reach one."""

    def __init__(self, readers: Readers[Source]) -> None:
        self._readers = readers
        self._next: asyncio.Task[int] | None = None
        self._is_closing = False

    async def position(self) -> int:
        """Return the position of the rows now."""
        return await self._readers.position()

    async def reach(self, position: int, timeout_ms: int) -> int:
        """Return the applied position as soon as it is at least `position`.

        Raises ReaderBehindError after `timeout_ms`, ReadsUnavailableError when the server stops.
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + timeout_ms / 1000
        applied = await self.position()
        while applied < position:
            if loop.time() >= until_s:
                raise ReaderBehindError(applied, position, timeout_ms)
            applied = await self._look_again()
        return applied

    async def answer(
        self, question: Callable[[Source], Answer], asked: Asked, *, is_long: bool = False
    ) -> Answer:
        """Return an answer as soon as the rows have come far enough for it.

        A waiting question holds no thread. Raises as `Readers.ask`, and ReadsUnavailableError when
        the server stops.
        """
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while True:
            try:
                return await self._readers.ask(question, is_long=is_long)
            except ReaderBehindError as behind:
                left_s = began_s + asked.max_wait_ms / 1000 - loop.time()
                if not asked.max_wait_ms:
                    raise
                positions = behind.applied, behind.wanted
                if left_s <= 0:
                    raise ReaderBehindError(*positions, asked.max_wait_ms) from None
            with suppress(ReaderBehindError):
                await self.reach(positions[1], round(left_s * 1000))

    def stop(self) -> None:
        """End all waits; any thread may call."""
        self._is_closing = True

    async def _look_again(self) -> int:
        if self._is_closing:
            raise ReadsUnavailableError("this process stops; ask again when it runs")
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._after_pause())
        return await asyncio.shield(self._next)

    async def _after_pause(self) -> int:
        await asyncio.sleep(PAUSE_S)
        return await self.position()
