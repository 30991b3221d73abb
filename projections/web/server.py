"""The server: an application answered from a thread of its own, from `start` to `close`."""

import socket
from threading import Thread
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

import uvicorn

from ledger.errors import SettingsError
from projections.web.app import Pages

CONNECTIONS_MAX: Final = 512
IDLE_S: Final = 30
STOP_S: Final = 2


class Endpoint(NamedTuple):
    """Where a server listens; port 0 = any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the endpoint of `host:port`; raises SettingsError if it is none."""
        try:
            parts = urlsplit(f"//{text}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or port is None or parts.path:
            raise SettingsError(f"{text!r} is no host:port to listen at, such as 127.0.0.1:8181")
        return cls(host, port)


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
        host, port = listening.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

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
    family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
    try:
        found = socket.create_server(endpoint, family=family, backlog=CONNECTIONS_MAX)
    except OSError as problem:
        raise SettingsError(
            f"nobody can listen at {endpoint.host}:{endpoint.port} ({problem.strerror}). Choose "
            "another place with --http host:port, port 0 for any that is free, or --no-http"
        ) from problem
    # Named TCP, or asyncio leaves Nagle's algorithm on: 40 ms for each answer in two parts.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, found.detach())
