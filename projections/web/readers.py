"""Readers: a few threads, each with reads of its own while it answers.

An answer made of several rows must not see a reader move under it, so no two answers share one. A
reader that failed is closed, and another opened at the next question: so a store that is not there
yet, or comes back, needs nobody's care. Threads and readers are bounded; what comes on top waits.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Final, Generic, Protocol, TypeVar

from ledger.errors import LedgerError, LogRewrittenError, ReaderBehindError, RefusedError
from projections.web.asked import BadRequestError
from projections.web.slots import Precedence

THREADS: Final = 4
# Of what takes long more threads would answer no more, and keep the short from their turns: Python
# runs one thread at a time.
LONG_THREADS: Final = 1
# To find that rows cannot be read takes as long as to read them, and holds all threads up.
AGAIN_S: Final = 0.1
# What says something about the question and nothing about the reader.
ANSWERS: Final = (BadRequestError, LogRewrittenError, ReaderBehindError, RefusedError)

Answer = TypeVar("Answer")


class Answering(Protocol):
    """What answers from one place, up to a position."""

    def position(self) -> int:
        """Return the position up to which events are applied now."""
        ...

    def close(self) -> None:
        """Let go of what the answers are made from."""
        ...


Source = TypeVar("Source", bound=Answering)


class Readers(Generic[Source]):
    """Asks in threads of its own; `open_source` is called when one more answer is needed.

    Attributes:
        precedence: what long answers give way to.
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

    async def ask(self, question: Callable[[Source], Answer], *, is_long: bool = False) -> Answer:
        """Return the answer to a question; raises as `Reads` do, and whatever opening them does."""
        loop = asyncio.get_running_loop()
        if is_long:
            return await loop.run_in_executor(self._long_threads, self._answer, question)
        with self.precedence.short():
            return await loop.run_in_executor(self._threads, self._answer, question)

    async def position(self) -> int:
        """Return the position of the rows now; no answer that takes long is in its way."""
        loop = asyncio.get_running_loop()
        with self.precedence.short():
            return await loop.run_in_executor(self._looking, self._look)

    def close(self) -> None:
        """Wait for the answers at hand, and close every reader."""
        self._threads.shutdown()
        self._long_threads.shutdown()
        self._looking.shutdown()
        for each in (*self._idle, *self._looked_at):
            each.close()
        self._idle.clear()
        self._looked_at.clear()

    def _look(self) -> int:
        """Return the position; the reader is kept for that, for to open one may take a while."""
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
        """Return a new reader; where none could be opened just now, none is tried."""
        problem, until_s = self._problem
        if problem is not None and monotonic() < until_s:
            raise problem.with_traceback(None)
        try:
            return self._open()
        except LedgerError as problem:
            self._problem = problem, monotonic() + AGAIN_S
            raise


def position_of(source: Answering) -> int:
    """Return the position up to which somebody answers."""
    return source.position()
