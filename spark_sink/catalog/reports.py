"""Procedures that only read: histories, conflicts, changed rows."""

import json
from collections.abc import Mapping
from typing import Any, Final

from ledger.arrow.types import sql_type
from ledger.errors import UnknownTableError
from ledger.reads.port import TableRow
from ledger.session.explain import explanation
from spark_sink.catalog.read.metadata_tables import Columns, Rows, all_conflicts
from spark_sink.catalog.read.metadata_tables import history as history_of
from spark_sink.catalog.session.open_statements import (
    CatalogState,
    Refusal,
    StatementsTxn,
    unsupported,
)

Arguments = Mapping[str, str | None]

EXPLAINED: Final[Columns] = (
    ("summary", "string"),
    ("explanation", "string"),
    ("details", "string"),
)
# Types whose values Spark does not cast from a text; they are shown as JSON.
SHOWN_AS_JSON: Final = ("array<", "map<", "struct<", "binary")


def row_of(state: CatalogState, given: Arguments) -> TableRow:
    """Return the table that a call names; raises Refusal for an unknown one."""
    name = str(given["table"]).removeprefix(f"{state.name}.")
    try:
        return state.ledger.table(name)
    except UnknownTableError:
        raise Refusal("NoSuchTable", name) from None


def history(state: CatalogState, _: StatementsTxn | None, given: Arguments) -> Rows:
    """Return the versions of a table, newest first."""
    return history_of(state.ledger.reads(), row_of(state, given))


def conflicts(state: CatalogState, _: StatementsTxn | None, given: Arguments) -> Rows:
    """Return the commits that lost, oldest first."""
    wanted = row_of(state, given).table if given["table"] else None
    found = all_conflicts(state.ledger.reads())
    return [row for table, row in found if wanted in (None, table)]


def explain_conflict(state: CatalogState, _: StatementsTxn | None, given: Arguments) -> Rows:
    """Return why a txn lost, in words and for programs."""
    txn, reads = int(str(given["txn"])), state.ledger.reads()
    found = reads.conflict(txn)
    if found is None:
        raise unsupported(
            f"txn {txn} lost no conflict: CALL {state.name}.system.conflicts() lists those that did"
        )
    explained = explanation(reads, found.evidence, txn, found.position)
    return [[explained.summary, str(explained), json.dumps(explained.as_dict())]]


def changes(state: CatalogState, _: StatementsTxn | None, given: Arguments) -> tuple[Columns, Rows]:
    """Return the rows that commits changed, and their columns."""
    row = row_of(state, given)
    after = None if given["after"] is None else int(str(given["after"]))
    last = None if given["until"] is None else int(str(given["until"]))
    feed = state.ledger.changes(row, after)
    schema = feed.rows().schema
    kinds = [(each.name, sql_type(each.type)) for each in schema]
    rows: list[list[Any]] = []
    for commit in feed:
        if last is not None and commit.version > last:
            break
        found = commit.rows().to_pylist()
        rows += [[text_in(each[name], kind) for name, kind in kinds] for each in found]
    shown = [(name, "string" if kind.startswith(SHOWN_AS_JSON) else kind) for name, kind in kinds]
    return shown, rows


def text_in(value: Any, kind: str) -> Any:
    """Return a value in the form that Spark casts to its column."""
    if value is not None and kind.startswith(SHOWN_AS_JSON):
        return value.hex() if isinstance(value, bytes) else json.dumps(value, default=str)
    return value
