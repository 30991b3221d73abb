"""Winning parts: one table of a commit, and the keys under which later commits can meet it.

Those are the partitions it added files to, the paths it removed, the units it changed, its
metadata, protocol, domains and application ids.
"""

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ledger.core.commands import CoarseWrite, Footprint
from ledger.core.footprints import HASH_BYTES, hashes, is_backfill
from ledger.core.metadata_diff import MetadataKind
from ledger.core.partition_keys import Key, Mark, PartitionSchema
from ledger.core.partitions import (
    READ_KEPT,
    Values,
    hive_values,
    partition_text,
    partition_values,
    typed,
)

Unit = tuple[str, Hashable]
WHOLE_TABLE: Final[Unit] = ("table", "")
UNPARTITIONED: Final[Unit] = ("unpartitioned", "")
# A part with more partitions counts as one that changed any: each would cost all readers 10 us, and
# a leader who is silent for long is taken for dead.
PARTITIONS_MAX: Final = 100_000
# A part that removed more files counts as one that removed any: each takes 5 us and 350 bytes.
REMOVES_MAX: Final = 100_000
ANY_FILE: Final = ("removed", "any")
# Stands for every partition where a coarse write does not say which one it changed.
ANYWHERE: Final = "*"


class WinningPart(NamedTuple):
    """One table of a commit, as later commits may meet it; its footprint has no files.

    `metadata` is the kind of its metadata change or "", `protocol` that of its protocol action, as
    `features` tells it, `rearranges` says that it changed no data.
    """

    position: int
    table: int
    txn: int
    session: int
    at: int
    operation: str
    blind: bool
    rearranges: bool
    metadata: MetadataKind | str
    replaces: bool
    protocol: str
    coarse: Sequence[CoarseWrite]
    footprint: Footprint | None


def keys_of(part: WinningPart, schema: PartitionSchema, texts: Sequence[str]) -> Iterator[Hashable]:
    """Return every key a part stands under, some twice; `texts` are the partitions it added to."""
    yield "any"
    if part.metadata:
        yield "metadata"
        yield "metadata", part.metadata
    if part.replaces:
        yield "replaces"
    if part.protocol:
        yield "protocol"
        yield "protocol", part.protocol
    if part.footprint is not None:
        yield from footprint_keys(part.footprint)
        yield from (("changed", unit) for unit in removed_units(part.footprint, schema))
    for kind in ("added",) if part.blind else ("added", "seen"):
        # Blind appends are not seen by all.
        if texts:
            yield kind
        for text in texts:
            yield kind, text
    for write in part.coarse:
        if write.operation != "insert":
            yield "coarse"
            yield "removed"
            yield "coarse", unit_of(write, schema)


def footprint_keys(footprint: Footprint) -> Iterator[Hashable]:
    """Return the keys of what a footprint removed and recorded."""
    if footprint.removes:
        yield "removed"
    if len(footprint.removes) > REMOVES_MAX * HASH_BYTES:
        yield ANY_FILE
    else:
        yield from hashes(footprint.removes)
    yield from (("domain", each.name) for each in footprint.domains)
    yield from (("app", each.app) for each in footprint.apps)


def added_partitions(part: WinningPart, schema: PartitionSchema) -> Sequence[str]:
    """Return the partitions that got new rows; a backfill adds the files that were there."""
    texts = [coarse_partition(write, schema) for write in part.coarse]
    if part.footprint is not None and not is_backfill(part.footprint):
        if len(part.footprint.adds) > PARTITIONS_MAX:
            return (ANYWHERE,)
        texts.extend(found_partition(text, schema) for text in part.footprint.adds)
    return tuple(dict.fromkeys(texts))


@lru_cache(READ_KEPT)
def found_partition(text: str, schema: PartitionSchema) -> str:
    """Return a partition as it can be found, ANYWHERE if it has not a value for each column."""
    values = partition_values(text)
    return text if values is not None and len(values) == len(schema) else ANYWHERE


def main_operation(writes: Sequence[CoarseWrite]) -> str:
    """Return what coarse writes did above all: the first that is no insert, "" for none."""
    operations: list[str] = [write.operation for write in writes]
    return next((each for each in operations if each != "insert"), (operations or [""])[0])


@lru_cache(READ_KEPT)
def coarse_partition(write: CoarseWrite, schema: PartitionSchema) -> str:
    """Return the partition of a coarse write, ANYWHERE if it is not one the table can have."""
    if write.scope == "unpartitioned" and not schema:
        return partition_text(())
    columns = [name for name, _ in schema]
    values = hive_values(write.partition, columns) if write.scope == "partition" else None
    return partition_text(values) if values is not None else ANYWHERE


@lru_cache(READ_KEPT)
def valued(text: str, schema: PartitionSchema) -> tuple[tuple[int, Key], ...]:
    """Return each typed value of a partition with the number of its column."""
    return tuple(enumerate(typed(partition_values(text) or (), schema)))


def unit_of(write: CoarseWrite, schema: PartitionSchema) -> Unit:
    """Return the unit of a coarse write; as Hive's NULL, the unpartitioned one meets only itself.

    What names no partition of a table that has partition columns may be any of them, or several, so
    it counts as the whole table. Where no columns are known, a partition is known by its text.
    """
    if write.scope == "table":
        return WHOLE_TABLE
    if not schema:
        return UNPARTITIONED if write.scope == "unpartitioned" else ("text", write.partition)
    columns = [name for name, _ in schema]
    return unit_in(
        hive_values(write.partition, columns) if write.scope == "partition" else None, schema
    )


def removed_units(footprint: Footprint, schema: PartitionSchema) -> Iterator[Unit]:
    """Return the units a footprint removed files from; unsaid means anywhere.

    So does a partition that has not a value for each column, or one that is no value of its type:
    nobody knows which it is.
    """
    count = len(footprint.removes_in)
    if count > PARTITIONS_MAX or (footprint.removes and not count):
        yield WHOLE_TABLE
        return
    for text in footprint.removes_in:
        yield unit_in(partition_values(text), schema)


def unit_in(values: Values | None, schema: PartitionSchema) -> Unit:
    """Return the unit that a partition is, the whole table if it cannot be told."""
    if values is None or len(values) != len(schema) or Mark.UNCASTABLE in typed(values, schema):
        return WHOLE_TABLE
    return ("partition", typed(values, schema)) if values else UNPARTITIONED
