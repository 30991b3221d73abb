"""Isolation: statements side by side on one listed table, which of them commit, and why not.

Two clients plan from the same state and commit one after the other, so the outcome is known: it
does not depend on speed. At the end the files in the ledger hold exactly the result of the
statements that committed.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Final, Literal

import pyarrow as pa

from ledger.client import Ledger
from ledger.core.commands import LEVEL_PROPERTY
from ledger.errors import ConcurrentAppendException, ConflictError
from ledger.reads.port import TableRow
from ledger.transaction.transaction import Transaction
from spark_sink.frames import cached_table
from tests.demo.acts.spark_job import spark_totals
from tests.demo.answers import differences
from tests.demo.flights import NOTHING, Day, Totals, read_days, rows_of, totals_of
from tests.demo.listed_table import delete, month_totals, update
from tests.demo.other_readers import check_other_readers
from tests.demo.report import Report
from tests.demo.stage import CATCH_UP_MS, Stage
from tests.demo.two_tables import Views, create_tables, load

LOADED_DAYS: Final = 3
APPENDED_DAY: Final = 28
WRITERS: Final = 4
UPDATES_EACH: Final = 3
# Enough for every writer to lose to every update of the others.
ATTEMPTS: Final = 10 * WRITERS * UPDATES_EACH
PATIENCE_S: Final = 60.0


def show_isolation(stage: Stage, report: Report) -> int:
    """Play all acts on the ledger that is up; return how many commits lost a conflict in them."""
    days = read_days(stage.home.flights)
    with stage.connect("demo-one") as one, stage.connect("demo-two") as two:
        acts = Acts(one, two, stage.home.warehouse, days, report)
        acts.play()
        table, files = acts.tables.flights, one.read(acts.tables.flights)
    acts.check_sums("pyarrow, in the files of the follower's store,", month_totals(table, files))
    found = spark_sums(stage, table)
    acts.check_sums("Spark, in the files of its own store,", found)
    row = one_row(stage, table)
    check_other_readers(report, row, row.version, acts.wanted)
    return acts.conflicts


def one_row(stage: Stage, table: TableRow) -> TableRow:
    """Return a table as it is now."""
    stage.catch_up()
    row = stage.reads.table(table.table)
    assert row is not None, "the table is there"
    return row


def spark_sums(stage: Stage, table: TableRow) -> dict[int, Totals]:
    """Return the sums that Spark finds in the present files of its own store."""
    with stage.ledger.transaction("read_only") as txn:
        stage.spark_reads.wait(txn.opened, CATCH_UP_MS)
        return spark_totals(cached_table(stage.spark, table.name, txn, stage.tables))


class Acts:
    """Plays statements side by side over the first days of each month.

    Attributes:
        tables: the tables of the statements.
        conflicts: how many commits have lost.
        wanted: the sums by month after the statements that committed.
    """

    def __init__(
        self,
        one: Ledger,
        two: Ledger,
        warehouse: Path,
        days: Mapping[Day, pa.Table],
        report: Report,
    ) -> None:
        self.tables = create_tables(one, warehouse, next(iter(days.values())).schema)
        self.conflicts = 0
        self.wanted: dict[int, Totals] = {}
        self._one = one
        self._two = two
        self._days = days
        self._report = report
        self._flights = self.tables.flights

    def play(self) -> None:
        """Play act after act; raises CheckFailedError as soon as one ends otherwise."""
        self.load_two_tables()
        self.update_two_months(1, 2)
        self.update_one_month(3)
        self.delete_beside_append(4, "none")
        self.delete_beside_append(5, "the txn")
        self.update_in_a_crowd(6)
        self._one.alter_table(self._flights, properties={LEVEL_PROPERTY: "Serializable"})
        self.delete_beside_append(7, "the table")

    def load_two_tables(self) -> None:
        """Load flights and their sums, day by day, while a thread reads both."""
        days = [day for day in self._days if day.day <= LOADED_DAYS]
        with Views(self._two, self.tables) as views:
            views.wait_look()
            for day in days:
                with self._one.transaction() as txn:
                    load(txn, self.tables, self._days[day])
                self._expect(day.month, totals_of(self._days[day]))
            views.wait_look()
        self._report.check(
            f"no reader sees half of {len(days)} commits over two tables",
            holds=not views.halves and len(views.states) > 1,
            found="; ".join(views.halves)
            or f"{views.looks} looks at both, {len(views.states)} states, 0 halves",
        )

    def update_two_months(self, month: int, other: int) -> None:
        """Update two months side by side: both commit."""
        first, second = self._update(self._one, month), self._update(self._two, other)
        first.commit()
        lost = lost_by(second)
        self._expect_update(month)
        self._expect_update(other)
        self._check_both(f"UPDATE of month {month} beside UPDATE of month {other}", lost)

    def update_one_month(self, month: int) -> None:
        """Update one month twice side by side: the second has not read the first, and loses."""
        first, second = self._update(self._one, month), self._update(self._two, month)
        first.commit()
        self._expect_update(month)
        what = f"UPDATE of month {month} beside UPDATE of month {month}"
        self._check_lost(what, lost_by(second), first.id)

    def delete_beside_append(
        self, month: int, asks: Literal["none", "the txn", "the table"]
    ) -> None:
        """Append to a month between read and commit of its DELETE; only Serializable minds that.

        `asks` is the source of this level.
        """
        rows = self._days[Day(month, APPENDED_DAY)]
        deleting = self._one.begin(level="serializable" if asks == "the txn" else None)
        delete(deleting, self._flights, month)
        receipt = self._two.append(self._flights, rows)
        lost = lost_by(deleting)
        if lost is None:
            self.wanted[month] = NOTHING
        self._expect(month, totals_of(rows))
        what = f"DELETE of month {month} beside an append to it"
        if asks == "none":
            self._check_both(f"{what} under WriteSerializable", lost)
            self._report.say("  the append counts as the later one: its rows stay")
        else:
            self._check_lost(f"{what} under Serializable, as {asks} asks", lost, receipt.txn)

    def update_in_a_crowd(self, month: int) -> None:
        """Update one month from several threads, each until all its updates are committed."""
        gate = Barrier(WRITERS)
        with ThreadPoolExecutor(WRITERS) as pool:
            writers = [pool.submit(self._update_again, month, gate) for _ in range(WRITERS)]
            tries = sum(writer.result() for writer in writers)
        commits = WRITERS * UPDATES_EACH
        for _ in range(commits):
            self._expect_update(month)
        retries = tries - commits
        self.conflicts += retries
        self._report.check(
            f"{WRITERS} threads UPDATE month {month}, {UPDATES_EACH} times each, by ledger.run",
            # All plans of the first round are of the same state: one of them wins.
            holds=retries >= WRITERS - 1,
            found=f"all {commits} commit, after {retries} retries",
        )

    def check_sums(self, reader: str, found: Mapping[int, Totals]) -> None:
        """Check found sums against the result of the statements."""
        wrong = differences(found, self.wanted)
        right = f"{rows_of(self.wanted):,} rows, 3 sums for each of {len(self.wanted)} months"
        self._report.check(
            f"{reader} finds the sums of what has committed",
            holds=not wrong,
            found="; ".join(wrong) or right,
        )

    def _update(self, ledger: Ledger, month: int) -> Transaction:
        """Return a txn that is to commit an UPDATE."""
        txn = ledger.begin()
        update(txn, self._flights, month)
        return txn

    def _update_again(self, month: int, gate: Barrier) -> int:
        """Commit one UPDATE after the other; return how many tries they took."""
        tries = 0

        def work(txn: Transaction) -> None:
            nonlocal tries
            tries += 1
            update(txn, self._flights, month)
            if tries == 1:
                gate.wait(PATIENCE_S)

        for _ in range(UPDATES_EACH):
            self._one.run(work, attempts=ATTEMPTS, deadline_s=PATIENCE_S)
        return tries

    def _expect(self, month: int, more: Totals) -> None:
        self.wanted[month] = self.wanted.get(month, NOTHING).plus(more)

    def _expect_update(self, month: int) -> None:
        """Expect a mile more in every row of a month."""
        self._expect(month, Totals(0, self.wanted[month].rows, 0))

    def _check_both(self, what: str, lost: ConflictError | None) -> None:
        """Check that no commit lost."""
        self._report.check(what, holds=lost is None, found=str(lost or "both commit"))

    def _check_lost(self, what: str, lost: ConflictError | None, winner: int) -> None:
        """Check that a commit lost to this txn because of its added files; show the explanation."""
        is_right = isinstance(lost, ConcurrentAppendException)
        self._report.check(
            what,
            holds=lost is not None and is_right and lost.evidence.winner.txn == winner,
            found=f"one commits, one aborts: {type(lost).__name__}" if lost else "both commit",
        )
        self.conflicts += 1
        for line in lost.explain().splitlines() if lost is not None else ():
            self._report.say(f"  {line}")


def lost_by(txn: Transaction) -> ConflictError | None:
    """Commit a txn; return its error if an earlier commit won."""
    try:
        txn.commit()
    except ConflictError as error:
        return error
    return None
