"""Commits: one request of a client, for one or more tables, becomes one txn of the ledger.

The request is planned as of one position, without anything in the log. What changes files alone is
then sent in one round trip, if it fits one record. Any other commit takes a txn; if a table has
changed before its open, it is planned again as the txn sees it.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.errors import SnapshotTooOldError
from ledger.reads.port import Reads, TableRow
from ledger.session.receipt import Receipt
from ledger.transaction.transaction import Transaction
from projections.iceberg.commits.creating import create, location_for, make_folders
from projections.iceberg.commits.files.new_files import VectorPlaces
from projections.iceberg.commits.ledger_refusals import as_bad_requests, as_refusals
from projections.iceberg.commits.one_round_trip import OneRoundTrip
from projections.iceberg.commits.planning import Planner, TablePlan, plan_new
from projections.iceberg.commits.repeats import IN_FLIGHT, is_done, snapshots_of
from projections.iceberg.commits.requirements import check_requirements
from projections.iceberg.commits.table_changes import TableChange
from projections.iceberg.commits.table_state import TableAsServed, TablesAsServed
from projections.iceberg.errors import (
    UNKNOWN,
    IcebergRefusal,
    RowsInLogError,
    bad_request,
    commit_failed,
)
from projections.iceberg.names import names_of, table_name

ATTEMPTS: Final = 3
TABLES_MAX: Final = 1_000
STRONGEST: Final = "serializable"


def commit(ledger: Ledger, served: TablesAsServed, changes: Sequence[TableChange]) -> None:
    """Execute the changes of one or more tables together, or none of them.

    A commit that was executed before is not executed again. Rows of the tables that lie in the log
    go into files before. Raises IcebergRefusal.
    """
    check_tables(changes)
    with IN_FLIGHT.turn(snapshots_of(ledger.id, changes)):
        for left in reversed(range(ATTEMPTS)):
            attempt = CommitAttempt(ledger, served, changes)
            try:
                attempt.execute()
            except RowsInLogError as error:
                if not left:
                    raise commit_failed(f"{error}. Some came again at each attempt") from error
                attempt.flush()
            except SnapshotTooOldError as error:
                # The plan was older than the history that the ledger keeps: another one may not be.
                if not left:
                    raise commit_failed(str(error)) from error
            else:
                return


def flush(ledger: Ledger, reads: Reads, rows: Iterable[TableRow]) -> int | None:
    """Put the rows of tables that lie in the log into files, where readers of Iceberg find them.

    Return the position as of which those are there, None if no such row is known.
    """
    receipts: list[Receipt] = []
    for row in rows:
        if reads.blocks(row.table):
            flushing = partial(Transaction.flush, table=row.table)
            ledger.run(flushing, ATTEMPTS, on_commit=receipts.append)
    return receipts[-1].position if receipts else None


def check_tables(changes: Sequence[TableChange]) -> None:
    """Raise IcebergRefusal for no table, too many of them, and one table twice."""
    if not 0 < len(changes) <= TABLES_MAX:
        raise bad_request(f"a commit must change 1 to {TABLES_MAX} tables, got {len(changes)}")
    names = [names_of(change.identifier)[:1] for change in changes]
    if len({each[0].lower() for each in names if each}) < len(names):
        raise bad_request("a commit must name each table once, and by names without dots")


class CommitAttempt:
    """One attempt at a commit: a plan, and what is sent of it."""

    def __init__(
        self, ledger: Ledger, served: TablesAsServed, changes: Sequence[TableChange]
    ) -> None:
        self._ledger, self._served, self._changes = ledger, served, changes
        self._places: list[VectorPlaces] = []

    def flush(self) -> None:
        """Put rows of the tables that lie in the log into files."""
        reads = self._ledger.reads()
        with as_refusals(", ".join(change.name for change in self._changes)):
            flush(self._ledger, reads, [row for row in self._rows(reads) if row is not None])

    def execute(self) -> None:
        """Execute the commit, unless it was executed before; raises IcebergRefusal.

        Raises SnapshotTooOldError if the plan is too old by the time it is sent.
        """
        reads = self._ledger.reads()
        rows = self._rows(reads)
        position = reads.position()
        tables = self._tables(rows, position)
        if is_done(self._changes, tables):
            return
        try:
            plans = self._plans(tables, reads)
            if any(plan.changes_something for plan in plans):
                self._send(plans, position)
        except (IcebergRefusal, SnapshotTooOldError) as error:
            if not (isinstance(error, IcebergRefusal) and error.kind == UNKNOWN):
                self._discard()
            raise

    def _send(self, plans: Sequence[TablePlan], position: int) -> None:
        name = ", ".join(plan.change.name for plan in plans)
        level = STRONGEST if any(plan.is_judged_whole for plan in plans) else None
        with as_refusals(name):
            if not any(plan.defines for plan in plans):
                sink = OneRoundTrip(position)
                with as_bad_requests(name):
                    for plan in plans:
                        assert plan.table is not None, "a table that is not there is created"
                        plan.write(sink, plan.table.row)
                if sink.commit(self._ledger, level) is not None:
                    return
            with self._ledger.transaction(level=level) as txn:
                self._fill(txn, plans)

    def _fill(self, txn: Transaction, plans: Sequence[TablePlan]) -> None:
        """Give the changes to a txn, planned again if a table has changed before its open."""
        reads = self._ledger.reads()
        tables = self._tables(self._rows(reads), txn.opened)
        then = [plan.table.version if plan.table else None for plan in plans]
        now = [table.version if table else None for table in tables]
        if then != now:
            self._discard()
            plans = self._plans(tables, reads)
        for plan in plans:
            with as_bad_requests(plan.change.name):
                plan.write(txn, defined(txn, plan))

    def _rows(self, reads: Reads) -> list[TableRow | None]:
        """Return the tables that have the names of the request now."""
        found = []
        for change in self._changes:
            rows = (
                reads.table_named(self._ledger.catalog, name)
                for name in names_of(change.identifier)
            )
            there = (row for row in rows if row is not None and row.version >= 0)
            found.append(next(there, None))
        return found

    def _tables(self, rows: Sequence[TableRow | None], position: int) -> list[TableAsServed | None]:
        """Return what clients see of the tables then; None stays None."""
        return [None if row is None else self._served.table(row, position) for row in rows]

    def _plans(self, tables: Sequence[TableAsServed | None], reads: Reads) -> list[TablePlan]:
        modified = SystemClock().now_ms()
        return [
            self._plan(change, table, reads, modified)
            for change, table in zip(self._changes, tables, strict=True)
        ]

    def _plan(
        self, change: TableChange, table: TableAsServed | None, reads: Reads, modified: int
    ) -> TablePlan:
        with as_refusals(change.name), as_bad_requests(change.name):
            if table is not None:
                places = self._new_places(table.definition.location)
                return Planner(change, table, reads, places).plan(modified)
            check_requirements(change.name, change.requirements, None, has_snapshots=False)
            if not change.creates:
                raise bad_request(f"a new table must come with assert-create, got {change.name}")
            location = location_for(self._ledger, change.identifier, change.asked)
            return plan_new(change, location, modified, self._new_places(location))

    def _new_places(self, location: str) -> VectorPlaces:
        self._places.append(VectorPlaces(location))
        return self._places[-1]

    def _discard(self) -> None:
        """Delete the vectors that were written, which no commit names."""
        for places in self._places:
            places.discard()
        self._places = []


def defined(txn: Transaction, plan: TablePlan) -> TableRow:
    """Create or alter the table of a plan in a txn, and return it."""
    new, table = plan.new, plan.table
    if new is not None:
        make_folders(new.location)
        return txn.create_table(
            table_name(plan.change.identifier),
            new.columns,
            partition_columns=new.partition_columns,
            location=new.location,
            properties=new.properties,
        )
    assert table is not None, "a plan must have a table or make one"
    if plan.changes:
        txn.alter_table(table.row, **plan.changes)
    return table.row


__all__ = ["commit", "create"]
