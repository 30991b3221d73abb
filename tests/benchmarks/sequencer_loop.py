"""R1: the whole sequencer loop against raw consume and produce of the same bytes.

Both sides read the same commands from the same topic of the same broker, with clients that have
the same settings, one right after the other. The raw loop is the floor: it takes what `consume`
hands out and appends the bytes as they are. The sequencer decodes, decides, folds, chains and
appends, and reads every event back.
"""

import time
from contextlib import closing

from confluent_kafka import Consumer, Producer, TopicPartition

from ledger.config.settings import Genesis, SequencerSettings
from ledger.log.kafka.connection import Connection
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.trouble import Trouble
from ledger.log.port import Topic
from ledger.log.wire.codec import encode_command
from ledger.machine.kafka.broker import Broker
from ledger.sequencer.sequencer import Sequencer
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.repeated import collected_as_in_a_role
from tests.benchmarks.topics import create_topics
from tests.benchmarks.waiting import within
from tests.benchmarks.workload import commands

ROUNDS = 5
TXNS = 15_000
# The raw loop is so quick that it is repeated, to be measured over as long a time.
RAW_PASSES = 4
BATCH = 1_000
ROUND_S = 60.0
SCRATCH = "r1-raw"


def measure(broker: Broker) -> list[Figure]:
    """Return R1, and the same against a raw loop whose producer lingers for full requests."""
    values = [encode_command(command) for command in commands(TXNS)]
    create_topics(broker.bootstrap, SCRATCH)
    # In the first round the broker's runtime is still compiling.
    rounds = [one_round(broker, f"r1-{number}", values) for number in range(ROUNDS + 1)][1:]
    what = f"{ROUNDS} rounds of {len(values)} commands, 16 sessions in turn, one partition"
    return [
        against("R1", "commands/s", [(ours, raw) for ours, raw, _ in rounds], what),
        against(
            "R1-linger",
            "commands/s",
            [(ours, lingering) for ours, _, lingering in rounds],
            "the same against a raw loop that lingers 5 ms, which the sequencer does not",
        ),
    ]


def one_round(broker: Broker, ledger: str, values: list[bytes]) -> tuple[float, float, float]:
    """Return records per second of the sequencer, the raw loop, and the raw loop that lingers."""
    fill(broker, ledger, values)
    raw_s = raw_loop(broker, ledger, len(values), linger_ms=0.0)
    ours_s = sequencer_loop(broker, ledger, len(values))
    lingering_s = raw_loop(broker, ledger, len(values), linger_ms=5.0)
    return len(values) / ours_s, len(values) / raw_s, len(values) / lingering_s


def fill(broker: Broker, ledger: str, values: list[bytes]) -> None:
    """Append the commands to a new ledger, which has begun and is not led now."""
    create_topics(broker.bootstrap, ledger)
    with (
        closing(KafkaLog(broker.bootstrap, ledger)) as log,
        closing(log.writer(Topic.COMMANDS)) as writer,
    ):
        sequencer = Sequencer(log, Genesis(ledger))
        lead(sequencer)
        sequencer.resign()
        for value in values:
            writer.append(b"", value)
        writer.flush(ROUND_S)


def raw_loop(broker: Broker, ledger: str, count: int, *, linger_ms: float) -> float:
    """Return the seconds it takes to consume all commands and to produce their bytes."""
    source, target = f"{ledger}.{Topic.COMMANDS}", f"{SCRATCH}.{Topic.EVENTS}"
    passes_s = [raw_pass(broker, source, target, count, linger_ms) for _ in range(RAW_PASSES)]
    return sum(passes_s) / RAW_PASSES


def raw_pass(broker: Broker, source: str, target: str, count: int, linger_ms: float) -> float:
    """Return the seconds of one pass, from the first record that was there to the last flushed."""
    connection = Connection(broker.bootstrap)
    producer = Producer(
        connection.writer(Trouble(), linger_ms=linger_ms, delivery_timeout_s=ROUND_S)
    )
    producer.produce(target, b"warm", partition=0)
    producer.flush(ROUND_S)
    consumer = Consumer(connection.reader(Trouble()))
    consumer.assign([TopicPartition(source, 0, 0)])
    message = consumer.poll(ROUND_S)
    begin, done = time.perf_counter(), 0
    for _ in within(ROUND_S, "the raw loop"):
        batch = [message, *consumer.consume(BATCH - 1, 0)] if message is not None else []
        for each in batch:
            producer.produce(target, each.value(), partition=0)
        producer.poll(0)
        done += len(batch)
        if done >= count:
            break
        message = consumer.poll(1.0)
    producer.flush(ROUND_S)
    elapsed = time.perf_counter() - begin
    consumer.close()
    return elapsed


def sequencer_loop(broker: Broker, ledger: str, count: int) -> float:
    """Return the seconds of one leader to answer every command and read every answer back."""
    settings = SequencerSettings()
    with closing(KafkaLog(broker.bootstrap, ledger, gather_s=settings.gather_s)) as log:
        sequencer = Sequencer(log, Genesis(ledger), settings=settings)
        with closing(sequencer), collected_as_in_a_role():
            lead(sequencer)
            begin = time.perf_counter()
            for _ in within(ROUND_S, "answering"):
                sequencer.step(0.01)
                if sequencer.acceptor.head.last_cmd + 1 >= count:
                    break
            return time.perf_counter() - begin


def lead(sequencer: Sequencer) -> None:
    """Let a sequencer do rounds until it leads."""
    for _ in within(ROUND_S, "leading"):
        sequencer.step(0.01)
        if sequencer.leader is not None:
            return
