"""How far the partitions of ingests are: what the ledger has, and what the topics hold."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from ledger.ingest.mapping import IngestMapping
from ledger.ingest.offsets import RecordedOffset, recorded
from ledger.ingest.opening import opener
from ledger.ingest.preview import Starts
from ledger.ingest.source import Partition, seen_topics

UNKNOWN: Final = -1
"""The end of a partition that is not known."""


class PartitionStatus(NamedTuple):
    """A partition of an ingest.

    `offset`, `at` and `position` are None if the partition was never read. `end` is the end of the
    partition, now or at its last commit, None = unknown, as is the `lag`. `lost` counts records
    that were deleted unread. `at` is the time of the last commit in milliseconds, and `position`
    its position.
    """

    ingest: str
    partition: Partition
    offset: int | None
    end: int | None
    lag: int | None
    lost: int
    at: int | None
    position: int | None


def statuses(
    ledger: Ledger, mapping: IngestMapping | None, bootstrap: str, client: Mapping[str, Any]
) -> Sequence[PartitionStatus]:
    """Return how far each partition is; with a mapping its ends are asked for now.

    Raises LogError if the brokers of a mapping do not answer, and TopicMissingError for a topic of
    the mapping that is not there.
    """
    rows = recorded(ledger, "" if mapping is None else mapping.name)
    if mapping is None:
        return [status_of(row, row.note.end) for row in rows]
    ends = ends_of(mapping, bootstrap, client)
    known = [status_of(row, ends.pop(row.partition, UNKNOWN)) for row in rows]
    return sorted([*known, *(unread(mapping.name, *each) for each in ends.items())])


def ends_of(
    mapping: IngestMapping, bootstrap: str, client: Mapping[str, Any]
) -> dict[Partition, int]:
    """Return the ends that all partitions of a mapping have now; raises TopicMissingError."""
    group = f"lakeledger-status-{mapping.name}"
    topics = [each.topic for each in mapping.topics]
    with closing(opener(mapping, bootstrap, client, group)(Starts({}))) as source:
        found = seen_topics(source, topics)
        return {
            partition: source.held(partition).end
            for topic in found.values()
            for partition in topic.partitions
        }


def unread(ingest: str, partition: Partition, end: int) -> PartitionStatus:
    """Return the status of a partition that was never read."""
    return PartitionStatus(ingest, partition, None, end, None, 0, None, None)


def status_of(row: RecordedOffset, end: int) -> PartitionStatus:
    """Return the status of a partition with an end."""
    is_known = end != UNKNOWN
    return PartitionStatus(
        row.ingest,
        row.partition,
        row.offset,
        end if is_known else None,
        max(0, end - row.offset) if is_known else None,
        row.note.lost,
        row.at,
        row.position,
    )
