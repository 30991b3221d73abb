"""The command that prints the rights that a role needs in Kafka."""

from typing import Annotated

import typer

from ledger.cli.answers import Output, OutputOption, answer_rows
from ledger.cli.options import BootstrapOption, LedgerOption
from ledger.log.kafka.rights import ROLES


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
    given = acls(loaded.settings.ledger, principal, role)
    if output is Output.JSON:
        answer_rows([each._asdict() for each in given], output)
        return
    for line in commands(given, loaded.required("bootstrap")):
        typer.echo(line)
