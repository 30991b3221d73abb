"""Procedures that only read: histories, conflicts, changed rows."""

import json
from collections.abc import Mapping
from typing import Any, Final

from ledger.arrow.types import sql_type
from ledger.errors import UnknownTableError
from ledger.reads.port import TableRow
from ledger.session.explain import explanation
from ledger.statements.deleting import rows_in
from spark_sink.catalog.read.metadata_tables import Columns, Rows, all_conflicts, moment
from spark_sink.catalog.read.metadata_tables import history as history_of
from spark_sink.catalog.session.open_statements import (
    CatalogState,
    Refusal,
    StatementsTxn,
    unsupported,
)

Arguments = Mapping[str, str | None]

DETAIL: Final[Columns] = (
    *(("format", "string"), ("id", "bigint"), ("name", "string"), ("description", "string")),
    *(("location", "string"), ("createdAt", "timestamp"), ("lastModified", "timestamp")),
    *(("partitionColumns", "array<string>"), ("version", "bigint"), ("numFiles", "bigint")),
    *(("sizeInBytes", "bigint"), ("numRows", "bigint"), ("properties", "map<string,string>")),
)
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
    limit = None if given["limit"] is None else int(str(given["limit"]))
    if limit is not None and limit < 1:
        raise unsupported(f"limit must be 1 or more, got {limit}")
    return history_of(state.ledger.reads(), row_of(state, given), limit)


def detail(state: CatalogState, _: StatementsTxn | None, given: Arguments) -> Rows:
    """Return what a table is, and how large, in one row."""
    row, reads = row_of(state, given), state.ledger.reads()
    files, definition = list(reads.files(row.table)), row.definition
    first, newest = reads.versions(row.table, 1, below=1), reads.version_row(row.table)
    properties = {each.key: each.value for each in definition.properties}
    counts = [rows_in(file) for file in files]
    return [
        [
            *(
                "lakeledger",
                row.table,
                f"{row.catalog}.{row.name}",
                properties.pop("comment", None),
            ),
            definition.location,
            moment(first[0].at) if first else None,
            moment(newest.at) if newest is not None else None,
            *(list(definition.partition_columns), row.version, len(files)),
            sum(file.size for file in files),
            None if None in counts else sum(count or 0 for count in counts),
            properties,
        ]
    ]


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
