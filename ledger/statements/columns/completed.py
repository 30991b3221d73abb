"""Rows with all columns: a writer adds what rows leave out, as the definition of the table says."""

from functools import cache
from typing import Any

import pyarrow as pa

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.statements.columns.defaults import default_value


class ColumnValues:
    """The values of the columns that rows of one table leave out, in the time zone of a writer."""

    def __init__(self, schema: TableSchema, zone: str) -> None:
        self._schema = schema
        self._default = cache(lambda column: default_value(column, zone))

    def complete(self, values: dict[str, Any], rows: int) -> None:
        """Add the columns that so many rows leave out to those that they have.

        Raises ValueError for a default that is not computed here.
        """
        for column in self._schema.columns:
            if column.name not in values:
                values[column.name] = self.absent(column, rows)

    def absent(self, column: TableColumn, rows: int) -> Any:
        """Return the values of a column in so many rows that leave it out."""
        return pa.repeat(self._default(column), rows)
