"""Scans drawn at random: over partition columns, the data column and what nobody can tell.

All compare a column with literals of its own kind, as the wire has them.
"""

import json
from typing import Any, Final

from tests.core.histories import Draw
from tests.isolation.plain import Cells, Schema
from tests.isolation.values import DATA_COLUMN, READERS

Tree = Any

# Texts of partition values by type: two may mean one value, None and "" mean NULL. The last one of
# the numbers is none.
CELLS: Final[dict[str, tuple[str | None, ...]]] = {
    "int": ("1", "2", "01", "2", "1", "3", None, "", "2", "1", "1", "abc"),
    "string": ("a", "b", "a", None, "c", ""),
    "date": ("2024-01-01", "2024-01-02", "2024-1-1", None, "2024-02-01"),
}
LITERALS: Final[dict[str, tuple[tuple[str | None, str], ...]]] = {
    "int": (
        *(("1", "int"), ("2", "int"), ("1", "bigint"), ("2.0", "decimal(2,1)")),
        *(("3", "int"), ("1.5", "decimal(2,1)"), (None, "void")),
    ),
    "string": (("a", "string"), ("b", "string"), ("c", "string"), (None, "void")),
    "date": (("2024-01-01", "date"), ("2024-01-02", "date"), ("2024-1-1", "date"), (None, "void")),
}
SYMBOLS: Final = ("=", "=", "=", "<", "<=", ">", ">=", "<>", "<=>")
ALWAYS: Final[Tree] = ["lit", "true", "boolean"]
NEVER: Final[Tree] = ["lit", "false", "boolean"]
DEPTH: Final = 3


def cells(draw: Draw, schema: Schema) -> Cells:
    """Return a partition of a table."""
    return tuple(draw.of(CELLS[kind]) for _, kind in schema)


def scan(draw: Draw, schema: Schema) -> str:
    """Return a scan in wire form."""
    return json.dumps(tree(draw, schema, DEPTH), separators=(",", ":"))


def tree(draw: Draw, schema: Schema, depth: int) -> Tree:
    """Return a condition: mostly one over the partition columns."""
    if depth and draw.mostly(35):
        word = draw.of(("and", "or", "and", "or", "not"))
        parts = [tree(draw, schema, depth - 1) for _ in range(1 if word == "not" else 2)]
        return [word, *parts]
    if schema and draw.mostly(75):
        return about(draw, *draw.of(schema))
    name = draw.of(schema)[0] if schema else DATA_COLUMN
    strange = (
        ALWAYS,
        NEVER,
        ["unknown", f"rand() < 0.{draw.below(9)}"],
        ["unknown", f"odd({name}, {draw.below(9)})", [name]],
    )
    return draw.of(strange) if draw.mostly(50) else about(draw, DATA_COLUMN, "int")


def about(draw: Draw, name: str, kind: str) -> Tree:
    """Return a condition on one column, whose name may stand in capitals."""
    column = ["col", name if draw.mostly(90) else name.upper()]
    match draw.below(8):
        case 0:
            return ["is_null", column]
        case 1:
            return ["not", ["is_null", column]]
        case 2 | 3:
            return ["in", column, [literal(draw, kind) for _ in range(1 + draw.below(3))]]
        case 4:
            low, high = literal(draw, kind), literal(draw, kind)
            return ["and", [">=", column, low], ["<", column, high]]
        case _:
            return [draw.of(SYMBOLS), column, literal(draw, kind)]


def literal(draw: Draw, kind: str) -> Tree:
    """Return a literal to compare a column of a type with."""
    return ["lit", *draw.of(LITERALS[kind])]


def is_partition(values: Cells, schema: Schema) -> Tree:
    """Return the condition of one partition, as a dynamic overwrite has it; NULL included."""
    parts = [
        ["<=>", ["col", name], ["lit", value or None, kind if value else "void"]]
        for value, (name, kind) in zip(values, schema, strict=True)
    ]
    return ["and", *parts] if parts else ALWAYS


def is_castable(values: Cells, schema: Schema) -> bool:
    """Tell whether every value of a partition is one of its type."""
    return all(
        not value or can_read(value, kind) for value, (_, kind) in zip(values, schema, strict=True)
    )


def can_read(text: str, kind: str) -> bool:
    """Tell whether a text is a value of a type."""
    try:
        READERS[kind](text)
    except ValueError:
        return False
    return True
