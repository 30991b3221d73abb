"""Readers: a few threads, each with reads of its own while it answers.

A reader must not move while an answer is made from several rows, so no two answers share one. A
reader that failed is closed, and the next question opens another: so a store that appears later, or
comes back, needs no restart. Threads and readers are bounded; further questions wait.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Final, Generic, Protocol, TypeVar

from ledger.errors import LedgerError, LogRewrittenError, ReaderBehindError, RefusedError
from projections.web.answers.asked import BadRequestError
from projections.web.server.slots import Precedence

THREADS: Final = 4
# More threads would not make long answers faster, and would delay short ones: Python runs one
# thread at a time.
LONG_THREADS: Final = 1
# A failed attempt to open rows takes as long as reading them, and holds up all threads.
AGAIN_S: Final = 0.1
# Errors that are about the question, not about the reader.
ANSWERS: Final = (BadRequestError, LogRewrittenError, ReaderBehindError, RefusedError)

Answer = TypeVar("Answer")


class Answering(Protocol):
    """A source of answers, with the position it has applied."""

    def position(self) -> int:
        """Return the position up to which events are applied now."""
        ...

    def close(self) -> None:
        """Release the source of the answers."""
        ...


Source = TypeVar("Source", bound=Answering)


class Readers(Generic[Source]):
    """Answers questions in threads of its own; calls `open_source` when all readers are in use.

    Attributes:
        precedence: lets long answers give way to short ones.
    """

    def __init__(
        self,
        open_source: Callable[[], Source],
        threads: int = THREADS,
        long_threads: int = LONG_THREADS,
    ) -> None:
        self.precedence = Precedence()
        self._open = open_source
        self._idle: list[Source] = []
        self._looked_at: list[Source] = []
        self._problem: tuple[LedgerError | None, float] = (None, 0.0)
        self._threads = ThreadPoolExecutor(threads, "lakeledger-web-reader")
        self._long_threads = ThreadPoolExecutor(long_threads, "lakeledger-web-listing")
        self._looking = ThreadPoolExecutor(1, "lakeledger-web-position")

    def beside(self, threads: int) -> "Readers[Source]":
        """Return readers of the same source whose long answers have threads of their own."""
        return Readers(self._open, 1, threads)

    async def ask(self, question: Callable[[Source], Answer], *, is_long: bool = False) -> Answer:
        """Return the answer to a question; raises as `Reads` do, and as `open_source` does."""
        loop = asyncio.get_running_loop()
        if is_long:
            return await loop.run_in_executor(self._long_threads, self._answer, question)
        with self.precedence.short():
            return await loop.run_in_executor(self._threads, self._answer, question)

    async def position(self) -> int:
        """Return the position of the rows now, without waiting for long answers."""
        loop = asyncio.get_running_loop()
        with self.precedence.short():
            return await loop.run_in_executor(self._looking, self._look)

    def close(self) -> None:
        """Wait for the answers under way, and close every reader."""
        self._threads.shutdown()
        self._long_threads.shutdown()
        self._looking.shutdown()
        for each in (*self._idle, *self._looked_at):
            each.close()
        self._idle.clear()
        self._looked_at.clear()

    def _look(self) -> int:
        """Return the position; its reader stays open, since opening one may take a while."""
        return self._answered_from(self._looked_at, position_of)

    def _answer(self, question: Callable[[Source], Answer]) -> Answer:
        return self._answered_from(self._idle, question)

    def _answered_from(self, idle: list[Source], question: Callable[[Source], Answer]) -> Answer:
        source = self._take(idle)
        is_sound = False
        try:
            answer = question(source)
            is_sound = True
        except ANSWERS:
            is_sound = True
            raise
        finally:
            if is_sound:
                idle.append(source)
            else:
                source.close()
        return answer

    def _take(self, idle: list[Source]) -> Source:
        try:
            return idle.pop()
        except IndexError:
            return self._opened()

    def _opened(self) -> Source:
        """Return a new reader; after a failed attempt, raise its error again for a moment."""
        problem, until_s = self._problem
        if problem is not None and monotonic() < until_s:
            raise problem.with_traceback(None)
        try:
            return self._open()
        except LedgerError as problem:
            self._problem = problem, monotonic() + AGAIN_S
            raise


def position_of(source: Answering) -> int:
    """Return the position that a source has applied."""
    return source.position()
