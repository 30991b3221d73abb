"""Partition values of a file as values of their columns."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.core.partitions.values import NULLS, form_of, read
from ledger.errors import UnreadableTableError
from ledger.reads.port import FileRow


def partition_scalars(
    file: FileRow, schema: TableSchema, written: TableSchema
) -> Mapping[str, pa.Scalar]:
    """Return the partition values of a file by the names that their columns have in `schema`.

    `written` is the schema when the file was added; a column that is no more is left out. Raises
    UnreadableTableError for a value that its column cannot hold, and for a wrong number of values.
    """
    names, values = written.partition_columns, tuple(file.partition)
    if len(names) != len(values):
        raise UnreadableTableError(
            f"file {file.path} has {len(values)} partition values, its table had {len(names)} "
            "partition columns when the file was added; remove the file and add it again"
        )
    found = {}
    for name, value in zip(names, values, strict=True):
        column = now(name, schema, written)
        if column is not None and not column.problem:
            found[column.name] = partition_scalar(value, column, file.path)
    return found


def now(name: str, schema: TableSchema, written: TableSchema) -> TableColumn | None:
    """Return the column that a column of an earlier schema is now, None if it is gone."""
    then = written.find(name)
    if schema is written or then is None or not then.id:
        return schema.find(name)
    return next((column for column in schema.columns if column.id == then.id), None)


def partition_scalar(text: str | None, column: TableColumn, path: str) -> pa.Scalar:
    """Return a partition value in its column's type; raises UnreadableTableError for others."""
    if text is None or text in NULLS:
        return pa.scalar(None, column.type)
    form = form_of(column.declared)
    try:
        value: Any = text if form is None else read(form, text)
        if pa.types.is_binary(column.type):
            value = text.encode()
        return pa.scalar(value, column.type)
    except (ValueError, TypeError, pa.ArrowException) as problem:
        raise UnreadableTableError(
            f"file {path}: partition column {column.name} {problem}. Correct the value, or alter "
            "the column to another type"
        ) from problem
