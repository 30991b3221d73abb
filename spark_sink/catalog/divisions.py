"""What divides the files of a table, between Spark and its definition: columns and transforms.

Spark reads and writes the values of partition columns, as they are in no data file. The results of
a transform are in the log only: the column that it takes stays in the files.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.arrow.schema import TableSchema
from ledger.core.commands import Column
from ledger.core.partitions.transforms import parse_transform
from ledger.properties.partitioning import spelled
from spark_sink.catalog.session.open_statements import unsupported

FUNCTION: Final = "function"
KNOWN: Final = "years, months, days, hours, bucket(n, column) and truncate(n, column)"
WHAT_WORKS: Final = f"partition by columns and by {KNOWN}"


def plain_columns(schema: TableSchema) -> Sequence[str]:
    """Return the partition columns that are columns: their values are in no data file."""
    return [name for name in schema.partition_columns if name not in schema.transforms]


def plain_values(partition: Sequence[str | None], written: TableSchema) -> tuple[str | None, ...]:
    """Return the values of these columns in a partition of a file.

    `written` is the schema for which the file was written.
    """
    if not written.transforms:
        return tuple(partition)
    named = zip(written.partition_columns, partition, strict=True)
    return tuple(value for name, value in named if name not in written.transforms)


def is_divided_alike(schema: TableSchema, written: TableSchema) -> bool:
    """Return whether the values of one partition mean the same for two schemas."""
    return layout_of(schema) == layout_of(written)


def layout_of(schema: TableSchema) -> tuple[tuple[str | int, ...], ...]:
    """Return what divides files: each transform, and its column by its id, or by name without."""
    found = []
    for name in schema.partition_columns:
        transform = schema.transforms.get(name)
        column = schema.by_name[(name if transform is None else transform.column).lower()]
        how = () if transform is None else (*transform[::2], transform.form(column.declared))
        found.append((*how, column.id, "" if column.id else column.name.lower()))
    return tuple(found)


def division_answers(schema: TableSchema) -> Sequence[Mapping[str, Any]]:
    """Return what divides a table as answers: a column has no kind."""
    return [
        {"name": name, "column": name, "kind": "", "width": 0}
        if (found := schema.transforms.get(name)) is None
        else {
            "name": name,
            "column": schema.by_name[found.column.lower()].name,
            "kind": found.kind,
            "width": found.width,
        }
        for name in schema.partition_columns
    ]


def division_of(
    table: str, asked: Sequence[str | Mapping[str, Any]], columns: Sequence[Column]
) -> list[str]:
    """Return the partition columns of a new table; raises Refusal for what divides none."""
    known = {column.name.lower(): column.name for column in columns}
    return [
        known.get(each.lower(), each) if isinstance(each, str) else transform_of(table, each, known)
        for each in asked
    ]


def transform_of(table: str, asked: Mapping[str, Any], known: Mapping[str, str]) -> str:
    """Return the text of a transform that Spark names; raises Refusal for another function."""
    said, named, widths = str(asked["said"]), asked["columns"], asked["widths"]
    quoted = [f"`{name.replace('`', '``')}`" for name in named]
    try:
        text = spelled(f"{asked[FUNCTION]}({', '.join([*widths, *quoted])})", known)
    except ValueError as problem:
        raise unsupported(f"table {table} cannot be divided by {said}: {problem}") from None
    if parse_transform(text) is None:
        raise unsupported(
            f"table {table} cannot be divided by {said}, a function of "
            f"{', '.join(named) or 'no column'}: {WHAT_WORKS}"
        )
    if text.lower() in known:
        raise unsupported(
            f"table {table} cannot be divided by {said}: it has a column of that name, which "
            "would be meant. Rename the column"
        )
    return text


def check_sortable(schema: TableSchema) -> None:
    """Raise Refusal for buckets of values that are computed behind the sort of new rows.

    Each change of the bucket from row to row would begin another file.
    """
    for text, transform in schema.transforms.items():
        column = schema.by_name[transform.column.lower()]
        if transform.kind == "bucket" and (column.generated or column.identity is not None):
            raise unsupported(
                f"table {schema.name} is divided by {text}, and Spark computes {column.name} as it "
                "writes, where rows are in order already: insert the rows with the SDK, or divide "
                "the table otherwise"
            )
