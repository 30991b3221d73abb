"""Another division of new files by transforms: files that are there stay as they are."""

from collections.abc import Mapping, Sequence
from typing import Final

from ledger.core.commands import TableDefinition
from ledger.core.partitions.transforms import PartitionTransform, parse_transform, transforms_of
from ledger.properties.partitioning import spelled
from spark_sink.catalog.divisions import KNOWN
from spark_sink.catalog.read.metadata_tables import Columns, Rows
from spark_sink.catalog.reports import row_of
from spark_sink.catalog.session.open_statements import CatalogState, StatementsTxn, unsupported

PARTITIONED: Final[Columns] = (("partition_columns", "array<string>"),)


def partition_field(
    state: CatalogState, joined: StatementsTxn | None, given: Mapping[str, str | None]
) -> Rows:
    """Divide a table by a transform more, by one less, or by one in the place of another."""
    if given["add"] is None and given["drop"] is None:
        raise unsupported("partition_field needs `add`, `drop` or both, got neither")
    number = row_of(state, given).table
    with state.lend(joined) as txn:
        definition = txn.statement(number, "alter", is_read=True).definition
        changed = changed_division(definition, given["add"], given["drop"])
        txn.alter_table(number, partition_columns=changed)
    return [[list(changed)]]


def changed_division(before: TableDefinition, add: str | None, drop: str | None) -> Sequence[str]:
    """Return other partition columns of a table; raises Refusal for what is no transform of it."""
    names, at = list(before.partition_columns), len(before.partition_columns)
    if drop is not None:
        at = names.index(divider_named(before, drop))
        del names[at]
    if add is not None:
        text = transform_in(before, add).text
        if text in names:
            raise unsupported(f"the table is divided by {text} already")
        names.insert(at, text)
    return names


def transform_in(before: TableDefinition, given: str) -> PartitionTransform:
    """Return the transform that a text is; raises Refusal for a column, and for other texts."""
    known = {column.name.lower(): column.name for column in before.columns}
    try:
        found = parse_transform(spelled(given, known))
    except ValueError as problem:
        raise unsupported(f"the table cannot be divided by {given}: {problem}") from None
    if found is None or found.text.lower() in known:
        raise unsupported(
            f"a partition field must be {KNOWN} of a column, got {given}. Spark reads no files "
            "that were divided by other columns; Ledger.alter_table(partition_columns=[...]) "
            "divides new files by columns too"
        )
    return found


def divider_named(before: TableDefinition, given: str) -> str:
    """Return the transform that divides a table, by its text or by the name that Iceberg gives it.

    Raises Refusal for a table without it.
    """
    transforms = transforms_of(before)
    by_field = {each.field.lower(): text for text, each in transforms.items()}
    name = given.strip().strip("`").lower()
    found = by_field.get(name) or transform_in(before, given).text
    if found not in transforms:
        raise unsupported(
            f"the table is not divided by {found}: its partition columns are "
            f"{', '.join(before.partition_columns) or 'none'}"
        )
    return found
