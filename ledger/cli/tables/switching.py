"""The commands that publish tables as Delta from now on, and bring dropped ones back."""

from typing import Annotated

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows
from ledger.cli.options import (
    CONFIGURED,
    CatalogOption,
    NameOption,
    YesOption,
    confirm,
    named_tables,
)
from ledger.cli.reading import known_table
from ledger.client import Ledger
from ledger.machine.exit_codes import ExitCode
from ledger.reads.amounts import amount
from projections.delta.adopting import publish_table


def table_publish(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", autocompletion=named_tables)
    ] = None,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Publish every table of the catalog that can be.")
    ] = False,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Publish tables as Delta: the publisher writes a log for each, from its next version on.

    The setting publish = "delta" does the same for tables that clients make later. The command ends
    with an error if a table that it names cannot be published.
    """
    if every == bool(names):
        raise typer.BadParameter("name tables, or give --all for every table of the catalog")
    with Ledger.connect(ledger=ledger, catalog=catalog) as connection:
        reads = connection.reads()
        rows = [known_table(reads, catalog, name) for name in names or ()]
        if every:
            rows = [table for table in reads.tables() if table.catalog == catalog]
            confirm(f"publish {amount(len(rows), 'table')} of catalog {catalog}", yes=yes)
        found = [{"table": row.name, "outcome": publish_table(connection, row)} for row in rows]
    answer_rows(found, output)
    if not every and any(each["outcome"].startswith("cannot") for each in found):
        raise typer.Exit(ExitCode.FAILED)


def table_undrop(
    name: Annotated[str, typer.Argument(metavar="NAME|ID", help="A name that it had, or its id.")],
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    new: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Its new name, by default the former one.")
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Bring back a dropped table with its last columns and rows, as a new table.

    By name it is the one that was dropped last. A vacuum may have deleted its files.
    """
    with Ledger.connect(ledger=ledger, catalog=catalog) as client:
        row = client.undrop_table(int(name) if name.isdecimal() else name, new)
    answer({"table": row.name, "id": row.table, "version": row.version}, output)
