"""A preview of an ingest: what the first records of its topics become. Nothing is written."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.definitions.definitions import ColumnLike, changed_definition
from ledger.errors import LogUnavailableError
from ledger.ingest.mapping import IngestMapping
from ledger.ingest.offsets import recorded
from ledger.ingest.opening import formats_of, opener
from ledger.ingest.source import Partition, TopicRecord, TopicSource, seen_topics
from ledger.ingest.tables import ADD_ATTEMPTS, TopicTable
from ledger.ingest.values.fields import BadRecord
from ledger.ingest.values.rows import TopicRows
from ledger.reads.port import TableRow

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
    """Return what the next records of each topic become; no running process is disturbed.

    Raises TopicMissingError, and LogUnavailableError if no partition can be read.
    """
    grown = GrownTables(ledger)
    formats = formats_of(mapping.source)
    tables = {
        each.topic: TopicTable(cast("Ledger", grown), each, formats) for each in mapping.topics
    }
    for table in tables.values():
        table.reader()
    starts = Starts({each.partition: each.offset for each in recorded(ledger, mapping.name)})
    group = f"lakeledger-{ledger.id}-{mapping.name}-preview-{secrets.token_hex(4)}"
    found = first_records(opener(mapping, bootstrap, client, group)(starts), starts, list(tables))
    made = []
    for name, table in tables.items():
        records = [record for record in found if record.partition.topic == name]
        read = grown.rows(table, records)
        rows, new = read.rows.slice(0, SHOWN_MAX).to_pylist(), grown.new(table.mapping.table)
        made.append(Preview(name, table.mapping.table, rows, read.bad[:SHOWN_MAX], new))
    return made


class GrownTables:
    """The tables of a ledger, with the columns that an ingest would add to them, in memory."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._new: dict[str, dict[str, str]] = {}

    def table(self, name: str) -> TableRow:
        """Return a table as it would be."""
        row = self._ledger.table(name)
        if not (new := self.new(name)):
            return row
        columns: list[ColumnLike] = [*row.definition.columns, *new.items()]
        return row._replace(definition=changed_definition(row.definition, columns=columns))

    def new(self, name: str) -> Mapping[str, str]:
        """Return the columns that a table would get."""
        return self._new.get(name, {})

    def rows(self, table: TopicTable, records: Sequence[TopicRecord]) -> TopicRows:
        """Return what records become in a table that grows by their fields."""
        read = table.reader().read(records)
        for _ in range(ADD_ATTEMPTS):
            if not read.new:
                break
            self._new.setdefault(table.mapping.table, {}).update(read.new)
            read = table.reader().read(records)
        return read


def first_records(
    source: TopicSource, starts: Starts, topics: Sequence[str], wait_s: float = WAIT_S
) -> list[TopicRecord]:
    """Return the records that come first, up to the ends that the partitions have now.

    Raises TopicMissingError, and LogUnavailableError if no partition came.
    """
    clock, records = SystemClock(), list[TopicRecord]()
    ends: dict[Partition, int] | None = None
    until_s = clock.monotonic_s() + wait_s
    try:
        seen_topics(source, topics)
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
    if not starts.places:
        raise LogUnavailableError(
            f"no partition of {', '.join(topics)} came within {wait_s:.0f} s; see whether the "
            "brokers run"
        )
    return records


def unread(source: TopicSource, places: Mapping[Partition, int]) -> dict[Partition, int]:
    """Return the ends of the partitions that hold records from their places on."""
    held = {partition: source.held(partition) for partition in places}
    return {
        partition: at.end
        for partition, at in held.items()
        if at.end > max(places[partition], at.first)
    }
