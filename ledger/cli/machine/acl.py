"""The command that prints the rights that a role needs in Kafka."""

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli.answers import Output, OutputOption, answer_rows
from ledger.cli.options import BootstrapOption, LedgerOption
from ledger.config.address import Address
from ledger.config.search import find_address
from ledger.errors import LedgerDownError
from ledger.log.kafka.rights import ROLES

if TYPE_CHECKING:
    from ledger.config.config import Loaded


def acl(
    *,
    principal: Annotated[
        str, typer.Option(metavar="NAME", help="The user that gets the rights, by its login.")
    ],
    role: Annotated[str, typer.Option(metavar="ROLE", help=f"One of {', '.join(ROLES)}.")],
    bootstrap: BootstrapOption = None,
    ledger: LedgerOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the commands that give a user the rights of a role, no more and no less."""
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.log.kafka.rights import acls, commands  # noqa: PLC0415 - a command loads only what it uses

    loaded = load({"bootstrap": bootstrap, "ledger": ledger})
    up = up_here(loaded)
    given = acls(up.ledger if up else loaded.settings.ledger, principal, role)
    if output is Output.JSON:
        answer_rows([each._asdict() for each in given], output)
        return
    for line in commands(given, up.bootstrap if up else loaded.required("bootstrap")):
        typer.echo(line)


def up_here(loaded: "Loaded") -> Address | None:
    """Return the configured address, else that of the ledger that is up here, None without one."""
    try:
        return find_address(loaded.settings.bootstrap, loaded.given("ledger"))
    except LedgerDownError:
        return None
