"""The cache topic: brings the rows for metadata caches to hosts without a store.

A record of the topic is one row of the store; an empty value is a deleted row. A marker closes a
batch: it holds its own offset and the offset of the batch's first record, and the two rows with the
position of the store. The topic is compacted, so older values of a key disappear; offsets stay.
This module is the form of the records and their joint meaning; no I/O.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Self

from ledger.log.port import Record
from projections.fold.fold import FoldMark
from projections.rows.keys import (
    CUT,
    DEFINED,
    DEFINITION,
    GENESIS,
    HISTORY,
    LOG,
    MAPPING,
    NAME_TAKEN,
    NAMED,
    OPEN_ID,
    TABLE,
    TABLE_CREATED,
    WAITING,
    WATERMARK,
    WRITE_IDS,
    number_key,
    read_value,
    value,
)
from projections.store.port import FORMAT_VERSION, RowChange, RowReader, prefix_end

# All that entries and answers are made of (`metadata_store`, `rows`), their floors, and whose.
KINDS: Final = (
    *(TABLE_CREATED, TABLE, WRITE_IDS, DEFINITION, MAPPING, WATERMARK),
    *(NAMED, DEFINED, NAME_TAKEN, WAITING, OPEN_ID, GENESIS, CUT),
)
MARKER: Final = b"!marker"
"""The key of every marker; no row of these kinds uses it."""

Changes = Mapping[bytes, bytes | None]


class Marker(NamedTuple):
    """The end of a batch: offsets `first` to before `offset`, and the rows of its position.

    `form` is the format of all rows, `mark` the row with the last event, `event` the row of that
    event in brief.
    """

    form: int
    first: int
    offset: int
    mark: bytes
    event: bytes

    @classmethod
    def read(cls, record: Record) -> Self | None:
        """Return the marker in a record, None for another record or a void marker.

        A marker holds the offset that its writer expected. It is void at any other offset: another
        writer wrote in between, or a record was lost. A record that no feeder wrote is not a
        marker.
        """
        if record.key != MARKER:
            return None
        try:
            form, first, offset, mark, event = read_value(record.value)
        except (ValueError, TypeError, RecursionError):
            return None
        is_whole = offset == record.offset
        return cls(form, first, offset, value(mark), value(event)) if is_whole else None

    @classmethod
    def of_rows(cls, first: int, offset: int, rows: RowReader) -> Self:
        """Return the marker of a batch that brings readers to the position of rows."""
        mark = rows.get(LOG)
        assert mark is not None, "rows without a position are not published"
        event = rows.get(number_key(HISTORY, FoldMark(*read_value(mark)).position))
        assert event is not None, "every event has a row"
        return cls(FORMAT_VERSION, first, offset, mark, event)

    def data(self) -> bytes:
        """Return the value of the marker's record."""
        return value([*self[:3], read_value(self.mark), read_value(self.event)])

    def at(self) -> FoldMark:
        """Return the end of the rows."""
        return FoldMark(*read_value(self.mark))

    def rows(self) -> dict[bytes, bytes]:
        """Return the rows with the position of the store."""
        return {LOG: self.mark, number_key(HISTORY, self.at().position): self.event}


def published(changes: Iterable[RowChange]) -> dict[bytes, bytes | None]:
    """Return the changes that readers of the topic need."""
    return {key: data for key, data in changes if key[:1] in KINDS}


def rows_held(rows: RowReader, kinds: Iterable[bytes] = KINDS) -> dict[bytes, bytes]:
    """Return the rows of some kinds."""
    return {key: data for kind in kinds for key, data in rows.scan(kind, prefix_end(kind))}


def difference(held: Changes, wanted: Mapping[bytes, bytes]) -> dict[bytes, bytes | None]:
    """Return the changes that turn held rows into the wanted ones."""
    gone: dict[bytes, bytes | None] = dict.fromkeys(
        key for key, data in held.items() if data is not None and key not in wanted
    )
    return gone | {key: data for key, data in wanted.items() if held.get(key) != data}


class Gathered:
    """The content of records of the topic in order: the newest value of each key, the last marker.

    Records under a key that no feeder uses are ignored.
    """

    def __init__(self) -> None:
        self.changes: dict[bytes, bytes | None] = {}
        self.marker: Marker | None = None

    def take(self, record: Record) -> Marker | None:
        """Take a record; return its marker if that is valid."""
        if record.key[:1] in KINDS:
            self.changes[record.key] = record.value or None
        marker = Marker.read(record)
        self.marker = marker or self.marker
        return marker
