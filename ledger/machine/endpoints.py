"""Endpoints: where this machine is to be listened at, and that told before anybody listens.

Where nobody says, a role gets a free port of this host at its first start and keeps it, as the
broker does: what asks for its health or its rows goes on to find it.
"""

import json
import socket
from collections.abc import Callable, Mapping
from errno import EADDRINUSE
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from ledger.config.settings import OFF
from ledger.errors import SettingsError
from ledger.machine.kafka.broker_folder import LOOPBACK, free_port


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
PORTS = range(1, 65_536)
KEPT = "ports.json"
"""The file in the folder of a ledger that says which ports its roles keep."""


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


class KeptPorts:
    """The ports that roles of a ledger keep between starts, as a file of its folder says."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._file = folder / KEPT
        self._say = say

    def endpoint_of(self, role: str, http: str | None) -> str:
        """Return where a role is to answer; raises as `endpoint_of`.

        Where nobody says that is at the port it keeps. If that is taken, another one is used this
        time, and that is said.
        """
        if http is not None:
            return endpoint_of(http)
        kept = self._read()
        port = kept.get(role)
        if port is None:
            port = next(each for each in iter(free_port, None) if each not in kept.values())
            self._write({**kept, role: port})
        try:
            return str(free_endpoint(Endpoint(LOOPBACK, port)))
        except OSError:
            instead = str(Endpoint(LOOPBACK, free_port(other_than=port)))
            self._say(
                f"warning: port {port}, kept for {role}, is in use; it answers at {instead} this "
                "time. Stop what listens there, or name a port with --http"
            )
            return instead

    def _read(self) -> dict[str, int]:
        """Return the kept ports by role; a file that says something else is written anew."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        pairs = found.items() if isinstance(found, dict) else ()
        return {str(role): port for role, port in pairs if type(port) is int and port in PORTS}

    def _write(self, ports: Mapping[str, int]) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(json.dumps(ports) + "\n", encoding="utf-8")
        draft.replace(self._file)


def free_endpoint(wanted: Endpoint = ANY_PORT) -> Endpoint:
    """Return an endpoint, with a port where nobody listens now; raises OSError if it has none."""
    with wanted.listen() as server:
        return wanted._replace(port=server.getsockname()[1])
