"""Views: queries with names of their own, stored as definitions without files.

Hive keeps a view among its tables too, as a `VIRTUAL_VIEW`: so a name means one thing, and a view
is created, renamed and dropped as a table is. The text stays as it was written, in the dialect of
its writer, with the catalog and the namespace in which the writer's short names lie.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.definitions.definitions import check_texts, properties_of
from ledger.properties.known_properties import OWN, VIEW

Dialect = Literal["duckdb", "spark"]
DIALECTS: Final[Sequence[Dialect]] = ("duckdb", "spark")
TEXT: Final = f"{VIEW}text"
DIALECT: Final = f"{VIEW}dialect"
CATALOG: Final = f"{VIEW}catalog"
NAMESPACE: Final = f"{VIEW}namespace"
DELTA: Final = "delta."


class ViewText(NamedTuple):
    """The query of a view; `catalog` and `namespace` are those of its writer, "" = none."""

    text: str
    dialect: Dialect
    catalog: str = ""
    namespace: str = ""


def is_view(definition: TableDefinition) -> bool:
    """Return whether a query stands in the place of files."""
    return definition.kind == "view"


def view_text(definition: TableDefinition) -> ViewText:
    """Return the query of a view."""
    known = properties(definition)
    dialect: Dialect = "spark" if known.get(DIALECT) == "spark" else "duckdb"
    return ViewText(known.get(TEXT, ""), dialect, known.get(CATALOG, ""), known.get(NAMESPACE, ""))


def view_properties(query: ViewText, given: Mapping[str, str]) -> Mapping[str, str]:
    """Return the properties of a view; `given` are those of its user.

    Raises TypeError for a property that is not a text, and ValueError for one of the ledger's own.
    """
    check_texts(given.items())
    if own := [key for key in given if key.startswith(VIEW)]:
        raise ValueError(f"a property of a view must not begin with {VIEW}, got {own[0]}")
    kept = zip((TEXT, DIALECT, CATALOG, NAMESPACE), query, strict=True)
    return {**given, **{key: text for key, text in kept if text}}


def view_definition(columns: Sequence[Column], properties: Mapping[str, str]) -> TableDefinition:
    """Return what the log keeps, with columns that all have ids."""
    return TableDefinition("view", "listed", "", columns, (), properties_of(properties))


def check_view(name: str, definition: TableDefinition) -> None:
    """Raise ValueError for a view without a query, or a table with one."""
    has_text = TEXT in properties(definition)
    if has_text != is_view(definition):
        what = "a table, and so cannot have" if has_text else "a view, and so must have"
        raise ValueError(f"{name} is {what} a query: use Ledger.create_view")
    check_notes(f"view {name}", definition.properties if has_text else ())


def check_notes(of: str, given: Iterable[Property]) -> None:
    """Raise ValueError for a property that only a table obeys."""
    for key, _ in given:
        if key.lower().startswith((OWN, DELTA)) and not key.startswith(VIEW):
            raise ValueError(f"{of} has no files, so {key} cannot be set: give it to a table")
