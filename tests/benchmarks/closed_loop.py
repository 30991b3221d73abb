"""CL and BYTES: transactions a second in a closed loop, and what each leaves in the log.

Every session is a connection of its own in a thread of this process; the sequencer is a process
of its own. One transaction is open, allocate, commit: three round trips.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from statistics import median

from ledger.broker import Broker
from ledger.client import Ledger
from ledger.log.kafka import KafkaLog
from ledger.log.port import Topic
from tests.benchmarks.figure import Figure, percentile
from tests.benchmarks.round_trip import sequencer

SECONDS = 8.0
WARM_UP = 50


def measure(broker: Broker) -> list[Figure]:
    """Return the closed loop at 1 and at 16 sessions, and the bytes of log of a transaction."""
    figures = []
    for sessions in (1, 16):
        with connected(broker, f"cl-{sessions}", sessions) as ledgers:
            spent = run(ledgers)
        rate = round(len(spent) / SECONDS, 1)
        note = (
            f"{sessions} sessions, p50 {median(spent):.1f} ms, p99 {percentile(spent, 0.99):.1f} ms"
        )
        figures.append(Figure(f"CL{sessions}", rate, "open+allocate+commit/s", note=note))
    return [*figures, bytes_of_txn(broker, "cl-1")]


@contextmanager
def connected(broker: Broker, ledger: str, sessions: int) -> Iterator[list[Ledger]]:
    """Connect so many clients to a new ledger that has one table."""
    with ExitStack() as held:
        held.enter_context(sequencer(broker, ledger))
        clients = [
            held.enter_context(Ledger.connect(broker.bootstrap, ledger)) for _ in range(sessions)
        ]
        table = clients[0].create_table("t", layout="directories").table
        assert table == 1, f"the first table of a new ledger has id {table}"
        yield clients


def run(clients: list[Ledger]) -> list[float]:
    """Return the milliseconds of every transaction of all clients."""
    for client in clients:
        for _ in range(WARM_UP // len(clients)):
            transact(client)
    until = time.perf_counter() + SECONDS
    with ThreadPoolExecutor(len(clients)) as pool:
        spent = pool.map(lambda client: loop(client, until), clients)
        return [each for one in spent for each in one]


def loop(client: Ledger, until: float) -> list[float]:
    """Return the milliseconds of one client's transactions until the time is over."""
    spent = []
    while time.perf_counter() < until:
        begun = time.perf_counter()
        transact(client)
        spent.append((time.perf_counter() - begun) * 1_000)
    return spent


def transact(client: Ledger) -> None:
    """Open, allocate and commit."""
    txn = client.begin()
    txn.write_id(1)
    txn.commit()


def bytes_of_txn(broker: Broker, ledger: str) -> Figure:
    """Return the bytes of events that a transaction of one session leaves, framing included."""
    log = KafkaLog(broker.bootstrap, ledger)
    start, end = log.ends(Topic.EVENTS)
    reader = log.reader(Topic.EVENTS, start)
    sizes: list[int] = []
    while reader.next_offset() < end:
        sizes.extend(len(record.value) for record in reader.read(5_000, 5.0))
    reader.close()
    log.close()
    note = f"mean of {len(sizes)} events, three for each open+allocate+commit, one session"
    return Figure("BYTES", round(3 * sum(sizes) / len(sizes), 1), "bytes of log per txn", note=note)
