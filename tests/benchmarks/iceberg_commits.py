"""I1 to I3: the Iceberg catalog of a ledger, with pyiceberg and DuckDB as clients.

I1 has four processes of pyiceberg append to one table, through the ledger and in turn through
pyiceberg's own SQL catalog on PostgreSQL. Both flush: Kafka with one copy, PostgreSQL by default.
I2 loads a table after 10 and after 10,000 versions. I3 scans one table by the catalog and by the
published Delta log.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import duckdb
import pyarrow as pa
import urllib3

from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile
from ledger.machine.kafka.broker import Broker
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from ledger.properties.column_mapping import PUBLISH
from projections.queries import open_reads
from tests.benchmarks import peer
from tests.benchmarks.closed_loop import warm_broker
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.postgres import USER, postgres
from tests.benchmarks.table_rows import ms, rounds
from tests.benchmarks.topics import Durability
from tests.benchmarks.waiting import within
from tests.benchmarks.worked import Worked
from tests.iceberg.clients.duckdb_client import attach, with_extensions

WRITERS: Final = 4
ROUNDS: Final = 3
SECONDS: Final = 10.0
WARM_UP: Final = 2
FEW: Final = 10
MANY: Final = 10_000
LOADS: Final = 40
ROWS: Final = 2_000_000
FILES: Final = 40
SCANS: Final = 15
NUMBERS: Final = count()
STATS: Final = json.dumps({"numRecords": 1, "minValues": {"id": 1}, "maxValues": {"id": 9}})


class CatalogUp(NamedTuple):
    """A ledger that is up with its catalog: a client, the address, and a folder for tables."""

    ledger: Ledger
    uri: str
    folder: Path


@contextmanager
def up(broker: Broker, name: str, *, with_publisher: bool = False) -> Iterator[CatalogUp]:
    """Run a ledger on the broker, with a follower and the Iceberg catalog."""
    with ExitStack() as own:
        folder = Path(own.enter_context(tempfile.TemporaryDirectory()))
        settings = UpSettings(
            ledger=name,
            home=folder / "home",
            bootstrap=broker.bootstrap,
            sequencers=1,
            http="off",
            flush=Durability.flush,
            with_iceberg=True,
            with_publisher=with_publisher,
            warehouse=str(folder / "warehouse"),
        )
        address = own.enter_context(running(settings)).address
        assert address.store is not None
        assert address.iceberg_url is not None
        reads = own.enter_context(closing(open_reads(address.store)))
        ledger = own.enter_context(Ledger.connect(broker.bootstrap, name, reads=reads))
        yield CatalogUp(ledger, address.iceberg_url, folder)


def measure_commits(broker: Broker) -> list[Figure]:
    """Return I1."""
    warm_broker(broker)
    tables = count()
    with up(broker, "i1") as lake, postgres() as port, tempfile.TemporaryDirectory() as place:
        ours: dict[str, Any] = {"type": "rest", "uri": lake.uri}
        theirs = {
            "type": "sql",
            "uri": f"postgresql+psycopg2://{USER}@127.0.0.1:{port}/postgres",
            "warehouse": f"file://{place}",
        }
        found = [
            (appended(ours, next(tables)), appended(theirs, next(tables))) for _ in range(ROUNDS)
        ]
        for number in range(0, 2 * ROUNDS, 2):
            rows = lake.ledger.scan(f"bench.t{number}").count()
            done = len(found[number // 2][0].took_ms) + WRITERS * WARM_UP
            assert rows == done, f"{rows} rows after {done} appends"
    mine, other = ([pair[side] for pair in found] for side in (0, 1))
    given_up = [sum(each.failed for each in side) for side in (mine, other)]
    failed = f"{given_up[0]} given up, against {given_up[1]}"
    rates = [(each.rate, max(sql.rate, 0.1)) for each, sql in found]
    who = f"{WRITERS} processes of pyiceberg append a row each to one table"
    note = f"{who}, against the same with its SQL catalog on PostgreSQL; {failed}"
    return [
        against("I1", "commits/s", rates, note),
        against("I1-p99", "ms p99", [(each.p99_ms, sql.p99_ms) for each, sql in found], who),
    ]


def appended(catalog: dict[str, Any], number: int) -> Worked:
    """Return what the writers did to a new table."""
    job = {"processes": WRITERS, "sessions": 1, "seconds": SECONDS, "warm_up": WARM_UP}
    return peer.work("iceberg_appends", {**job, "catalog": catalog, "table": f"bench.t{number}"})


def measure_loads(broker: Broker) -> list[Figure]:
    """Return I2: a load after many versions against one after few, and the bytes of both."""
    with up(broker, "i2") as lake, urllib3.PoolManager() as http:
        for versions in (FEW, MANY):
            name = f"bench.v{versions}"
            lake.ledger.create_table(name, [("id", "bigint")], location=lake.folder / name)
            for _ in range(versions):
                add_version(lake, versions)

        def load(versions: int) -> int:
            place = f"{lake.uri}/v1/main/namespaces/bench/tables/v{versions}"
            found = http.request("GET", place, timeout=120.0)
            assert found.status == 200, found.data
            return len(found.data)

        def grown(versions: int) -> float:
            add_version(lake, versions)
            return ms(lambda: load(versions))

        def both() -> tuple[float, float]:
            pairs = [(grown(MANY), grown(FEW)) for _ in range(LOADS)]
            many, few = zip(*pairs, strict=True)
            return median(many), median(few)

        first = ms(lambda: load(MANY)), ms(lambda: load(FEW))
        found = rounds(lambda: load(MANY), lambda: load(FEW), calls=LOADS)
        after = [both() for _ in range(ROUNDS)]
        sizes = float(load(MANY)), float(load(FEW))
    what = f"a load after {MANY} versions, against one after {FEW}"
    return [
        against("I2", "ms p50", found, what),
        against("I2-new", "ms p50", after, f"{what}, each with a new version"),
        against("I2-first", "ms", [first], f"{what}, the first of a server"),
        against("I2-bytes", "bytes", [sizes], f"{what}, its answer"),
    ]


def add_version(lake: CatalogUp, versions: int) -> None:
    """Add a file, which is never read, to the table that has so many versions."""
    name = f"bench.v{versions}"
    path = f"{lake.folder / name}/part-{next(NUMBERS)}.parquet"
    lake.ledger.append(name, [AddFile(path, size=1_000, stats=STATS)])


def measure_scans(broker: Broker) -> list[Figure]:
    """Return I3: a sum over a table, and one of its partitions, by either way."""
    with up(broker, "i3", with_publisher=True) as lake, closing(with_extensions()) as duck:
        place = filled(lake)
        attach(duck, lake.uri)
        figures = []
        for name, where in (("I3", ""), ("I3-month", " WHERE month = 3")):
            query = "SELECT count(*), sum(price) FROM "
            ours = f"{query} lake.bench.sales{where}"
            theirs = f"{query} delta_scan('{place}'){where}"
            assert duck.execute(ours).fetchall() == duck.execute(theirs).fetchall()
            calls = partial(scan, duck, ours), partial(scan, duck, theirs)
            note = f"a sum over {ROWS} rows in {FILES} files{where.lower()}, against delta_scan"
            figures.append(against(name, "ms p50", rounds(*calls, calls=SCANS), note))
    return figures


def filled(lake: CatalogUp) -> Path:
    """Make a table with a published log; return its folder once all of it is published."""
    place, each = lake.folder / "sales", ROWS // FILES
    lake.ledger.create_table(
        "bench.sales",
        [("id", "bigint"), ("month", "int"), ("price", "double")],
        partition_columns=["month"],
        location=place,
        properties={PUBLISH: "delta"},
    )
    for number in range(FILES):
        ids = pa.array(range(number * each, (number + 1) * each), pa.int64())
        months = pa.array([number % 12 + 1] * each, pa.int32())
        prices = pa.array([float(n % 1000) for n in range(each)])
        rows = pa.table({"id": ids, "month": months, "price": prices})
        lake.ledger.append("bench.sales", rows)
    newest = lake.ledger.history("bench.sales", 1)[0].version
    file = place / "_delta_log" / f"{newest:020}.json"
    for _ in within(60.0, f"{file} is there"):
        if file.exists():
            return place
    raise AssertionError  # within() does not end without an error


def scan(duck: duckdb.DuckDBPyConnection, query: str) -> None:
    duck.execute(query).fetchall()
