"""What a benchmark asks of a log: who leads, and what is in it."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Record, Topic
from tests.benchmarks.waiting import within

READY_S: Final = 60.0
READ_MAX: Final = 5_000
READ_WAIT_S: Final = 5.0


def wait_for_leader(log: KafkaLog) -> str:
    """Return the name of the sequencer that leads, `name/pid`, as soon as one beats."""
    with closing(log.reader(Topic.BEATS, log.ends(Topic.BEATS)[1])) as beats:
        for _ in within(READY_S, "a sequencer leads"):
            for record in beats.read(1, 1.0):
                return str(json.loads(record.value)["sequencer"])
    raise AssertionError("waiting ends with a leader or an error")


def records(log: KafkaLog, topic: Topic) -> Iterator[Record]:
    """Yield the records of a topic, from the first to what is the newest now."""
    start, end = log.ends(topic)
    with closing(log.reader(topic, start)) as reader:
        while reader.next_offset() < end:
            found = reader.read(READ_MAX, READ_WAIT_S)
            assert found, f"{topic} ends at offset {reader.next_offset()}, not at {end}"
            yield from found
