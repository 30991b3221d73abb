"""The server: an application answered from a thread of its own, from `start` to `close`."""

import asyncio
import socket
from collections.abc import Collection
from functools import partial
from threading import Thread
from typing import Any, Final, Self, cast

import uvicorn

from ledger.config.settings import UNLOCKED, WebSettings
from ledger.errors import SettingsError
from ledger.machine.endpoints import Endpoint
from projections.web.app import WebPages
from projections.web.server.connection import HttpConnection
from projections.web.server.doors import Doors
from projections.web.server.gate import Gate, Hosts
from projections.web.server.limits import LIMITS

# Connections that are not accepted yet.
BACKLOG: Final = 512


class BoundedHandshakes(asyncio.SelectorEventLoop):
    """An event loop whose servers close a connection that does not begin TLS in time."""

    async def create_server(self, *given: Any, **more: Any) -> asyncio.Server:
        """Return a server whose handshakes of TLS have a deadline."""
        if more.get("ssl") is not None:
            more = {"ssl_handshake_timeout": LIMITS.head_s, **more}
        return await super().create_server(*given, **more)


class WebServer:
    """Answers HTTP at `url`. `hosts` are further names of the server, `setting` their setting.

    `doors` are the settings of its tokens and of TLS.
    """

    def __init__(
        self,
        pages: WebPages[Any],
        listening: socket.socket,
        *,
        hosts: Collection[str] = (),
        setting: str = "follower.hosts",
        doors: WebSettings = UNLOCKED,
    ) -> None:
        self._pages = pages
        limits = pages.limits
        self._socket = listening
        endpoint = Endpoint(*listening.getsockname()[:2])
        self._doors = Doors(doors)
        self._doors.check(endpoint)
        form = pages.problem_form
        gate = Gate(
            pages.app, Hosts(endpoint, hosts), limits, self._doors, setting=setting, form=form
        )
        self._server = uvicorn.Server(
            uvicorn.Config(
                gate,
                http=cast("type[asyncio.Protocol]", partial(HttpConnection, limits, form)),
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                loop=f"{__name__}:BoundedHandshakes",
                ssl_context_factory=self._doors.context_factory(),
                backlog=BACKLOG,
                h11_max_incomplete_event_size=limits.head_bytes_max,
                timeout_keep_alive=limits.idle_s,
                timeout_graceful_shutdown=limits.stop_s,
                timeout_notify=0,
                callback_notify=self._look,
            )
        )
        self._thread = Thread(target=self._run, name="lakeledger-web", daemon=True)
        self.url = f"{self._doors.scheme}://{endpoint}"

    @classmethod
    def start(
        cls,
        pages: WebPages[Any],
        endpoint: Endpoint,
        *,
        hosts: Collection[str] = (),
        setting: str = "follower.hosts",
        doors: WebSettings = UNLOCKED,
    ) -> Self:
        """Listen and answer.

        Raises SettingsError if it cannot listen there, or would let other hosts in without tokens
        and TLS, and for tokens or a certificate that cannot be read.
        """
        listening = listen(endpoint)
        try:
            server = cls(pages, listening, hosts=hosts, setting=setting, doors=doors)
        except SettingsError:
            listening.close()
            raise
        server._thread.start()
        return server

    def close(self) -> None:
        """Answer the questions under way, for a short while, and end."""
        self._server.should_exit = True
        self._pages.stop()
        self._thread.join()
        self._socket.close()
        self._pages.close()

    def _run(self) -> None:
        self._server.run([self._socket])

    async def _look(self) -> None:
        """Check every connection and the certificate, once a second."""
        self._doors.look()
        now_s = asyncio.get_running_loop().time()
        for connection in list(self._server.server_state.connections):
            cast("HttpConnection", connection).look(now_s)


def listen(endpoint: Endpoint) -> socket.socket:
    """Return a listening socket; raises SettingsError if it cannot listen."""
    try:
        found = endpoint.listen(BACKLOG)
    except OSError as problem:
        raise SettingsError(
            f"cannot listen at {endpoint} ({problem.strerror}). Choose another address with "
            "--http host:port, port 0 for any that is free"
        ) from problem
    # Named TCP, or asyncio leaves Nagle's algorithm on: 40 ms for each answer in two parts.
    return socket.socket(found.family, socket.SOCK_STREAM, socket.IPPROTO_TCP, found.detach())
