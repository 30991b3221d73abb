"""Records of the topics, of a backup and of stores of rows: which of them have a forgotten value.

A block is known by its path: like a data file it counts if it has a forgotten row.

Only what is of the table counts. Its other values, such as an id of another table that is the same
number, tell of no row that was forgotten.
"""

import json
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ledger.core.commands import Footprint
from ledger.core.partitions.names import partition_values
from ledger.core.rows.changes import AddedRows
from ledger.errors import FileListError, IncompatibleError
from ledger.forgetting.own_values import OwnValues
from ledger.keys.folder import KeyName
from ledger.keys.sealed_rows import key_of
from ledger.log.checkpoints import CHUNK_KEY
from ledger.log.port import Log, Record, Topic, records_between
from ledger.log.wire.codec import UnreadableError, decode_command, decode_event
from ledger.log.wire.file_extras import TRIMMED
from ledger.log.wire.file_list import AddFile, RemoveFile, unpack

LISTED_ROW: Final = b"L"
FILE_ROWS: Final = b"dl"
"""The first bytes of keys of rows that have what is said of a file, and its rows if it is a block.
"""

TABLE_ROWS: Final = b"AbBcDdEFGIjJlLmNoOpRSuvwWy"
PUBLISHED_ROWS: Final = b"cfhloptw"
"""The first bytes of keys of rows that belong to the table whose number follows."""

NUMBER_END: Final = 9


class HeldRecord(NamedTuple):
    """A record with a value: its offset, the time in ms, and the position of an event, else 0.

    `is_whole` says that it has whole rows.
    """

    offset: int
    at: int
    position: int = 0
    is_whole: bool = False


class RecordSearch:
    """Looks for the `values` of rows of one table, and for the blocks that hold the rows.

    Blocks whose key is `erased` hold none.
    """

    def __init__(
        self,
        values: OwnValues,
        table: int,
        blocks: Collection[str] = (),
        erased: Collection[KeyName] = (),
    ) -> None:
        self.values, self._table, self._blocks = values, table, frozenset(blocks)
        self._erased = erased

    def holds(self, record: Any) -> bool:  # noqa: PLR0911 - a case for each part
        """Return whether a command, an event or a part of one has a value of the table."""
        own = self.values
        match record:
            case str():
                return own.in_json(record)
            case AddFile() | RemoveFile():
                stats = record.stats if isinstance(record, AddFile) else ""
                if self.holds_rows(record):
                    return True
                return own.in_values(record.partition or ()) or own.in_file(record.path, stats)
            case AddedRows():
                names = [column.name for column in record.columns]
                told = (*record.values, record.lowest, record.highest)
                texts = [partition_values(text) or () for text in told]
                return any(own.in_values(each, names) for each in texts) or own.in_json(
                    record.partition
                )
            case Footprint():
                with suppress(FileListError):
                    files = unpack(record.files)
                    if any(map(self.holds, (files.adds, files.removes, files.info))):
                        return True
                return any(map(self.holds, record))
            case tuple() if getattr(record, "table", self._table) not in (0, self._table):
                return False
            case tuple() | list():
                return any(map(self.holds, record))
        return False

    def holds_rows(self, record: Any) -> bool:
        """Return whether a command, an event or a part of one has one of the blocks."""
        match record:
            case AddFile():
                is_there = record.path in self._blocks and record.rows != TRIMMED
                return is_there and key_of(record) not in self._erased
            case Footprint():
                with suppress(FileListError):
                    return self.holds_rows(unpack(record.files))
            case tuple() | list():
                return any(map(self.holds_rows, record))
        return False

    def is_block(self, key: bytes, value: bytes) -> bool:
        """Return whether a row of a store has one of the blocks."""
        if key[:1] == LISTED_ROW:
            with suppress(FileListError):
                return self.holds_rows(unpack(value))
        if key[:1] not in FILE_ROWS or value.endswith(TRIMMED):
            return False
        return any(path.encode() + b"\0" in key for path in self._blocks)

    def held_row(self, key: bytes, value: bytes, kinds: bytes = TABLE_ROWS) -> bool:
        """Return whether a row of a store has a value; rows of `kinds` are of one table."""
        number = int.from_bytes(key[1:NUMBER_END], "big")
        if key[:1] in kinds and number != self._table and len(key) >= NUMBER_END:
            return False
        if self.is_block(key, value):
            return True
        if self.values.in_text(key[NUMBER_END:].decode(errors="ignore")):
            return True
        if key[:1] == LISTED_ROW:
            with suppress(FileListError):
                return self.holds(unpack(value))
        return self.values.in_json(value.decode(errors="ignore"))

    def held_events(self, records: Iterator[tuple[int, int, bytes]]) -> Iterator[HeldRecord]:
        """Yield the events that have a value, given their offsets, times and bytes."""
        for offset, at, value in records:
            with suppress(UnreadableError, IncompatibleError):
                event = decode_event(value)
                if self.holds(event.body):
                    is_whole = self.holds_rows(event.body)
                    yield HeldRecord(offset, at, event.control.position, is_whole)

    def in_topic(self, log: Log, topic: Topic) -> Iterator[HeldRecord]:
        """Yield the records of a topic that have a value.

        A state checkpoint counts as its last chunk, and any other topic as text.
        """
        first, end = log.ends(topic)
        records = records_between(log, topic, first, end) if first < end else iter(())
        match topic:
            case Topic.EVENTS:
                yield from self.held_events((r.offset, r.timestamp, r.value) for r in records)
            case Topic.CHECKPOINTS:
                yield from self._in_checkpoints(records)
            case _:
                for each in records:
                    yield from self._in_record(topic, each)

    def _in_record(self, topic: Topic, record: Record) -> Iterator[HeldRecord]:
        found = HeldRecord(record.offset, record.timestamp)
        if topic is Topic.COMMANDS:
            command = decode_command(record.value)
            if self.holds(command):
                yield found._replace(is_whole=self.holds_rows(command))
        elif self.held_row(record.key, record.value):
            yield found

    def _in_checkpoints(self, records: Iterator[Record]) -> Iterator[HeldRecord]:
        chunks: dict[bytes, bytes] = {}
        for record in records:
            found = CHUNK_KEY.fullmatch(record.key)
            if found is None or not record.value:
                continue
            prefix, number = found[1] + b"/" + found[2], int(found[3])
            whole = record.value if number == 0 else chunks.get(prefix, b"") + record.value
            chunks[prefix] = whole
            with suppress(zlib.error, ValueError):
                if self.values.in_json(json.loads(zlib.decompress(whole))):
                    yield HeldRecord(record.offset, record.timestamp, int(found[2]))
