"""Readers: a few threads, each with reads of its own while it answers.

An answer made of several rows must not see a reader move under it, so no two answers share one. A
reader that failed is closed, and another opened at the next question: so a store that is not there
yet, or comes back, needs nobody's care. Threads and readers are bounded; what comes on top waits.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from ledger.errors import ReaderBehindError, RefusedError
from ledger.reads import Reads
from projections.web.asked import BadRequestError

THREADS: Final = 4
# What says something about the question and nothing about the reader.
ANSWERS: Final = (BadRequestError, ReaderBehindError, RefusedError)

Answer = TypeVar("Answer")


class Readers:
    """Asks reads in threads of its own; `open_reads` is called when one more is needed."""

    def __init__(self, open_reads: Callable[[], Reads], threads: int = THREADS) -> None:
        self._open = open_reads
        self._idle: list[Reads] = []
        self._threads = ThreadPoolExecutor(threads, "lakeledger-web-reader")

    async def ask(self, question: Callable[[Reads], Answer]) -> Answer:
        """Return the answer to a question; raises as `Reads` do, and whatever opening them does."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._answer, question)

    def close(self) -> None:
        """Wait for the answers at hand, and close every reader."""
        self._threads.shutdown()
        while self._idle:
            self._idle.pop().close()

    def _answer(self, question: Callable[[Reads], Answer]) -> Answer:
        reads = self._take()
        is_sound = False
        try:
            answer = question(reads)
            is_sound = True
        except ANSWERS:
            is_sound = True
            raise
        finally:
            if is_sound:
                self._idle.append(reads)
            else:
                reads.close()
        return answer

    def _take(self) -> Reads:
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()
