"""OPTIMIZE: the rows of many small files in few larger ones, in order if asked. No row changes."""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.schema import TableSchema
from ledger.core.partitions.values import NULLS
from ledger.core.predicates.tree import Node
from ledger.definitions.given import check_list
from ledger.files.data_files import TARGET_BYTES
from ledger.files.file_columns import has_names_of
from ledger.log.wire.file_list import AddFile
from ledger.properties.column_lists import SORT, SortKey, is_fit, keys_in
from ledger.reads.rows import FileRow
from ledger.statements.deleting import wholly_fulfilled
from ledger.statements.marking import SHARE, ChangedFiles, size_of
from ledger.statements.target import StatementTable

FULL: Final = 0.75
"""A file of this part of the wanted size stays as it is."""


FileKey = tuple[str, str]
"""The path of a file and the id of its deletion vector."""


class RewrittenFiles(NamedTuple):
    """How many files were replaced, and by how many."""

    removed: int
    added: int


def optimize(
    table: StatementTable,
    where: Node | None = None,
    target_bytes: int = TARGET_BYTES,
    sort_by: Sequence[str] = (),
) -> RewrittenFiles:
    """Put the rows of small files, and of files with deleted rows, into files of the wanted size.

    A file with other names of columns than a new one would have is written anew in any case.
    `where` may name partition columns only. Files that the txn itself wrote stay. With columns to
    sort by every file is written anew, and the rows of each new one are in their order.
    """
    table.check_listed()
    order = order_in(table.schema, sort_by)
    changed, adds = ChangedFiles(table), list[AddFile]()
    with table.kept(adds):
        files = chosen(table, changed, where)
        anew = {key_of(file) for file in files} if order else written_anew(table, files)
        several = list(groups(files, anew, target_bytes))
        rewritten(table, changed, several, target_bytes, adds, order=order)
    if changed.files:
        changed.note_rewritten(adds)
    return RewrittenFiles(len(changed.files), len(adds))


def rewritten(
    table: StatementTable,
    changed: ChangedFiles,
    several: Sequence[Sequence[FileRow]],
    target_bytes: int,
    adds: list[AddFile],
    *,
    order: Sequence[SortKey] | None = None,
) -> None:
    """Write the rows of each group of files into new files, which are added to `adds`."""
    todo = table.shown([each for group in several for each in group])
    for group in several:
        rows = batches(table, changed, todo, len(group))
        adds += table.write(rows, target_bytes, order, placing=changed.placing, has_blocks=False)


def within(several: Iterable[list[FileRow]], max_bytes: int) -> Iterator[list[FileRow]]:
    """Yield groups until their files have `max_bytes` together, one group at least."""
    size = 0
    for group in several:
        yield group
        size += sum(file.size for file in group)
        if size >= max_bytes:
            return


def chosen(table: StatementTable, changed: ChangedFiles, where: Node | None) -> Sequence[FileRow]:
    """Return the files of the partitions that fulfil a condition; raises ValueError for others.

    A condition on the column of a transform chooses all files that may hold such rows.
    """
    condition, schema = table.condition(where), table.schema
    sources = {schema.by_name[each.column.lower()].name for each in schema.transforms.values()}
    outside = set(condition.columns) - set(schema.partition_columns) - sources
    if outside:
        raise ValueError(
            "the condition of optimize must name partition columns only, got "
            f"{', '.join(sorted(outside))}"
        )
    noted = table.work.writes.noted(table.number)
    own = {(each.path, each.vector) for each in noted.added} if noted is not None else set()
    found = [each for each in changed.read(where) if key_of(each) not in own]
    if sources.intersection(condition.columns):
        return found
    with table.judge() as judge:
        whole = wholly_fulfilled(table, judge, condition, found)
    return [each for each in found if whole is not None and whole[tuple(each.partition)]]


def groups(
    files: Sequence[FileRow], anew: Container[FileKey], target_bytes: int, min_files: int = 2
) -> Iterator[list[FileRow]]:
    """Yield files of one partition that become one file together; those to write `anew` do.

    Fewer than `min_files` others stay.
    """
    by_partition: dict[tuple[str | None, ...], list[FileRow]] = {}
    for each in files:
        if key_of(each) in anew or each.size < target_bytes * FULL:
            by_partition.setdefault(tuple(each.partition), []).append(each)
    for inside in by_partition.values():
        group: list[FileRow] = []
        for each in sorted(inside, key=lambda file: (file.size, file.path)):
            if group and sum(file.size for file in group) + each.size > target_bytes:
                yield from worth(group, anew, min_files)
                group = []
            group.append(each)
        yield from worth(group, anew, min_files)


def worth(
    group: list[FileRow], anew: Container[FileKey], min_files: int
) -> Iterator[list[FileRow]]:
    """Yield a group unless it is a single file, or few ones, that may stay."""
    if len(group) >= min_files or any(key_of(each) in anew for each in group):
        yield group


def key_of(file: FileRow) -> FileKey:
    """Return what names a live file."""
    return file.path, file.vector


def written_anew(table: StatementTable, files: Sequence[FileRow]) -> set[FileKey]:
    """Return the files to write anew whatever their size: for deleted rows, or names of columns.

    Rows in the log go into files. Where rows are the grain, a file keeps up to a tenth of deleted
    rows.
    """
    known: dict[int, bool] = {}
    found = set()
    for file in files:
        if file.added not in known:
            known[file.added] = has_names_of(table.snapshot.schema_of(file), table.schema)
        is_worn = bool(file.vector) and not (table.by_row and has_few_deleted(file))
        if is_worn or file.rows or not known[file.added]:
            found.add(key_of(file))
    return found


def has_few_deleted(file: FileRow) -> bool:
    """Return whether at most a tenth of the rows of a file are deleted."""
    vector, size = file.deletion_vector, size_of(file)
    return vector is not None and size is not None and vector.cardinality * SHARE <= size


def batches(
    table: StatementTable, changed: ChangedFiles, files: Iterator[FileRow], count: int
) -> Iterator[Any]:
    """Yield the rows of the next files, file by file."""
    for each in islice(files, count):
        rows = table.rows(each)
        check_partitions(table.schema, rows)
        yield changed.rewrite([each], [len(rows)], rows)


def order_in(schema: TableSchema, sort_by: Sequence[str]) -> Sequence[SortKey] | None:
    """Return the order that a list of columns names, None for an empty one; raises ValueError."""
    check_list("sort_by", sort_by)
    order = []
    for key in keys_in("sort_by", ", ".join(sort_by)):
        column = schema.find(key.column)
        if column is None:
            raise ValueError(f"sort_by must name columns of table {schema.name}, got {key.column}")
        if column.name in schema.partition_columns:
            raise ValueError(
                f"sort_by must name columns that are in files, got {column.name}: a file has one "
                "value of a partition column"
            )
        if not is_fit(SORT, column.declared):
            raise ValueError(
                f"sort_by must name columns with an order, got {column.name} of type "
                f"{column.declared}"
            )
        order.append(key._replace(column=column.name))
    return order or None


def check_partitions(schema: TableSchema, rows: Any) -> None:
    """Raise ValueError for a text that is NULL once it is a partition value.

    A column may have become a partition column after its rows were written.
    """
    for name in schema.partition_columns:
        if name in schema.transforms:
            continue
        values = rows[name]
        if not pa.types.is_string(values.type):
            continue
        if pc.any(pc.is_in(values, pa.array(sorted(NULLS)))).as_py():
            raise ValueError(
                f"column {name} of table {schema.name} became a partition column, and rows from "
                "before have a text there that a partition shows as NULL, such as the empty text: "
                "update these rows first"
            )
