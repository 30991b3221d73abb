"""The SQL of DuckDB that conditions become, byte by byte: a new way to make it changes nothing.

`python -m tests.tables.test_golden_conditions` writes the file anew.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.types import arrow_type
from ledger.core.predicates.tree import of_wire
from ledger.errors import UnknownColumnError
from ledger.expressions.build import Expression
from ledger.expressions.duckdb.conditions import NamesInScope, compiled
from ledger.expressions.parse import PredicateSyntaxError
from tests.conditions import tree_of
from tests.core.predicate_trees import SCHEMA, condition
from tests.sdk.test_predicate_sql import EXPRESSIONS, UNDERSTOOD, UNKNOWN
from tests.tables.test_conditions import CONDITIONS
from tests.tables.test_conditions import SCHEMA as ROWS

GOLDEN: Final = Path(__file__).with_name("golden_conditions.txt")
ZONES: Final = ("", "Europe/Berlin")
RANDOM: Final = 60
NAME_CHARS_MAX: Final = 400
WIDE: Final = {"a": "int", "b": "int", "a b": "int", "date": "string"}


def schema_of(types: dict[str, str]) -> TableSchema:
    columns = (
        TableColumn(name, arrow_type(kind), nullable=True, id=at, physical=name, declared=kind)
        for at, (name, kind) in enumerate(types.items(), 1)
    )
    return TableSchema(tuple(columns), (), name="db.t")


def written() -> Iterator[tuple[str, TableSchema, str | Expression]]:
    """Yield conditions by a name, each with the schema that it is read for."""
    for where, _ in CONDITIONS:
        yield shown(where), ROWS, where
    wide = schema_of(WIDE)
    for sql, _ in (*UNDERSTOOD, *UNKNOWN):
        yield sql, wide, sql
    for expression, _ in EXPRESSIONS:
        yield shown(expression), wide, expression
    partitions = schema_of(dict(SCHEMA))
    for seed in range(RANDOM):
        tree = Expression(of_wire(json.dumps(condition(Random(seed)))))  # noqa: S311 - each comes back from its seed
        yield f"random {seed}: {tree.tree()}", partitions, tree


def shown(where: str | Expression) -> str:
    return where if isinstance(where, str) else f"col: {where.sql()}"


def duck_sql(where: str | Expression, schema: TableSchema, zone: str) -> str:
    """Return DuckDB's SQL of a condition, or why it is refused."""
    try:
        return compiled(tree_of(where), NamesInScope(schema).column, zone).sql
    except (PredicateSyntaxError, UnknownColumnError) as problem:
        return f"{type(problem).__name__}: {problem}"


def lines() -> Iterator[str]:
    """Yield the lines of the golden file."""
    for name, schema, where in written():
        if len(name) > NAME_CHARS_MAX:
            continue
        yield name.replace("\n", "\\n")
        before = ""
        for zone in ZONES:
            sql = duck_sql(where, schema, zone)
            if sql != before:
                yield f"  {zone or 'UTC'}: {sql}".replace("\n", "\\n")
            before = sql


def test_every_condition_becomes_the_same_sql() -> None:
    assert list(lines()) == GOLDEN.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    GOLDEN.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
