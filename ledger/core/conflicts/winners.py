"""Winning parts: one table of a commit, and the keys under which later commits find it.

The keys are the partitions it added files to, the paths it removed, the units it changed, its
metadata, protocol, domains and application ids.
"""

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ledger.core.commands import CoarseWrite, Footprint
from ledger.core.conflicts.footprints import hashes, is_backfill, takes_rows
from ledger.core.conflicts.metadata_diff import MetadataKind
from ledger.core.limits import HASH_BYTES, WINNER_PARTITIONS_MAX, WINNER_REMOVES_MAX
from ledger.core.partitions.keys import Key, PartitionSchema, key_of
from ledger.core.partitions.names import (
    READ_KEPT,
    hive_values,
    partition_text,
    partition_values,
    typed,
)
from ledger.core.partitions.units import WHOLE_TABLE, Unit, text_unit, unit_keys, unit_of

ANY_FILE: Final = ("removed", "any")
# Every partition: the unit of a coarse write that names no single one.
ANYWHERE: Final = "*"


class WinningPart(NamedTuple):
    """One table of a commit, as the index keeps it; its footprint has no file list.

    `metadata` is the kind of its metadata change or "", `protocol` the kind of its protocol action
    as `traits.protocol_change` returns it. `rearranges`: it changed no data.
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
    """Return every key of a part, some twice; `texts` are the partitions it added files to."""
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
        for unit in removed_units(part.footprint, schema):
            yield from unit_keys("changed", unit)
    for kind in ("added",) if part.blind else ("added", "seen"):
        # At WriteSerializable a check looks up "seen", so it misses blind appends.
        if texts:
            yield kind
        for text in texts:
            yield kind, text
        yield from told_keys(part, kind)
    for unit in changed_units(part, schema):
        yield "coarse"
        yield "removed"
        yield from unit_keys("coarse", unit)


def told_keys(part: WinningPart, kind: str) -> Iterator[Hashable]:
    """Return the keys of the values that all new rows of a part state, column by column."""
    if part.coarse or part.footprint is None or part.footprint.rows is None:
        return
    added = part.footprint.rows.added
    if not added or not all(each.values for each in added):
        return
    told = set(added[0].columns).intersection(*(each.columns for each in added[1:]))
    for column in told:
        yield kind, "told", column
        for each in added:
            at = each.columns.index(column)
            for text in each.values:
                value = (partition_values(text) or ())[at]
                yield kind, "value", column, key_of(value, column.type)


def footprint_keys(footprint: Footprint) -> Iterator[Hashable]:
    """Return the keys of the files, domains and applications of a footprint."""
    if takes_rows(footprint):
        yield "removed"
    if len(footprint.removes) > WINNER_REMOVES_MAX * HASH_BYTES:
        yield ANY_FILE
    else:
        yield from hashes(footprint.removes)
    yield from (("domain", domain.name) for domain in footprint.domains)
    yield from (("app", app.app) for app in footprint.apps)


def added_partitions(part: WinningPart, schema: PartitionSchema) -> Sequence[str]:
    """Return the partitions that got new rows; a backfill only adds present files again."""
    texts = [coarse_partition(write, schema) for write in part.coarse]
    if part.footprint is not None and not is_backfill(part.footprint):
        adds = partitions_of_new_rows(part.footprint)
        if len(adds) > WINNER_PARTITIONS_MAX:
            return (ANYWHERE,)
        texts.extend(found_partition(text, schema) for text in adds)
    return tuple(dict.fromkeys(texts))


def partitions_of_new_rows(footprint: Footprint) -> Sequence[str]:
    """Return the partitions that got rows; rows that a rewrite only moved are not new."""
    if footprint.rows is None:
        return footprint.adds
    return [each.partition for each in footprint.rows.added]


@lru_cache(READ_KEPT)
def found_partition(text: str, schema: PartitionSchema) -> str:
    """Return a partition, or ANYWHERE if its values do not fit the columns in number."""
    values = partition_values(text)
    return text if values is not None and len(values) == len(schema) else ANYWHERE


@lru_cache(READ_KEPT)
def coarse_partition(write: CoarseWrite, schema: PartitionSchema) -> str:
    """Return the partition of a coarse write, ANYWHERE if the table cannot have it."""
    if write.scope == "unpartitioned" and not schema:
        return partition_text(())
    columns = [name for name, _ in schema]
    values = hive_values(write.partition, columns) if write.scope == "partition" else None
    return partition_text(values) if values is not None else ANYWHERE


@lru_cache(READ_KEPT)
def valued(text: str, schema: PartitionSchema) -> tuple[tuple[int, Key], ...]:
    """Return each typed value of a partition with the number of its column."""
    return tuple(enumerate(typed(partition_values(text) or (), schema)))


def removed_units(footprint: Footprint, schema: PartitionSchema) -> Iterator[Unit]:
    """Return the units a footprint removed files from.

    The unit is the whole table if the footprint names no partition, if the columns of the table
    are not known, or if a partition does not fit them in number or type.
    """
    count = len(footprint.removes_in)
    if count > WINNER_PARTITIONS_MAX or (takes_rows(footprint) and not (count and schema)):
        yield WHOLE_TABLE
        return
    for text in footprint.removes_in:
        yield text_unit(text, schema)


def changed_units(part: WinningPart, schema: PartitionSchema) -> Iterator[Unit]:
    """Return the units of the coarse writes by which a part updated or deleted rows."""
    return (unit_of(write, schema) for write in part.coarse if write.operation != "insert")
