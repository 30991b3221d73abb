"""Tables about tables: `ledger.db.sales.history` has the versions of `ledger.db.sales`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from ledger.core.partitions.names import partition_values
from ledger.reads.port import FileRow, Reads, TableRow
from ledger.reads.row_counts import rows_in
from ledger.snapshot.table_snapshot import TableSnapshot
from spark_sink.catalog.session.open_statements import CatalogState, unsupported

PAGE: Final = 500
Columns = Sequence[tuple[str, str]]
Rows = Sequence[Sequence[Any]]


class RowsOf(NamedTuple):
    """What a metadata table has: its columns, and its rows for a table."""

    columns: Columns
    rows: Callable[[Reads, TableRow], Rows]


def rows_about(state: CatalogState, name: str) -> Mapping[str, Any] | None:
    """Return the rows of a metadata table by its name, None if the name means no such table."""
    owner, _, last = name.rpartition(".")
    kind = TABLES.get(last.lower())
    reads = state.ledger.reads()
    row = reads.table_named(state.ledger.catalog, owner) if owner else None
    if row is not None and last.lower() in HELPS:
        raise unsupported(
            f"table {owner} has no metadata table {last}: {HELPS[last.lower()]} has what a ledger "
            "keeps of it"
        )
    if kind is None or row is None:
        return None
    return answer(name, kind.columns, kind.rows(reads, row))


def answer(name: str, columns: Columns, rows: Rows) -> Mapping[str, Any]:
    """Return rows as an answer."""
    return {
        "name": name,
        "columns": [{"name": each, "type": kind} for each, kind in columns],
        "rows": [[text(value) for value in row] for row in rows],
    }


def text(value: Any) -> Any:
    """Return a value as the text that Spark casts to its column; lists and dicts have texts."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {key: text(each) for key, each in value.items()}
    if isinstance(value, list):
        return [text(each) for each in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def moment(millis: int) -> str | None:
    """Return a time in milliseconds since 1970 as a timestamp, None for 0."""
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat(" ") if millis else None


def history(reads: Reads, row: TableRow, limit: int | None = None) -> Rows:
    """Return the versions of a table, newest first; with a limit only the newest ones."""
    found: list[Sequence[Any]] = []
    below: int | None = None
    while page := reads.versions(row.table, PAGE, below=below):
        if limit is not None and len(found) >= limit:
            break
        for each in page:
            txn = reads.txn(each.txn) if each.txn else None
            author = (None, None) if txn is None else (txn.user, txn.application)
            found.append(
                [
                    *(each.version, moment(each.at), each.operation, *author),
                    *(each.txn or None, each.level or None, each.adds, each.removes),
                    each.position,
                    *(rows_in(each.info) or NOT_COUNTED),
                ]
            )
        below = page[-1].version
    return found[:limit]


def live_files(reads: Reads, row: TableRow) -> Rows:
    """Return the live files of a table."""
    table = TableSnapshot(reads, row, reads.position())
    return [
        [
            *(file.path, partition_text(file, table.schema_of(file).partition_columns)),
            *(file.size, moment(file.modified), file.version),
        ]
        for file in reads.files(row.table, position=table.position)
    ]


def partition_text(file: FileRow, names: Sequence[str]) -> str | None:
    """Return the partition of a file, as p=x/q=1, by what divided the table when it came."""
    if not names or len(names) != len(file.partition):
        return None
    return "/".join(
        f"{name}={'NULL' if value is None else value}"
        for name, value in zip(names, file.partition, strict=True)
    )


def conflicts(reads: Reads, row: TableRow) -> Rows:
    """Return the conflicts over a table that commits have lost, oldest first."""
    return [conflict for table, conflict in all_conflicts(reads) if table == row.table]


def all_conflicts(reads: Reads) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the conflicts of the ledger with the ids of their tables."""
    after = 0
    while page := reads.conflicts(after, PAGE):
        for each in page:
            evidence, winner = each.evidence, each.evidence.winner
            yield (
                evidence.table,
                [
                    *(moment(each.at), each.txn or None, each.user, evidence.operation),
                    *(evidence.exception, winner.txn or None, winner.operation),
                    *(unit_text(evidence.unit), evidence.remedy, each.position),
                ],
            )
        after = page[-1].position


def unit_text(unit: str) -> str:
    """Return the unit of a conflict; a partition by its values."""
    kind, _, rest = unit.partition(" ")
    values = partition_values(rest) if kind == "partition" else None
    if values is None:
        return unit
    return f"partition {', '.join('NULL' if value is None else value for value in values)}"


HISTORY: Final[Columns] = (
    ("version", "bigint"),
    ("timestamp", "timestamp"),
    ("operation", "string"),
    ("user", "string"),
    ("application", "string"),
    ("txn", "bigint"),
    ("level", "string"),
    ("files_added", "bigint"),
    ("files_removed", "bigint"),
    ("position", "bigint"),
    ("rows_inserted", "bigint"),
    ("rows_updated", "bigint"),
    ("rows_deleted", "bigint"),
)
NOT_COUNTED: Final = (None, None, None)
CONFLICTS: Final[Columns] = (
    ("timestamp", "timestamp"),
    ("txn", "bigint"),
    ("user", "string"),
    ("operation", "string"),
    ("exception", "string"),
    ("winner", "bigint"),
    ("winner_operation", "string"),
    ("unit", "string"),
    ("remedy", "string"),
    ("position", "bigint"),
)
FILES: Final[Columns] = (
    ("path", "string"),
    ("partition", "string"),
    ("size", "bigint"),
    ("modified", "timestamp"),
    ("version", "bigint"),
)
HELPS: Final = {
    **dict.fromkeys(("snapshots", "refs", "metadata_log_entries"), "history"),
    **dict.fromkeys(("manifests", "all_manifests", "entries", "all_data_files"), "files"),
    "partitions": "SHOW PARTITIONS",
}
"""Metadata tables of Iceberg, and what has their rows here."""

TABLES: Final[Mapping[str, RowsOf]] = {
    "history": RowsOf(HISTORY, history),
    "files": RowsOf(FILES, live_files),
    "conflicts": RowsOf(CONFLICTS, conflicts),
}
