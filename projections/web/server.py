"""The server: an application answered from a thread of its own, from `start` to `close`."""

import socket
from threading import Thread
from typing import Any, Final, Self

import uvicorn

from ledger.errors import SettingsError
from ledger.machine.endpoints import Endpoint
from projections.web.app import Pages

CONNECTIONS_MAX: Final = 512
IDLE_S: Final = 30
STOP_S: Final = 2


class WebServer:
    """Answers HTTP; `url` is where."""

    def __init__(self, pages: Pages[Any], listening: socket.socket) -> None:
        self._pages = pages
        self._socket = listening
        self._server = uvicorn.Server(
            uvicorn.Config(
                pages.app,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                limit_concurrency=CONNECTIONS_MAX,
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=STOP_S,
            )
        )
        self._thread = Thread(target=self._run, name="lakeledger-web", daemon=True)
        self.url = f"http://{Endpoint(*listening.getsockname()[:2])}"

    @classmethod
    def start(cls, pages: Pages[Any], endpoint: Endpoint) -> Self:
        """Listen and answer; raises SettingsError if nobody can listen there."""
        server = cls(pages, listen(endpoint))
        server._thread.start()
        return server

    def close(self) -> None:
        """Answer what is asked already, for a short while, and end."""
        self._server.should_exit = True
        self._pages.stop()
        self._thread.join()
        self._socket.close()
        self._pages.close()

    def _run(self) -> None:
        self._server.run([self._socket])


def listen(endpoint: Endpoint) -> socket.socket:
    """Return a socket that listens; raises SettingsError if that is not possible."""
    try:
        found = endpoint.listen(CONNECTIONS_MAX)
    except OSError as problem:
        raise SettingsError(
            f"nobody can listen at {endpoint} ({problem.strerror}). Choose another place with "
            "--http host:port, port 0 for any that is free"
        ) from problem
    # Named TCP, or asyncio leaves Nagle's algorithm on: 40 ms for each answer in two parts.
    return socket.socket(found.family, socket.SOCK_STREAM, socket.IPPROTO_TCP, found.detach())
