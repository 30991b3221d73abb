"""The command `ui`: opens the pages of the follower in a browser."""

import webbrowser
from typing import Annotated

import typer

from ledger.cli.answers import Output, OutputOption, answer, say
from ledger.cli.failures import Stopped
from ledger.cli.options import NameOption
from ledger.config.address import READS_URL
from ledger.config.search import find_address
from ledger.machine.exit_codes import ExitCode
from ledger.reads.remote.web_login import WebLogin

ROOT = "/ui"


def ui(
    ledger: NameOption = None,
    *,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address, and open no browser.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Open the pages of the ledger in a browser: overview, timeline, conflicts, tables.

    A secured ledger asks the browser for a login. The command says in which file its password is.
    """
    address = find_address(ledger=ledger)
    if address.reads_url is None:
        raise Stopped(
            f"no follower of ledger {address.ledger} is known to answer HTTP: set {READS_URL} to "
            "its URL, or start lakeledger up without follower.http=off",
            ExitCode.NOT_FOUND,
        )
    url = pages_of(address.reads_url)
    login = WebLogin.of(url)
    answer({"url": url, **files_of(login)}, output)
    if login.token_file is not None:
        say("the browser asks for a login: any user name, the password is the token in token_file")
    if login.ca_file is not None:
        say("the browser warns of the certificate until it trusts the one in ca_file")
    if not no_open and not webbrowser.open(url):
        say("no browser could be started here: open the address yourself")


def files_of(login: WebLogin) -> dict[str, str]:
    """Return the files that a person needs to log in, {} for a server without a login."""
    return {name: str(file) for name, file in login._asdict().items() if file is not None}


def pages_of(url: str) -> str:
    """Return the address of the pages of a follower that answers at a URL."""
    return f"{url.rstrip('/')}{ROOT}"
