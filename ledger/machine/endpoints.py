"""Endpoints: where this machine is to be listened at, told before anybody listens."""

import socket
from errno import EADDRINUSE
from urllib.parse import urlsplit

from ledger.embedded.broker_folder import LOOPBACK
from ledger.errors import SettingsError
from ledger.settings import OFF


def is_endpoint(http: str) -> bool:
    """Tell whether this is `host:port`; port 0 is one, too."""
    try:
        parts = urlsplit(f"//{http}")
        return bool(parts.hostname) and parts.port is not None and not parts.path
    except ValueError:
        return False


def endpoint_of(http: str | None) -> str:
    """Return where the follower is to answer, with a port that others can be told.

    Raises SettingsError if nobody can listen at the host that is named, or somebody does at the
    port.
    """
    if http is None:
        return free_endpoint()
    parts = urlsplit(f"//{http}")
    if http == OFF:
        return http
    try:
        found = free_endpoint(parts.hostname or LOOPBACK, parts.port or 0)
    except OSError as problem:
        # What else keeps a port from being listened at, the follower is to tell.
        if parts.port and problem.errno != EADDRINUSE:
            return http
        raise SettingsError(
            f"nobody can listen at {http}: {problem}. Name another host or port"
        ) from problem
    return http if parts.port else found


def free_endpoint(host: str = LOOPBACK, port: int = 0) -> str:
    """Return a `host:port` of this machine where nobody listens now; port 0 = any."""
    is_v6 = ":" in host
    family = socket.AF_INET6 if is_v6 else socket.AF_INET
    with socket.create_server((host, port), family=family) as server:
        found = server.getsockname()[1]
        return f"[{host}]:{found}" if is_v6 else f"{host}:{found}"
