"""The server: an application answered from a thread of its own, from `start` to `close`."""

import asyncio
import socket
from collections.abc import Collection
from functools import partial
from threading import Thread
from typing import Any, Final, Self, cast

import uvicorn

from ledger.errors import SettingsError
from ledger.log_lines import LogLines
from ledger.machine.endpoints import Endpoint
from projections.web.app import WebPages
from projections.web.connection import HttpConnection
from projections.web.gate import Gate, Hosts, is_loopback

# Connections that are not accepted yet.
BACKLOG: Final = 512

log_lines = LogLines("lakeledger.web")


class WebServer:
    """Answers HTTP at `url`. `hosts` are further names of the server, `setting` their setting."""

    def __init__(
        self,
        pages: WebPages[Any],
        listening: socket.socket,
        *,
        hosts: Collection[str] = (),
        setting: str = "follower.hosts",
    ) -> None:
        self._pages = pages
        limits = pages.limits
        self._socket = listening
        endpoint = Endpoint(*listening.getsockname()[:2])
        gate = Gate(pages.app, Hosts(endpoint, hosts), limits, setting=setting)
        self._server = uvicorn.Server(
            uvicorn.Config(
                gate,
                http=cast("type[asyncio.Protocol]", partial(HttpConnection, limits)),
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                backlog=BACKLOG,
                h11_max_incomplete_event_size=limits.head_bytes_max,
                timeout_keep_alive=limits.idle_s,
                timeout_graceful_shutdown=limits.stop_s,
                timeout_notify=0,
                callback_notify=self._look,
            )
        )
        self._thread = Thread(target=self._run, name="lakeledger-web", daemon=True)
        self.url = f"http://{endpoint}"

    @classmethod
    def start(
        cls,
        pages: WebPages[Any],
        endpoint: Endpoint,
        *,
        hosts: Collection[str] = (),
        setting: str = "follower.hosts",
    ) -> Self:
        """Listen and answer; raises SettingsError if it cannot listen there."""
        server = cls(pages, listen(endpoint), hosts=hosts, setting=setting)
        if not is_loopback(server._socket.getsockname()[0]):
            log_lines.warning(
                "answers beyond this host without a login: every client that reaches it can read "
                "the whole ledger. Listen at 127.0.0.1, or put a proxy with a login before it",
                url=server.url,
            )
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
        """Check every connection, once a second."""
        now_s = asyncio.get_running_loop().time()
        for each in list(self._server.server_state.connections):
            cast("HttpConnection", each).look(now_s)


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
