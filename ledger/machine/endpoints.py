"""Endpoints: where this machine is to be listened at, and that told before anybody listens."""

import socket
from errno import EADDRINUSE
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from ledger.embedded.broker_folder import LOOPBACK
from ledger.errors import SettingsError
from ledger.settings import OFF


class Endpoint(NamedTuple):
    """Where a server listens; port 0 = any that is free. Its text form is `host:port`."""

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

    def listen(self, backlog: int | None = None) -> socket.socket:
        """Return a socket that listens there; raises OSError if that is not possible."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        return socket.create_server(self, family=family, backlog=backlog)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


ANY_PORT = Endpoint(LOOPBACK, 0)


def endpoint_of(http: str | None) -> str:
    """Return where a role is to answer, with a port that others can be told, or OFF as it is.

    Raises SettingsError if nobody can listen at the host that is named, or somebody does at the
    port.
    """
    if http == OFF:
        return OFF
    wanted = ANY_PORT if http is None else Endpoint.parse(http)
    try:
        found = free_endpoint(wanted)
    except OSError as problem:
        # What else keeps a port from being listened at, the role is to tell.
        if wanted.port and problem.errno != EADDRINUSE:
            return str(wanted)
        raise SettingsError(
            f"nobody can listen at {wanted}: {problem}. Name another host or port"
        ) from problem
    return str(found)


def free_endpoint(wanted: Endpoint = ANY_PORT) -> Endpoint:
    """Return an endpoint, with a port where nobody listens now; raises OSError if it has none."""
    with wanted.listen() as server:
        return wanted._replace(port=server.getsockname()[1])
