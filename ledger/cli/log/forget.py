"""The command that takes rows out of a table for good, and says what still knows their values."""

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows, progress_bar, say
from ledger.cli.failures import Stopped
from ledger.cli.options import (
    CONFIGURED,
    CatalogOption,
    NameOption,
    TableArgument,
    YesOption,
    confirm,
)
from ledger.cli.reading import known_table
from ledger.machine.exit_codes import ExitCode
from ledger.reads.amounts import amount

if TYPE_CHECKING:
    from ledger.forgetting.forgetting import ForgottenRows
    from ledger.forgetting.held_places import HeldPlace
    from ledger.forgetting.held_rows import HeldFile, HeldRows
    from ledger.reads.port import TableRow

BackupsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--backup", metavar="PATH", help="A backup to search, besides the last one of this host."
    ),
]


def table_forget(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    where: Annotated[
        str, typer.Option(help='The rows to forget, such as "id = 7"; the log does not get it.')
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what holds the rows or their values now.")
    ] = False,
    older_than: Annotated[
        float,
        typer.Option(
            metavar="H", min=0, help="Keep files that were removed less than this many hours ago."
        ),
    ] = 0.0,
    backup: BackupsOption = None,
    reason: Annotated[
        str, typer.Option(help="Why; the log keeps it, so name no value in it.")
    ] = "",
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take rows out of a table for good, and report which places still know their values.

    Files with such rows are written anew without them, and the old files are deleted as soon as no
    open txn needs them. Then all places are searched that this host can reach: files, topics,
    backups, published logs and rows. The report says until when each of them holds what. With
    --dry-run nothing changes: so it is also the report of a later day.
    """
    from ledger.cli.log.known_here import check_backups, surroundings  # noqa: PLC0415
    from ledger.client import Ledger  # noqa: PLC0415 - a command loads what it uses
    from ledger.config.search import find_address, log_of  # noqa: PLC0415
    from ledger.expressions.parse import parse  # noqa: PLC0415
    from ledger.forgetting.forgetting import forget, look  # noqa: PLC0415

    address, condition = find_address(ledger=ledger), parse(where)
    with ExitStack() as own:
        log = own.enter_context(closing(log_of(address)))
        client = own.enter_context(
            Ledger.connect(ledger=ledger, catalog=catalog, application="lakeledger table forget")
        )
        row = known_table(client.reads(), catalog, name)
        check_backups(backup or (), client.reads().identity().ledger)
        around = surroundings(log, address, backup or ())._replace(keys=client.keys)
        with progress_bar("files", transient=True) as bar:
            held = look(client.reads(), row, condition, progress=bar)
        done: ForgottenRows | None = None
        if not dry_run:
            agreed(row, held, yes=yes)
            done = forget(client, row, condition, held, older_than_h=older_than, reason=reason)
            row = client.table(row.name)
            held = look(client.reads(), row, condition, held.values)
        kept_by = "" if done is None else kept_until(done, older_than)
        places = held_places(client.reads(), row, held, around, kept_by)
    tell(held, done, places, output)
    if done is not None:
        check_gone(held)


def agreed(row: "TableRow", held: "HeldRows", *, yes: bool) -> None:
    """Show what is going to happen, and ask; end the command for a table that was dropped."""
    from ledger.forgetting.forgetting import keys_in  # noqa: PLC0415
    from ledger.forgetting.key_dropping import GRACE_S  # noqa: PLC0415
    from ledger.forgetting.traces import vacuum_of  # noqa: PLC0415

    if row.dropped:
        raise Stopped(
            f"table {row.name} ({row.table}) was dropped, so no commit can write its files anew. "
            f"Delete all of them with: {vacuum_of(row)}. Then --dry-run reports what remains",
            ExitCode.USAGE,
        )
    confirm(plan_of(held, row.name), yes=yes)
    if keys_in(held):
        say(f"for {GRACE_S:g} s writers may commit rows under the former keys")


def check_gone(held: "HeldRows") -> None:
    """End the command with an error while a file, or a block that can be read, holds rows."""
    left = [each for each in held.files if each.is_live or not is_clear_block(each)]
    if left:
        raise Stopped(
            f"{amount(len(left), 'file')} still with rows: see data file or encrypted rows in the "
            "report",
            ExitCode.FAILED,
        )


def held_places(*given: Any) -> "list[HeldPlace]":
    """Return the places that hold rows or values, with a bar that shows how many are found."""
    from ledger.forgetting.traces import traces  # noqa: PLC0415

    found = list["HeldPlace"]()
    with progress_bar("places", transient=True) as bar:
        for place in traces(*given):
            found.append(place)
            bar(len(found), len(found))
    return found


def plan_of(held: "HeldRows", name: str) -> str:
    """Return in words what is going to happen to the files of a table."""
    live = [file for file in held.files if file.is_live]
    from ledger.forgetting.forgetting import keys_in  # noqa: PLC0415
    from ledger.forgetting.key_dropping import GRACE_S  # noqa: PLC0415

    earlier = [file for file in held.files if not file.is_live and not file.file.rows]
    blocks, keys = sum(map(is_clear_block, held.files)), keys_in(held)
    return (
        f"write {amount(len(live), 'file')} of table {name} anew without "
        f"{amount(sum(file.rows for file in live), 'row')}, and delete these and "
        f"{amount(len(earlier), 'file')} of earlier versions"
        + (f"; rows in the log ({amount(blocks, 'block')}) stay there until a trim" * bool(blocks))
        + (
            f"; put all rows in the log into files, and drop the keys of encrypted ones, "
            f"{', '.join(key.text for key in keys)}, {GRACE_S:.0f} s after writers have others"
        )
        * bool(keys)
    )


def is_clear_block(file: "HeldFile") -> bool:
    """Return whether rows are in the log and anybody with the log can read them."""
    from ledger.log.wire.file_extras import is_sealed  # noqa: PLC0415

    return bool(file.file.rows) and not is_sealed(file.file.rows)


def kept_until(done: "ForgottenRows", older_than: float) -> str:
    """Return until when files of earlier versions stay that nothing else holds."""
    if done.kept_by or not older_than:
        return done.kept_by
    return f"they were removed {older_than:g} hours ago (--older-than), then the same command again"


def tell(
    held: "HeldRows", done: "ForgottenRows | None", found: "list[HeldPlace]", output: Output
) -> None:
    """Print what was done, and what remains where."""
    rows = [trace._asdict() for trace in found]
    if output is Output.JSON:
        fields: dict[str, Any] = {"rows": None, "files": [], "version": None, "keys": {}}
        if done is not None:
            fields = {"rows": done.rows, "files": done.files, "version": done.version}
            fields["keys"] = {key.text: why for key, why in done.keys.items()}
        answer({**fields, "values": len(held.values), "remains": rows}, output)
        return
    if done is not None:
        files = amount(len(done.files), "file")
        say(f"{amount(done.rows, 'row')} forgotten, {files} deleted; what remains:")
    answer_rows(rows, output)
