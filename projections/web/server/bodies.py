"""Bodies of requests, bounded each and in sum.

A small body is read at once: even one for each connection takes little memory. Few large bodies are
read at a time, from their first bytes until they are answered, since the objects made from one take
many times its bytes. The others wait in their sockets.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from starlette.requests import Request

from projections.web.server.slots import Slots

SMALL_BYTES: Final = 64 << 10
LARGE_AT_ONCE: Final = 2
VALUES_MAX: Final = 250_000
OBJECTS_MAX: Final = 50_000
# Marks in the text of a body that count its parts before any object is made.
PARTS: Final = (
    (b",", VALUES_MAX, "values"),
    (b":", VALUES_MAX, "fields"),
    (b"{", OBJECTS_MAX, "objects"),
)


class BodyTooLongError(Exception):
    """A body has more bytes or more parts than allowed."""


class Bodies:
    """Reads bodies of at most `bytes_max` bytes."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._large = Slots(LARGE_AT_ONCE, "questions with large bodies")

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """Yield the body while the block runs; raises BodyTooLongError and BusyError."""
        async with AsyncExitStack() as own:
            announced = int(request.headers.get("content-length", "0"))
            self._check_bytes(announced)
            is_large = announced > SMALL_BYTES
            if is_large:
                await own.enter_async_context(self._large.taken())
            body = bytearray()
            async for part in request.stream():
                body += part
                self._check_bytes(len(body))
                if len(body) > SMALL_BYTES and not is_large:
                    is_large = True
                    await own.enter_async_context(self._large.taken())
            check_parts(body)
            yield bytes(body)

    def _check_bytes(self, number: int) -> None:
        if number > self._bytes_max:
            raise BodyTooLongError(f"the body must have at most {self._bytes_max} bytes, got more")


def check_parts(body: bytearray) -> None:
    """Raise BodyTooLongError for a body of very many parts: each takes many times its bytes."""
    for mark, most, name in PARTS:
        if len(body) > SMALL_BYTES and body.count(mark) >= most:
            raise BodyTooLongError(f"the body must have at most {most} {name}, got more")
