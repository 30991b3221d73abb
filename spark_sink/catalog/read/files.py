"""Which files Spark reads, and under which names the columns lie in them.

Within a txn the read is noted by its condition, as `Transaction.scan` does. A file that cannot have
a matching row, by its partition or by its statistics, is left out.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa

from ledger.arrow.fields_then import type_in_files
from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.types import UTC, sql_type
from ledger.core.partitions.file_paths import FILE, SCHEME, parts_of
from ledger.core.predicates.tree import TRUE, TRUE_PREDICATE, Node, node_of, of_wire
from ledger.definitions.time_zones import zone_named
from ledger.errors import UnreadableTableError
from ledger.expressions.bounds import file_may_hold
from ledger.expressions.build import Expression, condition_in
from ledger.files.deletion_vectors import deleted_rows, portable
from ledger.files.file_columns import name_then, type_then
from ledger.files.rows.blocks import parquet_of
from ledger.files.rows.joined_blocks import joined_blocks
from ledger.files.storage import Storage, places_of, storage_at
from ledger.log.wire.file_extras import BLOCK
from ledger.reads.rows import FileRow
from ledger.snapshot.as_of import known_row
from ledger.snapshot.reading import TableFiles
from ledger.snapshot.table_snapshot import TableSnapshot, in_write_folders
from spark_sink.catalog.divisions import is_divided_alike, plain_columns, plain_values
from spark_sink.catalog.read.conditions import conjunction
from spark_sink.catalog.session.open_statements import CatalogState, Question, StatementsTxn

# Hadoop's names of the schemes that have several.
HADOOP_SCHEMES: Final = {"s3": "s3a", "s3n": "s3a", "gcs": "gs"}
NameInFiles = tuple[str | None, str]
"""The name of a column, None if absent, and its type with the names of its fields, "" = its own."""


class ReadFiles(NamedTuple):
    """Files of a read, with the table as the reader sees it."""

    snapshot: TableSnapshot
    files: Sequence[FileRow]
    where: Node


def files(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Answer which files a scan reads; many blocks come as few if it asks for no places."""
    txn, table = state.find(asked), int(asked["id"])
    snapshot, files, where = found_files(state, txn, table, asked)
    schema, schema_of = snapshot.schema, snapshot.schema_of
    kept = [file for file in files if file_may_hold(where, file, schema, schema_of)]
    as_few = bool(asked.get("as_few"))
    if as_few:
        kept = list(joined_blocks(kept, schema_of))
    storage = storage_at(snapshot.definition.location)
    paths = [hadoop_path(storage, file) for file in kept]
    if txn is not None and not as_few:
        txn.note(table, dict(zip(paths, kept, strict=True)))
    return in_groups(
        kept, paths, schema, schema_of, size=partial(size_of, storage), storage=lambda: storage
    )


def found_files(
    state: CatalogState, txn: StatementsTxn | None, table: int, asked: Question
) -> ReadFiles:
    """Return the files of a read, noted in its txn."""
    where, zone = condition(asked)
    position = int(asked["position"])
    if txn is not None and position == txn.txn.opened:
        return seen_by(txn, table, where, zone, by_row=bool(asked.get("by_row")))
    found = read_at(state, txn, table, where=where, zone=zone, at=position)
    snapshot = TableSnapshot(state.ledger.reads(), found.table, position)
    return ReadFiles(snapshot, found.files, of_wire(found.where))


def seen_by(
    txn: StatementsTxn, table: int, where: Expression | None, zone: str, *, by_row: bool
) -> ReadFiles:
    """Return the files of a table with the changes of a txn.

    `by_row`: the statement marks all rows that it matches, so no other row of these files counts.
    """
    statement = txn.txn.statement(table, "read", time_zone=zone, is_read=True)
    if in_write_folders(statement.row):
        txn.txn.depends_on(table, where, time_zone=zone)
        return ReadFiles(statement.snapshot, txn.txn.scan(table, record=False).files, TRUE)
    read = statement.find(condition_in(where), by_row=by_row and statement.by_row)
    return ReadFiles(statement.snapshot, read.files, of_wire(read.where))


def read_at(
    state: CatalogState,
    txn: StatementsTxn | None,
    table: int,
    *,
    where: Expression | None,
    zone: str,
    at: int,
) -> TableFiles:
    """Return the files of a table at a position; a read within a txn is noted."""
    ledger = state.ledger
    row = known_row(ledger.reads(), table)
    if in_write_folders(row):
        if txn is not None:
            txn.txn.read_whole(table)
        found = ledger.scan(table, position=at).files
        return TableFiles(row, at, TRUE_PREDICATE, found)
    if txn is not None:
        return txn.txn.read(table, where, position=at, time_zone=zone)
    return ledger.read(table, where, position=at, time_zone=zone)


def condition(asked: Question) -> tuple[Expression | None, str]:
    """Return the condition of a question and its time zone.

    It is None if there is none, or if the ledger does not know the zone: then everything is read,
    and Spark judges the rows.
    """
    zone = str(asked.get("zone") or UTC)
    try:
        zone_named(zone)
    except ValueError:
        return None, UTC
    where = conjunction([node_of(each) for each in asked.get("where") or ()])
    return None if where is None else Expression(where), zone


def in_groups(
    kept: Sequence[FileRow],
    paths: Sequence[str],
    schema: TableSchema,
    written_of: Callable[[FileRow], TableSchema],
    *,
    size: Callable[[FileRow], int],
    storage: Callable[[], Storage],
    values: Sequence[Sequence[str | None]] | None = None,
    beside: Sequence[tuple[str | None, ...]] = (),
) -> Mapping[str, Any]:
    """Return files as an answer: files with the same names for the columns make a group.

    Files with a deletion vector have groups of their own, since such a file is read whole. For one
    of them `storage` is asked. Rows in the log come with the answer, as Parquet in base 64.

    `values` has for each file the values of the schema's partition columns, by default those in its
    own partition, which must have these columns. `beside` has further constants of its rows.
    """
    constants_at: dict[tuple[str | None, ...], int] = {}
    groups: dict[tuple[bool, tuple[NameInFiles, ...]], int] = {}
    deleted: dict[int, str] = {}
    blocks: dict[int, str] = {}
    value_of, group_of, sizes = [], [], []
    check_names(schema)
    for place, each in enumerate(kept):
        written = written_of(each)
        if each.vector:
            deleted[place] = deleted_in(storage(), each, schema)
        if values is None:
            check_placed(each, schema, written)
        own = plain_values(each.partition, written) if values is None else values[place]
        constants = (*(value or None for value in own), *(beside[place] if beside else ()))
        value_of.append(constants_at.setdefault(constants, len(constants_at)))
        group = place in deleted, names_in(schema, written)
        group_of.append(groups.setdefault(group, len(groups)))
        data = parquet_of(each.path, each.rows) if each.rows else b""
        if data:
            blocks[place] = b64encode(data).decode()
        sizes.append(len(data) or size(each))
    return {
        "paths": paths,
        "sizes": sizes,
        "values": [list(each) for each in constants_at],
        "value_of": value_of,
        "groups": [list(names) for _, names in groups],
        "marked": [is_marked for is_marked, _ in groups],
        "deleted": deleted,
        "blocks": blocks,
        "vectors": {place: kept[place].vector for place in deleted},
        "group_of": group_of,
    }


def size_of(storage: Storage, file: FileRow) -> int:
    """Return the bytes of a file; a size that the ledger does not know is looked up."""
    return file.size or storage.size(file.path)


def names_in(schema: TableSchema, written: TableSchema) -> tuple[NameInFiles, ...]:
    """Return the names of a table's data columns in files of another schema."""
    return tuple(
        (name_then(column, schema, written), fields_in(column, schema, written))
        for column in schema.data_columns
    )


def fields_in(column: TableColumn, schema: TableSchema, written: TableSchema) -> str:
    """Return a column's type with the names that its fields have in files of another schema.

    It is "" if these are their names in the table.
    """
    if not pa.types.is_nested(column.type):
        return ""
    found = type_in_files(column.type, type_then(column, schema, written))
    same = found.equals(column.type, check_metadata=False)
    return "" if same else sql_type(found, column.name)


def deleted_in(storage: Storage, file: FileRow, schema: TableSchema) -> str:
    """Return the numbers of a file's deleted rows in base 64; raises UnreadableTableError."""
    if file.deletion_vector is None:
        raise UnreadableTableError(
            f"file {file.path} of table {schema.name} has a deletion vector, and the ledger does "
            "not know where that lies. Import the table again"
        )
    try:
        return b64encode(portable(deleted_rows(storage, file.deletion_vector))).decode()
    except ValueError as problem:
        raise UnreadableTableError(
            f"file {file.path} of table {schema.name} is too long for Spark: {problem}. "
            "Ledger.scan reads it"
        ) from problem


def check_placed(file: FileRow, schema: TableSchema, written: TableSchema) -> None:
    """Raise UnreadableTableError for a file whose partition has the values of other columns."""
    then = [ids_of(each) for each in (written, schema)]
    if then[0] != then[1]:
        raise UnreadableTableError(
            f"file {file.path} of table {schema.name} was written when the table had other "
            "partition columns, which Spark's catalog cannot place. Ledger.scan reads it"
        )


def check_names(schema: TableSchema) -> None:
    """Raise UnreadableTableError for a table whose columns Spark's reader would not find."""
    if schema.mapping == "id":
        raise UnreadableTableError(
            f"table {schema.name} finds its columns by id alone (delta.columnMapping.mode = id), "
            "and Spark's catalog finds them by name. Ledger.scan reads the table"
        )


def ids_of(schema: TableSchema) -> Sequence[tuple[int, str]]:
    """Return the ids of partition columns; a column without an id goes by its name."""
    found = [schema.find(name) for name in plain_columns(schema)]
    return [(each.id, "" if each.id else each.name.lower()) for each in found if each is not None]


def hadoop_path(storage: Storage, file: FileRow) -> str:
    """Return the path of a file as Hadoop takes it, which has no escapes."""
    if file.rows:
        return f"{BLOCK}/{file.path.removeprefix(BLOCK)}"
    places = places_of(storage.location, file.path)
    return hadoop(places[0] if len(places) == 1 else storage.place(file.path))


def hadoop(place: str) -> str:
    """Return an absolute place as Hadoop takes it."""
    scheme, authority, path = parts_of(place)
    if scheme in ("", FILE):
        return f"{FILE}:{path}"
    rest = SCHEME.sub("", place, count=1)
    return f"{HADOOP_SCHEMES.get(scheme, scheme)}:{rest}" if authority else place


def partitions(state: CatalogState, asked: Question) -> Sequence[Sequence[str | None]]:
    """Answer which partitions a table has; raises UnreadableTableError if some are not known."""
    found = found_files(state, state.find(asked), int(asked["id"]), asked)
    schema = found.snapshot.schema
    for file in found.files:
        if not is_divided_alike(schema, found.snapshot.schema_of(file)):
            raise UnreadableTableError(
                f"file {file.path} of table {schema.name} was written when the table was divided "
                f"otherwise: the metadata table {schema.name}.files has the partition of each file"
            )
    return [list(each) for each in dict.fromkeys(tuple(file.partition) for file in found.files)]
