"""The embedded Kafka: one real KRaft broker as a child process, on loopback only.

It needs a Java runtime, the fetched jars, and a folder for its data. Started again in the same
folder it continues with that data, also after a kill. It ends with its parent, even if the parent
is killed. `ledger.machine.kafka.broker_folder` describes the folder.
"""

import base64
import errno
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self, TextIO

from ledger.config.private import OTHERS
from ledger.errors import BrokerError
from ledger.log.kafka.topics import wait_until_ready
from ledger.machine.kafka.broker_folder import LOOPBACK, BrokerFolder
from ledger.machine.kafka.jars import BROKER, jar_paths
from ledger.machine.kafka.java import PLAIN_FLAGS, Java, find_java, plain_environment
from ledger.machine.kafka.listeners import Listeners

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
_POLL_S = 0.02
_TAIL_LINES = 12
_FULL_DISK_BYTES = 1024 * 1024
_FULL_DISK = os.strerror(errno.ENOSPC)

_JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:-UsePerfData")
_LOG_FLAG = "-Dlog4j2.level=WARN"
# Small and quick to start, for a broker that is busy for seconds.
_BRIEF_FLAGS = ("-XX:TieredStopAtLevel=1", "-Xms64m", "-Xmx256m", "-Xss512k")
# Java's optimising compiler needs about twenty seconds of CPU; then a request costs a third. The
# young generation holds many requests between two collections, as each collection costs the same
# however much garbage it finds.
_LASTING_FLAGS = ("-Xms192m", "-Xmn128m", "-Xmx384m", "-Xss512k")
_CLEAN_EXITS = {0, 128 + signal.SIGTERM}

# The shell becomes the broker; before that it leaves a watch behind that reads from the parent. A
# line means that the broker has been stopped; the end of file means that the parent is gone.
_WATCHED = 'exec 3<&0 </dev/null; (read -r line <&3 || kill -9 $$) & exec 3<&-; exec "$@"'


class _Kafka:
    """Kafka's programs, as this machine can run them."""

    def __init__(self, java: Java, jars: Sequence[Path]) -> None:
        self._java = str(java.executable)
        self.environment = {**plain_environment(), "CLASSPATH": ":".join(map(str, jars))}

    def command(self, *arguments: str) -> list[str]:
        """Return the command line for a program and its arguments."""
        return [self._java, *PLAIN_FLAGS, *_JVM_FLAGS, _LOG_FLAG, *arguments]

    def server(self, folder: BrokerFolder, *, lasting: bool) -> list[str]:
        """Return the command line of the broker."""
        flags = _LASTING_FLAGS if lasting else _BRIEF_FLAGS
        return self.command(*flags, "kafka.Kafka", str(folder.properties))

    def format(self, folder: BrokerFolder) -> None:
        """Format the folder for a new cluster; Kafka demands it before its first start."""
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        flags = ["--ignore-formatted", f"--cluster-id={cluster}", f"--config={folder.properties}"]
        done = subprocess.run(
            self.command(*_BRIEF_FLAGS, "kafka.tools.StorageTool", "format", *flags),
            env=self.environment,
            capture_output=True,
            cwd=folder.path,  # As of the server: its properties name what lies below.
            umask=OTHERS,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip()
            raise BrokerError(f"The folder {folder.path} could not be made ready for Kafka: {said}")


class Broker:
    """A broker that is running and ready; `with Broker.start(folder) as broker:` ends it too.

    The broker is killed when the process that started it, and every fork of that, is gone.

    Attributes:
        bootstrap: the address for clients, `127.0.0.1:port`.
        folder: the folder of its data.
        admin: the address for administrators.
    """

    def __init__(
        self,
        folder: BrokerFolder,
        listeners: Listeners,
        kafka: _Kafka,
        lock: TextIO,
        *,
        lasting: bool,
    ) -> None:
        self.folder = folder.path
        self.bootstrap = listeners.clients
        self.admin = listeners.admin
        self._port = int(listeners.clients.rpartition(":")[2])
        self._output = folder.output
        self._said_before = self._output.stat().st_size if self._output.exists() else 0
        self._is_released = False
        command = kafka.server(folder, lasting=lasting)
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _WATCHED, "lakeledger-broker", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder.path,
                umask=OTHERS,
                env=kafka.environment,
                pass_fds=[lock.fileno()],  # So that the lock lasts as long as the broker does.
                start_new_session=True,  # An interrupt in the terminal is for the parent alone.
            )

    @classmethod
    def start(
        cls,
        data_dir: Path,
        *,
        port: int | None = None,
        lasting: bool = False,
        secure: Path | None = None,
        admin: Mapping[str, str] = NOTHING,
    ) -> Self:
        """Start a broker in a new or kept folder and wait until it is ready.

        Args:
            data_dir: the folder; made if it does not exist.
            port: for clients; by default the one kept in the folder, or a free one.
            lasting: tuned for hours under load: it needs 100 MB more memory, and after a while a
                third of the CPU.
            secure: the folder of the certificates of a broker that demands a login.
            admin: settings of Kafka's client for an administrator of such a broker.

        Raises:
            SettingsError: there is no Java.
            JarsError: the jars were not fetched.
            BrokerError: the port is taken, the folder is damaged, in use or full, or the broker
                died.
        """
        kafka = _Kafka(find_java(), jar_paths(BROKER))
        folder = BrokerFolder(data_dir.expanduser().absolute())
        try:
            with folder.lock() as lock:
                folder.check()
                port = folder.choose_port(port)
                listeners = folder.write_properties(port, secure=secure)
                if not folder.is_formatted:
                    kafka.format(folder)
                broker = cls(folder, listeners, kafka, lock, lasting=lasting)
        except OSError as problem:
            raise BrokerError(_why_unusable(folder.path, problem)) from problem
        try:
            broker.wait_ready(client=admin)
            folder.check_topics()
        except BaseException:
            broker.kill()
            raise
        return broker

    @property
    def pid(self) -> int:
        """The process id of the broker itself."""
        return self._process.pid

    def wait_ready(
        self, timeout_s: float = READY_TIMEOUT_S, client: Mapping[str, str] = NOTHING
    ) -> None:
        """Wait until clients can list topics; raise BrokerError if it dies or takes too long."""
        deadline = time.monotonic() + timeout_s
        while not (self._listens() and wait_until_ready(self.admin, 1.0, client=client)):
            if self._process.poll() is not None:
                raise BrokerError(self._last_words("died while it started"))
            if time.monotonic() > deadline:
                raise BrokerError(self._last_words(f"was not ready after {timeout_s:.0f} s"))
            time.sleep(_POLL_S)

    def wait_for_end(self) -> None:
        """Wait until the broker has ended, by itself or by `stop`."""
        self._process.wait()

    def stop(self) -> None:
        """Stop the broker in good order; stopping it again does nothing.

        Raises:
            BrokerError: it had died before, or had to be killed because it did not stop.
        """
        if self._is_released:
            return
        died = self._process.poll() is not None
        self._process.terminate()
        try:
            code = self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BrokerError(
                self._last_words(f"did not stop within {STOP_TIMEOUT_S:.0f} s and was killed")
            ) from None
        self._release()
        if died or code not in _CLEAN_EXITS:
            raise BrokerError(self._why_ended(code))

    def kill(self) -> None:
        """End the broker as a crash would, with signal 9; its folder stays usable."""
        self._process.kill()
        self._process.wait()
        self._release()

    def _release(self) -> None:
        """End the watch without a kill: the process id may belong to another process by now."""
        if not self._is_released:
            self._process.communicate(b"stopped\n")
            self._is_released = True

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((LOOPBACK, self._port)) == 0

    def _why_ended(self, code: int) -> str:
        """Return why the broker ended by itself; its output does not mention a signal."""
        what = f"had ended by itself with exit code {code}"
        if code >= 0 or self._disk_is_full(self._read_output()):
            return self._last_words(what)
        name = signal.Signals(-code).name
        return (
            f"The broker in {self.folder} {what}: it was killed by {name}, by hand or because "
            "memory was short. Its data is kept; start it again"
        )

    def _last_words(self, what: str) -> str:
        """Say what happened to the broker, and how its output ended."""
        said = self._read_output()
        if self._disk_is_full(said):
            return f"The broker in {self.folder} {what}: the disk is full. Make room and try again."
        tail = "\n  ".join(said[-_TAIL_LINES:]) or "(nothing)"
        return f"The broker in {self.folder} {what}. The end of {self._output.name}:\n  {tail}"

    def _read_output(self) -> list[str]:
        """Return what the broker said since it was started, without the frames of its stacks."""
        with self._output.open("rb") as output:
            output.seek(self._said_before)
            lines = output.read().decode(errors="replace").splitlines()
        return [line for line in lines if line.strip() and not line.startswith("\tat ")]

    def _disk_is_full(self, said: Sequence[str]) -> bool:
        """Return whether the disk is or was full: the end of the broker may have freed space."""
        is_full = shutil.disk_usage(self.folder).free < _FULL_DISK_BYTES
        return is_full or any(_FULL_DISK in line for line in said)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _why_unusable(folder: Path, problem: OSError) -> str:
    if problem.errno == errno.ENOSPC:
        return f"The disk of {folder} is full. Make room, or start the broker in another folder."
    return f"The folder {folder} cannot be used ({problem}). Start the broker in another folder."
