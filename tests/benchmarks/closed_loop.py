"""CL1 to CL64: transactions a second in a closed loop, and how long each of them takes.

One transaction opens with its write id and commits: two round trips of one session, which begins
the next when it has its answer; "transact apart" takes the write id in a third, as Hive's clients
do. Every session is a connection of its own; sixteen of them are eight threads in each of two
producer processes, peers have as many of both. Sequencer, broker and producers share the cores of
the machine. What is compared with peers runs in the same loop, see `against_delta` and
`against_sql`.
"""

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache, partial
from itertools import repeat
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Final, Literal, NamedTuple, TypeAlias

from ledger.client import Ledger
from ledger.errors import LedgerError
from ledger.log.wire.file_list import AddFile
from ledger.machine.kafka.broker import Broker
from ledger.transaction.transaction import Transaction
from tests.benchmarks.figure import Figure
from tests.benchmarks.topics import create_topics
from tests.benchmarks.worked import Worked, tree_cpu_s
from tests.integration.fleet import Fleet

WARM_UP: Final = 100
WARM_S: Final = 40.0
SECONDS: Final = 4.0
START_S: Final = 90.0
STOP_S: Final = 30.0
PARTITIONS: Final = 12
# Processes of their own, as producers are: a fork would have no client of Kafka.
SPAWN: Final = multiprocessing.get_context("spawn")

TWO_TRIPS: Final = "open + allocate, commit"
THREE_TRIPS: Final = "open, allocate, commit"

Call = Callable[[int], object]
What = Literal["transact", "transact apart", "append"]
Results: TypeAlias = "Queue[tuple[list[float], int]]"


class Crew(NamedTuple):
    """How many sessions work, and in how many processes."""

    processes: int
    sessions_each: int

    @property
    def sessions(self) -> int:
        """Return how many work at a time."""
        return self.processes * self.sessions_each

    @property
    def who(self) -> str:
        """Return who works, in words."""
        return f"{self.sessions} sessions in {self.processes} process(es)"


ONE: Final = Crew(1, 1)
FOUR: Final = Crew(2, 2)
SIXTEEN: Final = Crew(2, 8)
SIXTY_FOUR: Final = Crew(2, 32)


class Job(NamedTuple):
    """What a crew does for some seconds, one of `CALLS` again and again; all begin together."""

    bootstrap: str
    ledger: str
    table: int
    crew: Crew
    seconds: float = SECONDS
    what: What = "transact"


def measure_one(broker: Broker) -> list[Figure]:
    """Return CL1."""
    return measure(broker, ONE)


def measure_four(broker: Broker) -> list[Figure]:
    """Return CL4."""
    return measure(broker, FOUR)


def measure_sixteen(broker: Broker) -> list[Figure]:
    """Return CL16."""
    return measure(broker, SIXTEEN)


def measure_sixty_four(broker: Broker) -> list[Figure]:
    """Return CL64."""
    return measure(broker, SIXTY_FOUR)


def measure(broker: Broker, crew: Crew) -> list[Figure]:
    """Return transactions a second of a crew, their p50 and p99, and their CPU."""
    warm_broker(broker)
    name = f"CL{crew.sessions}"
    create_topics(broker.bootstrap, name.lower())
    with Fleet(broker.bootstrap, name.lower(), 1):
        with Ledger.connect(broker.bootstrap, name.lower()) as client:
            table = create_table(client)
        worked = work(Job(broker.bootstrap, name.lower(), table, crew))
    assert worked.failed == 0, f"{worked.failed} inserts failed"
    return worked.figures(name, f"{TWO_TRIPS}, {crew.who}")


@cache
def warm_broker(broker: Broker) -> None:
    """Keep the broker busy until its runtime has compiled what it needs; once is enough."""
    create_topics(broker.bootstrap, "warm")
    with Fleet(broker.bootstrap, "warm", 1):
        with Ledger.connect(broker.bootstrap, "warm") as client:
            table = create_table(client)
        work(Job(broker.bootstrap, "warm", table, SIXTEEN, WARM_S))


def create_table(client: Ledger) -> int:
    """Create the table that all sessions write to, and return its id."""
    columns = [("id", "bigint"), ("month", "int")]
    row = client.create_table("db.t", columns, partition_columns=["month"], layout="directories")
    return row.table


def work(job: Job) -> Worked:
    """Let a crew work and return what it did."""
    together, results = SPAWN.Barrier(job.crew.processes + 1), SPAWN.Queue()
    producers = [
        SPAWN.Process(target=produce, args=(job, together, results), daemon=True)
        for _ in range(job.crew.processes)
    ]
    for producer in producers:
        producer.start()
    together.wait(START_S)
    before_s = tree_cpu_s()
    done = [results.get(timeout=job.seconds + STOP_S) for _ in producers]
    cpu_s = tree_cpu_s() - before_s
    for producer in producers:
        producer.join(STOP_S)
    took_ms = [each for took, _ in done for each in took]
    return Worked(took_ms, sum(failed for _, failed in done), job.seconds, cpu_s)


def produce(job: Job, together: Barrier, results: Results) -> None:
    """Be a producer process: connect, warm up, begin together, and tell what all sessions took."""
    sessions = job.crew.sessions_each
    with ExitStack() as held, ThreadPoolExecutor(sessions) as threads:
        clients = [
            held.enter_context(client)
            for client in threads.map(connect, [job.bootstrap] * sessions, repeat(job.ledger))
        ]
        calls = [partial(CALLS[job.what], client, job.table) for client in clients]
        list(threads.map(warm_up, calls, repeat(WARM_UP // sessions)))
        together.wait(START_S)
        until_s = time.perf_counter() + job.seconds
        done = list(threads.map(loop, calls, repeat(until_s)))
        results.put(([each for took, _ in done for each in took], sum(lost for _, lost in done)))


def connect(bootstrap: str, ledger: str) -> Ledger:
    """Return a new connection."""
    return Ledger.connect(bootstrap, ledger)


def warm_up(call: Call, times: int) -> None:
    """Call a few times."""
    for number in range(times):
        call(number)


def loop(call: Call, until_s: float) -> tuple[list[float], int]:
    """Call until the time is over; return the milliseconds of each success, and what failed."""
    took_ms: list[float] = []
    failed = 0
    while (began_s := time.perf_counter()) < until_s:
        try:
            call(len(took_ms))
        except LedgerError:
            failed += 1
        else:
            took_ms.append((time.perf_counter() - began_s) * 1000)
    return took_ms, failed


def append(client: Ledger, table: int, number: int) -> None:
    """Add one file to a table, in one round trip."""
    path = f"region=eu/part-{id(client)}-{number}.parquet"
    client.append(table, [AddFile(path, ("eu",), 100, 1, stats='{"numRecords":1}')])


def transact(client: Ledger, table: int, number: int) -> None:
    """Open with a write id, and commit one insert."""
    insert(client.begin(tables=[table]), table, number)


def transact_apart(client: Ledger, table: int, number: int) -> None:
    """Open, allocate, and commit one insert, each by itself."""
    insert(client.begin(), table, number)


def insert(txn: Transaction, table: int, number: int) -> None:
    """Commit one insert under the write id of a txn."""
    txn.write_id(table)
    txn.wrote(table, "insert", f"month={number % PARTITIONS}")
    txn.commit()


CALLS: Final[dict[What, Callable[[Ledger, int, int], None]]] = {
    "transact": transact,
    "transact apart": transact_apart,
    "append": append,
}
