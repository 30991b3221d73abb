"""Where the partitions of an ingest begin: at the ledger's offsets, else where the mapping says.

A topic that was never read is begun for all its partitions by one commit. So a partition that is
added to the topic later begins at its first record, also where the mapping says `latest`.
"""

from collections.abc import Sequence
from contextlib import suppress

from ledger.client import Ledger
from ledger.errors import AppVersionsDisagreeError, ConcurrentTransactionException, OffsetGoneError
from ledger.ingest.mapping import IngestMapping
from ledger.ingest.offsets import KnownOffset, LedgerOffsets, PartitionNote
from ledger.ingest.source import Partition, TopicSource
from ledger.log_lines import LogLines

log_lines = LogLines("lakeledger.ingest")


class PartitionStarts:
    """Finds the offsets at which partitions go on, and begins topics that were never read."""

    def __init__(
        self, ledger: Ledger, mapping: IngestMapping, offsets: LedgerOffsets, source: TopicSource
    ) -> None:
        self._ledger, self._mapping, self._offsets = ledger, mapping, offsets
        self._source = source

    def of(self, partitions: Sequence[Partition]) -> dict[Partition, KnownOffset]:
        """Return where partitions go on.

        Raises OffsetGoneError if records that are due were deleted, unless the mapping continues
        without them, and for a topic that was made anew.
        """
        for topic in sorted({partition.topic for partition in partitions}):
            self._begin(topic)
        found = self._offsets.read(partitions)
        return {partition: self._held(partition, known) for partition, known in found.items()}

    def _begin(self, topic: str) -> None:
        """Record where a topic begins, if it was never read."""
        position, ids = self._offsets.begun(topic)
        if ids:
            self._check_id(topic, ids)
            return
        is_late = self._mapping.of(topic).start == "latest"
        every = self._source.partitions(topic)
        held = {partition: self._source.held(partition) for partition in every}
        starts = {each: found.end if is_late else found.first for each, found in held.items()}
        # Another process of the ingest may have begun the topic meanwhile.
        with suppress(ConcurrentTransactionException, AppVersionsDisagreeError):
            self._move(starts, position)

    def _held(self, partition: Partition, known: KnownOffset) -> KnownOffset:
        """Return where a partition continues, behind records that were deleted if need be."""
        held = self._source.held(partition)
        topic = self._mapping.of(partition.topic)
        if held.first <= known.offset <= held.end:
            return known
        if known.offset > held.end or topic.lost == "stop":
            raise OffsetGoneError(
                f"{partition}: the ledger is at offset {known.offset}, and the topic holds "
                f"{held.first} to {held.end}. {advice(known.offset, held.end)}",
                wanted=known.offset,
                earliest=held.first,
            )
        lost = held.first - known.offset
        log_lines.warning("records lost", partition=str(partition), lost=lost)
        receipt = self._move({partition: held.first}, known.position, lost)
        return KnownOffset(held.first, receipt)

    def _move(self, ends: dict[Partition, int], read_at: int, lost: int = 0) -> int:
        """Record offsets by a commit without rows; return its position."""
        notes = {
            partition: PartitionNote(end, self._source.topic_id(partition.topic), lost=lost)
            for partition, end in ends.items()
        }
        with self._ledger.begin() as txn:
            self._offsets.record(txn, ends, notes, read_at)
            return txn.commit().position

    def _check_id(self, topic: str, ids: set[str]) -> None:
        """Raise OffsetGoneError for a topic that was deleted and made anew."""
        now = self._source.topic_id(topic)
        others = ids - {now, ""}
        if others and now:
            raise OffsetGoneError(
                f"topic {topic} was made anew: its id was {', '.join(sorted(others))} and is "
                f"{now}. The offsets in the ledger are of the old one. Give the ingest another "
                "name to read the new topic from its start",
                wanted=0,
                earliest=0,
            )


def advice(offset: int, end: int) -> str:
    """Return what to do about an offset that a partition does not hold."""
    if offset > end:
        return (
            "The topic lost its end, or was made anew. Give the ingest another name to read it "
            "from its start"
        )
    return (
        "Records were deleted before they were read. Give the topic a longer retention; with "
        'lost = "continue" the ingest continues without them'
    )
