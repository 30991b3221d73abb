"""Queries of views, as one engine reads what another engine wrote.

A query is read in its own dialect as it is. The other engine gets a translation by sqlglot, and
only of what means the same in both: everything else is refused by its name, since a query that runs
with another meaning would give wrong rows.
"""

from itertools import zip_longest
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ledger.definitions.views import Dialect, ViewText
from ledger.snapshot.sql_text import QuerySyntaxError, shown

SAME: Final = (
    *(exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered),
    *(exp.Limit, exp.Subquery, exp.With, exp.CTE, exp.Union, exp.Distinct, exp.Table, exp.Column),
    *(exp.TableAlias, exp.Identifier, exp.Alias, exp.Star, exp.Paren, exp.Literal, exp.Boolean),
    *(exp.Null, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.Is, exp.In, exp.Between, exp.Neg, exp.Case, exp.If),
    *(exp.Count, exp.Sum, exp.Min, exp.Max, exp.Coalesce, exp.Tuple),
)
"""The parts of a query that mean the same in DuckDB and in Spark; sums of decimals do not."""

NAME_PARTS: Final = 3
ENGINES: Final[dict[Dialect, str]] = {"duckdb": "ledger.sql", "spark": "Spark SQL"}


def text_for(name: str, view: ViewText, dialect: Dialect, catalog: str) -> str:
    """Return the query of the view `name` in a dialect; `catalog` is the ledger's own.

    Names of tables are those of the ledger afterwards, whatever the writer called its catalog.
    Raises QuerySyntaxError for a query that does not mean the same in both dialects.
    """
    if view.dialect == dialect == "duckdb":
        return view.text
    try:
        tree = sqlglot.parse_one(view.text, dialect=view.dialect)
    except (SqlglotError, RecursionError) as problem:
        raise untranslated(name, view, dialect, shown(view.text)) from problem
    if view.dialect != dialect:
        check_same(name, view, dialect, tree)
    local = {node.alias for node in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if len(table.parts) == 1 and table.name in local:
            continue
        parts = ledger_name([part.name for part in table.parts], view, catalog)
        if len(parts) > NAME_PARTS:
            raise untranslated(name, view, dialect, f"the table {'.'.join(parts)}")
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
        for key, part in zip_longest(("this", "db", "catalog"), reversed(parts)):
            table.set(key, part and exp.to_identifier(part, quoted=True))
        table.set("alias", alias)
    return str(tree.sql(dialect=dialect))


def ledger_name(parts: list[str], view: ViewText, catalog: str) -> list[str]:
    """Return the parts of a table's name in the ledger, as the writer of a view meant them."""
    if len(parts) > 1 and parts[0] in {view.catalog, catalog}:
        return parts[1:]
    if len(parts) == 1 and view.namespace:
        return [*view.namespace.split("."), *parts]
    return parts


def check_same(name: str, view: ViewText, dialect: Dialect, tree: Any) -> None:
    """Raise QuerySyntaxError for a part that may mean something else in another dialect."""
    for node in tree.walk():
        if not isinstance(node, SAME) or node.args.get("sample"):
            raise untranslated(name, view, dialect, node.sql(dialect=view.dialect)[:80])


def untranslated(name: str, view: ViewText, dialect: Dialect, what: str) -> QuerySyntaxError:
    """Return the error of a view that an engine cannot read."""
    return QuerySyntaxError(
        f"view {name} was written for {ENGINES[view.dialect]}, and {ENGINES[dialect]} may read "
        f"this part of it differently: {what}. Read it with {ENGINES[view.dialect]}, or create a "
        "view of another name there"
    )
