"""A preview of an ingest: what the first records of its topics become. Nothing is written."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.ingest.mapping import IngestMapping
from ledger.ingest.offsets import recorded
from ledger.ingest.opening import formats_of, opener
from ledger.ingest.source import Partition, TopicRecord, TopicSource
from ledger.ingest.tables import TopicTable
from ledger.ingest.values.fields import BadRecord

SHOWN_MAX: Final = 10
TAKEN_MAX: Final = 10_000
WAIT_S: Final = 10.0
QUIET_S: Final = 3.0
"""No record for so long is the end, where markers of transactions stand behind the last one."""

POLL_S: Final = 0.5


class Preview(NamedTuple):
    """The first rows of a topic, the bad records among them, and the columns that are added."""

    topic: str
    table: str
    rows: Sequence[Mapping[str, Any]]
    bad: Sequence[BadRecord]
    new: Mapping[str, str]


class Starts:
    """Begins partitions where the ledger is, or at their first record."""

    def __init__(self, offsets: Mapping[Partition, int]) -> None:
        self._offsets = offsets
        self.places: dict[Partition, int] = {}

    def came(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Return the offset at which each partition continues."""
        places = {partition: self._offsets.get(partition, BEGINNING) for partition in partitions}
        self.places |= places
        return places

    def went(self, partitions: Iterable[Partition]) -> None:
        """Go on without partitions."""


BEGINNING: Final = -2
"""The offset by which Kafka's client begins at the first record."""


def previews(
    ledger: Ledger, mapping: IngestMapping, bootstrap: str, client: Mapping[str, Any]
) -> list[Preview]:
    """Return what the next records of each topic become; no running process is disturbed."""
    formats = formats_of(mapping.source)
    tables = [TopicTable(ledger, topic, formats) for topic in mapping.topics]
    readers = {table.mapping.topic: table.reader() for table in tables}
    starts = Starts({each.partition: each.offset for each in recorded(ledger, mapping.name)})
    group = f"lakeledger-{ledger.id}-{mapping.name}-preview-{secrets.token_hex(4)}"
    found = first_records(opener(mapping, bootstrap, client, group)(starts), starts)
    made = []
    for topic in mapping.topics:
        records = [record for record in found if record.partition.topic == topic.topic]
        read = readers[topic.topic].read(records)
        rows = read.rows.slice(0, SHOWN_MAX).to_pylist()
        made.append(Preview(topic.topic, topic.table, rows, read.bad[:SHOWN_MAX], read.new))
    return made


def first_records(source: TopicSource, starts: Starts) -> list[TopicRecord]:
    """Return the records that come first, up to the ends that the partitions have now."""
    clock, records = SystemClock(), list[TopicRecord]()
    ends: dict[Partition, int] | None = None
    until_s = clock.monotonic_s() + WAIT_S
    try:
        while len(records) < TAKEN_MAX and ends != {} and clock.monotonic_s() < until_s:
            taken = source.take(TAKEN_MAX, POLL_S)
            if ends is None and starts.places:
                ends = unread(source, starts.places)
            if taken:
                until_s = clock.monotonic_s() + QUIET_S
            records += taken
            for record in taken:
                if ends and record.offset + 1 >= ends.get(record.partition, 0):
                    ends.pop(record.partition, None)
    finally:
        source.close()
    return records


def unread(source: TopicSource, places: Mapping[Partition, int]) -> dict[Partition, int]:
    """Return the ends of the partitions that hold records from their places on."""
    held = {partition: source.held(partition) for partition in places}
    return {
        partition: at.end
        for partition, at in held.items()
        if at.end > max(places[partition], at.first)
    }
