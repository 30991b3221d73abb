"""RI3, RI4, RI5 and RI7: rows in the log read and flushed, against DuckLake's inlined rows.

Both sides load the same batches of ten rows, one commit each, and nothing flushes them before all
queries are asked. So the ledger's bound of rows in the log is taken away here, above which its
writers write files. Queries take turns, round by round; a flush there is only one of each side.
"""

import multiprocessing
import os
import tempfile
import time
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event as Signal
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from ledger.machine.kafka.broker import Broker
from projections.queries import open_reads
from tests.benchmarks import peer
from tests.benchmarks.against_sql import DURABILITY
from tests.benchmarks.block_session import widen_room
from tests.benchmarks.closed_loop import warm_broker
from tests.benchmarks.figure import Figure, against, percentile
from tests.benchmarks.inlined_commits import create_table
from tests.benchmarks.peers import readings
from tests.benchmarks.postgres import USER, postgres
from tests.benchmarks.table_rows import Lake, up

ROUNDS: Final = 3
COMMITS: Final = 100
WARM_UP: Final = 20
PACE_S: Final = 0.05
LIMIT_S: Final = 3_600.0
NAME: Final = "db.readings"
SPAWN: Final = multiprocessing.get_context("spawn")


class Load:
    """How many batches of ten rows lie in the log."""

    batches = 30_000


class Found(NamedTuple):
    """What both sides took, ours first: each round of the queries, the flush, and its files."""

    asked_s: list[tuple[float, float]]
    flushed_s: tuple[float, float]
    files: tuple[int, int]
    rows: str


class Place(NamedTuple):
    """Where a writer in another process appends to."""

    bootstrap: str
    ledger: str
    store: str


def measure_readable(broker: Broker) -> list[Figure]:
    """Return RI3: from the answer to a commit until another process has read its rows."""
    warm_broker(broker)
    with up(broker, "ri3") as lake:
        create_table(lake, NAME)
        ours, theirs = SPAWN.Pipe()
        where = Place(broker.bootstrap, "ri3", str(lake.store))
        writer = SPAWN.Process(target=write, args=(where, theirs), daemon=True)
        writer.start()
        theirs.close()  # So that a writer that ended is noticed.
        took_ms = [readable_ms(lake, ours, number) for number in range(WARM_UP + COMMITS)]
        writer.join()
    note = (
        f"commit answered -> a scan in another process has its {readings.ROWS} rows in Arrow, "
        f"{COMMITS} commits, one in {PACE_S} s, all rows in the log"
    )
    counted = took_ms[WARM_UP:]
    return [
        Figure("RI3", round(percentile(counted, 0.5), 2), "ms p50", note=note),
        Figure("RI3-p99", round(percentile(counted, 0.99), 2), "ms p99", note=note),
    ]


def write(where: Place, reader: "Connection[Any, Any]") -> None:
    """Append batches, and tell the reader of each its position and when it was answered."""
    reads = open_reads(Path(where.store))
    with Ledger.connect(where.bootstrap, where.ledger, reads=reads) as ledger:
        for number in range(WARM_UP + COMMITS):
            receipt = ledger.append(NAME, readings.batch(number * readings.ROWS))
            reader.send((receipt.position, time.perf_counter()))
            Signal().wait(PACE_S)


def readable_ms(lake: Lake, writer: "Connection[Any, Any]", number: int) -> float:
    """Return the milliseconds from the next answer until its rows are read here."""
    position, answered_s = writer.recv()
    where = f"id >= {number * readings.ROWS}"
    rows = lake.ledger.scan(NAME, where, position=position).to_arrow()
    took_s: float = time.perf_counter() - answered_s
    assert len(rows) == readings.ROWS, f"{len(rows)} rows of commit {number}"
    return took_s * 1000


def measure_queries(broker: Broker) -> list[Figure]:
    """Return RI4: nine aggregations over rows in the log."""
    found = measured(broker)
    what = f"{len(readings.QUERIES)} aggregations over {rows_text()}"
    return [against("RI4", "s", found.asked_s, f"{what}; {found.rows}")]


def measure_flush(broker: Broker) -> list[Figure]:
    """Return RI5: a flush of all rows in the log."""
    found = measured(broker)
    return [against("RI5", "s", [found.flushed_s], f"a flush of {rows_text()}; {found.rows}")]


def measure_files(broker: Broker) -> list[Figure]:
    """Return RI7: the files in the folder after appends and a flush."""
    ours, theirs = measured(broker).files
    return [Figure("RI7", ours, "files", theirs, note=f"after a flush of {rows_text()}")]


def rows_text() -> str:
    """Return in words what is read and flushed."""
    return (
        f"{Load.batches * readings.ROWS:,} rows in the log, {Load.batches:,} appends, the bound "
        f"of rows in the log taken away, against DuckLake's inlined rows; {DURABILITY}"
    )


@cache
def measured(broker: Broker) -> Found:
    """Return what both sides took; measured once for RI4, RI5 and RI7."""
    widen_room()
    with (
        up(broker, "ri4") as lake,
        postgres() as port,
        tempfile.TemporaryDirectory(dir=lake.folder) as data,
    ):
        where = {"port": port, "user": USER, "path": data, "inlined": True, "limit_s": LIMIT_S}
        threads = {"threads": os.cpu_count()}
        job = {**where, **threads, "batches": Load.batches}
        theirs = partial(done_by_ducklake, job)
        create_table(lake, NAME)
        load(lake, Load.batches)
        theirs("load")
        asked_s = [(ask(lake), theirs("ask")) for _ in range(ROUNDS)]
        before = count(lake), tuple(theirs("count"))
        flushed_s = flush(lake), theirs("flush")
        after = count(lake), tuple(theirs("count"))
        folder = lake.folder / NAME
        files = sum(path.is_file() for path in folder.rglob("*")), theirs("files")
    expected = (Load.batches * readings.ROWS,) * 2
    assert before[0] == after[0] == expected, f"{before[0]}, {after[0]} of {expected} rows"
    rows = f"rows and ids: ours {after[0]}, DuckLake {before[1]}, flushed {after[1]}"
    return Found(asked_s, flushed_s, files, rows)


def done_by_ducklake(job: dict[str, Any], what: str) -> Any:
    """Return what DuckLake tells of one thing that it does."""
    return peer.answer("ducklake_readings", {**job, "does": what})


def load(lake: Lake, batches: int) -> None:
    """Append so many batches, one after the other."""
    for number in range(batches):
        lake.ledger.append(NAME, readings.batch(number * readings.ROWS))
    (waiting,) = lake.ledger.reads().blocks(lake.ledger.table(NAME).table)
    assert waiting.blocks == batches, f"{waiting.blocks} of {batches} blocks"


def ask(lake: Lake) -> float:
    """Return the seconds of all queries, after a first time that is not measured."""
    for _ in range(2):
        began_s = time.perf_counter()
        for query in readings.QUERIES:
            lake.ledger.sql(query.format(table=NAME)).to_arrow()
        took_s = time.perf_counter() - began_s
    return took_s


def flush(lake: Lake) -> float:
    """Return the seconds of a flush of all rows in the log."""
    began_s = time.perf_counter()
    lake.ledger.run(lambda txn: txn.flush(NAME))
    return time.perf_counter() - began_s


def count(lake: Lake) -> tuple[int, int]:
    """Return how many rows there are, and how many ids."""
    (found,) = lake.ledger.sql(readings.COUNT.format(table=NAME)).to_pylist()
    return found["n"], found["ids"]
