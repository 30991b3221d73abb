"""The command that lists the partitions of a table with the sums of their files."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer_rows, say
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption, TableArgument
from ledger.cli.reading import brief, known_table, reading
from ledger.cli.tables.partitions import Columns, columns_at, columns_of
from ledger.cli.tables.tables import (
    FILES_MAX,
    AsOfOption,
    PositionOption,
    VersionOption,
    WhereOption,
    asked_moment,
    condition_at,
    moment_of,
)
from ledger.core.partitions.keys import UNCASTABLE, place_of
from ledger.core.partitions.units import identity_of
from ledger.reads.amounts import amount, shown_size
from ledger.reads.port import PartitionRow, Reads, TableRow

PARTITION_COLUMNS = ("partition", "files", "size", "rows")


def table_partitions(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    version: VersionOption = None,
    position: PositionOption = None,
    as_of: AsOfOption = None,
    where: WhereOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many rows.")] = FILES_MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the partitions that have files in a table, or had some, with files, bytes and rows.

    Rows come from the statistics of the files. They are empty if a file has none.
    """
    asked = asked_moment(version, position, as_of)
    with reading(ledger, output) as (_, reads):
        row = known_table(reads, catalog, name)
        at = moment_of(reads, row, asked)
        tree = condition_at(reads, row, at, where)
        rows = reads.partitions(row.table, where=tree, position=at.position, version=at.version)
        found = list(merged(reads, row, rows))
        files = sum(each["files"] for each in found)
        size = shown_size(sum(each["size"] for each in found))
        say(f"{amount(len(found), 'partition')}, {amount(files, 'file')}, {size}")
        shown = [brief(each, PARTITION_COLUMNS, output) for each in found[:limit]]
        answer_rows(shown, output)


def merged(reads: Reads, row: TableRow, rows: Iterable[PartitionRow]) -> Iterator[dict[str, Any]]:
    """Yield partitions as fields, in the order of their values.

    Spellings of one partition become one, shown as the first.
    """
    ordered = sorted(rows, key=lambda each: (each.partitioned, each.number))
    for since, some in groupby(ordered, key=lambda each: each.partitioned):
        columns = columns_since(reads, row, since)
        types = [column.type for column in columns]
        alike: dict[tuple[object, ...], list[PartitionRow]] = {}
        for each in some:
            alike.setdefault(identity(each, columns), []).append(each)
        in_order = sorted(alike.values(), key=lambda alike: place_of(alike[0].partition, types))
        yield from (fields_of(each, columns) for each in in_order)


def columns_since(reads: Reads, row: TableRow, since: int) -> Columns:
    """Return the partition columns of a table from a change of them on, 0 = its creation."""
    if since == row.partitioned:
        return columns_of(row.definition)
    first = next(iter(reads.versions(row.table, 1, below=1)), None)
    return columns_at(reads, row, None, since or (first.position if first else row.created))


def identity(partition: PartitionRow, columns: Columns) -> tuple[object, ...]:
    """Return a key that the spellings of a partition share."""
    values = partition.partition
    if len(values) != len(columns):
        return (values,)
    keys = (identity_of(each, column.type) for each, column in zip(values, columns, strict=True))
    return tuple(
        (own,) if key is UNCASTABLE else key for own, key in zip(values, keys, strict=True)
    )


def fields_of(alike: Sequence[PartitionRow], columns: Columns) -> dict[str, Any]:
    """Return the spellings of a partition as the fields of one, its values by column."""
    names = [column.name for column in columns]
    known = [each.rows for each in alike if each.rows is not None]
    return {
        **alike[0]._asdict(),
        "partition": dict(zip(names, alike[0].partition, strict=False)),
        "files": sum(each.files for each in alike),
        "size": sum(each.size for each in alike),
        "rows": sum(known) if len(known) == len(alike) else None,
    }
