"""R13 and R15: a command and its answer against one raw hop through the same broker.

The client is in this process, the sequencer in one of its own, as they are deployed. A hop is a
record of about the same size, appended and read with the same adapter: what a round trip costs
more is a second leg, the decision, the fold and the session.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from ledger.client import Ledger
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from tests.benchmarks.closed_loop import warm_broker
from tests.benchmarks.figure import Figure, against, percentile
from tests.benchmarks.roles import sequencer
from tests.benchmarks.topics import create_topics

ROUNDS = 7
CALLS = 600
RECORD = bytes(150)
HOP_MAX_S = 5.0

Call = Callable[[], object]


class Timed(NamedTuple):
    """What calls of one kind took: half and 99 % of them at most, and this process of a core."""

    p50_ms: float
    p99_ms: float
    cpu_us: float


def measure(broker: Broker) -> list[Figure]:
    """Return R13, at the median and at the 99th percentile, and R15."""
    # What the broker's runtime still compiles takes one of the cores that a round trip runs on.
    warm_broker(broker)
    with (
        sequencer(broker, "r13"),
        Ledger.connect(broker.bootstrap, "r13") as ledger,
        raw_hop(broker, "r13-raw") as hop,
    ):
        # The first round pays for connections.
        rounds = [(timed(round_trip(ledger)), timed(hop)) for _ in range(ROUNDS + 1)][1:]
    note = f"median of {ROUNDS} rounds of {CALLS}, one call at a time, against one hop"
    return [
        against("R13", "ms p50", [(trip.p50_ms, hop.p50_ms) for trip, hop in rounds], note),
        against("R13-p99", "ms p99", [(trip.p99_ms, hop.p99_ms) for trip, hop in rounds], note),
        against("R15", "us of CPU", [(trip.cpu_us, hop.cpu_us) for trip, hop in rounds], note),
    ]


@contextmanager
def raw_hop(broker: Broker, ledger: str) -> Iterator[Call]:
    """Return a call that appends one record and reads it."""
    create_topics(broker.bootstrap, ledger)
    with (
        closing(KafkaLog(broker.bootstrap, ledger)) as log,
        closing(log.writer(Topic.COMMANDS)) as writer,
        closing(log.reader(Topic.COMMANDS, 0)) as reader,
    ):

        def hop() -> None:
            writer.append(b"4", RECORD)
            assert reader.read(100, HOP_MAX_S), "the record did not come back"

        yield hop


def round_trip(ledger: Ledger) -> Call:
    """Return a call that asks one command: in turn it opens a txn and aborts it."""
    opened: list[Call] = []

    def trip() -> None:
        if opened:
            opened.pop()()
        else:
            txn = ledger.begin()
            opened.append(lambda: txn.abort("measured", ()))

    return trip


def timed(call: Call) -> Timed:
    """Return what many calls took, one after the other."""
    took_ms: list[float] = []
    cpu_s = time.process_time()
    for _ in range(CALLS):
        began_s = time.perf_counter()
        call()
        took_ms.append((time.perf_counter() - began_s) * 1000)
    cpu_us = (time.process_time() - cpu_s) / CALLS * 1e6
    return Timed(percentile(took_ms, 0.5), percentile(took_ms, 0.99), cpu_us)
