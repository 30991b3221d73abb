"""Rows with all columns: a writer adds what rows leave out, as the definition of the table says."""

from collections.abc import Callable, Collection, Sequence
from functools import cache, cached_property
from typing import Any

import pyarrow as pa

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.stored_values import as_stored
from ledger.statements.columns.defaults import default_value
from ledger.statements.columns.generated import Generation, generations_of, with_generated
from ledger.statements.columns.identity import check_numbered
from ledger.statements.judge import RowJudge


class ColumnValues:
    """The values of the columns that rows of one table leave out, in the time zone of a writer.

    `numbers` returns new numbers for the identity column of an id.
    Its methods raise ValueError for a default or an expression that is not computed here.
    """

    def __init__(
        self, schema: TableSchema, zone: str, numbers: Callable[[int, int], range]
    ) -> None:
        self._schema, self._zone, self._numbers = schema, zone, numbers
        self._default = cache(lambda column: default_value(column, zone))

    @cached_property
    def generations(self) -> Sequence[Generation]:
        """The generated columns."""
        return generations_of(self._schema, self._zone)

    def complete(self, values: dict[str, Any], rows: int) -> None:
        """Add the columns that rows leave out to those that they have; `rows` is their count.

        Raises ConstraintViolatedError for another value of a generated column, and ValueError for
        one of an identity column.
        """
        given = set(values)
        check_numbered(self._schema, given)
        for column in self._schema.columns:
            if column.name not in values:
                values[column.name] = self.absent(column, rows)
        if not self.generations:
            return
        # Expressions are over values as the table stores them.
        columns = [each for each in self._schema.columns if not each.generated]
        stored = {each.name: as_stored(values[each.name], each) for each in columns}
        made = pa.table(
            {each.name: stored.get(each.name, values[each.name]) for each in self._schema.columns}
        )
        with RowJudge(self._schema.name) as judge:
            found = self.generated(judge, made, given)
        values.update((name, found.column(name)) for name in found.column_names)

    def generated(self, judge: RowJudge, rows: Any, given: Collection[str]) -> Any:
        """Return a table of rows with the values of generated columns; raises as `complete`.

        `given` are the columns that have values of their own.
        """
        return with_generated(judge, self.generations, rows, given) if self.generations else rows

    def absent(self, column: TableColumn, rows: int) -> Any:
        """Return the values of a column for a count of rows that leave it out."""
        if column.identity is not None:
            numbers = self._numbers(column.id, rows) if rows else range(0)
            return pa.array(numbers, pa.int64())
        return pa.repeat(self._default(column), rows)
