"""Functions of Delta that stand for a table: `table_changes('db.sales', 1, 4)`.

Spark's parser gets a query of the table of changes in their place.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from spark_sink.catalog.sql.table_names import CatalogTable, place_of
from spark_sink.catalog.sql.tokens import FormError, Tokens

CHANGES: Final = "TABLE_CHANGES"
BOUNDS: Final = ("starting", "ending")


def without_functions(attached: Iterable[str], asked: Mapping[str, Any]) -> str:
    """Answer a statement with queries in the place of the functions about tables of a ledger."""
    text, place = str(asked["text"]), place_of(asked, attached)
    tokens = Tokens(text, asked["tokens"])
    parts, done = [], 0
    while not tokens.is_at_end():
        start = tokens.start
        if not tokens.takes(CHANGES, "("):
            tokens.skip()
            continue
        try:
            named = place.table(tokens.string().replace("`", "").split("."))
            bounds = bounds_in(tokens)
        except FormError:
            continue
        if named is not None:
            parts += [text[done:start], query_of(named, bounds)]
            done = tokens.stop
    return "".join([*parts, text[done:]])


def bounds_in(tokens: Tokens) -> Sequence[tuple[str, str]]:
    """Read the rest of a call: versions are numbers, times are texts."""
    bounds = []
    for bound in BOUNDS:
        if not tokens.takes(","):
            break
        kind = "Version" if tokens.is_at_number() else "Timestamp"
        given = tokens.number() if kind == "Version" else tokens.string()
        bounds.append((f"{bound}{kind}", given))
    tokens.needs(")")
    return bounds


def query_of(named: CatalogTable, bounds: Sequence[tuple[str, str]]) -> str:
    """Return the query of the changes of a table."""
    parts = [named.catalog, *named.table.split("."), "changes"]
    name = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
    options = ", ".join(f"`{option}` = '{quoted(given)}'" for option, given in bounds)
    return f"(SELECT * FROM {name}{f' WITH ({options})' if options else ''})"  # noqa: S608 - quoted


def quoted(text: str) -> str:
    """Return a text as it stands between quotes."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
