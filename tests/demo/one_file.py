"""One file: threads update flights of one file at once, while OPTIMIZE puts files together.

The table has marks, so two commits meet only where they change one flight. The sums by month are
known: each update makes a flight one mile longer.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier
from typing import Final, NamedTuple

import pyarrow as pa

from ledger.client import Ledger
from ledger.errors import ConcurrentDeleteDeleteException, ConflictError
from ledger.properties.column_mapping import PUBLISH
from ledger.properties.known_properties import MARKS, ROWS
from ledger.reads.port import TableRow
from tests.demo.delta_folders import PARTITION
from tests.demo.flights import MEASURES, Totals, read_days, totals_of
from tests.demo.isolation import lost_by, one_row, spark_sums
from tests.demo.listed_table import LONGER
from tests.demo.other_readers import check_other_readers
from tests.demo.report import Report
from tests.demo.stage import Stage

TABLE: Final = "marked_flights"
MONTH: Final = 1
ID: Final = "id"
WRITERS: Final = 4
UPDATES_EACH: Final = 10
BOTH: Final = 7_000
"""A flight that no writer updates."""
PATIENCE_S: Final = 60.0
FAULTY: Final = "deltalake"
"""It may leave out other rows of a large file than the deleted ones, see docs/publishing.md."""


class Rewrites(NamedTuple):
    """How often OPTIMIZE committed, how many files it replaced, and how often it lost."""

    commits: int
    replaced: int
    lost: int


def show_one_file(stage: Stage, report: Report) -> int:
    """Play all acts on the ledger that is up; return how many commits lost a conflict in them."""
    days = read_days(stage.home.flights)
    rows = pa.concat_tables(table for day, table in days.items() if day.month == MONTH)
    with ExitStack() as held:
        clients = [
            held.enter_context(stage.connect(f"demo-row-{number}")) for number in range(WRITERS + 1)
        ]
        act = OneFile(clients, rows, stage.home.warehouse, report)
        act.update_in_a_crowd()
        act.update_one_flight()
        act.check_sums("the SDK", act.scanned())
    act.check_sums("Spark, in the files of its own store,", spark_sums(stage, act.table))
    row = one_row(stage, act.table)
    check_other_readers(report, row, row.version, act.wanted, but=[FAULTY])
    return act.conflicts


class OneFile:
    """Updates flights of one file; the last of the clients runs OPTIMIZE.

    Attributes:
        table: the table, whose flights lie in one file at first.
        wanted: the sums by month after the statements that committed.
        conflicts: how many commits have lost.
    """

    def __init__(
        self, clients: list[Ledger], rows: pa.Table, warehouse: Path, report: Report
    ) -> None:
        *self._writers, self._optimizer = clients
        named = rows.select([PARTITION, *MEASURES])
        numbers = pa.array(range(len(rows)), pa.int64())
        self.table: TableRow = self._optimizer.create_table(
            TABLE,
            named.append_column(ID, numbers),
            location=str(warehouse / TABLE),
            properties={ROWS: MARKS, PUBLISH: "delta"},
        )
        self.wanted = {MONTH: totals_of(rows)}
        self.conflicts = 0
        self._report = report
        files = len(list(self._optimizer.read(self.table)))
        report.check(f"{len(rows):,} flights of month {MONTH} lie in one file", holds=files == 1)

    def update_in_a_crowd(self) -> None:
        """Update flights from several threads, each flight once, beside an OPTIMIZE in a loop."""
        gate = Barrier(WRITERS + 1)
        with ThreadPoolExecutor(WRITERS + 1) as pool:
            jobs = [
                pool.submit(self._update, ledger, self._flights_of(number), gate)
                for number, ledger in enumerate(self._writers)
            ]
            rewriting = pool.submit(self._optimize, jobs, gate)
            lost, rewrites = sum(job.result() for job in jobs), rewriting.result()
        every = WRITERS * UPDATES_EACH
        self._expect_longer(every - lost)
        self.conflicts += lost + rewrites.lost
        self._report.check(
            f"{WRITERS} threads UPDATE flights of one file, {UPDATES_EACH} each, beside OPTIMIZE",
            holds=not lost,
            found=f"{every - lost} of {every} commit at the first try",
        )
        self._report.check(
            "OPTIMIZE in a loop beside them",
            holds=rewrites.commits > 0 and not rewrites.lost,
            found=f"{rewrites.commits} commits put {rewrites.replaced} files together, "
            f"{rewrites.lost} lose",
        )

    def update_one_flight(self) -> None:
        """Update one flight twice side by side: the second has not read the first, and loses."""
        one, two = (ledger.begin() for ledger in self._writers[:2])
        for txn in (one, two):
            txn.update(self.table, {LONGER: f"{LONGER} + 1"}, f"{ID} = {BOTH}")
        self._optimizer.optimize(self.table)
        one.commit()
        lost = lost_by(two)
        self._expect_longer(1)
        self.conflicts += lost is not None
        self._report.check(
            "UPDATE of one flight beside UPDATE of the same, an OPTIMIZE between",
            holds=isinstance(lost, ConcurrentDeleteDeleteException),
            found=f"one commits, one aborts: {type(lost).__name__}" if lost else "both commit",
        )
        for line in lost.explain().splitlines() if lost is not None else ():
            self._report.say(f"  {line}")

    def scanned(self) -> dict[int, Totals]:
        """Return the sums that a scan finds."""
        rows = self._optimizer.scan(self.table).to_arrow()
        return {MONTH: totals_of(rows)}

    def check_sums(self, reader: str, found: dict[int, Totals]) -> None:
        """Check found sums against the result of the statements."""
        self._report.same(
            f"{reader} finds the sums of what has committed",
            found,
            self.wanted,
            f"{self.wanted[MONTH].rows:,} rows, {self.wanted[MONTH].distance:,} miles",
        )

    def _flights_of(self, number: int) -> Iterator[int]:
        """Yield the flights that a writer updates."""
        return iter(range(number, WRITERS * UPDATES_EACH, WRITERS))

    def _update(self, ledger: Ledger, flights: Iterator[int], gate: Barrier) -> int:
        """Update one flight after the other; return how many updates lost."""
        lost = 0
        gate.wait(PATIENCE_S)
        for flight in flights:
            txn = ledger.begin()
            txn.update(self.table, {LONGER: f"{LONGER} + 1"}, f"{ID} = {flight}")
            lost += lost_by(txn) is not None
        return lost

    def _optimize(self, jobs: "list[Future[int]]", gate: Barrier) -> Rewrites:
        """Run OPTIMIZE until the jobs are done, and once after that."""
        commits = replaced = lost = 0
        gate.wait(PATIENCE_S)
        is_over = False
        while not is_over:
            is_over = all(job.done() for job in jobs)
            try:
                with self._optimizer.transaction() as txn:
                    files = txn.optimize(self.table).removed
            except ConflictError:
                lost += 1
            else:
                commits += files > 0
                replaced += files
        return Rewrites(commits, replaced, lost)

    def _expect_longer(self, flights: int) -> None:
        """Expect a mile more for each of some flights."""
        self.wanted[MONTH] = self.wanted[MONTH].plus(Totals(0, flights, 0))
