"""A private PostgreSQL for peers: a new cluster in a temporary folder, on loopback only.

Durable as it comes: every commit is flushed to the disk. It never runs as root.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pwd import getpwnam
from threading import Event as Signal
from typing import Any, Final, TextIO

from tests.benchmarks.figure import SkippedError
from tests.benchmarks.waiting import within

LOOPBACK: Final = "127.0.0.1"
USER: Final = "lake"
ACCOUNTS: Final = ("postgres", "nobody")
INSTALL_S: Final = 180.0
READY_S: Final = 30.0
LOOK_S: Final = 0.05
CONNECTIONS_MAX: Final = 100
INSTALL: Final = ("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "postgresql")


def prepare(terminal: TextIO) -> None:
    """Install Debian's package if there is no PostgreSQL; raises SkippedError with the reason."""
    if programs() is not None:
        return
    if os.geteuid() != 0 or shutil.which(INSTALL[0]) is None:
        raise SkippedError("there is no PostgreSQL, and only root of a Debian can install it here")
    print(f"installing: {' '.join(INSTALL)} ...", file=terminal, flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(INSTALL, env=environment, capture_output=True, timeout=INSTALL_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SkippedError(f"PostgreSQL cannot be installed: {error}") from error
    if programs() is None:
        raise SkippedError("Debian's package of PostgreSQL brought no server")


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, the newest of several; None without any."""
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: float(file.parts[-3])
    )
    if debian:
        return debian[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


@contextmanager
def postgres() -> Iterator[int]:
    """Run a new PostgreSQL and yield its port; its superuser is `USER`, without a password."""
    folder = programs()
    assert folder is not None, "PostgreSQL is there, prepare() has seen to it"
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        data, port, account = Path(place) / "data", free_port(), unprivileged()
        data.mkdir()
        if account:
            shutil.chown(data, account["user"], account["group"])
        cluster = ("-D", str(data), "--auth=trust", f"--username={USER}", "--no-locale")
        subprocess.run(
            [folder / "initdb", *cluster, "--encoding=UTF8"],
            cwd=place,
            stdout=subprocess.DEVNULL,
            check=True,
            **account,
        )
        with served(folder, data, port, account):
            yield port


@contextmanager
def served(folder: Path, data: Path, port: int, account: dict[str, Any]) -> Iterator[None]:
    """Run the server of a cluster, and end it."""
    settings = {
        "listen_addresses": LOOPBACK,
        "unix_socket_directories": "",
        "max_connections": CONNECTIONS_MAX,
        "log_min_messages": "fatal",
    }
    options: Sequence[str] = [f"--{name}={value}" for name, value in settings.items()]
    command = [str(folder / "postgres"), "-D", str(data), "-p", str(port), *options]
    server = subprocess.Popen(command, cwd=data, stdin=subprocess.DEVNULL, **account)
    try:
        wait_until_ready(folder, port, server)
        yield
    finally:
        server.send_signal(signal.SIGINT)  # Fast: whoever is connected is cut off.
        server.wait(READY_S)


def wait_until_ready(folder: Path, port: int, server: "subprocess.Popen[bytes]") -> None:
    """Wait until the server takes connections."""
    look = Signal()
    where = ("--host", LOOPBACK, "--port", str(port), "--username", USER, "--dbname", "postgres")
    ask = [str(folder / "pg_isready"), "--quiet", *where]
    for _ in within(READY_S, "PostgreSQL is ready"):
        assert server.poll() is None, f"PostgreSQL ended with {server.returncode}"
        if subprocess.run(ask, check=False).returncode == 0:
            return
        look.wait(LOOK_S)


def unprivileged() -> dict[str, Any]:
    """Return as whom to run a program of PostgreSQL: root takes an account without rights."""
    if os.geteuid() != 0:
        return {}
    for name in ACCOUNTS:
        try:
            account = getpwnam(name)
        except KeyError:
            continue
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": ()}
    raise SkippedError("there is no account without rights to run PostgreSQL as")


def free_port() -> int:
    """Return a port of loopback that is free now."""
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        return int(taken.getsockname()[1])
