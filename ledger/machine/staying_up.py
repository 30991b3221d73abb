"""Staying up: a ledger of one machine runs until it is interrupted, or a process ends for good."""

import shlex
from collections.abc import Callable, Mapping
from threading import Event as Signal
from threading import Thread
from typing import Final

from ledger.config.address import HOME, Address
from ledger.config.search import find_address
from ledger.errors import SettingsError
from ledger.machine.exit_codes import ExitCode
from ledger.machine.kafka.broker import Broker
from ledger.machine.up import Running, running
from ledger.machine.up_settings import UpSettings

ALONE_S: Final = 1.0


def stay_up(settings: UpSettings, say: Callable[[str], None]) -> ExitCode:
    """Keep a ledger up until KeyboardInterrupt; return the code of a role that ended for good.

    An interrupt before the ledger is up is raised after the started processes are stopped. A second
    interrupt kills the remaining ones. Raises as `running`, and BrokerError if the embedded broker
    died.
    """
    is_up = False
    try:
        with running(settings, say) as up:
            is_up = True
            code = until_told(up, say)
            say("stopping")
    except KeyboardInterrupt:
        if not is_up:
            raise
        say(
            "interrupted while stopping: the remaining processes were killed, nothing runs any more"
        )
        return ExitCode.INTERRUPTED
    return code


def until_told(up: Running, say: Callable[[str], None]) -> ExitCode:
    """Look after the processes until KeyboardInterrupt or a final end; return the exit code."""
    ended = end_of(up.broker)
    try:
        announce(up, say)
        code = up.supervisor.watch(ended)
    except KeyboardInterrupt:
        code = ExitCode.DONE
    if ended.is_set():
        up.supervisor.stop_s = ALONE_S
    return code


def announce(up: Running, say: Callable[[str], None]) -> None:
    """Print what is up, and the next step."""
    address = up.address
    say(f"ledger {address.ledger} is up: {address.bootstrap}, rows in {address.store}")
    if not up.has_rows:
        say("its rows are still being made: until then reads wait, show less, or find none")
    if address.reads_url:
        say(f"reads over HTTP at {address.reads_url}, probes at /livez, /readyz and /metrics")
        say(f"pages for people at {address.reads_url}/ui")
    if address.publisher_url:
        say(f"the publisher of Delta logs answers at {address.publisher_url}")
    if address.iceberg_url:
        say(f"an Iceberg REST catalog answers at {address.iceberg_url}")
    if up.probe_urls:
        say(f"probes and metrics of sequencers, notifier and ingests at {', '.join(up.probe_urls)}")
    for url in up.cache_urls:
        say(f"metadata cache at {url}: lakeledger cache status --url {url}")
    say(", ".join(f"{name} {pid}" for name, pid in up.roles().items()))
    say(f"next: {next_step(address)}. Ctrl-C stops it all")


def next_step(address: Address, environ: Mapping[str, str] | None = None) -> str:
    """Return how commands and programs of this environment reach a ledger that is up here."""
    name, home = address.ledger, address.store.parent.parent if address.store else None
    if leads_to(address, None, environ):
        return "lakeledger status, or in Python: Ledger.connect()"
    found = f"lakeledger status --ledger {name}, or in Python: Ledger.connect(ledger={name!r})"
    if leads_to(address, name, environ):
        return found
    return f"export {HOME}={shlex.quote(str(home))}, then {found}"


def leads_to(address: Address, ledger: str | None, environ: Mapping[str, str] | None) -> bool:
    """Tell whether a search finds the ledger of an address."""
    try:
        return find_address(ledger=ledger, environ=environ).bootstrap == address.bootstrap
    except SettingsError:
        return False


def end_of(broker: Broker | None) -> Signal:
    """Return a signal that is set when the broker ends: without it no role can work."""
    ended = Signal()

    def wait(broker: Broker) -> None:
        broker.wait_for_end()
        ended.set()

    if broker is not None:
        Thread(target=wait, args=(broker,), name="lakeledger-broker", daemon=True).start()
    return ended
