"""Partitions: every partition that files of a table were added to, and the sums of its live files.

A partition is the values as the log has them, and the position at which the partition columns of
its table had changed last: the same values of former columns are another partition. It has a
number within its table, from 1 in the order of the first adds. Its files stand under that number,
so a read finds them without passing over other files. A partition is found by each of its values,
as their types compare them. A partition keeps its row when its last file
goes, because earlier positions can still be read.

Rows of a file are counted from its statistics, less the rows that its deletion vector marks. They
are unknown without statistics.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

from ledger.core.commands import TableDefinition
from ledger.core.partitions.keys import Key, PartitionSchema, key_of
from ledger.core.partitions.names import Values, partition_text
from ledger.core.state.traits import traits_of
from projections.rows.keys import (
    LIVE_FILE,
    PARTITION,
    PARTITION_NUMBER,
    PARTITION_VALUE,
    PARTITIONED,
    PARTITIONS,
    Fields,
    number_key,
    pair_key,
    read_value,
    reader_of,
    value,
)
from projections.rows.packing import INT_BYTES, pack
from projections.store.batch import Batch

# A number beyond 64 bits is no JSON number here, so it becomes a text.
NUMBER_END: Final = 2**63
# Statistics that report more rows are wrong.
ROWS_MAX: Final = 2**53
OTHER_COLUMNS: Final = bytes(INT_BYTES)
NOTHING: Final = b""
# More brackets may be nested too deeply to be read, depending on the caller.
BRACKETS_MAX: Final = 500


class SumFields(Fields):
    """The sums of live files; `rows` are those of the `counted` files, whose rows are known."""

    files: int = 0
    size: int | str = 0
    rows: int | str = 0
    counted: int = 0

    def change(self, sums: "Sums") -> None:
        """Add sums of files to those of the live files."""
        self.files += sums.files
        self.size = stored_sum(int(self.size) + sums.size)
        self.rows = stored_sum(int(self.rows) + sums.rows)
        self.counted += sums.counted

    def named(self) -> dict[str, Any]:
        """Return the sums alone, for a row that holds more than these."""
        fields = {"files": self.files, "size": self.size, "rows": self.rows}
        return {**fields, "counted": self.counted}


class PartitionFields(SumFields):
    """A partition: its values, and the sums of its live files.

    `partitioned` is the position of the last change of partition columns before its files were
    added.
    """

    values: Values = ()
    partitioned: int = 0


@dataclass(slots=True)
class Sums:
    """Sums of files that a commit adds, less those that it removes."""

    files: int = 0
    size: int = 0
    rows: int = 0
    counted: int = 0

    def add(self, size: int, rows: int | None) -> None:
        """Add a file."""
        self.files += 1
        self.size += size
        if rows is not None:
            self.rows += rows
            self.counted += 1

    def include(self, other: "Sums") -> None:
        """Add the sums of other files."""
        self.files += other.files
        self.size += other.size
        self.rows += other.rows
        self.counted += other.counted

    def take(self, size: int, rows: int | None) -> None:
        """Take a file away."""
        self.files -= 1
        self.size -= size
        if rows is not None:
            self.rows -= rows
            self.counted -= 1


class Statistics(Fields):
    """The part of a file's statistics that partitions sum up; its name is Delta's."""

    numRecords: int | None = None  # noqa: N815 - Delta's name


read_partition: Final = reader_of(PartitionFields)
_read_statistics: Final = reader_of(Statistics)


def stored_sum(number: int) -> int | str:
    """Return a sum as it is stored: one beyond 64 bits as its digits."""
    return number if number < NUMBER_END else str(number)


def rows_of(stats: str, deleted: int = 0) -> int | None:
    """Return how many rows a file has, by its statistics; None = unknown.

    `deleted` is how many rows its deletion vector marks.
    """
    if not stats or stats.count("{") + stats.count("[") > BRACKETS_MAX:
        return None
    try:
        found = _read_statistics(stats).numRecords
    except ValueError:
        return None
    return found - deleted if found is not None and deleted <= found <= ROWS_MAX else None


class ChangedPartition:
    """A partition while a commit changes it: its number, and what its files add up to.

    `files` begins the keys of its live files.
    """

    __slots__ = ("fields", "files", "number", "sums")

    def __init__(self, table: int, number: int, fields: PartitionFields | None = None) -> None:
        self.number = number
        self.files = pair_key(LIVE_FILE, table, number)
        self.sums = Sums()
        self.fields = fields


class ChangedPartitions:
    """The partitions of a table while a commit changes them; `settle` puts their rows."""

    def __init__(self, batch: Batch, table: int, definition: TableDefinition) -> None:
        self._batch = batch
        self._table = table
        self._definition = definition
        self._by_number: dict[int, ChangedPartition] = {}
        self._by_values: dict[Values, ChangedPartition] = {}

    def of(self, values: Values) -> ChangedPartition:
        """Return the partition that a file with these values is added to."""
        found = self._by_values.get(values)
        if found is None:
            found = self._by_values[values] = self._found_or_made(values)
        return found

    def numbered(self, number: int) -> ChangedPartition:
        """Return a partition by its number; it is read when it is first needed."""
        found = self._by_number.get(number)
        if found is None:
            found = self._by_number[number] = ChangedPartition(self._table, number)
        return found

    def settle(self) -> Sums:
        """Put the rows of all changed partitions; return what they changed by together."""
        total = Sums()
        keys = {pair_key(PARTITION, self._table, each): each for each in self._by_number}
        ordered = sorted(keys)
        for key, data in zip(ordered, self._batch.get_many(ordered), strict=True):
            changed = self._by_number[keys[key]]
            fields = changed.fields
            if fields is None:
                assert data is not None, f"partition {keys[key]} of table {self._table} has no row"
                fields = read_partition(data)
            fields.change(changed.sums)
            total.include(changed.sums)
            self._batch.put(key, fields.value())
        return total

    @cached_property
    def _partitioned(self) -> int:
        since = self._batch.get(number_key(PARTITIONED, self._table))
        return 0 if since is None else int(read_value(since))

    def _found_or_made(self, values: Values) -> ChangedPartition:
        partitioned = self._partitioned
        place = pair_key(PARTITION_NUMBER, self._table, partitioned)
        key = place + partition_text(values).encode()
        known = self._batch.get(key)
        if known is not None:
            return self.numbered(read_value(known))
        last = self._batch.get(number_key(PARTITIONS, self._table))
        number = 1 if last is None else read_value(last) + 1
        self._batch.put(number_key(PARTITIONS, self._table), value(number))
        self._batch.put(key, value(number))
        for found in value_keys(values, traits_of(self._definition).schema):
            index = pair_key(PARTITION_VALUE, self._table, partitioned) + found
            self._batch.put(index + pack(number), NOTHING)
        fields = PartitionFields(values=values, partitioned=partitioned)
        made = self._by_number[number] = ChangedPartition(self._table, number, fields)
        return made


def value_keys(values: Values, schema: PartitionSchema) -> Iterator[bytes]:
    """Yield the keys by which a partition is found: one for each column.

    Values of other columns than those of the schema have one key of their own.
    """
    if len(values) != len(schema):
        yield OTHER_COLUMNS
        return
    for column, (own, (_, kind)) in enumerate(zip(values, schema, strict=True)):
        yield value_key(column, key_of(own, kind))


def value_key(column: int, key: Key) -> bytes:
    """Return the bytes for the value of a column; equal values have equal bytes.

    Different values may have equal bytes too, so what is found must be judged.
    """
    if isinstance(key, int | float | Decimal):
        text = f"number {hash(key)}"  # Equal numbers of different types have equal hashes.
    else:
        text = f"{type(key).__name__} {key}"
    # A condition may hold a text that is not UTF-8; no value equals it.
    data = f"{column} {text}".encode(errors="surrogatepass")
    return blake2b(data, digest_size=INT_BYTES).digest()
