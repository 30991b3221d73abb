"""TO: how long nobody answers when the leader is killed.

A client works all the time; its leader ends as by kill -9 and its next command is answered by the
next one. Measured is from the kill to that answer. That it is of a later epoch is read in the log.
"""

import time
from contextlib import ExitStack
from statistics import median
from typing import Final

from ledger.client import Ledger
from ledger.core.acceptance import LogHead
from ledger.log.acceptor import Acceptor
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from tests.benchmarks.figure import Figure
from tests.benchmarks.reading import records, wait_for_leader
from tests.benchmarks.topics import create_topics
from tests.benchmarks.waiting import within
from tests.integration.fleet import Fleet

KILLS: Final = 5
SEQUENCERS: Final = 2
# A process that has run so long has caught up and stands by.
SETTLED_S: Final = 3.0
READY_S: Final = 30.0
NAME: Final = "take-over"


def measure(broker: Broker) -> list[Figure]:
    """Return TO, the median of some take-overs, and the longest of them."""
    create_topics(broker.bootstrap, NAME)
    with ExitStack() as held:
        log = KafkaLog(broker.bootstrap, NAME)
        held.callback(log.close)
        fleet = held.enter_context(Fleet(broker.bootstrap, NAME, SEQUENCERS))
        wait_for_leader(log)
        client = held.enter_context(Ledger.connect(broker.bootstrap, NAME))
        taken = [take_over(log, fleet, client) for _ in range(KILLS)]
        epochs = epochs_of_txns(log)
    decided = [epochs[txn] for txn, _ in taken]
    assert decided == sorted(set(decided)), f"an answer is of the epoch before: {decided}"
    seconds = [took_s for _, took_s in taken]
    note = f"of {KILLS} kills of {SEQUENCERS} sequencers; suspected after 1.2 s of silence"
    return [
        Figure("TO", round(median(seconds), 2), "s median", note=note),
        Figure("TO-max", round(max(seconds), 2), "s", note=note),
    ]


def take_over(log: KafkaLog, fleet: Fleet, client: Ledger) -> tuple[int, float]:
    """Kill the leader of a client that works; return the txn the next one opens, and when."""
    leader = wait_for_leader(log)
    for _ in within(READY_S, "the standby settles"):
        client.begin("read_only").abort("measured", ())
        if fleet.youngest_s() > SETTLED_S:
            break
    killed_s = time.perf_counter()
    fleet.kill(leader)
    txn = client.begin("read_only")
    took_s = time.perf_counter() - killed_s
    txn.abort("measured", ())
    return txn.id, took_s


def epochs_of_txns(log: KafkaLog) -> dict[int, int]:
    """Return the epoch in which each txn was opened."""
    acceptor, epochs = Acceptor(LogHead()), dict[int, int]()
    for record in records(log, Topic.EVENTS):
        control = acceptor.take_control(record.value)
        if control is not None:
            epochs.setdefault(control.txn, control.epoch)
    return epochs
