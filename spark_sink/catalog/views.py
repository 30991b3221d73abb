"""Views as Spark sees them: queries that Spark parses itself whenever it reads them.

Beside the query, Spark keeps what its text depends on: settings of SQL, the names of its columns,
and the name of the catalog in it. They are one property of the view.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from ledger.arrow.schema import TableSchema
from ledger.core.conflicts.metadata_diff import properties
from ledger.definitions.views import (
    DIALECT,
    TEXT,
    ViewText,
    is_view,
    view_definition,
    view_properties,
    view_text,
)
from ledger.errors import TableExistsError
from ledger.properties.known_properties import VIEW
from ledger.reads.port import TableRow
from ledger.snapshot.view_queries import text_for
from spark_sink.catalog.columns import column_answers, column_of
from spark_sink.catalog.names import OWNER, check_distinct
from spark_sink.catalog.session.open_statements import CatalogState, Question, Refusal, unsupported

SETTINGS: Final = f"{VIEW}spark"


def view_answer(state: CatalogState, row: TableRow) -> Mapping[str, Any]:
    """Return a view as an answer; raises Refusal for one of a catalog of another name."""
    query, known = view_text(row.definition), properties(row.definition)
    told = json.loads(known.get(SETTINGS, "{}"))
    if query.dialect == "spark":
        if told.get("attached") != state.name:
            raise unsupported(
                f"view {row.name} names tables of catalog {told.get('attached')}, and this catalog "
                f"is called {state.name}: attach the ledger as {told.get('attached')}"
            )
        text = query.text
    else:
        text = text_for(row.name, query, "spark", row.catalog)
        told = {"catalog": state.name, "namespace": [], "configs": {}, "names": [], "mode": ""}
    shown = {key: value for key, value in known.items() if not key.startswith(VIEW)}
    return {
        "name": row.name,
        "columns": column_answers(TableSchema.of(row.definition).columns, row.definition.columns),
        "properties": shown,
        "view": {**told, "text": text},
    }


def create(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Create a view: at once, or in the txn of the statement."""
    name = str(asked["table"])
    columns, options = parts(state, asked)
    try:
        with state.lend(state.find(asked)) as own:
            own.create_table(name, columns, kind="view", properties=options)
    except TableExistsError:
        raise Refusal("ViewExists", name) from None
    return as_asked(asked)


def replace(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Give a view another query, other columns or properties."""
    name = str(asked["table"])
    row = state.ledger.reads().table_named(state.ledger.catalog, name)
    if row is None or not is_view(row.definition):
        raise Refusal("NoSuchView", name)
    columns, options = parts(state, asked)
    known = properties(row.definition)
    if known.get(DIALECT) != "spark" and known.get(TEXT) and is_kept(state, row, asked):
        # Only properties change: the query stays as its writer wrote it.
        own = {key: text for key, text in known.items() if key.startswith(VIEW)}
        options = {**{key: text for key, text in options.items() if key not in own}, **own}
    with state.lend(state.find(asked)) as owner:
        owner.alter_table(row, view_definition(columns, options), operation="REPLACE VIEW")
    return as_asked(asked)


def is_kept(state: CatalogState, row: TableRow, asked: Question) -> bool:
    """Return whether a view keeps its query."""
    return bool(view_answer(state, row)["view"]["text"] == asked["view"]["text"])


def parts(state: CatalogState, asked: Question) -> tuple[list[Any], Mapping[str, str]]:
    """Return the columns and the properties of a view that Spark names."""
    view = dict(asked["view"])
    columns = [column_of(each, number) for number, each in enumerate(asked["columns"], 1)]
    check_distinct(str(asked["table"]), (column.name for column in columns))
    is_own = view["catalog"] == state.name
    namespace = ".".join(view["namespace"]) if is_own else ""
    query = ViewText(view.pop("text"), "spark", state.name, namespace)
    given = {
        key: text
        for key, text in asked["properties"].items()
        if key != OWNER and text is not None and not key.startswith(VIEW)
    }
    told = json.dumps({**view, "attached": state.name}, sort_keys=True)
    return columns, {**view_properties(query, given), SETTINGS: told}


def as_asked(asked: Question) -> Mapping[str, Any]:
    """Return a view as Spark has just described it."""
    return {
        key: asked[word]
        for key, word in (
            *(("name", "table"), ("columns", "columns")),
            *(("properties", "properties"), ("view", "view")),
        )
    }
