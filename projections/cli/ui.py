"""The command `ui`: opens the pages of the follower in a browser."""

import webbrowser
from typing import Annotated

import typer

from ledger.cli.answers import Output, OutputOption, answer, say
from ledger.cli.failures import Stopped
from ledger.cli.options import NameOption
from ledger.config.address import READS_URL, find_address
from ledger.machine.exit_codes import ExitCode

ROOT = "/ui"


def ui(
    ledger: NameOption = None,
    *,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address, and open no browser.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Open the pages of the ledger in a browser: overview, timeline, conflicts, tables."""
    address = find_address(ledger=ledger)
    if address.reads_url is None:
        raise Stopped(
            f"no follower of ledger {address.ledger} is known to answer HTTP: set {READS_URL} to "
            "its URL, or start lakeledger up without follower.http=off",
            ExitCode.NOT_FOUND,
        )
    url = pages_of(address.reads_url)
    answer({"url": url}, output)
    if not no_open and not webbrowser.open(url):
        say("no browser could be started here: open the address yourself")


def pages_of(url: str) -> str:
    """Return the address of the pages of a follower that answers at a URL."""
    return f"{url.rstrip('/')}{ROOT}"
