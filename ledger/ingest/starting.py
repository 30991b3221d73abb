"""Where the partitions of an ingest begin: at the ledger's offsets, else where the mapping says.

A topic that was never read is begun for all its partitions by one commit. So a partition that is
added to the topic later begins at its first record, also where the mapping says `latest`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from ledger.client import Ledger
from ledger.errors import (
    AppVersionsDisagreeError,
    ConcurrentTransactionException,
    LogUnavailableError,
    OffsetGoneError,
)
from ledger.ingest.mapping import IngestMapping
from ledger.ingest.offsets import KnownOffset, LedgerOffsets, PartitionNote
from ledger.ingest.source import Partition, SeenTopic, TopicSource, seen_topics
from ledger.log_lines import LogLines

log_lines = LogLines("lakeledger.ingest")


class PartitionStarts:
    """Finds the offsets at which partitions go on, and begins topics that were never read.

    `lost` counts the records that were deleted unread, by topic.
    """

    def __init__(
        self,
        ledger: Ledger,
        mapping: IngestMapping,
        offsets: LedgerOffsets,
        source: TopicSource,
        lost: Counter[str],
    ) -> None:
        self._ledger, self._mapping, self._offsets = ledger, mapping, offsets
        self._source, self._lost = source, lost
        # The ids of the topics that were begun: the offsets in the ledger belong to them.
        self._ids: dict[str, str] = {}

    def of(self, partitions: Sequence[Partition]) -> dict[Partition, KnownOffset]:
        """Return where partitions go on.

        Raises OffsetGoneError if records that are due were deleted, unless the mapping continues
        without them, and for a topic that was made anew.
        """
        for topic in sorted({partition.topic for partition in partitions}):
            self._begin(topic)
        found = self._offsets.read(partitions)
        return {partition: self._held(partition, known) for partition, known in found.items()}

    def look(self) -> None:
        """See whether all topics can be read now.

        Raises TopicMissingError, LogUnavailableError for a partition without a leader, and
        OffsetGoneError for a topic that was made anew.
        """
        found = seen_topics(self._source, [each.topic for each in self._mapping.topics])
        self._check(found)
        unled = [str(partition) for each in found.values() for partition in each.unled]
        if unled:
            raise LogUnavailableError(
                f"no broker leads {', '.join(unled)}; bring the brokers of these partitions back"
            )

    def ids(self, topics: Iterable[str]) -> Mapping[str, str]:
        """Return the ids of topics now; raises OffsetGoneError for one that was made anew.

        To be asked between the taking of records and their commit: records of a topic that was
        made anew have offsets of their own, and the client takes them without a word.
        """
        found = seen_topics(self._source, [*topics])
        self._check(found)
        return {topic: each.id for topic, each in found.items()}

    def _check(self, found: Mapping[str, SeenTopic]) -> None:
        for topic, each in found.items():
            if topic in self._ids:
                check_id(topic, each.id, {self._ids[topic]})

    def _begin(self, topic: str) -> None:
        """Record where a topic begins, if it was never read."""
        seen = seen_topics(self._source, [topic])[topic]
        position, ids = self._offsets.begun(topic)
        if not ids:
            is_late = self._mapping.of(topic).start == "latest"
            held = {partition: self._source.held(partition) for partition in seen.partitions}
            starts = {each: found.end if is_late else found.first for each, found in held.items()}
            # Another process of the ingest may have begun the topic meanwhile.
            with suppress(ConcurrentTransactionException, AppVersionsDisagreeError):
                self._move(starts, position, seen.id)
            _, ids = self._offsets.begun(topic)
        check_id(topic, seen.id, ids)
        self._ids[topic] = seen.id

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
        gone = held.first - known.offset
        log_lines.warning("records lost", partition=str(partition), lost=gone)
        lost, topic_id = known.lost + gone, self._ids[partition.topic]
        position = self._move({partition: held.first}, known.position, topic_id, lost)
        self._lost[partition.topic] += gone
        return KnownOffset(held.first, position, lost)

    def _move(
        self, ends: Mapping[Partition, int], read_at: int, topic_id: str, lost: int = 0
    ) -> int:
        """Record offsets by a commit without rows; return its position."""
        notes = {
            partition: PartitionNote(end, topic_id, lost=lost) for partition, end in ends.items()
        }
        with self._ledger.begin() as txn:
            self._offsets.record(txn, ends, notes, read_at)
            return txn.commit().position


def check_id(topic: str, now: str, ids: set[str]) -> None:
    """Raise OffsetGoneError for a topic that was deleted and made anew, so that its id differs."""
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
