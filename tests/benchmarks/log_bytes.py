"""BYTES: what a transaction leaves in the log, altogether and by the type of its events.

It opens with its write id and commits one insert. Keys and values are counted, and what the
broker's files grow by. One session works alone, so every record is a request of its own, which is
the most that a record can cost in the files.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from statistics import mean
from typing import Final

from ledger.client import Ledger
from ledger.core.commands import CommitTxn, OpenTxn
from ledger.core.events.events import TxnCommitted, TxnOpened
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Topic
from ledger.log.wire.codec import decode_command, decode_event
from ledger.machine.kafka.broker import Broker
from tests.benchmarks.closed_loop import create_table, transact
from tests.benchmarks.figure import Figure
from tests.benchmarks.reading import records
from tests.benchmarks.topics import create_topics
from tests.integration.fleet import Fleet

TXNS: Final = 200
OTHERS: Final = 15
NAME: Final = "bytes"
ASKED: Final = (OpenTxn, CommitTxn)
ANSWERED: Final = (TxnOpened, TxnCommitted)


def measure(broker: Broker) -> list[Figure]:
    """Return the bytes that one transaction leaves, alone and beside others that are open."""
    create_topics(broker.bootstrap, NAME)
    with (
        Fleet(broker.bootstrap, NAME, 1),
        Ledger.connect(broker.bootstrap, NAME) as client,
        closing(KafkaLog(broker.bootstrap, NAME)) as log,
    ):
        table = create_table(client)
        grown = growth(broker, client, table)
        commands, alone = sizes(log, Topic.COMMANDS), sizes(log, Topic.EVENTS)
        client.begin_many(OTHERS)
        growth(broker, client, table)
        beside = sizes(log, Topic.EVENTS)
    what = "key and value, of open + allocate, commit; one insert into one partition"
    opened = mean(beside[TxnOpened][TXNS + 1 :])
    return [
        figure("BYTES", sum_of(alone, ANSWERED), f"events per txn, {what}"),
        *(figure(f"BYTES-{kind.__name__}", mean(alone[kind]), "mean") for kind in ANSWERED),
        figure(
            "BYTES-16", opened, f"a TxnOpened beside {OTHERS} open txns, which its snapshot names"
        ),
        figure("BYTES-commands", sum_of(commands, ASKED), f"commands per txn, {what}"),
        figure("BYTES-files", grown, "what the files of both topics grow by per txn, one session"),
    ]


def figure(name: str, size: float, note: str) -> Figure:
    """Return a figure in bytes."""
    return Figure(name, round(size, 1), "bytes", note=note)


def sum_of(found: Mapping[type, list[int]], kinds: Iterable[type]) -> float:
    """Return the bytes of one transaction, which is one record of each kind."""
    return sum(mean(found[kind]) for kind in kinds)


def growth(broker: Broker, client: Ledger, table: int) -> float:
    """Do transactions and return by how much each lets the broker's files grow."""
    before = file_bytes(broker)
    for number in range(TXNS):
        transact(client, table, number)
    return (file_bytes(broker) - before) / TXNS


def file_bytes(broker: Broker) -> int:
    """Return the size of the broker's files of commands and events."""
    return sum(
        file.stat().st_size
        for topic in (Topic.COMMANDS, Topic.EVENTS)
        for file in broker.folder.glob(f"**/{NAME}.{topic}-0/*.log")
    )


def sizes(log: KafkaLog, topic: Topic) -> dict[type, list[int]]:
    """Return the bytes of the records of a topic, oldest first, by the type of what they hold."""
    found: dict[type, list[int]] = defaultdict(list)
    for record in records(log, topic):
        held = (
            decode_event(record.value).body
            if topic is Topic.EVENTS
            else decode_command(record.value)
        )
        found[type(held)].append(len(record.key) + len(record.value))
    return found
