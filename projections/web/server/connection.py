"""Connections: HTTP of uvicorn and h11, with a deadline for each thing a client must do.

uvicorn has a timeout for idle connections only: a head, a body or an answer that never ends would
hold a connection for good. Here each connection records since when it waits for its client. Once a
second all are checked, and those that wait for too long are closed. A new connection without room
takes the place of the one that has waited longest. A question costs two readings of the clock.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ledger.reads.remote.http_form import BAD_REQUEST
from ledger.reads.remote.http_questions import BUSY_STATUS
from projections.web.answers.problems import (
    BUSY,
    HEAD_TOO_LONG,
    RETRY_AFTER_S,
    TOO_SLOW,
    Problem,
    ProblemForm,
    problem_form,
    problem_json,
)
from projections.web.server.limits import WebLimits

READ_BYTES: Final = 64 << 10
# Share of connections above the bound that still get an answer; beyond it they are cut.
SPARE: Final = 0.25
HEAD_STATUS: Final = 431
SLOW_STATUS: Final = 408
CUT_AT_ONCE: Final = struct.pack("ii", 1, 0)
SAYABLE: Final = (h11.IDLE, h11.SEND_RESPONSE)


class HttpConnection(H11Protocol):
    """One connection, bounded; `limits` and `form` of problems come before uvicorn's arguments."""

    def __init__(self, limits: WebLimits, form: ProblemForm = problem_form, **given: Any) -> None:
        super().__init__(**given)
        self._limits = limits
        self._form = form
        self._since_s = self.loop.time()
        self._paused_s: float | None = None
        self._patience_s = limits.write_s
        self._is_refused = False
        self._closing_s: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and make room if the server is full."""
        super().connection_made(transport)
        # Bytes behind a question wait in memory: by default 256 KiB.
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]
        if len(self.connections) > self._limits.connections_max:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take the bytes; after a refusal they are dropped."""
        if self._is_refused:
            return
        is_idle = self.timeout_keep_alive_task is not None
        before = self.conn.their_state
        if is_idle:
            self._since_s = self.loop.time()
        super().data_received(data)
        if self.conn.their_state is not before:
            self._since_s = self.loop.time()

    def on_response_complete(self) -> None:
        """Go on to the next question."""
        self._since_s = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Record since when the client has not taken its answer."""
        self._paused_s = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Add up how long that took: a client that is slow again and again is closed too."""
        if self._paused_s is not None:
            left_s = self._patience_s - (self.loop.time() - self._paused_s)
            self._patience_s = min(self._limits.write_s, left_s + self._limits.refill_s)
            self._paused_s = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP request, with the error that h11 raised."""
        problem = sys.exc_info()[1]
        if getattr(problem, "error_status_hint", 0) == HEAD_STATUS:
            bound = f"the head of a request must have at most {self._limits.head_bytes_max} bytes"
            self._refuse(HEAD_STATUS, HEAD_TOO_LONG, f"{bound}; ask for less at once")
            return
        said = f"{msg} {problem}. docs/http.md lists the questions"
        self._refuse(HTTPStatus.BAD_REQUEST, BAD_REQUEST, said)

    def shutdown(self) -> None:
        """End with the server."""
        if self._is_refused:
            self.transport.abort()
        else:
            super().shutdown()

    @property
    def is_ending(self) -> bool:
        """Whether this connection answers no further question."""
        return self._is_refused or self.transport.is_closing()

    def waits_s(self, now_s: float) -> float:
        """Return how long the connection has waited for its client, 0 if the client waits."""
        is_awaited = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if self.is_ending or (is_awaited and not self.flow.read_paused):
            return now_s - self._since_s
        return 0.0

    def look(self, now_s: float) -> None:
        """Close the connection if it has waited for its client for too long."""
        limits = self._limits
        if self.is_ending:
            self._closing_s = self._closing_s or now_s
            if now_s - self._closing_s > limits.linger_s:
                self.cut()
        elif self._paused_s is not None:
            if now_s - self._paused_s > self._patience_s:
                self.cut()
        elif self.flow.read_paused:
            self._since_s = now_s  # The server keeps the body waiting, not the client.
        elif self.conn.their_state is h11.SEND_BODY:
            if self.conn.our_state not in SAYABLE:
                # The question is answered; the rest of its body is read for a while.
                self._end_after(limits.linger_s, now_s, "")
            else:
                self._end_after(limits.body_s, now_s, "the body of the request")
        elif self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            self._end_after(limits.head_s, now_s, "the head of the request")

    def give_way(self) -> None:
        """Close, because another connection comes and this one waits for its client."""
        self._too_slow("the request did not come to its end, and others need its place")

    def cut(self) -> None:
        """Close without an answer, and drop bytes that the client has not taken."""
        found = self.transport.get_extra_info("socket")
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, CUT_AT_ONCE)
        self.transport.abort()

    def _make_room(self) -> None:
        now_s, bound = self.loop.time(), self._limits.connections_max
        found = cast("set[HttpConnection]", self.connections)
        ending = {each for each in found if each.is_ending}
        heard = [each for each in ending if not each.transport.is_closing()]
        if len(found) > (1 + SPARE) * bound and heard:
            max(heard, key=lambda each: each.waits_s(now_s)).cut()
        if len(found) - len(ending) <= bound:
            return
        longest = max(found - ending - {self}, key=lambda each: each.waits_s(now_s), default=self)
        if longest.waits_s(now_s) > self._limits.grace_s:
            longest.give_way()
        else:
            text = f"{bound} connections are open; ask again in a moment"
            headers = {"retry-after": str(RETRY_AFTER_S)}
            self._refuse(BUSY_STATUS, BUSY, text, headers, retry_unchanged=True)

    def _end_after(self, bound_s: float, now_s: float, what: str) -> None:
        if now_s - self._since_s > bound_s:
            self._too_slow(f"{what} did not come to its end within {bound_s:g} s")

    def _too_slow(self, message: str) -> None:
        """Answer that a request came too slowly, if one had begun, and close."""
        has_begun = self.conn.trailing_data[0] or self.conn.their_state is h11.SEND_BODY
        if has_begun and self.conn.our_state in SAYABLE:
            self._refuse(SLOW_STATUS, TOO_SLOW, message, retry_unchanged=True)
        else:
            self.transport.close()

    def _refuse(
        self,
        status: int,
        error: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        *,
        retry_unchanged: bool = False,
    ) -> None:
        """Send why no further question is answered, and close once the client has read it.

        Closing at once with unread bytes would reset the connection and lose the reason. So the
        rest is read and dropped until the client closes, or for a while.
        """
        self._unset_keepalive_if_required()
        is_asked = self.cycle is not None and not self.cycle.response_complete
        if is_asked:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state not in SAYABLE:
            self.transport.close()
            return
        data = problem_json(Problem(status, error, message, retry_unchanged), self._form)
        given = {
            "content-type": "application/json",
            "content-length": str(len(data)),
            "connection": "close",
            **(headers or {}),
        }
        phrase = HTTPStatus(status).phrase.encode()
        answer = h11.Response(status_code=status, headers=list(given.items()), reason=phrase)
        is_head = is_asked and self.scope["method"] == "HEAD"
        parts = (answer, h11.Data(data=b"" if is_head else data), h11.EndOfMessage())
        self.transport.write(b"".join(self.conn.send(part) or b"" for part in parts))
        self._is_refused, self._since_s = True, self.loop.time()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
