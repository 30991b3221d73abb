"""Schemas: the namespaces of the ledger, in which the names of tables lie."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ledger.definitions.views import is_view
from ledger.errors import NamespaceNotEmptyError, UnknownNamespaceError
from spark_sink.catalog.session.open_statements import CatalogState, Question, Refusal, unsupported

# Of all letters in capitals only this one has two letters in small ones, and one in Java.
DOTTED: Final = {"\u0130": "i"}
# Spark adds it to every schema.
OWNER: Final = "owner"
LOCATION: Final = "location"


def all_names(state: CatalogState, asked: Question, *, views: bool = False) -> Sequence[str]:
    """Return the names of the tables that a question may see, or of all views."""
    ledger = state.ledger
    known = [table for table in ledger.tables() if table.catalog == ledger.catalog]
    names = [table.name for table in known if is_view(table.definition) == views]
    txn = None if views else state.find(asked)
    return sorted(names if txn is None else (set(names) - txn.dropped) | txn.created)


def spaces(state: CatalogState, asked: Question) -> Sequence[str]:
    """Return the schemas directly within a schema, or the outermost ones."""
    created = {row.name for row in state.ledger.namespaces()}
    parts = [name.rpartition(".")[0] for name in all_names(state, asked)]
    known = {name for name in (*parts, *created) if name}
    outer = {
        ".".join(name.split(".")[: n + 1]) for name in known for n in range(name.count(".") + 1)
    }
    within = str(asked["name"])
    return sorted(name for name in outer if name.rpartition(".")[0] == within)


def exists(state: CatalogState, asked: Question) -> bool:
    """Return whether a schema exists."""
    name = str(asked["name"])
    return name in spaces(state, {**asked, "name": name.rpartition(".")[0]})


def properties(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Return the properties of a schema."""
    known = {row.name: row for row in state.ledger.namespaces()}
    row = known.get(str(asked["name"]))
    return {} if row is None else {each.key: each.value for each in row.properties}


def create(state: CatalogState, asked: Question) -> None:
    """Create a schema at once, in a txn too."""
    said = {key: text for key, text in asked.get("properties", {}).items() if key != OWNER}
    if LOCATION in said:
        raise unsupported(
            f"schema {asked['name']} has no files, got {LOCATION}: give it to tables, or set a "
            "warehouse"
        )
    state.ledger.create_namespace(str(asked["name"]), properties=said)


def alter(state: CatalogState, asked: Question) -> None:
    """Give a schema properties, or remove some, at once."""
    try:
        state.ledger.alter_namespace(
            str(asked["name"]), properties=asked["properties"], unset=asked["unset"]
        )
    except UnknownNamespaceError:
        raise Refusal("NoSuchNamespace", str(asked["name"])) from None


def drop(state: CatalogState, asked: Question) -> bool:
    """Drop a schema, with CASCADE what is in it as well; return whether it was there."""
    try:
        state.ledger.drop_namespace(str(asked["name"]), cascade=bool(asked.get("cascade")))
    except UnknownNamespaceError:
        return False
    except NamespaceNotEmptyError as error:
        raise Refusal("SCHEMA_NOT_EMPTY", str(error)) from None
    return True


def views(state: CatalogState, asked: Question) -> Sequence[str]:
    """Return the views of a schema, without its name."""
    parts = [name.rpartition(".") for name in all_names(state, asked, views=True)]
    return [last for space, _, last in parts if space == asked["name"]]


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
