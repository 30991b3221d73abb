"""The mirror: the rows that a follower makes of the true log, for clients that plan from them."""

from collections.abc import Iterator, Mapping

from ledger.core.acceptance import LogHead
from ledger.core.events.events import Event
from ledger.core.state.domain import DomainState
from ledger.log.wire.inline_vectors import inline_rows
from ledger.reads.rows import AnomalyRow, FileRow
from projections.fold.fold import FoldMark, rows_of
from projections.queries import StoreReads
from projections.rows.applying import apply
from projections.rows.keys import LOG, value
from projections.store.batch import Batch
from projections.store.memory import MemoryStore
from projections.store.port import Row
from tests.simulation.lake import Lake
from tests.simulation.planning import SeenFile, View

Shown = Mapping[str, frozenset[int]]
"""The live files of a table, each with the numbers of its deleted rows."""


class Mirror:
    """The rows of all events up to one position, and the chain of the log at each."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.reads = StoreReads(self._store)
        self.chains: dict[int, bytes] = {}
        self._position = 0

    def take(self, state: DomainState, event: Event, head: LogHead) -> None:
        """Apply an event to the state, and make its rows."""
        batch = Batch(self._store)
        batch.update(rows_of(apply(state, event, batch), event.body))
        mark = FoldMark(head.position, head.chain.hex(), head.position, "events")
        batch.put(LOG, value(mark))
        self._store.write(batch.settled())
        self.chains[head.position] = head.chain
        self._position = head.position

    def view(self, lake: Lake, table: int, position: int) -> View | None:
        """Return what a table showed at a position, or shows now if that is not reached yet."""
        place = position if position in self.chains else self._position
        row = self.reads.table(table)
        if row is None or row.dropped or row.created > place:
            return None
        files = self.reads.files(table, position=place)
        seen = [SeenFile(lake.files[each.path], each.vector, dead_in(each)) for each in files]
        return View(table, place, self.chains[place], seen)

    def rows(self) -> Iterator[Row]:
        """Return what is stored of the whole log, in the order of keys."""
        return self._store.scan(b"", b"\xff" * 9)

    def shown(self, table: int) -> Shown | None:
        """Return the live files of a table now, None if it is dropped."""
        row = self.reads.table(table)
        if row is None or row.dropped:
            return None
        return shown(self.reads, table, None)

    def anomalies(self, table: int) -> list[AnomalyRow]:
        """Return what was impossible in the commits of a table."""
        return list(self.reads.anomalies(table, 1))


def shown(reads: StoreReads, table: int, position: int | None) -> Shown:
    """Return the files of a table that were live at a position."""
    return {each.path: dead_in(each) for each in reads.files(table, position=position)}


def dead_in(file: FileRow) -> frozenset[int]:
    """Return the numbers of the deleted rows of a file."""
    return frozenset(inline_rows(file.deletion_vector))
