"""A ledger in memory with its Iceberg catalog, in this process, and its publisher on demand."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from ledger.client import Ledger
from ledger.config.settings import IcebergSettings
from ledger.definitions.client_reads import open_log
from ledger.log.port import Topic
from ledger.machine.endpoints import ANY_PORT
from ledger.reads.port import Reads
from ledger.testing import InMemoryLedger
from projections.web.iceberg.lake import IcebergLake
from projections.web.iceberg.source import LedgerSource
from projections.web.roles.iceberg import serve_iceberg
from tests.iceberg.clients.readers import Served
from tests.tables.published_lake import publish

CATALOG: Final = "main"


@contextmanager
def serving_catalog(folder: Path) -> Iterator[Served]:
    """Serve a new ledger in memory, whose tables lie below a folder."""
    warehouse = folder / "warehouse"
    with InMemoryLedger() as memory:

        def connect(_reads: Reads, _user: str | None) -> Ledger:
            return memory.connect(warehouse=warehouse)

        source = LedgerSource(lambda: open_log(memory.log), connect)
        look = partial(memory.log.ends, Topic.EVENTS)
        with (
            closing(IcebergLake(source, CATALOG)) as lake,
            closing(serve_iceberg(lake, look, IcebergSettings(http=str(ANY_PORT)))) as server,
        ):
            ledger = memory.connect(warehouse=warehouse)
            yield Served(ledger, server.url, lambda: publish(memory.log))
