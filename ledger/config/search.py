"""The search for a ledger: arguments, then the environment, then the ledgers up on this machine."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ledger.config.address import (
    BOOTSTRAP,
    FILE_NAME,
    ICEBERG_URL,
    LEDGER,
    LEDGER_DEFAULT,
    PUBLISHER_URL,
    READS_URL,
    STORE,
    Address,
    Here,
    home_folder,
    running_here,
)
from ledger.config.client_config import client_settings
from ledger.config.layers import path_of
from ledger.errors import LedgerDownError, SettingsError

if TYPE_CHECKING:
    from ledger.log.kafka.log import KafkaLog


def log_of(address: Address) -> "KafkaLog":
    """Return the log of the ledger at an address; raises as `KafkaLog` and `client_for`."""
    from ledger.log.kafka.log import KafkaLog  # noqa: PLC0415 - a search needs no client

    return KafkaLog(address.bootstrap, address.ledger, client=client_for(address))


def client_for(address: Address) -> Mapping[str, str]:
    """Return the settings of Kafka's client: the configured ones, else the ledger's own.

    Raises SettingsError if they cannot be read.
    """
    from ledger.config.config import load  # noqa: PLC0415 - a mere search needs no settings

    return load().settings.client() or client_settings(address.client_config)


def keys_folder(address: Address) -> Path | None:
    """Return the folder of keys: the configured one, else that of a ledger up here, else None."""
    from ledger.config.config import load  # noqa: PLC0415 - as for `client_for`

    return load().settings.keys or address.keys


def find_address(
    bootstrap: str | None = None,
    ledger: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Address:
    """Return where to connect: the arguments, else the environment, else the ledger up here.

    `environ` None = the environment, completed by the files of `ledger.config`. A URL of reads goes
    before a folder of rows. Raises SettingsError if no ledger is found, or more than one, and for
    an unreadable address that may be the right one; TypeError for a name that is not a text.
    """
    if not isinstance(ledger, str | None):
        raise TypeError(f"the name of a ledger must be a text, such as 'lake', got {ledger!r}")
    if environ is None:
        from ledger.config.config import environment  # noqa: PLC0415 - only without one

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
    if url := environ.get(PUBLISHER_URL):
        found = [replace(found[0], publisher_url=url)]
    if url := environ.get(ICEBERG_URL):
        found = [replace(found[0], iceberg_url=url)]
    if url := environ.get(READS_URL):
        return replace(found[0], store=None, reads_url=url)
    store = environ.get(STORE)
    return replace(found[0], store=path_of(store, STORE)) if store else found[0]


def not_one(here: Here, ledger: str | None, environ: Mapping[str, str]) -> SettingsError:
    """Return the error for a search that found no ledger, or several."""
    home = home_folder(environ)
    if here.up:
        names = ", ".join(each.ledger for each in here.up)
        return SettingsError(
            f"several ledgers are up in {home}: {names}. Choose one with ledger=..., or set "
            f"{LEDGER}"
        )
    if here.left:
        names = ", ".join(each.ledger for each in here.left)
        return LedgerDownError(
            f"ledger {names} is not up any more: its `lakeledger up` was killed, and its address "
            f"is still in {home}. Start it again, or give bootstrap=..., or set {BOOTSTRAP}"
        )
    wanted = f"ledger {ledger}" if ledger else "ledger"
    others = ", ".join(each.ledger for each in running_here(None, environ).up)
    instead = f"Name one that is: {others}. Or start" if others else "Start"
    return LedgerDownError(
        f"no {wanted} is up on this machine (no {FILE_NAME} in {home}). {instead} one with "
        f"`lakeledger up`, or give bootstrap=..., or set {BOOTSTRAP}"
    )
