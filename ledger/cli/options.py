"""Options that several commands have, each with the one meaning."""

from typing import Annotated, Any, Final

import typer

from ledger.core.limits import NUMBER_MAX

CONFIGURED: Final = ""
"""The default of an option that stands for what the settings say."""


def catalog_of(given: str) -> str:
    """Return the catalog that was given, else that of the settings; raises SettingsError."""
    from ledger.config.config import load  # noqa: PLC0415 - a command loads only what it uses

    return load().settings.catalog if given == CONFIGURED else given


BootstrapOption = Annotated[str | None, typer.Option("--bootstrap", help="Kafka's host:port.")]
LedgerOption = Annotated[str | None, typer.Option("--ledger", help="The ledger's name.")]
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
        help="With fewer than 3 copies: flush to the disk what is acknowledged.",
    ),
]
BeginAnewOption = Annotated[
    bool,
    typer.Option(
        "--begin-anew",
        help="Delete what is left of a ledger whose events are gone, and begin another one.",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option("--ledger", envvar="LAKELEDGER_LEDGER", help="The ledger; by default the one up."),
]
# As it was given: what is made a path has forgotten that it was empty.
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
        help="The catalog of the name.",
        callback=catalog_of,
        show_default="that of the settings",
    ),
]
TxnArgument = Annotated[int, typer.Argument(metavar="TXN", min=0, max=NUMBER_MAX)]
WithParentOption = Annotated[
    bool, typer.Option("--with-parent", help="End when standard input ends.", hidden=True)
]


def number_option(what: str, least: int = 0) -> Any:
    """Return the option for a number as the log has them: more than 64 bits are a wrong usage."""
    return typer.Option(min=least, max=NUMBER_MAX, help=what)
