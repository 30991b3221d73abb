"""Options that several commands share, and the confirmation that `--yes` gives in advance."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from ledger.cli.failures import Stopped
from ledger.core.limits import NUMBER_MAX
from ledger.errors import LedgerError
from ledger.machine.exit_codes import ExitCode

if TYPE_CHECKING:
    from ledger.reads.port import Reads

Row = TypeVar("Row")
COMPLETED_MAX: Final = 100
"""At most so many txns are offered to a shell."""

AWAY_S: Final = 2.0
"""How soon a broker that does not answer counts as away."""
CONFIGURED: Final = ""
"""The default of an option whose value comes from the settings."""


def catalog_of(given: str) -> str:
    """Return the given catalog, else the one of the settings; raises SettingsError."""
    from ledger.config.config import load  # noqa: PLC0415 - a command loads only what it uses

    return load().settings.catalog if given == CONFIGURED else given


def named_tables(incomplete: str) -> list[str]:
    """Return the names of tables that begin with a text, for the completion of a shell."""
    return [
        row.name
        for row in rows_here(lambda reads: reads.tables())
        if row.name.startswith(incomplete) and row.catalog == catalog_of(CONFIGURED)
    ]


def numbered_txns(incomplete: str) -> list[str]:
    """Return the open txns that begin with these digits, for the completion of a shell."""
    found = rows_here(lambda reads: reads.open_txns(COMPLETED_MAX))
    return [str(row.txn) for row in found if str(row.txn).startswith(incomplete)]


def rows_here(ask: "Callable[[Reads], Sequence[Row]]") -> "Sequence[Row]":
    """Return rows of the ledger that is up here; none at once if there is no such ledger."""
    from contextlib import closing  # noqa: PLC0415 - only a completion needs these

    from ledger.config.search import find_address  # noqa: PLC0415
    from ledger.definitions.client_reads import open_rows  # noqa: PLC0415

    try:
        with closing(open_rows(find_address())) as reads:
            return ask(reads)
    except LedgerError:
        return ()  # A shell shows no error while a user types.


TableArgument = Annotated[str, typer.Argument(metavar="NAME", autocompletion=named_tables)]
BootstrapOption = Annotated[str | None, typer.Option("--bootstrap", help="Kafka's host:port.")]
LedgerOption = Annotated[str | None, typer.Option("--ledger", help="The ledger's name.")]
ImageOption = Annotated[
    str | None,
    typer.Option(
        "--image",
        metavar="PATH|off",
        help="Begin without rows with the image in this backup; by default the setting "
        "log.archive, else the backup that the trim of the log names.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", "-X", help="name=value of a setting; see lakeledger config show."),
]
LeaseOption = Annotated[
    float | None, typer.Option("--lease-s", min=0.5, help="How long a session may be silent.")
]
FlushOption = Annotated[
    bool,
    typer.Option(
        "--flush/--no-flush",
        help="With fewer than 3 copies: flush acknowledged records to the disk.",
    ),
]
BeginAnewOption = Annotated[
    bool,
    typer.Option(
        "--begin-anew",
        help="Delete the remains of a ledger whose events are gone, and begin another one.",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option("--ledger", envvar="LAKELEDGER_LEDGER", help="The ledger; by default the one up."),
]
# A text, as given: a Path does not show that it was empty.
HomeOption = Annotated[
    str | None,
    typer.Option(
        metavar="<path>",
        envvar="LAKELEDGER_HOME",
        help="Where ledgers of this machine keep their data.",
    ),
]
CatalogOption = Annotated[
    str,
    typer.Option(
        help="The catalog of the name.", callback=catalog_of, show_default="the one of the settings"
    ),
]
TxnArgument = Annotated[
    int, typer.Argument(metavar="TXN", min=0, max=NUMBER_MAX, autocompletion=numbered_txns)
]
WithParentOption = Annotated[
    bool, typer.Option("--with-parent", help="End when standard input ends.", hidden=True)
]


def number_option(what: str, least: int = 0) -> Any:
    """Return the option for a number of the log; more than 64 bits are a usage error."""
    return typer.Option(min=least, max=NUMBER_MAX, help=what)


YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation, and end the command without it.

    Without a terminal nothing can answer: the command ends and names the option to give.
    """
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise Stopped(
            f"this must be confirmed, and there is no terminal: {question}; give --yes to confirm "
            "in advance",
            ExitCode.USAGE,
        )
    typer.confirm(question, abort=True, err=True)
