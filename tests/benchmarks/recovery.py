"""R18: a sequencer that starts, against raw consumption of the same bytes.

Starting is what the product does: a sequencer reads the newest checkpoint, makes sure that the log
still goes on there, and judges and folds what is behind it. It writes no checkpoint meanwhile,
behind which the next start would begin. The raw side connects, reads the same records from the same
broker with a client of the same settings, and does nothing with them.
"""

import time
from contextlib import closing
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.acceptance import LogHead
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import Checkpoint, CheckpointWriter
from ledger.log.kafka.connection import Connection
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.trouble import Trouble
from ledger.log.port import Topic
from ledger.log.wire.codec import encode_command
from ledger.machine.kafka.broker import Broker
from ledger.sequencer.sequencer import Sequencer
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.repeated import collected_as_in_a_role
from tests.benchmarks.sequencer_loop import fill, sequencer_loop
from tests.benchmarks.waiting import within
from tests.benchmarks.workload import commands

NAME: Final = "r18"
ROUNDS: Final = 7
# The raw side is so quick that it is repeated, to be measured over a time less far from ours.
RAW_PASSES: Final = 4
TXNS: Final = 40_000
CHECKPOINT_AT: Final = 20_000
TAIL_MIN: Final = 90_000
BATCH: Final = 2_000
ROUND_S: Final = 60.0
WITHOUT_CHECKPOINTS: Final = SequencerSettings(checkpoint_positions=2**62)


def measure(broker: Broker) -> list[Figure]:
    """Return R18."""
    values = [encode_command(command) for command in commands(TXNS)]
    fill(broker, NAME, values)
    sequencer_loop(broker, NAME, len(values))
    with closing(KafkaLog(broker.bootstrap, NAME)) as log:
        checkpoint = write_checkpoint(log)
        end = log.ends(Topic.EVENTS)[1]
        tail = end - checkpoint.offset
        rounds = [
            (
                tail / recovery_s(log, end),
                RAW_PASSES * tail / raw_s(broker, NAME, checkpoint.offset, end),
            )
            for _ in range(ROUNDS + 1)
        ][1:]
    note = f"{ROUNDS} starts from a checkpoint, {tail} events behind it, against raw consumption"
    return [against("R18", "events/s", rounds, note)]


def write_checkpoint(log: KafkaLog) -> Checkpoint:
    """Fold the beginning of the log and leave a checkpoint of it, as a standby does."""
    state, acceptor = DomainState(), Acceptor(LogHead())
    batches = BatchAcceptor(log, acceptor, 0)
    with closing(batches.open()) as events:
        while acceptor.head.position < CHECKPOINT_AT:
            for _, event in batches.events(events.read(BATCH, ROUND_S)):
                if event is not None:
                    evolve(state, event)
    checkpoint = Checkpoint(state, acceptor.head, batches.offset)
    with closing(log.writer(Topic.CHECKPOINTS)) as writer:
        CheckpointWriter(writer, 0).write(checkpoint)
    return checkpoint


def recovery_s(log: KafkaLog, end: int) -> float:
    """Return the seconds until a sequencer has the state of the whole log, of which all counts."""
    with collected_as_in_a_role():
        began_s = time.perf_counter()
        sequencer = Sequencer(log, Genesis(NAME), settings=WITHOUT_CHECKPOINTS)
        began_at = sequencer.acceptor.head.position
        assert began_at < end - TAIL_MIN, f"the checkpoint at {began_at} leaves no tail"
        with closing(sequencer):
            for _ in within(ROUND_S, "recovery"):
                sequencer.step(0.01)
                if sequencer.acceptor.head.position >= end:
                    return time.perf_counter() - began_s
    raise AssertionError("waiting ends with a state or an error")


def raw_s(broker: Broker, ledger: str, begin: int, end: int) -> float:
    """Return the seconds of several passes that read the same events."""
    return sum(raw_pass_s(broker, ledger, begin, end) for _ in range(RAW_PASSES))


def raw_pass_s(broker: Broker, ledger: str, begin: int, end: int) -> float:
    """Return the seconds of one pass, its connection included."""
    began_s = time.perf_counter()
    consumer = Consumer(Connection(broker.bootstrap).reader(Trouble()))
    consumer.assign([TopicPartition(f"{ledger}.{Topic.EVENTS}", 0, begin)])
    count = 0
    for _ in within(ROUND_S, "the raw reader"):
        message = consumer.poll(1.0)
        if message is not None:
            count += 1 + len([each.value() for each in consumer.consume(BATCH - 1, 0)])
        if count >= end - begin:
            break
    took_s = time.perf_counter() - began_s
    consumer.close()
    return took_s
