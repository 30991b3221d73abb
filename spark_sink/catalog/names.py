"""Schemas: the parts of the names of tables before the last dot.

The ledger has no objects for schemas. One exists while a table is in it, or after it was created in
this process.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from ledger.reads.amounts import amount
from spark_sink.catalog.session.open_statements import CatalogState, Question, Refusal, unsupported

# Of all letters in capitals only this one has two letters in small ones, and one in Java.
DOTTED: Final = {"\u0130": "i"}
# Spark adds it to every schema.
OWNER: Final = "owner"


def all_names(state: CatalogState, asked: Question) -> Sequence[str]:
    """Return the names of tables that a question may see."""
    ledger = state.ledger
    found = [table.name for table in ledger.tables() if table.catalog == ledger.catalog]
    txn = state.find(asked)
    return sorted(found if txn is None else (set(found) - txn.dropped) | txn.created)


def spaces(state: CatalogState, asked: Question) -> Sequence[str]:
    """Return the schemas directly within a schema, or the outermost ones."""
    parts = [name.rpartition(".")[0] for name in all_names(state, asked)]
    found = {each for each in (*parts, *state.spaces) if each}
    outer = {
        ".".join(each.split(".")[: n + 1]) for each in found for n in range(each.count(".") + 1)
    }
    within = str(asked["name"])
    return sorted(each for each in outer if each.rpartition(".")[0] == within)


def exists(state: CatalogState, asked: Question) -> bool:
    """Return whether a schema exists."""
    name = str(asked["name"])
    known = (each.rpartition(".")[0] for each in all_names(state, asked))
    return any(f"{each}.".startswith(f"{name}.") for each in (*known, *state.spaces) if each)


def create(state: CatalogState, asked: Question) -> None:
    """Note a schema; raises Refusal for one that says more than its name."""
    name = str(asked["name"])
    said = sorted(set(asked.get("properties", ())) - {OWNER})
    if said:
        raise unsupported(
            f"schema {name} can have a name only, got {said[0]}: leave it out, and say it of tables"
        )
    state.spaces.add(name)


def drop(state: CatalogState, asked: Question) -> bool:
    """Forget a schema; raises Refusal if a table is in it."""
    name = str(asked["name"])
    inside = [each for each in all_names(state, asked) if each.startswith(f"{name}.")]
    if inside and not asked.get("cascade"):
        raise Refusal(
            "SCHEMA_NOT_EMPTY",
            f"schema {name} has {amount(len(inside), 'table')}, such as {inside[0]}: drop what "
            "is in it first, or use CASCADE",
        )
    for each in inside:
        state.ledger.drop_table(each)
    was_there = bool(inside) or name in state.spaces
    state.spaces -= {space for space in state.spaces if f"{space}.".startswith(f"{name}.")}
    return was_there


def tables(state: CatalogState, asked: Question) -> Sequence[str]:
    """Return the tables of a schema, without its name."""
    parts = [name.rpartition(".") for name in all_names(state, asked)]
    return [last for space, _, last in parts if space == asked["name"]]


def check_distinct(table: str, columns: Iterable[str]) -> None:
    """Raise Refusal for a table with columns whose names Spark takes for one.

    Spark compares names by Java's `equalsIgnoreCase`, letter by letter, and the ledger by their
    small letters.
    """
    known: dict[str, str] = {}
    for name in columns:
        other = known.setdefault("".join(map(in_one_case, name)), name)
        if other != name:
            raise unsupported(
                f"table {table} has the columns {other} and {name}, whose names Spark takes for "
                "one: rename one of them. Ledger.scan reads the table as it is"
            )


def in_one_case(letter: str) -> str:
    """Return a letter as Java compares it without regard to its case."""
    upper = letter.upper()
    upper = upper if len(upper) == 1 else letter
    lower = DOTTED.get(upper, upper.lower())
    return lower if len(lower) == 1 else upper
