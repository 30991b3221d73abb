"""Rows of records, tried as their table takes them: with all columns, and by its constraints.

The table refuses rows as a whole. Here the rows are found that it would refuse, each by itself.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.given_rows import as_batches, opened
from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.stored_values import as_stored
from ledger.arrow.types import Family, family_of
from ledger.errors import ConstraintViolatedError, DuplicateKeyError
from ledger.statements.columns.completed import ColumnValues
from ledger.statements.constraints import Constraint
from ledger.statements.judge import RowFailsError, RowJudge

OF_ROWS: Final = (ValueError, TypeError, ArithmeticError, RecursionError, pa.ArrowException)
"""The errors that a row may be the reason of."""

ZONE: Final = "UTC"
"""The time zone of every process of an ingest."""

Attempt = Callable[[int, int], object]
"""Takes the rows from a place up to another one; raises one of `OF_ROWS` for a row among them."""


def misfits(count: int, attempt: Attempt) -> dict[int, Exception]:
    """Return the places of rows that an attempt refuses, with the reasons.

    Parts are tried in the order of the rows, and a part that is refused is tried by halves.
    """
    found: dict[int, Exception] = {}
    waiting = [(0, count)] if count else []
    while waiting:
        start, stop = waiting.pop()
        try:
            attempt(start, stop)
        except OF_ROWS as problem:
            middle = (start + stop) // 2
            if middle == start:
                found[start] = problem
            else:
                waiting += [(middle, stop), (start, middle)]
    return found


def reason_of(problem: BaseException) -> str:
    """Return why a record or its row is refused, without their values."""
    if isinstance(problem, ConstraintViolatedError):
        return broken(problem.constraint, problem.condition)
    if isinstance(problem, DuplicateKeyError):
        return f"table {problem.table} has a row with its key already"
    if isinstance(problem, RowFailsError):
        why = type(problem.__cause__).__name__
        return f"an expression of the table cannot be computed for it: {why}"
    if isinstance(problem, pa.ArrowException):
        return "the value does not fit the type"
    return str(problem) or type(problem).__name__


def broken(name: str, text: str) -> str:
    """Return the reason for a row that breaks a constraint."""
    return f"it does not fulfil the constraint {name} ({text})"


class RowTrial:
    """What a table asks of new rows; raises ValueError for what is not computed here.

    `given` are the columns that the rows have.
    """

    def __init__(
        self, schema: TableSchema, given: Iterable[str], constraints: Sequence[Constraint] = ()
    ) -> None:
        self.schema = schema
        # Numbers that stay untaken: the ones of the table are drawn when it takes the rows.
        self._values = ColumnValues(schema, ZONE, lambda _, count: range(1, count + 1))
        names = set(given)
        empty = {each.name: pa.nulls(0, each.type) for each in schema.columns if each.name in names}
        self._values.complete(empty, 0)
        unknown = {each.name for each in schema.columns if each.identity}
        for column, expression in self._values.generations:
            if unknown.intersection(expression.columns):
                unknown.add(column.name)
        self._constraints = [
            each for each in constraints if unknown.isdisjoint(each.condition.columns)
        ]

    def faults(self, rows: pa.Table) -> dict[int, str]:
        """Return why the table refuses rows, by their place."""

        def complete(start: int, stop: int) -> None:
            self._complete(rows.slice(start, stop - start))

        found = {at: reason_of(why) for at, why in misfits(len(rows), complete).items()}
        if not self._constraints:
            return found
        left = [at for at in range(len(rows)) if at not in found]
        whole = self._complete(rows.take(pa.array(left, pa.int64())))
        with RowJudge(self.schema.name) as judge:
            for each in self._constraints:
                found.update((left[at], why) for at, why in refused(judge, whole, each).items())
        return found

    def with_defaults(self, rows: pa.Table) -> pa.Table:
        """Return rows with the columns that they leave out and that the table does not compute."""
        for each in self.schema.columns:
            if not (each.generated or each.identity or each.name in rows.column_names):
                rows = rows.append_column(each.name, self._values.absent(each, len(rows)))
        return rows

    def _complete(self, rows: pa.Table) -> pa.Table:
        return as_batches(rows, self.schema, self._values.complete).read_all()


def refused(judge: RowJudge, rows: pa.Table, constraint: Constraint) -> dict[int, str]:
    """Return why rows do not fulfil a constraint, by their place."""
    found: dict[int, str] = {}

    def check(start: int, stop: int) -> None:
        hits = judge.fulfilled(rows.slice(start, stop - start), constraint.condition).to_pylist()
        found.update(
            (start + at, broken(constraint.name, constraint.text))
            for at, hit in enumerate(hits)
            if not hit
        )

    failed = misfits(len(rows), check)
    return found | {at: reason_of(why) for at, why in failed.items()}


def stored_key(values: Any, column: TableColumn) -> Any:
    """Return values of a key column as the table stores them.

    Raises ValueError for NULL and NaN: they equal no value, so that their rows would double.
    """
    read = opened(pa.table([values], names=[column.name])).read_all().column(0)
    stored = as_stored(read.cast(column.type), column)
    if stored.null_count:
        raise ValueError(f"column {column.name} is of the key and must not be NULL")
    if family_of(column.type) is Family.FLOATING and pc.any(pc.is_nan(stored)).as_py():
        raise ValueError(f"column {column.name} is of the key and must be a number, got NaN")
    return stored
