"""The cache topic: how the rows a metadata cache is made of travel to hosts without a store.

A record of the topic is one of the store's rows, an empty value a row that is gone. A marker closes
a batch: it names its own offset and that of the batch's first record, and carries the two rows that
say how far the store had come. The topic is compacted, so older values of a key go missing; offsets
stay. What is here is the form of the records and what they tell together; no I/O.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Self

from ledger.log.port import Record
from projections.fold.fold import Mark
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
"""The key of every marker; no row of these kinds has it."""

Changes = Mapping[bytes, bytes | None]


class Marker(NamedTuple):
    """The end of a batch: offsets `first` to before `offset`, and the rows of its position.

    `form` is the format of all rows, `mark` the row that names the last event, `event` that of the
    event in brief.
    """

    form: int
    first: int
    offset: int
    mark: bytes
    event: bytes

    @classmethod
    def read(cls, record: Record) -> Self | None:
        """Return the marker in a record; None if there is none, or one that is void.

        Only the writer that knows what lies before its marker knows the offset it will have: where
        somebody else wrote in between, or a record was lost, it is another. What no publisher wrote
        is none either.
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
        """Return the marker of a batch that brings readers to where rows are."""
        mark = rows.get(LOG)
        assert mark is not None, "rows without a position are not published"
        event = rows.get(number_key(HISTORY, Mark(*read_value(mark)).position))
        assert event is not None, "every event has a row"
        return cls(FORMAT_VERSION, first, offset, mark, event)

    def data(self) -> bytes:
        """Return the value of the marker's record."""
        return value([*self[:3], read_value(self.mark), read_value(self.event)])

    def at(self) -> Mark:
        """Return where the rows end."""
        return Mark(*read_value(self.mark))

    def rows(self) -> dict[bytes, bytes]:
        """Return the rows that say how far the store had come."""
        return {LOG: self.mark, number_key(HISTORY, self.at().position): self.event}


def published(changes: Iterable[RowChange]) -> dict[bytes, bytes | None]:
    """Return those changes that readers of the topic need."""
    return {key: data for key, data in changes if key[:1] in KINDS}


def rows_held(rows: RowReader, kinds: Iterable[bytes] = KINDS) -> dict[bytes, bytes]:
    """Return the rows of some kinds."""
    return {key: data for kind in kinds for key, data in rows.scan(kind, prefix_end(kind))}


def difference(held: Changes, wanted: Mapping[bytes, bytes]) -> dict[bytes, bytes | None]:
    """Return the changes that make rows out of those that are held somewhere."""
    gone: dict[bytes, bytes | None] = dict.fromkeys(
        key for key, data in held.items() if data is not None and key not in wanted
    )
    return gone | {key: data for key, data in wanted.items() if held.get(key) != data}


class Gathered:
    """What records of the topic say, taken in order: the newest of each key, the last marker.

    What no publisher wrote, under a key that no such row has, says nothing.
    """

    def __init__(self) -> None:
        self.changes: dict[bytes, bytes | None] = {}
        self.marker: Marker | None = None

    def take(self, record: Record) -> Marker | None:
        """Take a record; return the marker if it is one that counts."""
        if record.key[:1] in KINDS:
            self.changes[record.key] = record.value or None
        marker = Marker.read(record)
        self.marker = marker or self.marker
        return marker
