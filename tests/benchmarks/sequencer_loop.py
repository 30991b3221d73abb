"""R1: the whole sequencer loop against raw consume and produce of the same bytes.

Both sides read the same commands from the same topic of the same broker with the same client
library, one right after the other; the sequencer decides, folds, chains, appends and reads back.
"""

import gc
import time

from confluent_kafka import Consumer, Producer, TopicPartition

from ledger.broker import Broker
from ledger.leader import Leader
from ledger.log.codec import encode_command
from ledger.log.kafka import KafkaLog
from ledger.log.port import Topic
from ledger.log.topics import create_topics
from ledger.process import GC_THRESHOLDS
from ledger.sequencer import Sequencer
from ledger.settings import Genesis
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.workload import commands

ROUNDS = 5
TXNS = 15_000


def measure(broker: Broker) -> list[Figure]:
    """Return R1."""
    values = [encode_command(command) for command in commands(TXNS)]
    rounds = [one_round(broker, f"r1-{number}", values) for number in range(ROUNDS + 1)]
    note = f"commands/s, median of {ROUNDS} rounds of {len(values)} commands, 16 sessions"
    return [against("R1", "commands/s", rounds[1:], note)]


def one_round(broker: Broker, ledger: str, values: list[bytes]) -> tuple[float, float]:
    """Return commands per second of the sequencer and of the raw loop."""
    create_topics(broker.bootstrap, ledger)
    log = KafkaLog(broker.bootstrap, ledger)
    writer = log.writer(Topic.COMMANDS)
    for value in values:
        writer.append(b"", value)
    writer.flush(60.0)
    writer.close()
    raw_s = raw_loop(broker, ledger, len(values))
    return len(values) / sequencer_loop(log, ledger, len(values)), len(values) / raw_s


def raw_loop(broker: Broker, ledger: str, count: int) -> float:
    """Return the seconds to consume all commands and produce their bytes to a scratch topic."""
    create_topics(broker.bootstrap, f"{ledger}-raw")
    settings = {"bootstrap.servers": broker.bootstrap, "broker.address.family": "v4"}
    consumer = Consumer(
        {**settings, "group.id": "raw", "enable.auto.commit": False, "check.crcs": True}
    )
    producer = Producer(
        {
            **settings,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 0,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    target = f"{ledger}-raw.{Topic.EVENTS}"
    consumer.assign([TopicPartition(f"{ledger}.{Topic.COMMANDS}", 0, 0)])
    producer.list_topics(timeout=10)
    first = consumer.poll(10.0)
    assert first is not None, "the commands cannot be read"
    producer.produce(target, first.value(), partition=0)
    begin, done = time.perf_counter(), 1
    while done < count:
        message = consumer.poll(1.0)
        if message is None:
            continue
        for each in (message, *consumer.consume(1_000, 0)):
            producer.produce(target, each.value(), partition=0)
            done += 1
        producer.poll(0)
    producer.flush(60.0)
    elapsed = time.perf_counter() - begin
    consumer.close()
    return elapsed


def sequencer_loop(log: KafkaLog, ledger: str, count: int) -> float:
    """Return the seconds of one leader to answer every command and read every answer back."""
    sequencer = Sequencer(log, Genesis(ledger))
    gc.collect()
    gc.freeze()
    thresholds = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    while sequencer.leader is None:
        sequencer.step(0.01)
    begin = time.perf_counter()
    while answered(sequencer.leader) < count:
        sequencer.step(0.01)
    elapsed = time.perf_counter() - begin
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    sequencer.resign()
    return elapsed


def answered(leader: Leader) -> int:
    """Return how many commands have an answer that was read back."""
    return leader.acceptor.head.last_cmd + 1
