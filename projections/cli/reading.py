"""What the commands share: the rows of the ledger they are about, options, and how rows look."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Annotated, Any

import typer

from ledger.cli.answers import Output, say
from ledger.cli.failures import Stopped
from ledger.client import Ledger
from ledger.clock import time_text
from ledger.config.address import Address, find_address
from ledger.core.refusals import Reason
from ledger.errors import LedgerError, ReaderBehindError, RefusedError, UnknownTableError
from ledger.machine.exit_codes import ExitCode
from ledger.reads.errors import is_number
from ledger.reads.port import AnomalyRow, Reads, TableRow
from ledger.sdk.view import check_ledger_name, open_rows
from projections.web.asked import LIMIT_MAX, NUMBER

LIST_MAX = 50
# The last millisecond of the year 9999.
CALENDAR_END_MS = 253_402_300_799_999

# Over HTTP no more are given at once, and from a store it is to be the same.
LimitOption = Annotated[int, typer.Option(min=1, max=LIMIT_MAX, help="At most so many rows.")]


@contextmanager
def reading(ledger: str | None, output: Output = Output.TABLE) -> Iterator[tuple[Address, Reads]]:
    """Open the rows of the ledger that is up on this host, and say as of which position they are.

    That is said before the answer; to programs behind it, for where there is none, an error is all
    that they read. Raises as `reading_at`.
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

    Raises SettingsError if they are those of a ledger of another name.
    """
    with closing(open_rows(address)) as reads:
        with suppress(ReaderBehindError):  # Without any events they are still nobody's.
            check_ledger_name(reads.identity(), address.ledger)
        yield reads


@contextmanager
def known_txns(connection: Ledger) -> Iterator[None]:
    """End the command as not found if it is refused over a txn that, as the rows tell, never was.

    Where no rows can be read, or none that are new enough, the refusal is raised as it is.
    """
    try:
        yield
    except RefusedError as refused:
        with suppress(LedgerError):
            if connection.reads().txn(refused.subject) is None:
                raise Stopped(str(refused), ExitCode.NOT_FOUND) from refused
        raise


def no_txn(reads: Reads, number: int) -> Stopped:
    """Return what ends a command about a txn that the rows do not know."""
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
            "those that are gone and can be named by their id",
            reason=Reason.UNKNOWN_TABLE.value,
        )
    return found


def number_of(text: str) -> int | None:
    """Return the number of an id or a position that a text says, None if it can be none."""
    # Looked at first: Python refuses to make a number of thousands of digits.
    is_one = NUMBER.fullmatch(text) is not None and is_number(int(text))
    return int(text) if is_one else None


def name_of(reads: Reads, table: int) -> str:
    """Return the name of a table with its catalog, its id if it is not known."""
    row = reads.table(table)
    return f"{row.catalog}.{row.name}" if row is not None else str(table)


def brief(fields: dict[str, Any], columns: Sequence[str], output: Output) -> dict[str, Any]:
    """Return what fits a line of a terminal; programs get every field."""
    return fields if output is Output.JSON else {name: fields[name] for name in columns}


def anomaly_fields(reads: Reads, row: AnomalyRow) -> dict[str, Any]:
    """Return an anomaly as fields."""
    return {**row._asdict(), "name": name_of(reads, row.table)}


def anomalies(reads: Reads, table: int | None) -> dict[str, Any]:
    """Return the first anomalies of a table, or of all, and whether there are more, as fields."""
    rows = reads.anomalies(table, LIST_MAX + 1)
    return {
        "anomalies": [anomaly_fields(reads, row) for row in rows[:LIST_MAX]],
        "more_anomalies": len(rows) > LIST_MAX,
    }


def when(at_ms: int) -> str | None:
    """Return a time as ISO 8601 in UTC, None for 0 and for what is in no calendar.

    What writers say of their files may be any number.
    """
    return time_text(at_ms) if 0 < at_ms <= CALENDAR_END_MS else None
