"""Addresses: where clients reach a ledger of this machine, as `lakeledger up` records it.

Every ledger has a folder under one home, and while it is up an `address.json` there. A client
without arguments finds that file. The arguments of a caller, and then the environment, go first.
"""

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple, Self

from ledger.config.layers import path_of
from ledger.config.private import write_private
from ledger.errors import SettingsError
from ledger.log.kafka.bootstrap import check_bootstrap

BOOTSTRAP: Final = "LAKELEDGER_BOOTSTRAP"
LEDGER: Final = "LAKELEDGER_LEDGER"
STORE: Final = "LAKELEDGER_STORE"
READS_URL: Final = "LAKELEDGER_READS_URL"
PUBLISHER_URL: Final = "LAKELEDGER_PUBLISHER_URL"
ICEBERG_URL: Final = "LAKELEDGER_ICEBERG_URL"
HOME: Final = "LAKELEDGER_HOME"
KEYS: Final = "LAKELEDGER_KEYS"
LEDGER_DEFAULT: Final = "lake"
FILE_NAME: Final = "address.json"
# The fields of the file, and whether they must be there.
FIELDS: Final = {
    "bootstrap": True,
    "ledger": True,
    "store": False,
    "reads_url": False,
    "publisher_url": False,
    "iceberg_url": False,
    "client_config": False,
    "token_file": False,
    "ca_file": False,
}
FEEDER_LOGIN: Final = "feeder-jvm.properties"
"""The login of Spark's client, beside the one of the clients of a secured ledger."""
PATHS: Final = ("store", "client_config", "token_file", "ca_file")
KEPT_PORTS: Final = "ports.json"
"""The file in the folder of a ledger with the ports that its roles keep."""
SHOWN_MAX: Final = 80
KEYS_FOLDER: Final = "keys"
LOCK: Final = "lock"
"""The lock that `lakeledger up` holds in the folder of its ledger while it runs."""


@dataclass(frozen=True, slots=True)
class Address:
    """Kafka's `host:port`, the ledger's name, and where its rows are read.

    Rows are read from a folder on this host or, without one, from a follower's HTTP at a URL. The
    publisher, if there is one, answers HTTP at `publisher_url`, and the Iceberg catalog at
    `iceberg_url`. A ledger that was made secure has
    the files with which clients of this machine log in.
    """

    bootstrap: str
    ledger: str
    store: Path | None = None
    reads_url: str | None = None
    publisher_url: str | None = None
    client_config: Path | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    iceberg_url: str | None = None

    @property
    def warehouse(self) -> str:
        """The folder of new tables of a ledger that is up on this machine, "" for another one."""
        folder = self._folder
        return "" if folder is None else str(folder / "warehouse")

    @property
    def keys(self) -> Path | None:
        """The folder of keys of a ledger that is up on this machine, None for another one."""
        folder = self._folder
        return None if folder is None else folder / KEYS_FOLDER

    @property
    def _folder(self) -> Path | None:
        folder = self.store.parent if self.store is not None else None
        return folder if folder is not None and (folder / FILE_NAME).exists() else None

    def write(self, folder: Path) -> None:
        """Write the address into the folder of the ledger; a reader finds all of it or nothing."""
        found = {name: getattr(self, name) for name in FIELDS}
        fields = {name: None if each is None else str(each) for name, each in found.items()}
        fresh = folder / f".{FILE_NAME}.{os.getpid()}"
        write_private(fresh, json.dumps(fields) + "\n")
        fresh.replace(folder / FILE_NAME)

    def has_port(self, port: int | None) -> bool:
        """Return whether a role of this ledger of this machine keeps a port."""
        if self.token_file is None:
            return False
        try:
            kept = json.loads((self.token_file.parent.parent / KEPT_PORTS).read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(kept, dict) and port in kept.values()

    @staticmethod
    def remove(folder: Path) -> None:
        """Remove the address: the ledger is no longer up."""
        (folder / FILE_NAME).unlink(missing_ok=True)

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return the address in a folder, None if absent.

        Raises SettingsError for a file with other content.
        """
        path = folder / FILE_NAME
        try:
            found = fields_in(path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, SettingsError) as problem:
            raise SettingsError(
                f"{path} is not the address of a ledger ({type(problem).__name__}: {problem}); "
                "remove it and start `lakeledger up` again"
            ) from problem
        paths = {name: Path(each) if (each := found[name]) else None for name in PATHS}
        return cls(
            bootstrap=str(found["bootstrap"]),
            ledger=str(found["ledger"]),
            reads_url=found["reads_url"],
            publisher_url=found["publisher_url"],
            iceberg_url=found["iceberg_url"],
            **paths,
        )


def fields_in(text: str) -> dict[str, str | None]:
    """Return the fields of an address; raises ValueError with the field that is wrong."""
    fields = json.loads(text)
    if not isinstance(fields, dict):
        raise ValueError(f"it must be an object, got a {type(fields).__name__}")  # noqa: TRY004
    found: dict[str, str | None] = {}
    for name, is_needed in FIELDS.items():
        value = fields.get(name)
        if not isinstance(value, str) and (is_needed or value is not None):
            kind = "a text" if is_needed else "a text or null"
            raise ValueError(f"{name} must be {kind}, got {json.dumps(value)[:SHOWN_MAX]}")
        found[name] = value
    check_bootstrap(str(found["bootstrap"]))
    return found


class Here(NamedTuple):
    """The ledgers of this machine: the ones that are `up`, and the ones whose `up` was killed.

    `damaged` is the error of an address that cannot be read, None if absent.
    """

    up: list[Address]
    left: list[Address]
    damaged: SettingsError | None


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder with the data of this machine's ledgers."""
    if chosen := environ.get(HOME):
        return path_of(chosen, HOME).absolute()
    data = path_of(environ.get("XDG_DATA_HOME") or "~/.local/share", HOME)
    return data.absolute() / "lakeledger"


def option_text(given: Mapping[str, object]) -> str:
    """Return options as they are typed behind a command, without those that are None."""
    words = [word for name, value in given.items() if value is not None for word in (name, value)]
    return "".join(f" {shlex.quote(str(word))}" for word in words)


def running_here(ledger: str | None, environ: Mapping[str, str] = os.environ) -> Here:
    """Return the ledgers of this machine, or the one named."""
    up, left = list[Address](), list[Address]()
    damaged: SettingsError | None = None
    try:
        paths = sorted(home_folder(environ).glob(f"*/{FILE_NAME}"))
    except PermissionError:
        # The home of another user: no ledger of this user can be there.
        return Here(up, left, damaged)
    for path in paths:
        try:
            address = Address.read(path.parent)
        except SettingsError as error:
            damaged = error
        else:
            if address is not None and ledger in {None, address.ledger}:
                (up if is_held(path.parent) else left).append(address)
    return Here(up, left, damaged)


def is_held(folder: Path) -> bool:
    """Return whether the `lakeledger up` of a folder still runs: its lock ends with it.

    If that is not known, it counts as running, and a connection will show.
    """
    import fcntl  # noqa: PLC0415 - some clients' systems lack it, and no ledger can be up there

    try:
        with (folder / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def is_address(name: str) -> bool:
    """Return whether a name is an IP address."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a server at a host."""
    return ip_address(host).is_loopback if is_address(host) else host.lower() == "localhost"
