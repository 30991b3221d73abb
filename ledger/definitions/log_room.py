"""Room in the log: whether a writer may put more rows of a table there.

Rows wait in the log until a flusher puts them into files. If none runs, neither a table nor the
ledger must grow there without end, so above a bound writers write files. They never wait, and are
never refused.
"""

from time import monotonic
from typing import Final

from ledger.definitions.client_reads import View
from ledger.errors import LedgerError
from ledger.properties.known_properties import inline_bytes
from ledger.reads.port import Reads, TableRow

BYTES_MAX: Final = 16 << 20
ROWS_MAX: Final = 100_000
LEDGER_BYTES_MAX: Final = 256 << 20
"""The bytes that all tables together may have in the log."""

LOOK_S: Final = 0.2
"""So long a look holds. Meanwhile a writer can pass the bound by what it commits in this time."""

LOOKS_SHARE: Final = 20
"""A look at all tables holds so many times as long as it took, so looks cost little."""


class LogRoom:
    """What one client knows of the room of tables; threads may share it.

    `bytes_max` bounds the rows of all tables together, by default LEDGER_BYTES_MAX.
    """

    def __init__(self, view: View, bytes_max: int | None = None) -> None:
        self._view, self._bytes_max = view, bytes_max or LEDGER_BYTES_MAX
        self._known: dict[int, tuple[float, bool]] = {}
        self._ledger_until_s, self._ledger_has = -LOOK_S, False

    def has(self, row: TableRow) -> bool:
        """Return whether rows of a table may go into the log, as far as the rows here have it.

        Where they cannot be read they may not: a file is never wrong.
        """
        if not inline_bytes(row.definition):
            return False
        looked_s, is_free = self._known.get(row.table, (-LOOK_S, False))
        now_s = monotonic()
        if now_s - looked_s >= LOOK_S:
            is_free = self._look(row.table, now_s)
            self._known[row.table] = now_s, is_free
        return is_free

    def _look(self, table: int, now_s: float) -> bool:
        try:
            reads = self._view.at_hand()
            own = reads.blocks(table)
            if not all(each.size < BYTES_MAX and each.rows < ROWS_MAX for each in own):
                return False
            if now_s >= self._ledger_until_s:
                self._ledger_has = size_of_all(reads, self._bytes_max) < self._bytes_max
                took_s = monotonic() - now_s
                self._ledger_until_s = now_s + max(LOOK_S, LOOKS_SHARE * took_s)
        except LedgerError:
            return False
        return self._ledger_has


def size_of_all(reads: Reads, enough: int) -> int:
    """Return the bytes of all tables in the log, without dropped ones if it would be enough.

    Only tables that have rows in the log are looked at. A dropped one is flushed by no program, so
    its rows must not keep others out.
    """
    found = reads.blocks()
    size = sum(each.size for each in found)
    if size < enough:
        return size
    rows = ((each, reads.table(each.table)) for each in found)
    return sum(each.size for each, row in rows if row is not None and not row.dropped)
