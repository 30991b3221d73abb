"""A table of flights by day, and its files, for tests of what becomes of them."""

from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile
from ledger.reads.port import TableRow

TABLE = "flights"


def create_flights(ledger: Ledger, level: str = "WriteSerializable") -> TableRow:
    """Create the table, in which each of two days has one file: `day1` and `day2`."""
    row = ledger.create_table(
        TABLE,
        [("day", "int"), ("tail", "string")],
        partition_columns=["day"],
        properties={"delta.isolationLevel": level},
    )
    ledger.append(TABLE, [of_day(1), of_day(2)])
    return row


def of_day(day: int, path: str = "", rows: int = 0) -> AddFile:
    """Return a file of a day, `day1` for the first unless it is named."""
    stats = f'{{"numRecords":{rows}}}' if rows else ""
    return AddFile(path or f"day{day}", (str(day),), stats=stats)
