"""The commands about namespaces: the names before the last dot of a table's name."""

from typing import Annotated

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption, YesOption, confirm
from ledger.client import Ledger
from ledger.reads.amounts import amount

NamespaceArgument = Annotated[str, typer.Argument(metavar="NAME", help="Such as sales.north.")]

app = typer.Typer(name="namespace", no_args_is_help=True, help="Look at namespaces.")


@app.command("list")
def namespace_list(
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    within: Annotated[str, typer.Option(help="Only those within this one.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the namespaces with their properties; one of tables alone was changed at 0."""
    with Ledger.connect(ledger=ledger, catalog=catalog) as client:
        rows = client.namespaces(within)
    shown = [
        {"name": row.name, "properties": dict(row.properties), "changed": row.changed}
        for row in rows
    ]
    answer_rows(shown, output)


@app.command("create")
def namespace_create(
    name: NamespaceArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    comment: Annotated[str, typer.Option(help="Words on it.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a namespace; a table needs none."""
    with Ledger.connect(ledger=ledger, catalog=catalog) as client:
        receipt = client.create_namespace(name, comment=comment)
    answer({"namespace": name, "position": receipt.position}, output)


@app.command("drop")
def namespace_drop(
    name: NamespaceArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Drop the tables and namespaces in it as well.")
    ] = False,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Drop a namespace; one with something in it only with --cascade."""
    with Ledger.connect(ledger=ledger, catalog=catalog) as client:
        prefix = f"{name.lower()}."
        inside = [row for row in client.tables() if row.name.lower().startswith(prefix)]
        if cascade and inside:
            confirm(f"drop {amount(len(inside), 'table')} of namespace {name}", yes=yes)
        client.drop_namespace(name, cascade=cascade)
    answer({"namespace": name, "tables_dropped": len(inside) if cascade else 0}, output)
