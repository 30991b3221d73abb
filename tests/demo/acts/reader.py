"""The reader: holds one snapshot while the table grows, and repeats the same read."""

from pathlib import Path
from threading import Event as Signal
from threading import Thread
from types import TracebackType
from typing import Final, Self

from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.reads.port import TableRow
from ledger.transaction.transaction import Transaction
from tests.demo.delta_folders import totals_in, valid_folders
from tests.demo.flights import Totals

PAUSE_S: Final = 0.1


class HeldReader:
    """Reads under the snapshot of an open txn, in a thread of its own, inside a `with` block."""

    def __init__(self, txn: Transaction, table: TableRow, location: Path) -> None:
        self.txn = txn
        self.answers: list[dict[int, Totals]] = []
        self._table = table
        self._location = location
        self._failure: Exception | None = None
        self._stop = Signal()
        self._thread = Thread(target=self._run, name="held-reader", daemon=True)

    @property
    def valid_txns(self) -> ValidTxnList:
        """The txns that the snapshot shows."""
        return self.txn.valid_txns

    def valid_write_ids(self) -> ValidWriteIdList:
        """Return the write ids that the snapshot shows, asked anew."""
        return self.txn.valid_write_ids(self._table)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        if error is None and self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                folders = valid_folders(self._location, self.valid_write_ids())
                self.answers.append(totals_in(folders))
                self._stop.wait(PAUSE_S)
        except Exception as error:  # noqa: BLE001 - raised where the reader is stopped
            self._failure = error
