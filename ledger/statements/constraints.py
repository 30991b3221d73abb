"""CHECK constraints: conditions that every new row of a table must fulfil.

The property `delta.constraints.<name>` has a condition in Spark SQL. The rule is Delta's: a row
fails if its condition is false or NULL (`CheckDeltaInvariant` in delta-spark). In standard SQL, and
in Spark's own CHECK, a NULL passes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.schema import TableSchema
from ledger.core.commands import TableDefinition
from ledger.errors import ConstraintViolatedError, UnknownColumnError
from ledger.expressions.duckdb.conditions import RowCondition, row_condition
from ledger.expressions.parse import PredicateSyntaxError, parse
from ledger.properties.known_properties import CONSTRAINT, constraints_of
from ledger.snapshot.scan import Scan
from ledger.statements.judge import RowJudge
from ledger.work.unit_of_work import Work


class Constraint(NamedTuple):
    """A constraint: its name, its text, and the condition as DuckDB evaluates it."""

    name: str
    text: str
    condition: RowCondition


class RowChecks:
    """The constraints of a table, for rows that are new in it.

    Raises ValueError for a constraint that cannot be evaluated: no row is written unchecked.
    """

    def __init__(self, table: str, definition: TableDefinition, zone: str) -> None:
        self._table = table
        self.constraints: Sequence[Constraint] = [
            constraint_of(table, name, text, TableSchema.of(definition, table), zone)
            for name, text in constraints_of(definition).items()
        ]

    def passed(self, judge: RowJudge, rows: Any) -> Any:
        """Return a table of rows; raises ConstraintViolatedError if one breaks a constraint."""
        for each in self.constraints if len(rows) else ():
            hit = judge.fulfilled(rows, each.condition)
            if pc.all(hit).as_py() is False:
                shown = rows.select(list(each.condition.columns) or rows.column_names)
                first = shown.filter(pc.invert(hit)).slice(0, 1).to_pylist()[0]
                raise ConstraintViolatedError(
                    table=self._table, constraint=each.name, condition=each.text, row=first
                )
        return rows

    def over(self, batches: Iterable[Any]) -> Iterable[Any]:
        """Return batches whose rows are checked as they are read."""
        return self._passed(batches) if self.constraints else batches

    def _passed(self, batches: Iterable[Any]) -> Iterator[Any]:
        with RowJudge(self._table) as judge:
            for batch in batches:
                self.passed(judge, pa.Table.from_batches([batch]))
                yield batch


def constraint_of(table: str, name: str, text: str, schema: TableSchema, zone: str) -> Constraint:
    """Return a constraint; raises ValueError for one that cannot be evaluated."""
    try:
        return Constraint(name, text, row_condition(parse(text), schema, zone))
    except (PredicateSyntaxError, UnknownColumnError) as problem:
        raise ValueError(
            f"table {table} has the constraint {CONSTRAINT}{name} ({text}), which is not checked "
            f"here: {problem}. Write the table with Spark, or drop the constraint"
        ) from problem


def check_definition(
    name: str, before: TableDefinition | None, after: TableDefinition, zone: str
) -> None:
    """Raise ValueError for a new constraint that cannot be checked, or for a changed column of one.

    A column that a constraint names keeps its name and its id.
    """
    known, schema = constraints_of(before), TableSchema.of(after, name)
    ids = {} if before is None else {column.name: column.id for column in before.columns}
    for key, text in constraints_of(after).items():
        if before is None or known.get(key) != text:
            check_condition(name, key, text, schema, zone)
            continue
        try:
            then = row_condition(parse(text), TableSchema.of(before, name), zone)
        except (PredicateSyntaxError, UnknownColumnError):
            continue  # It came by an import. Rows are refused with the reason.
        kept = {column.name: column.id for column in after.columns}
        gone = [column for column in then.columns if kept.get(column) != ids.get(column)]
        if gone:
            raise ValueError(
                f"column {gone[0]} of table {name} must stay, because the constraint {key} "
                f"({text}) names it: drop the constraint first"
            )
        check_condition(name, key, text, schema, zone)


def check_condition(table: str, name: str, text: str, schema: TableSchema, zone: str) -> None:
    """Raise ValueError for a text that is no condition on rows of a schema."""
    try:
        row_condition(parse(text), schema, zone)
    except (PredicateSyntaxError, UnknownColumnError) as problem:
        raise ValueError(
            f"the constraint {name} of table {table} must be a condition that can be checked for "
            f"each row, got {text}: {problem}"
        ) from problem


def check_present(work: Work, number: int, before: TableDefinition, after: TableDefinition) -> None:
    """Raise ConstraintViolatedError if a row that a txn sees breaks a constraint added by it.

    The read of the whole table is recorded: a commit that adds rows meanwhile wins.
    """
    row, known = work.names.own(number) or work.names.row(number), constraints_of(before)
    name = str(number) if row is None else row.name
    new = [each for each in after.properties if is_new(each.key, each.value, known)]
    checks = RowChecks(name, after._replace(properties=new), work.view.zone)
    columns = {
        column for constraint in checks.constraints for column in constraint.condition.columns
    }
    then = {(each.name, each.id): each.type for each in before.columns}
    for each in after.columns:
        if each.name in columns and then.get((each.name, each.id)) != each.type:
            raise ValueError(
                f"the new constraint of table {name} names column {each.name}, which the same "
                "change adds or alters: add the constraint in a change of its own"
            )
    names = [column.name for column in before.columns if column.name in columns]
    scan = Scan.of(work.snapshot(number), None, names or None)
    for _ in checks.over(scan.to_batches()):
        pass


def is_new(key: str, value: str, known: Mapping[str, str]) -> bool:
    """Return whether a property is a constraint that a table does not have yet."""
    lower = key.lower()
    return lower.startswith(CONSTRAINT) and known.get(lower[len(CONSTRAINT) :]) != value
