"""Replay: streams of one recording, all over the same tables, each a client of its own.

Every stream runs all statements that maintain the tables, at their recorded times divided by the
speed-up, or as soon as it is through with the one before.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event as Signal
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.errors import ConflictError, LedgerError
from ledger.session.receipt import Receipt
from projections.queries import open_reads
from tests.benchmarks.workloads.recorded import Recording, Statement
from tests.benchmarks.workloads.statements import Work

ATTEMPTS: Final = 50
DEADLINE_S: Final = 120.0
COLUMNS: Final = [("id", "bigint"), ("keep", "int"), ("part", "int")]


class Done(NamedTuple):
    """What became of a statement: the position of its commit, or why it has none.

    `took_ms` is from its begin to its end, all attempts included.
    """

    name: str
    statement: Statement
    attempts: int
    took_ms: float
    position: int
    error: str


class Place(NamedTuple):
    """Where the ledger is: its Kafka, its name, and the store of its follower."""

    bootstrap: str
    ledger: str
    store: Path


def load(client: Ledger, recording: Recording) -> None:
    """Create the tables of a recording and fill them."""
    tables = dict.fromkeys(each.table for each in (*recording.load, *recording.writes))
    for table in tables:
        client.create_table(table, COLUMNS, partition_columns=["part"], layout="listed")
    for number, statement in enumerate(recording.load):
        client.run(Work(statement, f"load-{number}"))
    for table in tables:
        for part in range(0, 15, 3):
            client.run(Work(Statement(0.0, "insert", table, part), f"fill-{table}-{part}"))


def replay(place: Place, recording: Recording, streams: int, speedup: float) -> list[Done]:
    """Run the streams and return what became of every statement of each."""
    with ExitStack() as held, ThreadPoolExecutor(streams) as threads:
        clients = [held.enter_context(connected(place)) for _ in range(streams)]
        began_s = time.monotonic()
        running = [
            threads.submit(lambda c, n: list(stream(c, n, recording, began_s, speedup)), client, n)
            for n, client in enumerate(clients)
        ]
        return [done for each in running for done in each.result()]


def connected(place: Place) -> Ledger:
    """Return a client that reads from the follower's store."""
    return Ledger.connect(place.bootstrap, place.ledger, reads=open_reads(place.store))


def stream(
    client: Ledger, number: int, recording: Recording, began_s: float, speedup: float
) -> Iterator[Done]:
    """Run the statements of one stream in order."""
    pause = Signal()
    first_s = recording.writes[0].at_s
    for index, statement in enumerate(recording.writes):
        pause.wait(max(0.0, began_s + (statement.at_s - first_s) / speedup - time.monotonic()))
        yield run_one(client, Work(statement, f"s{number}.{index}"))


def run_one(client: Ledger, work: Work) -> Done:
    """Run one statement until it commits, or cannot."""
    receipts: list[Receipt] = []
    error = ""
    began_s = time.perf_counter()
    try:
        client.run(work, attempts=ATTEMPTS, deadline_s=DEADLINE_S, on_commit=receipts.append)
    except ConflictError as lost:
        error = lost.explain()
    except LedgerError as failed:
        error = f"{type(failed).__name__}: {failed}"
    took_ms = (time.perf_counter() - began_s) * 1000
    position = receipts[0].position if receipts else 0
    return Done(work.name, work.statement, work.attempts, took_ms, position, error)
