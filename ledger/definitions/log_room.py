"""Room in the log: whether a writer may put more rows of a table there.

Rows wait in the log until a flusher puts them into files. If none runs, a table must not grow there
without end, so above a bound writers write files. They never wait, and are never refused.
"""

from time import monotonic
from typing import Final

from ledger.definitions.client_reads import View
from ledger.errors import LedgerError
from ledger.properties.known_properties import inline_bytes
from ledger.reads.port import TableRow

BYTES_MAX: Final = 16 << 20
ROWS_MAX: Final = 100_000
LOOK_S: Final = 0.2
"""So long a look holds. Meanwhile a writer can pass the bound by what it commits in this time."""


class LogRoom:
    """What one client knows of the room of tables; threads may share it."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._known: dict[int, tuple[float, bool]] = {}

    def has(self, row: TableRow) -> bool:
        """Return whether rows of a table may go into the log, as far as the rows here have it.

        Where they cannot be read they may not: a file is never wrong.
        """
        if not inline_bytes(row.definition):
            return False
        looked_s, is_free = self._known.get(row.table, (-LOOK_S, False))
        now_s = monotonic()
        if now_s - looked_s >= LOOK_S:
            is_free = self._look(row.table)
            self._known[row.table] = now_s, is_free
        return is_free

    def _look(self, table: int) -> bool:
        try:
            found = self._view.at_hand().blocks(table)
        except LedgerError:
            return False
        return all(each.size < BYTES_MAX and each.rows < ROWS_MAX for each in found)
