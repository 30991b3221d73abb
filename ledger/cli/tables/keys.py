"""The commands about the keys of encrypted rows in the log."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer_rows, say
from ledger.cli.failures import Stopped
from ledger.cli.options import (
    CONFIGURED,
    CatalogOption,
    NameOption,
    TableArgument,
    YesOption,
    confirm,
    named_tables,
)
from ledger.cli.reading import known_table
from ledger.client import Ledger
from ledger.forgetting.key_dropping import GRACE_S, drop_keys, keys_of, live_blocks
from ledger.keys.folder import KeyFolder, KeyName, KeyStatus
from ledger.machine.exit_codes import ExitCode
from ledger.properties.known_properties import ENCRYPTED, asks_for_encryption
from ledger.reads.amounts import amount
from ledger.reads.port import Reads, TableRow

MISSING = "missing"
STATUSES = {"key": "in use", "retired": "retired", "dropped": "dropped"}

MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")

app = typer.Typer(name="keys", no_args_is_help=True)


def month_in(text: str | None) -> str | None:
    """Return a month as names of keys have it, since they are compared as texts."""
    if text is not None and not MONTH.fullmatch(text):
        raise typer.BadParameter(f"a month must be YYYY-MM, such as 2026-09, got {text}")
    return text


@app.command("list")
def keys_list(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", autocompletion=named_tables)
    ] = None,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the keys of a table, also dropped ones, and how many live blocks each has sealed.

    Without a name, the keys of all tables. A missing key has live blocks and no file here.
    """
    with Ledger.connect(ledger=ledger, catalog=catalog) as client:
        reads, keys = client.reads(), keys_of(client)
        if name is None:
            answer_rows([*keys_of_all(reads, keys)], output)
            return
        row = known_table(reads, catalog, name)
        known_keys(client, row)
        answer_rows(keys_of_table(reads, keys, row), output)


@app.command("drop")
def keys_drop(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    month: Annotated[
        str | None,
        typer.Option(callback=month_in, metavar="YYYY-MM", help="The keys of this month."),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            callback=month_in, metavar="YYYY-MM", help="The keys of all months before this one."
        ),
    ] = None,
    grace: Annotated[
        float, typer.Option(metavar="S", min=GRACE_S, help="How long writers may take to commit.")
    ] = GRACE_S,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Drop keys of a table for good: rows in the log that they sealed can never be read again.

    A key stays while a live block or an open txn may need it. Earlier versions of the table lose
    the rows. A drop that was killed is ended.
    """
    if (month is None) == (before is None):
        raise typer.BadParameter("give either --month or --before")
    with Ledger.connect(ledger=ledger, catalog=catalog) as client:
        row = known_table(client.reads(), catalog, name)
        names = [
            each
            for each, status in known_keys(client, row).items()
            if status != "dropped" and is_meant(each, month, before)
        ]
        if names:
            shown = ", ".join(each.text for each in names)
            confirm(f"drop {amount(len(names), 'key')} of table {row.name}: {shown}", yes=yes)
            say(f"for {grace:g} s writers may commit what these keys sealed")
        found = drop_keys(client, row, names, grace)
    rows = [{"key": each.text, "dropped": not why, "kept_by": why} for each, why in found.items()]
    answer_rows(rows, output)
    if left := sum(map(bool, found.values())):
        raise Stopped(f"{amount(left, 'key')} not dropped: see kept_by", ExitCode.FAILED)


def keys_of_table(reads: Reads, keys: KeyFolder, row: TableRow) -> list[dict[str, Any]]:
    """Return the keys of a table for output."""
    known, blocks = keys.names(row.table), live_blocks(reads, row)
    return [
        {
            "key": each.text,
            "status": STATUSES.get(known.get(each, ""), MISSING),
            "live_blocks": blocks.get(each, 0),
        }
        for each in sorted({*known, *blocks})
    ]


def keys_of_all(reads: Reads, keys: KeyFolder) -> Iterator[dict[str, Any]]:
    """Yield the keys of all tables that ask for encryption, or have rows in the log."""
    logged = {each.table for each in reads.blocks()}
    for row in reads.tables():
        if row.table in logged or asks_for_encryption(row.definition):
            for each in keys_of_table(reads, keys, row):
                yield {"table": row.name, **each}


def needs_of_backup(reads: Reads, keys: KeyFolder) -> tuple[dict[str, list[str]], str]:
    """Return the keys that rows of a backup need, by table, and what to do; none and "" if none."""
    needed, missing = dict[str, list[str]](), list[str]()
    for each in keys_of_all(reads, keys):
        if each["status"] != STATUSES["dropped"]:
            needed.setdefault(each["table"], []).append(each["key"])
        if each["status"] == MISSING:
            missing.append(f"{each['table']} {each['key']}")
    if not needed:
        return {}, ""
    told = "; ".join(f"{table} {', '.join(names)}" for table, names in needed.items())
    lost = f". These are not in {keys.path}: {', '.join(missing)}" if missing else ""
    return needed, (
        f"the backup has no keys of encrypted rows. Copy {keys.path} to a place of its own, with "
        f"the keys of {told}{lost}"
    )


def known_keys(client: Ledger, row: TableRow) -> dict[KeyName, KeyStatus]:
    """Return the keys of a table; raises Stopped if it has none, and asks for no encryption."""
    found = keys_of(client).names(row.table)
    if not found and not asks_for_encryption(row.definition):
        raise Stopped(
            f"table {row.name} is not encrypted and has no keys in {keys_of(client).path}: its "
            f"property {ENCRYPTED} is not true",
            ExitCode.FAILED,
        )
    return found


def is_meant(key: KeyName, month: str | None, before: str | None) -> bool:
    """Return whether a key is of a month, or of one before another."""
    return key.month == month if before is None else key.month < before
