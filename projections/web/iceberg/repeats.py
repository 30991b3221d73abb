"""Repeats: a change that a client sends again under the same key is not made again.

The key is a header. Its answer is kept for a while, unless the client shall try again: an error
from 500 on. A request that comes while the first one is under way waits for its answer. The answers
lie in memory and are bounded in number and bytes: the oldest go first. After a restart a commit is
still made once, since the ledger knows its snapshot.
"""

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic
from typing import Final, NamedTuple
from uuid import UUID

from projections.iceberg.errors import bad_request
from projections.web.iceberg.visits import unprocessable

HEADER: Final = "idempotency-key"
LIFETIME_S: Final = 1_800.0
ANSWERS_MAX: Final = 10_000
BYTES_MAX: Final = 64 << 20
FINAL_BELOW: Final = 500
SHOWN_CHARS: Final = 80


class SentAnswer(NamedTuple):
    """Status, headers and body, ready for the socket."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_final(self) -> bool:
        """Whether the same request would be answered alike for ever."""
        return self.status < FINAL_BELOW


@dataclass(slots=True)
class KeptAnswer:
    """The answer to a request with a key, or the work that makes it; `digest` is of the request."""

    digest: bytes
    ends_s: float
    work: "asyncio.Task[SentAnswer] | None"
    answer: SentAnswer | None = None
    size: int = 0


class KeptAnswers:
    """The answers by user and key; for the thread of an event loop."""

    def __init__(
        self,
        lifetime_s: float = LIFETIME_S,
        *,
        answers_max: int = ANSWERS_MAX,
        bytes_max: int = BYTES_MAX,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._lifetime_s, self._clock = lifetime_s, clock
        self._answers_max, self._bytes_max = answers_max, bytes_max
        self._kept: OrderedDict[tuple[str | None, str], KeptAnswer] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    async def once(
        self, user: str | None, key: str, digest: bytes, make: Callable[[], Awaitable[SentAnswer]]
    ) -> SentAnswer:
        """Return the kept answer to a request, or make it.

        Raises IcebergRefusal for a key that is no UUID, or belongs to another request.
        """
        name = user, checked_key(key)
        self._forget()
        while (kept := self._kept.get(name)) is not None:
            if kept.digest != digest:
                raise unprocessable(
                    f"Idempotency-Key {key} belongs to another request; use a new key for each"
                )
            if kept.answer is not None:
                return unpacked(kept.answer)
            assert kept.work is not None
            answer = await asyncio.shield(kept.work)
            if answer.is_final:
                return answer
        return await asyncio.shield(self._work(name, digest, make))

    def _work(
        self, name: tuple[str | None, str], digest: bytes, make: Callable[[], Awaitable[SentAnswer]]
    ) -> "asyncio.Task[SentAnswer]":
        """Return the work on a request, which its client may leave."""

        async def work() -> SentAnswer:
            answer: SentAnswer | None = None
            try:
                answer = await make()
            finally:
                self._note(name, answer)
            return answer

        task = asyncio.create_task(work())
        self._kept[name] = KeptAnswer(digest, self._clock() + self._lifetime_s, task)
        return task

    def _note(self, name: tuple[str | None, str], answer: SentAnswer | None) -> None:
        kept = self._kept.get(name)
        if kept is None:
            return
        if answer is None or not answer.is_final:
            del self._kept[name]
            return
        kept.answer, kept.work = packed(answer), None
        kept.size = len(kept.answer.body)
        self._bytes += kept.size
        self._forget()

    def _forget(self) -> None:
        """Forget answers that are too old, and the oldest ones of too many."""
        now_s = self._clock()
        for name, kept in list(self._kept.items()):
            is_full = len(self._kept) > self._answers_max or self._bytes > self._bytes_max
            if not is_full and kept.ends_s > now_s:
                break
            if kept.work is None:
                self._bytes -= kept.size
                del self._kept[name]


def checked_key(key: str) -> str:
    """Return a key in its one spelling; raises IcebergRefusal for anything but a UUID."""
    try:
        found = str(UUID(key))
    except ValueError:
        found = ""
    if not found or found != key.lower():
        raise bad_request(f"Idempotency-Key must be a UUID, got {key[:SHOWN_CHARS]!r}")
    return found


def digest_of(method: str, path: str, query: str, body: bytes) -> bytes:
    """Return what is the same only for the same request."""
    found = sha256()
    for part in (method.encode(), path.encode("utf-8", "surrogateescape"), query.encode(), body):
        found.update(len(part).to_bytes(8) + part)
    return found.digest()


def packed(answer: SentAnswer) -> SentAnswer:
    """Return an answer as it is kept."""
    return answer._replace(body=zlib.compress(answer.body, 1))


def unpacked(answer: SentAnswer) -> SentAnswer:
    """Return a kept answer as it is sent."""
    return answer._replace(body=zlib.decompress(answer.body))
