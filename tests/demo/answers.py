"""Answers of readers and Spark, compared with the raw rows and the producers' manifests.

A snapshot has its valid txns, and the manifests have the days that each txn wrote; so the sums are
known without reading write ids and files.
"""

import time
from collections.abc import Mapping
from typing import Final

from ledger.core.lists.valid_lists import ValidTxnList
from ledger.reads.port import TableRow
from ledger.transaction.transaction import Transaction
from spark_sink.frames import cached_table
from tests.demo.acts.manifest import ManifestEntry, with_step
from tests.demo.acts.reader import HeldReader
from tests.demo.acts.spark_job import spark_totals
from tests.demo.delta_folders import delta_folders
from tests.demo.flights import NOTHING, Day, Totals, rows_of, totals_by_month
from tests.demo.report import Report
from tests.demo.stage import Stage

READ_WAIT_MS: Final = 150_000


class Answers:
    """Asks and judges; `totals` are the sums of the raw rows by day.

    Attributes:
        rows_checked: how many rows all answers together covered.
    """

    def __init__(
        self,
        stage: Stage,
        report: Report,
        table: TableRow,
        totals: Mapping[Day, Totals],
        entries: list[ManifestEntry],
    ) -> None:
        self.rows_checked = 0
        self._stage = stage
        self._report = report
        self._table = table
        self._totals = totals
        self._wrote = with_step(entries, "wrote")

    def check_reader(self, reader: HeldReader) -> None:
        """Check that a reader got the same answer every time, and the right one."""
        for number, answer in enumerate(reader.answers):
            if answer != reader.answers[0]:
                self._judge(f"answer {number} of the reader", answer, reader.answers[0])
        wanted = self._shown_by(reader.valid_txns)
        count = len(reader.answers)
        self._judge(f"{count} answers of the reader, all the same", reader.answers[0], wanted)
        self.rows_checked += rows_of(wanted) * (count - 1)

    def check_not_visible(self, gone: list[ManifestEntry]) -> None:
        """Check that no list shows the data of aborted txns, and that a killed one left files."""
        files = {
            folder.write_id: folder.files for folder in delta_folders(self._stage.home.location)
        }
        reads = self._stage.ledger.reads()
        valid = reads.write_ids_at(self._table.table)
        for entry in gone:
            is_killed = entry.step == "wrote"
            left = "left files on disk" if is_killed else "took its files back"
            self._report.check(
                f"txn {entry.txn} {left}, and its write id {entry.write_id} is not visible",
                holds=bool(files[entry.write_id]) == is_killed
                and not valid.is_valid(entry.write_id),
                found=f"{entry.producer}, {entry.date}",
            )

    def check_spark_held(self, reader: HeldReader) -> None:
        """Check that Spark finds the same under the reader's snapshot as the reader."""
        valid = self._stage.spark_reads.valid_write_ids(self._table.table, reader.valid_txns)
        self._report.same(
            "Spark's store and the follower's give the reader the same write ids",
            valid.text(),
            reader.valid_write_ids().text(),
            f"up to {valid.hwm}, without {len(valid.exceptions())}",
        )
        found = self._ask_spark(reader.txn)
        self._judge("Spark under the reader's snapshot", found, self._shown_by(reader.valid_txns))

    def check_spark_now(self, what: str) -> None:
        """Check that Spark finds every raw row once under a new snapshot."""
        with self._stage.ledger.transaction("read_only") as txn:
            self._stage.spark_reads.wait(txn.opened, READ_WAIT_MS)
            found = self._ask_spark(txn)
        self._judge(what, found, totals_by_month(self._totals, self._totals))

    def _shown_by(self, txns: ValidTxnList) -> dict[int, Totals]:
        shown = [entry.date for entry in self._wrote if txns.is_valid(entry.txn)]
        return totals_by_month(self._totals, shown)

    def _ask_spark(self, snapshot: Transaction) -> dict[int, Totals]:
        started_s = time.monotonic()
        stage = self._stage
        flights = cached_table(stage.spark, self._table.name, snapshot, stage.tables)
        found = spark_totals(flights)
        took_s = time.monotonic() - started_s
        every = sum(1 for _ in delta_folders(stage.home.location))
        read = len(flights.inputFiles())
        self._report.say(f"Spark reads the files of {read} of {every} folders in {took_s:.1f} s")
        return found

    def _judge(self, what: str, found: dict[int, Totals], wanted: dict[int, Totals]) -> None:
        rows = rows_of(wanted)
        wrong = differences(found, wanted)
        right = f"{rows:,} rows, 3 sums for each of {len(wanted)} months as in the raw data"
        self._report.check(what, holds=not wrong, found="; ".join(wrong) or right)
        self.rows_checked += rows


def differences(found: Mapping[int, Totals], wanted: Mapping[int, Totals]) -> list[str]:
    """Return the differences of sums by month, a line for each month."""
    return [
        f"month {month} has {found.get(month, NOTHING)} instead of {wanted.get(month, NOTHING)}"
        for month in sorted(found.keys() | wanted.keys())
        if found.get(month) != wanted.get(month)
    ]
