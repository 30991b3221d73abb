"""How far the partitions of ingests are: what the ledger has, and what the topics hold."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from ledger.client import Ledger
from ledger.errors import LogError
from ledger.ingest.mapping import IngestMapping
from ledger.ingest.offsets import RecordedOffset, recorded
from ledger.ingest.opening import opener
from ledger.ingest.preview import Starts
from ledger.ingest.source import Partition


class PartitionStatus(NamedTuple):
    """A partition of an ingest.

    `end` is the end of the partition, now or at its last commit, None = unknown, as is the `lag`.
    `lost` counts records that were deleted unread. `at` is the time of the last commit in
    milliseconds, and `position` its position.
    """

    ingest: str
    partition: Partition
    offset: int
    end: int | None
    lag: int | None
    lost: int
    at: int
    position: int


def statuses(
    ledger: Ledger, mapping: IngestMapping | None, bootstrap: str, client: Mapping[str, Any]
) -> Sequence[PartitionStatus]:
    """Return how far each partition is; with a mapping its ends are asked for now.

    Raises LogError if the brokers of a mapping do not answer.
    """
    rows = recorded(ledger, "" if mapping is None else mapping.name)
    if mapping is None:
        return [status_of(row, row.note.end) for row in rows]
    known = {row.partition: row for row in rows}
    ends = ends_of(mapping, bootstrap, client, known)
    return [status_of(row, ends.get(row.partition, row.note.end)) for row in rows]


def ends_of(
    mapping: IngestMapping, bootstrap: str, client: Mapping[str, Any], known: Iterable[Partition]
) -> dict[Partition, int]:
    """Return the ends of partitions now; a topic that is gone is left out."""
    found = {}
    group = f"lakeledger-status-{mapping.name}"
    with closing(opener(mapping, bootstrap, client, group)(Starts({}))) as source:
        for partition in known:
            try:
                found[partition] = source.held(partition).end
            except LogError as problem:
                if problem.retry_unchanged:
                    raise
    return found


def status_of(row: RecordedOffset, end: int) -> PartitionStatus:
    """Return the status of a partition with an end, -1 = unknown."""
    is_known = end >= 0
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
