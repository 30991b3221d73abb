"""Two tables that must agree: the flights by month, and one row of sums over them.

Every load is one commit over both. A reader of both at one position finds sums that fit, or has
seen half a commit.
"""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Final, NamedTuple, Self

import pyarrow as pa
import pyarrow.dataset as ds

from ledger.client import Ledger
from ledger.properties.column_mapping import PUBLISH
from ledger.reads.port import FileRow, TableRow
from ledger.transaction.transaction import Transaction
from tests.demo.delta_folders import PARTITION
from tests.demo.flights import NOTHING, Totals, columns, totals_of
from tests.demo.listed_table import FILES_KEPT, file_totals, path_of
from tests.demo.report import wait_until

FLIGHTS: Final = "listed_flights"
SUMS: Final = "flight_sums"
PAUSE_S: Final = 0.002


class TwoTables(NamedTuple):
    """The tables as they were created, with their locations."""

    flights: TableRow
    sums: TableRow


def create_tables(ledger: Ledger, warehouse: Path, schema: pa.Schema) -> TwoTables:
    """Create both tables, without rows; the flights are published as Delta."""
    flights = ledger.create_table(
        FLIGHTS,
        columns(schema),
        partition_columns=[PARTITION],
        location=str(warehouse / FLIGHTS),
        properties={PUBLISH: "delta"},
    )
    measured = [(name, "BIGINT") for name in Totals._fields]
    sums = ledger.create_table(SUMS, measured, location=str(warehouse / SUMS))
    return TwoTables(flights, sums)


def load(txn: Transaction, tables: TwoTables, rows: pa.Table) -> None:
    """Add rows, and replace the sums by the new ones."""
    before = NOTHING
    for row in txn.scan(tables.sums).to_arrow().to_pylist():
        before = before.plus(Totals(**row))
    txn.insert(tables.flights, rows)
    txn.overwrite(tables.sums, [before.plus(totals_of(rows))._asdict()])


def recorded_sums(sums: TableRow, files: Iterable[FileRow]) -> Totals:
    """Return the sums in the rows of some files, at most one row if all is well."""
    found = NOTHING
    for file in files:
        found = found.plus(row_in(path_of(sums, file.path)))
    return found


@lru_cache(FILES_KEPT)
def row_in(path: Path) -> Totals:
    """Return the sums in the one row of a file."""
    (row,) = ds.dataset(str(path)).to_table().to_pylist()
    return Totals(**row)


def found_sums(flights: TableRow, files: Iterable[FileRow]) -> Totals:
    """Return the sums over the flights of some files."""
    found = NOTHING
    for file in files:
        found = found.plus(file_totals(path_of(flights, file.path)))
    return found


class Views:
    """Looks at both tables again and again, in a thread of its own, inside a `with` block.

    Attributes:
        looks: how often it looked.
        states: the sums over the flights that it found, one for each commit it saw as the last.
        halves: the differences between sums and flights, which must stay empty.
    """

    def __init__(self, ledger: Ledger, tables: TwoTables) -> None:
        self.looks = 0
        self.states: set[Totals] = set()
        self.halves: list[str] = []
        self._ledger = ledger
        self._tables = tables
        self._failure: Exception | None = None
        self._stop = Signal()
        self._thread = Thread(target=self._run, name="views", daemon=True)

    def wait_look(self) -> None:
        """Wait for a look that began after this call; raises the error of a failed look."""
        wanted = self.looks + 2
        wait_until(lambda: self._has_looked(wanted), "the reader has looked at both tables")

    def look(self) -> None:
        """Read both tables at one position, and record the sums."""
        flights = self._ledger.read(self._tables.flights)
        sums = self._ledger.read(self._tables.sums, position=flights.position)
        found = found_sums(self._tables.flights, flights)
        recorded = recorded_sums(self._tables.sums, sums)
        if found != recorded:
            self.halves.append(
                f"position {flights.position}: {found} in flights, {recorded} in sums"
            )
        self.states.add(found)
        self.looks += 1

    def _has_looked(self, wanted: int) -> bool:
        if self._failure is not None:
            raise self._failure
        return self.looks >= wanted

    def _run(self) -> None:
        try:
            while not self._stop.wait(PAUSE_S):
                self.look()
        except Exception as error:  # noqa: BLE001 - raised by `wait_look`
            self._failure = error

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
