"""Endpoints: the addresses at which roles of this machine listen, chosen before they listen.

Without a setting a role gets a free port of this host at its first start and keeps it, as the
broker does. So clients and probes find it again after a restart.
"""

import json
import socket
from collections.abc import Callable, Mapping
from errno import EADDRINUSE
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from ledger.config.address import KEPT_PORTS
from ledger.config.settings import OFF
from ledger.errors import SettingsError
from ledger.machine.kafka.broker_folder import LOOPBACK, free_port


class Endpoint(NamedTuple):
    """Where a server listens; port 0 = any free port. Its text form is `host:port`."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the endpoint of `host:port`; raises SettingsError for any other text."""
        try:
            parts = urlsplit(f"//{text}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or port is None or parts.path:
            raise SettingsError(
                f"an address to listen at must be host:port, such as 127.0.0.1:8181, got {text!r}"
            )
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


def endpoint_of(http: str | None) -> str:
    """Return the endpoint of a role with its actual port, or OFF.

    Raises SettingsError if it is not possible to listen at the host, or the port is in use.
    """
    if http == OFF:
        return OFF
    wanted = ANY_PORT if http is None else Endpoint.parse(http)
    try:
        found = free_endpoint(wanted)
    except OSError as problem:
        # The role itself reports any other reason why it cannot listen.
        if wanted.port and problem.errno != EADDRINUSE:
            return str(wanted)
        raise SettingsError(
            f"it is not possible to listen at {wanted}: {problem}. Name another host or port"
        ) from problem
    return str(found)


class KeptPorts:
    """The ports that roles of a ledger keep between starts, in a file of its folder."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._file = folder / KEPT_PORTS
        self._say = say

    def endpoint_of(self, role: str, http: str | None) -> str:
        """Return the endpoint of a role; raises as `endpoint_of`.

        Without a setting it is the port that the role keeps. If that port is in use, the role gets
        another one this time, with a warning.
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
        """Return the kept ports by role; a file with other content is written anew."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        pairs = found.items() if isinstance(found, dict) else ()
        return {str(role): port for role, port in pairs if type(port) is int and port in PORTS}

    def _write(self, ports: Mapping[str, int]) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(json.dumps(ports) + "\n", encoding="utf-8")
        draft.replace(self._file)


def free_endpoint(wanted: Endpoint = ANY_PORT) -> Endpoint:
    """Return an endpoint whose port is free now; raises OSError if it is in use."""
    with wanted.listen() as server:
        return wanted._replace(port=server.getsockname()[1])
