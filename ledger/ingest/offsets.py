"""The offsets of an ingest, in the ledger: where each partition continues.

They are progress of applications in the table `system.ingest`, one application for each partition,
whose version is the offset of the next record. A commit that holds rows holds the offsets behind
them, so both are there or neither is.

An offset is moved by compare and set: a commit names the position at which its process looked the
offset up, and loses if another commit moved the offset since. So two processes that both believe
to own a partition cannot both commit its records, whatever the group of consumers says.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.errors import TableExistsError, UnknownTableError
from ledger.ingest.source import Partition
from ledger.reads.port import AppRow, Reads, TableRow
from ledger.transaction.transaction import Transaction
from ledger.work.app_notes import AppProgress, progress_of

HOME: Final = "system.ingest"
"""The table that records the offsets; it has no rows."""

PREFIX: Final = "ingest"


class KnownOffset(NamedTuple):
    """The offset of the next record, and the position of the ledger at which this was so.

    `lost` counts records before it that were deleted before they were read.
    """

    offset: int
    position: int
    lost: int = 0


class PartitionNote(NamedTuple):
    """What a commit notes of a partition.

    `end` is the end of the partition as the process knew it, -1 = unknown. `topic_id` is the id
    of the topic, and `newest` the time of the last record in milliseconds. `lost` counts all
    records up to then that were deleted before they were read.
    """

    end: int
    topic_id: str
    newest: int = 0
    lost: int = 0


class LedgerOffsets:
    """The offsets of one ingest."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self._ledger, self._name = ledger, name
        self._home: TableRow | None = None

    def home(self) -> TableRow:
        """Return the table of the offsets; it is made for the first ingest."""
        if self._home is None:
            self._home = home_of(self._ledger)
        return self._home

    def read(self, partitions: Iterable[Partition]) -> dict[Partition, KnownOffset]:
        """Return the offsets of partitions; one that was never read is at 0."""
        home = self.home()
        reads = self._ledger.reads()
        position = reads.position()
        found = {}
        for partition in partitions:
            row = reads.app(home.table, app_of(self._name, partition))
            if row is None:
                found[partition] = KnownOffset(0, position)
            else:
                lost = recorded_offset(progress_of(reads, home, row)).note.lost
                # A later winner has a later position than the row.
                found[partition] = KnownOffset(row.version, max(position, row.position), lost)
        return found

    def begun(self, topic: str) -> tuple[int, set[str]]:
        """Return a position, and the ids under which a topic was read up to then, none = never."""
        position = self._ledger.reads().position()
        rows = recorded(self._ledger, self._name)
        return position, {row.note.topic_id for row in rows if row.partition.topic == topic}

    def record(
        self,
        txn: Transaction,
        ends: Mapping[Partition, int],
        notes: Mapping[Partition, PartitionNote],
        read_at: int,
    ) -> None:
        """Let a commit move offsets; it loses if one of them moved after `read_at`."""
        for partition, offset in ends.items():
            note = notes[partition]
            txn.app(
                app_of(self._name, partition),
                offset,
                tables=[self.home()],
                info=note._asdict(),
                read_at=read_at,
                alone=True,
            )


def home_of(ledger: Ledger) -> TableRow:
    """Return the table of offsets, made if it is not there."""
    with suppress(UnknownTableError):
        return ledger.table(HOME)
    with suppress(TableExistsError):
        return ledger.create_table(HOME, [("application", "STRING")])
    return ledger.table(HOME)


def app_of(name: str, partition: Partition) -> str:
    """Return the application that stands for a partition of an ingest."""
    return f"{PREFIX}/{name}/{partition.topic}/{partition.number}"


def partition_of(app: str) -> tuple[str, Partition] | None:
    """Return the ingest and the partition of an application, None for another one."""
    parts = app.split("/")
    if len(parts) != 4 or parts[0] != PREFIX or not parts[3].isdecimal():  # noqa: PLR2004 - as above
        return None
    return parts[1], Partition(parts[2], int(parts[3]))


class RecordedOffset(NamedTuple):
    """An offset as the ledger has it, with the note and the time of its commit."""

    ingest: str
    partition: Partition
    offset: int
    position: int
    at: int
    note: PartitionNote


def recorded(ledger: Ledger, name: str = "") -> Sequence[RecordedOffset]:
    """Return the offsets of all ingests, or of one, by ingest, topic and partition."""
    reads = ledger.reads()
    with suppress(UnknownTableError):
        return recorded_in(reads, ledger.table(HOME), name)
    return ()


def recorded_in(reads: Reads, home: TableRow, name: str = "") -> Sequence[RecordedOffset]:
    """Return the offsets that a table of offsets has, of all ingests or of one."""
    rows = [row for row in reads.apps(home.table) if is_of(row, name)]
    return sorted(recorded_offset(progress_of(reads, home, row)) for row in rows)


def is_of(row: AppRow, name: str) -> bool:
    """Tell whether a row is an offset of an ingest, of any one if there is no name."""
    found = partition_of(row.app)
    return found is not None and name in {"", found[0]}


def recorded_offset(progress: AppProgress) -> RecordedOffset:
    """Return an offset with its note."""
    found = partition_of(progress.app)
    assert found is not None, "rows of others were left out"
    known = PartitionNote._fields
    note = {name: value for name, value in progress.info.items() if name in known}
    made = PartitionNote(**{"end": -1, "topic_id": "", **note})
    return RecordedOffset(*found, progress.version, progress.position, progress.at, made)
