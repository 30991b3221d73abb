"""The rows that commits changed, as a table: `ledger.db.sales.changes`.

Its rows have the columns that the table has now, and what Delta's change data feed says of a row. A
file of a commit that only added or only removed rows is read as it is. For a commit that did both,
the rows that are in both sides of a partition have not changed; Spark takes them off.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow.parquet as pq

from ledger.core.partitions.keys import Key
from ledger.core.partitions.names import typed
from ledger.errors import UnreadableTableError
from ledger.expressions.column_bounds import parsed_stats
from ledger.files.rows.blocks import rows_of_block
from ledger.files.storage import Storage, storage_at
from ledger.reads.port import FileChange, FileRow, Reads, TableRow, VersionRow
from ledger.snapshot.as_of import known_row
from ledger.snapshot.changed_rows import UPDATE
from ledger.snapshot.changes import ChangeFeed, CommitChanges
from ledger.snapshot.reading import check_listed
from ledger.snapshot.table_snapshot import TableSnapshot
from spark_sink.catalog.divisions import is_divided_alike, plain_columns, plain_values
from spark_sink.catalog.read.files import hadoop_path, in_groups, size_of
from spark_sink.catalog.read.metadata_tables import moment
from spark_sink.catalog.read.versions import VersionRange, range_of
from spark_sink.catalog.session.open_statements import CatalogState, Question, unsupported

COLUMNS: Final = (
    ("_change_type", "string"),
    ("_commit_version", "bigint"),
    ("_commit_timestamp", "timestamp"),
)
"""What Delta's change data feed says of a row."""

NAMES: Final = tuple(name for name, _ in COLUMNS)


class ChangedFile(NamedTuple):
    """A file whose rows a commit changed; `said` are the values of `COLUMNS`.

    `unit` numbers the rewrites of partitions, -1 for a file whose rows are all changed.
    """

    file: FileRow
    removed: bool
    said: tuple[str | None, ...]
    unit: int


def changes_of(table: Mapping[str, Any], asked: Question) -> Mapping[str, Any]:
    """Return the answer for the changes of a table, from the answer for the table.

    Raises Refusal for a question about one version of them.
    """
    if "version" in asked or "micros" in asked:
        raise unsupported(
            f"the changes of table {table['name']} are not read as of one version: give the "
            "options startingVersion and endingVersion"
        )
    columns = [{**each, "nullable": True} for each in table["columns"]]
    taken = {str(column["name"]).lower() for column in columns} & set(NAMES)
    if taken:
        raise UnreadableTableError(
            f"column {min(taken)} of table {table['name']} has the name of a column that changes "
            "of rows have; rename the column"
        )
    own = [{"name": name, "type": kind} for name, kind in COLUMNS]
    return {
        **table,
        "name": f"{table['name']}.changes",
        "columns": [*columns, *own],
        "constants": list(NAMES),
    }


def changed_files(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Answer which files have the rows that commits changed."""
    reads, table, txn = state.ledger.reads(), int(asked["id"]), state.find(asked)
    position = int(asked["position"])
    row = known_row(reads, table)
    check_listed(row)
    wanted = range_of(reads, row, asked.get("options") or {}, position)
    # Later commits belong to a range without an end.
    if txn is not None and wanted.is_open:
        txn.txn.read_whole(table)
    return answer_of(reads, row, position, wanted)


def answer_of(
    reads: Reads, row: TableRow, position: int, wanted: VersionRange
) -> Mapping[str, Any]:
    """Return the changed files of some versions as an answer."""
    now = TableSnapshot(reads, row, position)
    storage = storage_at(now.definition.location)
    commits = commits_in(reads, row, wanted)
    units: dict[object, int] = {}
    found: list[ChangedFile] = []
    for commit in commits:
        meant = [each for each in commit if each.data_change]
        rewrites = len({each.added for each in meant}) > 1
        places = places_of([each.file for each in meant], now) if rewrites else [()] * len(meant)
        said_of = labels(commit.row, meant, storage)
        for each, said, place in zip(meant, said_of, places, strict=True):
            key = (commit.version, place)
            unit = units.setdefault(key, len(units)) if rewrites else -1
            found.append(ChangedFile(each.file, not each.added, said, unit))
    kept = [each.file for each in found]
    paths = [hadoop_path(storage, each) for each in kept]
    return {
        **in_groups(
            kept,
            paths,
            now.schema,
            now.schema_of,
            size=partial(size_of, storage),
            storage=lambda: storage,
            beside=[each.said for each in found],
        ),
        "unit_of": [each.unit for each in found],
        "removed_of": [each.removed for each in found],
    }


def places_of(files: Sequence[FileRow], now: TableSnapshot) -> Sequence[tuple[Key, ...]]:
    """Return what each file has in common with every file into which its rows may be copied.

    That is its partition. If transforms changed in between, it is the values of columns in it.
    """
    written = [now.schema_of(file) for file in files]
    for schema in (now.schema, written[0]):
        if all(is_divided_alike(schema, each) for each in written):
            return [typed(tuple(file.partition), tuple(schema.divided_by)) for file in files]
    plain = tuple(each for each in now.schema.divided_by if each.name in plain_columns(now.schema))
    return [
        typed(plain_values(file.partition, each), plain)
        for file, each in zip(files, written, strict=True)
    ]


def commits_in(reads: Reads, row: TableRow, wanted: VersionRange) -> Iterator[CommitChanges]:
    """Yield the commits of some versions in order."""
    for commit in ChangeFeed(reads, row, wanted.first - 1):
        if commit.version > wanted.last:
            return
        yield commit


def labels(
    version: VersionRow, changes: Sequence[FileChange], storage: Storage
) -> Iterator[tuple[str | None, ...]]:
    """Yield what is said of the rows of changed files.

    An UPDATE that leaves as many rows as before has images of rows, as Delta says.
    """
    sides = {change.added for change in changes}
    is_update = version.operation == UPDATE and len(sides) > 1 and is_even(changes, storage)
    for change in changes:
        if is_update:
            kind = "update_postimage" if change.added else "update_preimage"
        else:
            kind = "insert" if change.added else "delete"
        yield kind, str(version.version), moment(version.at)


def is_even(changes: Sequence[FileChange], storage: Storage) -> bool:
    """Return whether a commit added as many rows as it removed."""
    return not sum(
        rows_in(change.file, storage) * (1 if change.added else -1) for change in changes
    )


def rows_in(file: FileRow, storage: Storage) -> int:
    """Return how many rows a file has left, by its statistics or its footer."""
    found = parsed_stats(file.stats).get("numRecords")
    if file.rows:
        found = rows_of_block(file.path, file.rows).num_rows
    elif type(found) is not int:
        with storage.open(file.path) as stream:
            found = int(pq.read_metadata(stream).num_rows)
    return found - (0 if file.deletion_vector is None else file.deletion_vector.cardinality)
