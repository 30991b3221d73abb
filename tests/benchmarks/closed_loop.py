"""CL1 and CL16: transactions a second in a closed loop, and how long each of them takes.

One transaction is open, allocate, commit: three round trips of one session, which begins the next
when it has its answer. Every session is a connection of its own; sixteen of them are four threads
in each of four producer processes. Sequencer, broker and producers share the cores of the machine.
"""

import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Final, NamedTuple

from ledger.broker import Broker
from ledger.client import Ledger
from ledger.log.topics import create_topics
from tests.benchmarks.figure import Figure, percentile
from tests.integration.fleet import Fleet

WARM_UP: Final = 100
SECONDS: Final = 6.0
START_S: Final = 60.0
STOP_S: Final = 30.0
PARTITIONS: Final = 12
# Processes of their own, as producers are: a fork would have no client of Kafka.
SPAWN: Final = multiprocessing.get_context("spawn")


class Crew(NamedTuple):
    """How many sessions work, and in how many processes."""

    processes: int
    sessions_each: int

    @property
    def sessions(self) -> int:
        """Return how many sessions there are."""
        return self.processes * self.sessions_each


class Job(NamedTuple):
    """What one producer process does; all begin together."""

    bootstrap: str
    ledger: str
    table: int
    sessions: int


def measure_one(broker: Broker) -> list[Figure]:
    """Return CL1."""
    return measure(broker, Crew(1, 1))


def measure_sixteen(broker: Broker) -> list[Figure]:
    """Return CL16."""
    return measure(broker, Crew(4, 4))


def measure(broker: Broker, crew: Crew) -> list[Figure]:
    """Return transactions a second, and their p50 and p99."""
    name = f"CL{crew.sessions}"
    ledger = name.lower()
    create_topics(broker.bootstrap, ledger)
    with Fleet(broker.bootstrap, ledger, 1):
        with Ledger.connect(broker.bootstrap, ledger) as client:
            table = create_table(client)
        took_ms = work(Job(broker.bootstrap, ledger, table, crew.sessions_each), crew.processes)
    note = f"open + allocate + commit, {crew.sessions} sessions in {crew.processes} process(es)"
    return [
        Figure(name, round(len(took_ms) / SECONDS), "txn/s", note=note),
        Figure(f"{name}-p50", round(percentile(took_ms, 0.5), 2), "ms", note=note),
        Figure(f"{name}-p99", round(percentile(took_ms, 0.99), 2), "ms", note=note),
    ]


def create_table(client: Ledger) -> int:
    """Create the table that all sessions write to, and return its id."""
    columns = [("id", "bigint"), ("month", "int")]
    row = client.create_table("db.t", columns, partition_columns=["month"], layout="directories")
    return row.table


def work(job: Job, processes: int) -> list[float]:
    """Return the milliseconds of every transaction of all producers."""
    together, results = SPAWN.Barrier(processes), SPAWN.Queue()
    producers = [
        SPAWN.Process(target=produce, args=(job, together, results), daemon=True)
        for _ in range(processes)
    ]
    for producer in producers:
        producer.start()
    took_ms = [each for _ in producers for each in results.get(timeout=START_S + SECONDS + STOP_S)]
    for producer in producers:
        producer.join(STOP_S)
    return took_ms


def produce(job: Job, together: Barrier, results: "Queue[list[float]]") -> None:
    """Be a producer process: connect, warm up, begin together, and tell what all sessions took."""
    with ExitStack() as held, ThreadPoolExecutor(job.sessions) as threads:
        clients = [
            held.enter_context(Ledger.connect(job.bootstrap, job.ledger))
            for _ in range(job.sessions)
        ]
        for client in clients:
            for number in range(WARM_UP // job.sessions):
                transact(client, job.table, number)
        together.wait(START_S)
        until_s = time.perf_counter() + SECONDS
        loops = [threads.submit(loop, client, job.table, until_s) for client in clients]
        results.put([each for one in loops for each in one.result()])


def loop(client: Ledger, table: int, until_s: float) -> list[float]:
    """Return the milliseconds of one session's transactions until the time is over."""
    took_ms: list[float] = []
    while (began_s := time.perf_counter()) < until_s:
        transact(client, table, len(took_ms))
        took_ms.append((time.perf_counter() - began_s) * 1000)
    return took_ms


def transact(client: Ledger, table: int, number: int) -> None:
    """Open, allocate, and commit one insert."""
    txn = client.begin()
    txn.write_id(table)
    txn.insert(table, f"month={number % PARTITIONS}")
    txn.commit()
