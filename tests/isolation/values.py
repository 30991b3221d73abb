"""What a predicate says of a row, and of a partition: over Python's own values, plainly.

The trees are those of the wire (JSON arrays that begin with a word). `holds` tells what is true of
a row; `may_hold` what a conflict check may conclude from a partition alone (rules d.1 to d.8).
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final
from urllib.parse import unquote

from tests.isolation.plain import Cells, Schema

Tree = Any
Value = Any
# The value of a column in a row; what it raises, nobody can tell.
Look = Callable[[str], Value]
# The truth of something nobody can tell.
Guess = Callable[[str], bool]

ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": eq,
    "<>": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
DATA_COLUMN: Final = "x"
HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


class UntoldError(ValueError):
    """A value that nobody can tell."""


def day(text: str) -> date:
    year, month, number = text.split("-")
    return date(int(year), int(month), int(number))


READERS: Final[Mapping[str, Callable[[str], Value]]] = {
    "int": int,
    "bigint": int,
    "boolean": "true".__eq__,
    "string": str,
    "date": day,
    "decimal(2,1)": Decimal,
}


def value_of(text: str | None, kind: str) -> Value:
    """Return the value of a text; NULL has none, an empty partition value is NULL."""
    if not text:
        return None
    try:
        return READERS[kind](text)
    except (ValueError, ArithmeticError) as error:
        raise UntoldError(text) from error


def typed(cells: Cells, schema: Schema) -> tuple[Value, ...]:
    """Return the values of a partition, one that is none as a mark."""
    return tuple(told_or_mark(cell, kind) for cell, (_, kind) in zip(cells, schema, strict=False))


def told_or_mark(cell: str | None, kind: str) -> Value:
    try:
        return value_of(cell, kind)
    except UntoldError:
        return UntoldError


def data_of(row: int) -> int | None:
    """Return what a row has in the data column: it follows from its id, and may be NULL."""
    return None if row % 7 == 0 else row % 5


def guess_of(row: int) -> Guess:
    """Return how a row turns out where nobody can tell: any way, but always the same."""
    return lambda text: (row + len(text)) % 3 > 0


def look_at(cells: Cells, schema: Schema) -> Look:
    """Return the partition columns of a file."""
    places = {name: number for number, (name, _) in enumerate(schema)}

    def look(name: str) -> Value:
        place = places[name.lower()]
        return value_of(cells[place], schema[place][1])

    return look


def is_known(cells: Cells, schema: Schema) -> bool:
    """Tell whether a partition is one of a table: which value is whose was changed under others."""
    return len(cells) == len(schema)


def holds(text: str, cells: Cells | None, schema: Schema, row: int) -> bool:
    """Tell whether a predicate is TRUE for a row of a partition; a row of no known one is read."""
    if cells is None or not is_known(cells, schema):
        return True
    partition = look_at(cells, schema)

    def look(name: str) -> Value:
        return data_of(row) if name.lower() == DATA_COLUMN else partition(name)

    return truth(json.loads(text), look, guess_of(row)) is True


def truth(tree: Tree, look: Look, guess: Guess) -> bool | None:
    """Return what a condition is, in three-valued logic."""
    match tree:
        case ["and" | "or" as word, *parts]:
            return connected(word, (truth(part, look, guess) for part in parts))
        case ["not", part]:
            inner = truth(part, look, guess)
            return None if inner is None else not inner
        case ["unknown", *_]:
            return guess(str(tree))
    try:
        return judged(tree, look)
    except UntoldError:
        return guess(str(tree))


def connected(word: str, parts: Iterable[bool | None]) -> bool | None:
    """Return AND or OR, looking at no more parts than it takes, from left to right."""
    decisive = word == "or"
    is_open = False
    for part in parts:
        if part is decisive:
            return decisive
        is_open = is_open or part is None
    return None if is_open else not decisive


def judged(tree: Tree, look: Look) -> bool | None:
    """Return what a condition without conditions in it is."""
    match tree:
        case ["is_null", side]:
            return value(side, look) is None
        case ["<=>", left, right]:
            return bool(value(left, look) == value(right, look))
        case ["in", side, items]:
            return listed(value(side, look), [value(item, look) for item in items])
        case [str(symbol), left, right] if symbol in ORDERS:
            one, two = value(left, look), value(right, look)
            return None if one is None or two is None else ORDERS[symbol](one, two)
    found = value(tree, look)
    assert found in (True, False, None), f"{tree} is no condition"
    return None if found is None else bool(found)


def listed(found: Value, items: list[Value]) -> bool | None:
    """Return IN: NULL where it is not found and something is NULL."""
    if found is None:
        return None
    if found in [item for item in items if item is not None]:
        return True
    return None if None in items else False


def value(tree: Tree, look: Look) -> Value:
    """Return the value of a column or literal."""
    match tree:
        case ["col", str(name)]:
            return look(name)
        case ["lit", None, _]:
            return None
        case ["lit", str(text), str(kind)]:
            return False if (text, kind) == ("false", "boolean") else value_of(text, kind)
    raise UntoldError(str(tree))


def may_hold(text: str, cells: Cells | None, schema: Schema, *, derives: bool) -> bool:
    """Tell whether rows of a partition may have been read; who cannot be judged has been.

    Conjuncts over other columns than the partition's are dropped; `derives` asks for the bound
    that mixed ones leave (d.3).
    """
    if cells is None or not is_known(cells, schema):
        return True
    return conjuncts_hold(json.loads(text), look_at(cells, schema), schema, derives=derives)


def conjuncts_hold(tree: Tree, look: Look, schema: Schema, *, derives: bool) -> bool:
    """Judge the conjuncts at the top one by one (d.2)."""
    if tree[0] == "and":
        return all(conjuncts_hold(each, look, schema, derives=derives) for each in tree[1:])
    own = columns_of(tree) <= {name for name, _ in schema}
    return bound_holds(tree, look, schema) if own or derives else True


def bound_holds(tree: Tree, look: Look, schema: Schema) -> bool:
    """Judge what AND and OR leave; anything else as a whole (d.3, d.7)."""
    if tree[0] == "and":
        return all(bound_holds(each, look, schema) for each in tree[1:])
    if tree[0] == "or":
        return any(bound_holds(each, look, schema) for each in tree[1:])
    if not columns_of(tree) <= {name for name, _ in schema} or "unknown" in words_of(tree):
        return True
    doubts: list[str] = []

    def doubt(text: str) -> bool:
        doubts.append(text)
        return True

    return truth(tree, look, doubt) is True or bool(doubts)


def words_of(tree: Tree) -> set[str]:
    """Return the words that nodes of a tree begin with."""
    if not isinstance(tree, list):
        return set()
    first = {tree[0]} if tree and isinstance(tree[0], str) else set()
    return first.union(*map(words_of, tree))


def columns_of(tree: Tree) -> set[str]:
    """Return the columns a tree reads; of one that may read anything, the data column."""
    match tree:
        case ["col", str(name)]:
            return {name.lower()}
        case ["unknown", _, names]:
            return {name.lower() for name in names}
        case ["unknown", _]:
            return {DATA_COLUMN}
        case ["lit", *_]:
            return set()
        case list():
            return set().union(*map(columns_of, tree))
    return set()


def hive_cells(text: str, schema: Schema) -> Cells | None:
    """Return the partition of Hive's text, None if it has other columns than the table."""
    pairs = dict(pair.partition("=")[::2] for pair in text.split("/"))
    if pairs.keys() != {name for name, _ in schema}:
        return None
    found = [unquote(pairs[name]) for name, _ in schema]
    return tuple(None if cell == HIVE_NULL else cell for cell in found)
