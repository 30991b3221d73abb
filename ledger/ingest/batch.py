"""A batch: records that were taken and are not committed, by partition.

A commit holds the rows of all of them and the offsets behind them. What the ledger says of a
partition always goes first: records that it has already are dropped, and a partition that the
ledger has at an earlier place is read again from there.
"""

from collections.abc import Iterable, Mapping, Sequence

from ledger.ingest.offsets import KnownOffset
from ledger.ingest.source import Partition, TopicRecord


class PendingRecords:
    """The records of the owned partitions that are not committed, each partition in its order.

    Attributes:
        known: the offsets of the owned partitions, as the ledger had them last.
        count: how many records wait.
        bytes: the size of their values.
    """

    def __init__(self) -> None:
        self.known: dict[Partition, KnownOffset] = {}
        self._records: dict[Partition, list[TopicRecord]] = {}
        self.count = self.bytes = 0

    def own(self, known: Mapping[Partition, KnownOffset]) -> None:
        """Begin partitions at their offsets, without records."""
        for partition, offset in known.items():
            self.known[partition] = offset
            self._records.pop(partition, None)
        self._count()

    def drop(self, partitions: Iterable[Partition]) -> None:
        """Forget partitions that another process owns."""
        for partition in partitions:
            self.known.pop(partition, None)
            self._records.pop(partition, None)
        self._count()

    def add(self, records: Iterable[TopicRecord]) -> None:
        """Take records; those that are not owned, or not due, are left out."""
        for record in records:
            if record.partition not in self.known:
                continue
            if record.offset >= self.next_offset(record.partition):
                self._records.setdefault(record.partition, []).append(record)
                self.count += 1
                self.bytes += len(record.value or b"")

    def next_offset(self, partition: Partition) -> int:
        """Return the offset behind the last record of a partition."""
        records = self._records.get(partition)
        return records[-1].offset + 1 if records else self.known[partition].offset

    def by_topic(self) -> Mapping[str, Sequence[TopicRecord]]:
        """Return the records of each topic, partition after partition."""
        found: dict[str, list[TopicRecord]] = {}
        for partition in sorted(self._records):
            found.setdefault(partition.topic, []).extend(self._records[partition])
        return found

    def ends(self) -> Mapping[Partition, int]:
        """Return the offset behind the records of each partition that has some."""
        return {partition: self.next_offset(partition) for partition in sorted(self._records)}

    def newest(self, partition: Partition) -> int:
        """Return the time of the last record of a partition."""
        return self._records[partition][-1].at

    def read_at(self) -> int:
        """Return the position from which the offsets of the partitions with records are known."""
        return min(self.known[partition].position for partition in self._records)

    @property
    def is_of_one_position(self) -> bool:
        """Whether the offsets of all partitions with records were known at one position.

        A commit has one base for all of them. With an older one it would lose to the commits of its
        own process.
        """
        return len({self.known[partition].position for partition in self._records}) <= 1

    def done(self, position: int) -> None:
        """Note that all records were committed at a position of the ledger."""
        for partition, end in self.ends().items():
            self.known[partition] = self.known[partition]._replace(offset=end, position=position)
        self._records.clear()
        self._count()

    def settle(self, found: Mapping[Partition, KnownOffset]) -> Sequence[Partition]:
        """Go by the offsets that the ledger has; return the partitions to be read again.

        Records that the ledger has are dropped. A partition that the ledger has at an earlier place
        than this process knew loses its records: what lies between is read again.
        """
        again = []
        for partition, offset in found.items():
            if partition not in self.known:
                continue
            before = self.known[partition]
            if offset.offset < before.offset:
                self._records.pop(partition, None)
                again.append(partition)
            left = [
                record
                for record in self._records.pop(partition, ())
                if record.offset >= offset.offset
            ]
            if left:
                self._records[partition] = left
            self.known[partition] = offset
        self._count()
        return again

    def _count(self) -> None:
        every = [record for records in self._records.values() for record in records]
        self.count = len(every)
        self.bytes = sum(len(record.value or b"") for record in every)
