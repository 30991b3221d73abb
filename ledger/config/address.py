"""Addresses: where a ledger of this machine is reached, as `lakeledger up` leaves it for clients.

Every ledger has a folder under one home, and while it is up an `address.json` there. A client that
is told nothing finds it; what the environment or the caller says goes first.
"""

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from ledger.config.layers import path_of
from ledger.config.private import write_private
from ledger.errors import LedgerDownError, SettingsError
from ledger.log.kafka.bootstrap import check_bootstrap

if TYPE_CHECKING:
    from ledger.log.kafka.log import KafkaLog

BOOTSTRAP: Final = "LAKELEDGER_BOOTSTRAP"
LEDGER: Final = "LAKELEDGER_LEDGER"
STORE: Final = "LAKELEDGER_STORE"
READS_URL: Final = "LAKELEDGER_READS_URL"
HOME: Final = "LAKELEDGER_HOME"
LEDGER_DEFAULT: Final = "lake"
FILE_NAME: Final = "address.json"
# The fields of the file, and whether it is none without them.
FIELDS: Final = {"bootstrap": True, "ledger": True, "store": False, "reads_url": False}
SHOWN_MAX: Final = 80
LOCK: Final = "lock"
"""What `lakeledger up` holds in the folder of its ledger for as long as it runs."""


@dataclass(frozen=True, slots=True)
class Address:
    """Kafka's `host:port`, the ledger's name, and where its rows are read.

    That is a folder on this host or, where there is none, a follower that answers HTTP at a URL.
    """

    bootstrap: str
    ledger: str
    store: Path | None = None
    reads_url: str | None = None

    def write(self, folder: Path) -> None:
        """Leave the address in the folder of the ledger; a reader finds all of it or nothing."""
        store = None if self.store is None else str(self.store)
        fields = {
            "bootstrap": self.bootstrap,
            "ledger": self.ledger,
            "store": store,
            "reads_url": self.reads_url,
        }
        fresh = folder / f".{FILE_NAME}.{os.getpid()}"
        write_private(fresh, json.dumps(fields) + "\n")
        fresh.replace(folder / FILE_NAME)

    def log(self) -> "KafkaLog":
        """Return the ledger's log, for this deployment's Kafka; raises as `KafkaLog` and `load`."""
        from ledger.config.config import load  # noqa: PLC0415 - whoever only looks for a ledger
        from ledger.log.kafka.log import KafkaLog  # noqa: PLC0415 - needs no client

        return KafkaLog(self.bootstrap, self.ledger, client=load().settings.client())

    @staticmethod
    def remove(folder: Path) -> None:
        """Take the address away: the ledger is no longer up."""
        (folder / FILE_NAME).unlink(missing_ok=True)

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return the address left in a folder, or None.

        Raises SettingsError if the file says something else.
        """
        path = folder / FILE_NAME
        try:
            found = fields_in(path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, SettingsError) as problem:
            raise SettingsError(
                f"{path} does not say where a ledger is ({type(problem).__name__}: {problem}); "
                "remove it and start `lakeledger up` again"
            ) from problem
        store = found["store"]
        return cls(
            str(found["bootstrap"]),
            str(found["ledger"]),
            Path(store) if store else None,
            found["reads_url"],
        )


def fields_in(text: str) -> dict[str, str | None]:
    """Return the fields of an address; raises ValueError for what is none, with what it has."""
    fields = json.loads(text)
    if not isinstance(fields, dict):
        raise ValueError(f"it is no object, but a {type(fields).__name__}")  # noqa: TRY004
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
    """The ledgers of this machine: those that are `up`, and those whose `up` was killed (`left`).

    `damaged` is the error of an address that cannot be read, if there is one.
    """

    up: list[Address]
    left: list[Address]
    damaged: SettingsError | None


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that the ledgers of this machine keep their data in."""
    if chosen := environ.get(HOME):
        return path_of(chosen, HOME).absolute()
    data = path_of(environ.get("XDG_DATA_HOME") or "~/.local/share", HOME)
    return data.absolute() / "lakeledger"


def spelled(given: Mapping[str, object]) -> str:
    """Return options as they are typed behind a command, without those that are None."""
    words = [word for name, value in given.items() if value is not None for word in (name, value)]
    return "".join(f" {shlex.quote(str(word))}" for word in words)


def find_address(
    bootstrap: str | None = None,
    ledger: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Address:
    """Return where to connect: as given, else as the environment says, else what is up here.

    `environ` None = the environment, completed by the files of `ledger.config`. A URL of reads goes
    before a folder of rows. Raises SettingsError if nothing is found, or more than one ledger, and
    for an address that cannot be read where it may be the one that is meant, TypeError for a name
    that is no text.
    """
    if not isinstance(ledger, str | None):
        raise TypeError(f"the name of a ledger is a text, such as 'lake', not {ledger!r}")
    if environ is None:
        from ledger.config.config import environment  # noqa: PLC0415 - only where nobody gave one

        environ = environment()
    bootstrap = bootstrap or environ.get(BOOTSTRAP)
    ledger = ledger or environ.get(LEDGER)
    here = running_here(ledger, environ)
    found = here.up
    if here.damaged is not None and not bootstrap and (ledger is None or not found):
        raise here.damaged
    if bootstrap:
        found = [each for each in found if each.bootstrap == bootstrap] or [
            Address(bootstrap, ledger or LEDGER_DEFAULT)
        ]
    if len(found) != 1:
        raise not_one(here, ledger, environ)
    if url := environ.get(READS_URL):
        return replace(found[0], store=None, reads_url=url)
    store = environ.get(STORE)
    return replace(found[0], store=path_of(store, STORE)) if store else found[0]


def running_here(ledger: str | None, environ: Mapping[str, str] = os.environ) -> Here:
    """Return the ledgers of this machine, or the one named."""
    up, left = list[Address](), list[Address]()
    damaged: SettingsError | None = None
    try:
        paths = sorted(home_folder(environ).glob(f"*/{FILE_NAME}"))
    except PermissionError:
        # The home of another user, in which none of this one's ledgers can be.
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
    """Tell whether the `lakeledger up` of a folder still runs: its lock ends with it.

    Where that cannot be told it counts as running, and whoever connects will see.
    """
    import fcntl  # noqa: PLC0415 - clients may be where there is none, and no ledger can be up

    try:
        with (folder / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def not_one(here: Here, ledger: str | None, environ: Mapping[str, str]) -> SettingsError:
    """Return the error for a search that found no ledger, or several."""
    home = home_folder(environ)
    if here.up:
        names = ", ".join(each.ledger for each in here.up)
        return SettingsError(
            f"several ledgers are up in {home}: {names}. Say which with ledger=..., or set {LEDGER}"
        )
    if here.left:
        names = ", ".join(each.ledger for each in here.left)
        return LedgerDownError(
            f"ledger {names} is not up any more: its `lakeledger up` was killed, and what it left "
            f"is still in {home}. Start it again, or say where the ledger is: bootstrap=..., or "
            f"set {BOOTSTRAP}"
        )
    wanted = f"ledger {ledger}" if ledger else "ledger"
    others = ", ".join(each.ledger for each in running_here(None, environ).up)
    instead = f"Name one that is: {others}. Or start" if others else "Start"
    return LedgerDownError(
        f"no {wanted} is up on this machine (no {FILE_NAME} in {home}). {instead} one with "
        f"`lakeledger up`, or say where it is: bootstrap=..., or set {BOOTSTRAP}"
    )
