"""MERGE: updates, deletes and inserts by the rows of a source.

A clause is tried on the rows that no clause before it has taken. As in Spark, a target row may
match one source row only, unless the only clause for matched rows deletes them all.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.casts import check_filled
from ledger.arrow.schema import TableSchema
from ledger.expressions.build import condition_in
from ledger.expressions.duckdb.conditions import RowCondition, row_condition
from ledger.reads.row_counts import ChangedRows
from ledger.reads.rows import FileRow
from ledger.statements.columns.identity import check_numbered
from ledger.statements.constraints import RowChecks
from ledger.statements.judge import RowJudge, numbered
from ledger.statements.marking import ChangedFiles
from ledger.statements.merge_source import SOURCE, TARGET, MergeSource, condition_on, read_of
from ledger.statements.target import StatementTable
from ledger.statements.updating import Assignments, assigned, assignments
from ledger.work.merge_clauses import ClauseKind, MergeClause

Relations = Mapping[str, Any]


def merge(
    table: StatementTable, source: Any, on: Any, clauses: Sequence[MergeClause]
) -> ChangedRows:
    """Change the rows of a table by the rows of a source, clause by clause."""
    table.check_listed()
    with table.judge() as judge:
        made = Merge(table, judge, MergeSource(source, table.schema), on, clauses)
        adds = table.write(made.rows(), placing=made.changed.placing)
    made.changed.note(adds, "MERGE")
    return table.counted(ChangedRows(made.inserted, made.updated, made.deleted))


class Clause:
    """A clause, compiled: its condition, and the new values of columns."""

    def __init__(
        self, clause: MergeClause, schema: TableSchema, scope: Mapping[str, TableSchema], zone: str
    ) -> None:
        self.action = clause.action
        self.condition = row_condition(condition_in(clause.where), scope, zone)
        self.terms: Assignments = {}
        if clause.action != "delete":
            values = clause.values
            if values is None:
                values = all_columns(schema, scope[SOURCE], clause.action)
            self.terms = assignments(values, schema, scope, zone)
            check_numbered(schema, self.terms, clause.action)


class Merge:
    """A merge in progress.

    Attributes:
        changed: the files that change, whole after `rows` has ended; so are the counts.
    """

    def __init__(
        self,
        table: StatementTable,
        judge: RowJudge,
        source: MergeSource,
        on: Any,
        clauses: Sequence[MergeClause],
    ) -> None:
        self.inserted = self.updated = self.deleted = 0
        self._table, self._judge, self._source = table, judge, source
        self._values = table.values
        self._checks = RowChecks(table.row.name, table.definition, table.zone)
        schemas = {TARGET: table.schema, SOURCE: source.schema}
        matching = condition_on(on, table.schema, source)
        self._on: RowCondition = row_condition(matching, schemas, table.zone)
        scopes: dict[ClauseKind, tuple[str, ...]] = {
            "matched": (TARGET, SOURCE),
            "not_matched": (SOURCE,),
            "not_matched_by_source": (TARGET,),
        }
        self._clauses = {
            kind: [
                Clause(clause, table.schema, {name: schemas[name] for name in names}, table.zone)
                for clause in clauses
                if clause.kind == kind
            ]
            for kind, names in scopes.items()
        }
        where = None
        if isinstance(on, str) and matching and not self._clauses["not_matched_by_source"]:
            where = read_of(matching, table.schema, source, any_column=table.by_row)
        self.changed = ChangedFiles(table, matched_columns(self._on))
        self._found = self.changed.read(where)
        self._hit = pa.nulls(0, pa.int64())

    def rows(self) -> Iterator[Any]:
        """Yield the rows of the new files: of touched files what stays and what was updated."""
        for file in self._table.shown(self._found):
            pairs = self._pairs(file)
            if len(pairs) or self._clauses["not_matched_by_source"]:
                yield from self._merged(file, pairs)
        if self._clauses["not_matched"]:
            yield from self._inserted()

    def _pairs(self, file: FileRow) -> Any:
        """Return the numbers of target and source rows that match, file by file."""
        target = numbered(self._table.rows(file, matched_columns(self._on)))
        found = self._judge.pairs({TARGET: target, SOURCE: numbered(self._source.rows)}, self._on)
        self._hit = pc.unique(pa.concat_arrays([self._hit, one_array(found[SOURCE])]))
        matched = self._clauses["matched"]
        if matched and pc.count_distinct(found[TARGET]).as_py() < len(found):
            if len(matched) > 1 or matched[0].action != "delete" or matched[0].condition.columns:
                raise self._ambiguous(file, found)
            first = found.group_by(TARGET).aggregate([(SOURCE, "min")])
            return first.rename_columns({f"{SOURCE}_min": SOURCE})
        return found

    def _ambiguous(self, file: FileRow, pairs: Any) -> ValueError:
        counts = pairs.group_by(TARGET).aggregate([(SOURCE, "count")])
        row = counts.filter(pc.greater(counts[f"{SOURCE}_count"], 1))[TARGET][0].as_py()
        shown = self._table.rows(file).slice(row, 1).to_pylist()[0]
        return ValueError(
            "each row of the target must match one row of the source only "
            f"(MERGE_CARDINALITY_VIOLATION), got several for the row {shown} of table "
            f"{self._table.row.name}: leave one row for each key in the source"
        )

    def _merged(self, file: FileRow, pairs: Any) -> Iterator[Any]:
        """Yield what a file becomes, nothing if no row of it changes."""
        target = self._table.rows(file)
        new: list[Any] = []
        gone: list[Any] = [pa.nulls(0, pa.int64())]
        if self._clauses["matched"]:
            sides = {
                TARGET: target.take(pairs[TARGET]),
                SOURCE: self._source.rows.take(pairs[SOURCE]),
            }
            for clause, chosen, rows in self._taken("matched", sides):
                gone.append(one_array(pairs[TARGET].take(chosen)))
                new += self._changed(clause, rows)
        numbers = pa.array(range(len(target)), pa.int64())
        if self._clauses["not_matched_by_source"]:
            others = numbers.filter(pc.invert(pc.is_in(numbers, one_array(pairs[TARGET]))))
            for clause, chosen, rows in self._taken(
                "not_matched_by_source", {TARGET: target.take(others)}
            ):
                gone.append(others.take(chosen))
                new += self._changed(clause, rows)
        hit = pc.is_in(numbers, pa.concat_arrays(gone))
        self.changed.keep(file, pc.and_not(pc.is_in(numbers, one_array(pairs[TARGET])), hit))
        if pc.any(hit).as_py():
            yield from self.changed.change(file, target, hit)
        yield from new

    def _taken(
        self, kind: ClauseKind, sides: Relations
    ) -> Iterator[tuple[Clause, Any, dict[str, Any]]]:
        """Yield each clause with the numbers of the rows that it takes, and with those rows."""
        count = len(next(iter(sides.values())))
        left = pa.array(range(count), pa.int64())
        for clause in self._clauses[kind]:
            rows = {name: each.take(left) for name, each in sides.items()}
            hit = one_array(
                self._judge.fulfilled(next(iter(rows.values())), clause.condition, rows)
            )
            chosen, left = left.filter(hit), left.filter(pc.invert(hit))
            if len(chosen):
                yield clause, chosen, {name: each.take(chosen) for name, each in sides.items()}

    def _changed(self, clause: Clause, rows: dict[str, Any]) -> list[Any]:
        """Return the rows that a clause makes of target rows."""
        if clause.action == "delete":
            self.deleted += len(rows[TARGET])
            return []
        self.updated += len(rows[TARGET])
        made = assigned(self._judge, self._table.schema, rows[TARGET], clause.terms, rows)
        made = self._values.generated(self._judge, made, clause.terms)
        return [self._checks.passed(self._judge, made)]

    def _inserted(self) -> Iterator[Any]:
        """Yield the rows that clauses make of source rows without a match."""
        source = self._source.rows
        numbers = pa.array(range(len(source)), pa.int64())
        others = source.filter(pc.invert(pc.is_in(numbers, self._hit)))
        schema, values = self._table.schema, self._values
        for clause, chosen, rows in self._taken("not_matched", {SOURCE: others}):
            absent = {
                column.name: pa.nulls(len(chosen), column.type)
                if column.name in clause.terms
                else values.absent(column, len(chosen))
                for column in schema.columns
            }
            self.inserted += len(chosen)
            made = assigned(self._judge, schema, pa.table(absent), clause.terms, rows)
            made = values.generated(self._judge, made, clause.terms)
            for column in schema.columns:
                if not column.nullable:
                    check_filled(made[column.name].is_valid(), column.name)
            yield self._checks.passed(self._judge, made)


def matched_columns(condition: RowCondition) -> Sequence[str]:
    """Return the columns of the target by which rows match."""
    prefix = f"{TARGET}."
    return [name.removeprefix(prefix) for name in condition.columns if name.startswith(prefix)]


def one_array(values: Any) -> Any:
    """Return values in one piece."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def all_columns(schema: TableSchema, source: TableSchema, action: str) -> dict[str, str]:
    """Return the assignments of `SET *`; raises ValueError if the source lacks a column.

    It may lack a generated column and an identity column.
    """
    columns = [
        each
        for each in schema.columns
        if source.find(each.name) or not (each.generated or each.identity)
    ]
    lacking = [column.name for column in columns if source.find(column.name) is None]
    if lacking:
        raise ValueError(
            f"the source must have all columns of table {schema.name} for an {action} that names "
            f"none (True), it lacks {', '.join(lacking)}: give a dict of the columns to set in "
            "place of True"
        )
    return {column.name: f"{SOURCE}.`{column.name.replace('`', '``')}`" for column in columns}
