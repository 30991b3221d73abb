"""Judges rows: which of them fulfil a condition, and the values of expressions over them."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, Self

import duckdb
import pyarrow as pa

from ledger.expressions.duckdb.conditions import RowCondition, RowExpression
from ledger.expressions.duckdb.evaluation import duck

NUMBER: Final = "#row"


class RowFailsError(ValueError):
    """An expression cannot be computed for a row; the cause is DuckDB's error, with values."""


class RowJudge:
    """A DuckDB for the time of one statement on a `table`. Rows keep their order."""

    def __init__(self, table: str) -> None:
        self.table = table
        self._own = ExitStack()
        self._connection: Any = None

    def fulfilled(self, rows: Any, condition: RowCondition, relations: Any = None) -> Any:
        """Return for each row whether it fulfils a condition; NULL counts as not.

        `relations` are the rows by the names that qualify columns, if there are several.
        """
        if condition.sql == "TRUE":
            return pa.chunked_array([pa.repeat(pa.scalar(value=True), len(rows))])
        found = self._run([f"coalesce(({condition.sql}), false) AS hit"], rows, relations)
        return found.column("hit")

    def values(
        self, rows: Any, expressions: Mapping[str, RowExpression], relations: Any = None
    ) -> Any:
        """Return the values of expressions for each row, as columns by their names."""
        if not expressions or not len(rows):
            return pa.table({name: pa.nulls(len(rows), e.type) for name, e in expressions.items()})
        terms = [f'({each.sql}) AS "v{at}"' for at, each in enumerate(expressions.values())]
        found = self._run(terms, rows, relations)
        return found.rename_columns(list(expressions))

    def pairs(self, relations: Mapping[str, Any], condition: RowCondition) -> Any:
        """Return the numbers of the rows of two relations that fulfil a condition together.

        The relations are `numbered`.
        """
        (one, left), (other, right) = relations.items()
        terms = ", ".join(f'{name}."{NUMBER}" AS {name}' for name in (one, other))
        sql = f"SELECT {terms} FROM {one} JOIN {other} ON {condition.sql}"  # noqa: S608 - compiled
        return self._ask(sql, {one: left, other: right})

    def _run(self, terms: Sequence[str], rows: Any, relations: Any) -> Any:
        """Return terms over rows; several relations stand side by side, row by row."""
        given = {"rows": rows} if relations is None else relations
        names = list(given)
        joins = "".join(f" POSITIONAL JOIN {name}" for name in names[1:])
        return self._ask(f"SELECT {', '.join(terms)} FROM {names[0]}{joins}", given)  # noqa: S608 - compiled

    def _ask(self, sql: str, relations: Mapping[str, Any]) -> Any:
        for name, each in relations.items():
            self._connection.register(name, each)
        try:
            return self._connection.execute(sql).to_arrow_table()
        except duckdb.Error as error:
            raise RowFailsError(
                f"the statement fails for a row of table {self.table}: {error}"
            ) from error
        finally:
            for name in relations:
                self._connection.unregister(name)

    def __enter__(self) -> Self:
        self._connection = self._own.enter_context(duck())
        return self

    def __exit__(self, *_: object) -> None:
        self._own.close()


def numbered(rows: Any) -> Any:
    """Return rows with their numbers, for `RowJudge.pairs`."""
    return rows.append_column(NUMBER, pa.array(range(len(rows)), pa.int64()))
