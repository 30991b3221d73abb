"""A ledger in memory with its Iceberg catalog, in this process, and its publisher on demand.

`python -m tests.iceberg.clients.served --port 8186` serves one until it is interrupted, for suites
of tests of other projects.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Event as Signal
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
def serving_catalog(folder: Path, http: str = str(ANY_PORT)) -> Iterator[Served]:
    """Serve a new ledger in memory, whose tables lie below a folder."""
    warehouse = folder / "warehouse"
    with InMemoryLedger() as memory:

        def connect(_reads: Reads, _user: str | None) -> Ledger:
            return memory.connect(warehouse=warehouse)

        source = LedgerSource(lambda: open_log(memory.log), connect)
        look = partial(memory.log.ends, Topic.EVENTS)
        with (
            closing(IcebergLake(source, CATALOG, places=[str(warehouse)])) as lake,
            closing(serve_iceberg(lake, look, IcebergSettings(http=http))) as server,
        ):
            ledger = memory.connect(warehouse=warehouse)
            yield Served(ledger, server.url, lambda: publish(memory.log))


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.iceberg.clients.served")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the tables lie; else a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or Path(place)
        with serving_catalog(folder, f"127.0.0.1:{options.port}") as served:
            print(served.uri, flush=True)
            Signal().wait()


if __name__ == "__main__":
    main()
