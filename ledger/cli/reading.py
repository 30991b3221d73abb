"""Shared parts of the commands: opening the rows of a ledger, options, and the form of rows."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli.answers import Output, say
from ledger.cli.failures import Stopped
from ledger.clock import time_text
from ledger.config.address import Address
from ledger.config.search import find_address, keys_folder
from ledger.core.refusals import Reason
from ledger.definitions.client_reads import check_ledger_name, open_rows
from ledger.errors import LedgerError, ReaderBehindError, RefusedError, UnknownTableError
from ledger.keys.keyed_reads import keyed
from ledger.machine.exit_codes import ExitCode
from ledger.reads.amounts import shown_size
from ledger.reads.port import Reads, TableRow, VersionRow
from ledger.reads.whole_numbers import ROWS_MAX, number_of
from ledger.session.explain import name_of

if TYPE_CHECKING:
    from ledger.client import Ledger

LIST_MAX = 50
SIZES = ("size", "bytes")
"""Fields that are numbers of bytes."""
# The last millisecond of the year 9999.
CALENDAR_END_MS = 253_402_300_799_999

# Over HTTP an answer has no more rows, and answers from a store must be the same.
LimitOption = Annotated[int, typer.Option(min=1, max=ROWS_MAX, help="Show at most this many rows.")]


@contextmanager
def reading(ledger: str | None, output: Output = Output.TABLE) -> Iterator[tuple[Address, Reads]]:
    """Open the rows of the ledger that is up on this host, and print the position they are as of.

    The position is printed before the answer, and for JSON behind it: a program that gets an error
    then reads the error only. Raises as `reading_at`.
    """
    address = find_address(ledger=ledger)
    with reading_at(address) as reads:
        as_of = f"as of position {reads.position()}"
        if output is Output.TABLE:
            say(as_of)
        yield address, reads
        if output is Output.JSON:
            say(as_of)


@contextmanager
def reading_at(address: Address) -> Iterator[Reads]:
    """Open the rows that an address names, on this host or behind a URL.

    Raises SettingsError if the rows are of a ledger with another name.
    """
    with closing(open_rows(address)) as rows:
        reads = keyed(rows, keys_folder(address))
        with suppress(ReaderBehindError):  # Before the first event rows belong to no ledger.
            check_ledger_name(reads.identity(), address.ledger)
        yield reads


@contextmanager
def known_txns(connection: "Ledger") -> Iterator[None]:
    """End the command as not found if it is refused over a txn that is not in the rows.

    If the rows cannot be read, or are not new enough, the refusal itself is raised.
    """
    try:
        yield
    except RefusedError as refused:
        with suppress(LedgerError):
            if connection.reads().txn(refused.subject) is None:
                raise Stopped(str(refused), ExitCode.NOT_FOUND) from refused
        raise


def no_txn(reads: Reads, number: int) -> Stopped:
    """Return the end of a command about a txn that is not in the rows."""
    return Stopped(
        f"there is no txn {number} up to position {reads.position()}; see lakeledger txn list",
        ExitCode.NOT_FOUND,
    )


def known_table(reads: Reads, catalog: str, name: str) -> TableRow:
    """Return the table that holds a name, or has it as its id, also if it was dropped.

    Raises UnknownTableError if there is none.
    """
    found = reads.table_named(catalog, name)
    if found is None and (table := number_of(name)) is not None:
        found = reads.table(table)
    if found is None:
        raise UnknownTableError(
            f"there is no table {catalog}.{name}; see lakeledger table list, with --dropped for "
            "dropped tables, which can be named by their id",
            reason=Reason.UNKNOWN_TABLE.value,
        )
    return found


def brief(fields: dict[str, Any], columns: Sequence[str], output: Output) -> dict[str, Any]:
    """Return the fields that fit a line of a terminal, sizes in units; JSON has every field."""
    if output is Output.JSON:
        return fields
    kept = {name: fields[name] for name in columns}
    return kept | {name: shown_size(kept[name]) for name in SIZES if kept.get(name) is not None}


def anomalies(reads: Reads, table: int | None) -> dict[str, Any]:
    """Return the first anomalies of a table, or of all, and whether there are more, as fields."""
    rows = reads.anomalies(table, LIST_MAX + 1)
    return {
        "anomalies": [
            {**row._asdict(), "name": name_of(reads, row.table)} for row in rows[:LIST_MAX]
        ],
        "more_anomalies": len(rows) > LIST_MAX,
    }


def check_one_place(*places: object) -> None:
    """End the command if several places in the history of a table are named."""
    if sum(place is not None for place in places) > 1:
        raise Stopped("name at most one of --version, --position and --as-of", ExitCode.USAGE)


def when(at_ms: int) -> str | None:
    """Return a time as ISO 8601 in UTC, None for 0 and for a time after the year 9999.

    Writers may report any number for a file.
    """
    return time_text(at_ms) if 0 < at_ms <= CALENDAR_END_MS else None


def time_of(name: str, text: str) -> int:
    """Return the time in the option or argument `name` in milliseconds; raises BadParameter."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{name} must be a time like 2026-01-31T12:00:00Z, got {text!r}"
        ) from error
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def version_at(reads: Reads, row: TableRow, at: int, said: str) -> VersionRow:
    """Return the version a table had at a time, `said` in words; end the command if it had none.

    `version_row` takes 0 for no time, so times up to 0 are answered here.
    """
    found = reads.version_row(row.table, at=at) if at > 0 else None
    if found is None:
        raise Stopped(
            f"table {row.name} had no version at {said}; see lakeledger table history",
            ExitCode.NOT_FOUND,
        )
    return found
