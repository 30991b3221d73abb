"""T8 and T9: rows into a table and out of it, the ledger against deltalake, on one disk.

A whole ledger of this machine is up: sequencer, follower and broker. deltalake works in this
process, in turn with the client, on the same Arrow table. Neither flushes files of data.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile
from ledger.machine.kafka.broker import Broker
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from projections.queries import open_reads
from tests.benchmarks.closed_loop import warm_broker
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.repeated import collected_as_in_a_role
from tests.benchmarks.topics import Durability
from tests.demo.flights import read_flights

ROWS: Final = 100_000
APPENDS: Final = 15
SCANS: Final = 25
ONES: Final = 300
ROUNDS: Final = 5
MONTH: Final = 3
MS: Final = 1_000

Call = Callable[[], object]


class Lake(NamedTuple):
    """A ledger that is up, a client of it, a folder for tables, and the rows of its follower."""

    ledger: Ledger
    folder: Path
    store: Path


def measure_appends(broker: Broker) -> list[Figure]:
    """Return T8: many rows of an Arrow table in one commit."""
    rows = read_flights().slice(0, ROWS).combine_chunks()
    warm_broker(broker)
    with up(broker, "t8") as lake:
        lake.ledger.create_table("flights", rows.schema, location=lake.folder / "flights")
        path = str(lake.folder / "delta")
        found = rounds(
            lambda: lake.ledger.append("flights", rows),
            lambda: write_deltalake(path, rows, mode="append"),
            calls=APPENDS,
        )
        assert lake.ledger.scan("flights").count() == DeltaTable(path).count()
    what = f"{ROWS} rows with {rows.num_columns} columns, against write_deltalake of deltalake"
    return [against("T8", "ms p50", found, what)]


def measure_scans(broker: Broker) -> list[Figure]:
    """Return T9: the rows of one month into Arrow."""
    rows = read_flights()
    expected = len(rows.filter(pa.compute.equal(rows["month"], MONTH)))
    with up(broker, "t9") as lake:
        ledger, path = lake.ledger, str(lake.folder / "delta")
        place = lake.folder / "flights"
        ledger.create_table("flights", rows, partition_columns=["month"], location=place)
        write_deltalake(path, rows, partition_by=["month"])
        held = DeltaTable(path)

        def ours() -> None:
            checked(ledger.scan("flights", f"month = {MONTH}").to_arrow(), expected)

        def fresh() -> None:
            table = DeltaTable(path)
            checked(table.to_pyarrow_table(partitions=[("month", "=", str(MONTH))]), expected)

        def kept() -> None:
            held.update_incremental()
            checked(held.to_pyarrow_table(partitions=[("month", "=", str(MONTH))]), expected)

        def plain() -> None:
            files = duckdb.read_parquet(f"{place}/*/*.parquet", hive_partitioning=True)
            checked(files.filter(f"month = {MONTH}").to_arrow_table(), expected)

        what = f"one of 12 months of {len(rows)} flights into Arrow, against"
        return [
            against(name, "ms p50", rounds(ours, other, calls=SCANS), f"{what} {peer}")
            for name, other, peer in (
                ("T9", fresh, "deltalake, its table opened"),
                ("T9-held", kept, "deltalake, its handle brought up to date"),
                ("T9-duckdb", plain, "DuckDB over the same files, without a log"),
            )
        ]


def measure_one(broker: Broker) -> list[Figure]:
    """Return what an append of one row takes, against one of a file's name."""
    warm_broker(broker)
    numbers = count()
    with up(broker, "t8-one") as lake:
        columns = [("id", "bigint"), ("city", "string"), ("price", "double")]
        for table in ("rows", "names"):
            lake.ledger.create_table(table, columns, location=lake.folder / table)

        def one_row() -> None:
            lake.ledger.append("rows", [{"id": next(numbers), "city": "Oslo", "price": 1.5}])

        def one_name() -> None:
            lake.ledger.append("names", [AddFile(f"part-{next(numbers)}.parquet", size=1_000)])

        found = rounds(one_row, one_name, calls=ONES)
        assert lake.ledger.scan("rows").count() == ONES * (ROUNDS + 1)
    return [against("T8-one", "ms p50", found, "a row in a dict, against the name of a file")]


def rounds(ours: Call, other: Call, *, calls: int) -> list[tuple[float, float]]:
    """Return the median milliseconds of both in each round, call by call in turn.

    The first round is not measured.
    """
    found = []
    with collected_as_in_a_role():
        for _ in range(ROUNDS + 1):
            pairs = [(ms(ours), ms(other)) for _ in range(calls)]
            mine, others = zip(*pairs, strict=True)
            found.append((median(mine), median(others)))
    return found[1:]


def ms(call: Call) -> float:
    """Return how many milliseconds a call takes."""
    began_s = perf_counter()
    call()
    return (perf_counter() - began_s) * MS


def checked(found: pa.Table, expected: int) -> None:
    """Raise AssertionError if a table has another number of rows."""
    assert len(found) == expected, f"{len(found)} rows, not {expected}"


@contextmanager
def up(broker: Broker, name: str) -> Iterator[Lake]:
    """Run a ledger on the broker, with a follower whose rows the client reads, and no flusher."""
    with ExitStack() as own:
        folder = Path(own.enter_context(tempfile.TemporaryDirectory()))
        settings = UpSettings(
            ledger=name,
            home=folder / "home",
            bootstrap=broker.bootstrap,
            sequencers=1,
            with_flusher=False,
            http="off",
            flush=Durability.flush,
        )
        address = own.enter_context(running(settings)).address
        assert address.store is not None
        reads = own.enter_context(closing(open_reads(address.store)))
        ledger = own.enter_context(Ledger.connect(broker.bootstrap, name, reads=reads))
        yield Lake(ledger, folder, address.store)
