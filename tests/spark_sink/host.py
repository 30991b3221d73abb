"""A ledger in memory, its rows on this host's disk, and tables with data to plan from."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq

from ledger.client import Ledger
from ledger.core.commands import Layout, TableWrite
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT
from ledger.log.memory import MemoryLog
from ledger.log.wire.file_list import AddFile, FileList, listed
from ledger.reads.port import TableRow
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from projections.fold.follower import Follower
from projections.store.rocks_store import RocksStore
from spark_sink.host_tables import HostTables

NAME = "db.flights"


class Host:
    """A client of a ledger, the tables of this host, and what keeps their rows up to date."""

    def __init__(
        self, log: MemoryLog, ledger: Ledger, tables: HostTables, warehouse: Path, store: RocksStore
    ) -> None:
        self.log = log
        self.store = store
        self.ledger = ledger
        self.tables = tables
        self.warehouse = warehouse
        self._stop = Signal()
        self._thread = Thread(target=Follower(log, store).run, args=(self._stop,))
        self._thread.start()

    def end(self) -> None:
        """Let the rows stand still from now on."""
        self._stop.set()
        self._thread.join()

    def create(self, layout: Layout) -> TableRow:
        """Create the table of flights, partitioned by day."""
        return self.ledger.create_table(
            NAME,
            [("day", "INT"), ("tail", "STRING")],
            partition_columns=["day"],
            location=str(self.warehouse / "flights"),
            layout=layout,
        )

    def write(self, path: str, tails: Sequence[str], column: str = "tail") -> None:
        """Write a Parquet file of tails, or of another column, into the table's location."""
        file = self.warehouse / "flights" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({column: list(tails)}), file)

    def insert(self, txn: Transaction, *tails: str, day: int = 1) -> None:
        """Write tails into the folder of a txn."""
        self.write(f"day={day}/delta_{txn.write_id(NAME):07d}/part.parquet", tails)
        txn.wrote(NAME, "insert", f"day={day}")

    def file(self, path: str, *tails: str, day: str | None = "1", vector: str = "") -> AddFile:
        """Write tails into a file of their own, and return it as a commit adds it."""
        self.write(path, tails)
        return AddFile(path, (day,), vector=vector)

    def append_as_before(self, files: Sequence[AddFile]) -> None:
        """Add files as clients did that did not check the values of their partitions."""
        head = EMPTY_FOOTPRINT._replace(operation="WRITE")
        write = TableWrite(
            self.ledger.table(NAME).table, 0, (), listed(head, FileList(adds=files, removes=()))
        )
        self.ledger.commit_once([write])

    def snapshot(self) -> Transaction:
        """Return a reader that sees what there is now."""
        return self.ledger.begin("read_only")


@contextmanager
def running_host(folder: Path) -> Iterator[Host]:
    """Yield a host whose rows follow the ledger until it ends."""
    log = MemoryLog()
    with ExitStack() as held:
        memory = held.enter_context(InMemoryLedger(log=log))
        ledger = memory.connect(application="spark")
        store = held.enter_context(RocksStore.open(folder / "rows"))
        tables = held.enter_context(closing(HostTables.open(folder / "rows")))
        host = Host(log, ledger, tables, folder / "warehouse", store)
        held.callback(host.end)
        yield host
