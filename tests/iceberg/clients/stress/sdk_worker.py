"""A client of the SDK: it appends, updates, commits to two tables at once, and compacts."""

from itertools import count
from pathlib import Path
from typing import Final

from ledger.client import Ledger
from ledger.errors import OutcomeUnknownError, RefusedError
from projections.queries import open_reads
from tests.iceberg.clients.stress.journal import COUNTS, LINES, LINES_EACH, TOTALS
from tests.iceberg.clients.stress.turns import take_turns, told

COMPACTS_EVERY: Final = 20
PAUSE_S: Final = 0.4


def lines(operation: str) -> list[dict[str, object]]:
    """Return the rows of an append."""
    return [{"operation": operation, "number": number} for number in range(LINES_EACH)]


class SdkWorker:
    """Works through one client; every now and then it puts small files together."""

    def __init__(self, ledger: Ledger, *, compacts: bool) -> None:
        self._ledger, self._compacts = ledger, compacts
        self._turn = count(1)

    def append(self, operation: str) -> None:
        """Append lines."""
        if self._compacts and next(self._turn) % COMPACTS_EVERY == 0:
            self._compact()
        self._ledger.append(LINES, lines(operation))

    def count(self, operation: str, counter: int) -> None:
        """Count a row up."""
        with self._ledger.transaction() as txn:
            txn.update(COUNTS, changed(operation), f"id = {counter}")

    def append_and_count(self, operation: str, counter: int) -> None:
        """Append lines and count a total up in one txn."""
        with self._ledger.transaction() as txn:
            txn.insert(LINES, lines(operation))
            txn.update(TOTALS, changed(operation), f"id = {counter}")

    def is_refused(self, error: Exception) -> bool:
        """Tell whether an error is a refusal."""
        return isinstance(error, RefusedError) and not isinstance(error, OutcomeUnknownError)

    def _compact(self) -> None:
        for table in (LINES, COUNTS, TOTALS):
            try:
                self._ledger.optimize(table)
            except RefusedError:
                continue  # Others were quicker.


def changed(operation: str) -> dict[str, str]:
    """Return the assignments that count a row up."""
    return {"value": "value + 1", "operation": f"'{operation}'"}


if __name__ == "__main__":
    where = told()
    bootstrap, name, store = where.rest
    with Ledger.connect(bootstrap, name, reads=open_reads(Path(store))) as client:
        worker = SdkWorker(client, compacts=where.name.endswith("1"))
        take_turns(worker, where, worker.append_and_count, pause_s=PAUSE_S)
