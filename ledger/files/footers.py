"""Data files that another engine has written, as a commit adds them: by their Parquet footers."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ledger.arrow.schema import TableSchema
from ledger.arrow.type_fields import field_number
from ledger.core.partitions.names import Values, unescaped
from ledger.core.partitions.values import HIVE_NULL
from ledger.core.predicates.types import Kind, parse_type
from ledger.definitions.partition_texts import text_of
from ledger.errors import UnreadableTableError
from ledger.files.statistics import FileStatistics
from ledger.files.storage import Storage
from ledger.files.written_files import discard
from ledger.log.wire.file_list import AddFile
from ledger.properties.type_text import ELEMENT, KEY, VALUE

AT_ONCE: Final = 16
"""Footers are read by so many threads: on an object store each is a round trip."""


class FieldInFile(NamedTuple):
    """A field of a data file: its id, 0 = none, its name, and the fields within it.

    What lies within a list or a map has the names `element`, `key` and `value`.
    """

    number: int
    name: str
    fields: Sequence["FieldInFile"]


class FoundFiles(NamedTuple):
    """Files with rows, and how many rows they have."""

    files: Sequence[AddFile]
    rows: int


def added_by_footers(
    storage: Storage,
    schema: TableSchema,
    paths: Sequence[str],
    results: Sequence[Values] | None = None,
) -> FoundFiles:
    """Return new files with the partition of their folder; a file without rows is deleted.

    Paths are relative to the location. `results` has for each file the results of the transforms
    that divide the table: no folder names them. Raises ValueError for a value that its column
    cannot hold, and for a file without the results.
    """
    given = [()] * len(paths) if results is None else results

    def found(path: str, made: Values) -> tuple[AddFile, int]:
        with storage.open(path) as stream:
            size = stream.size()
            footer = pq.read_metadata(stream)
        statistics = FileStatistics(schema.stored, schema.unstated)
        statistics.take(footer)
        now_ms = time.time_ns() // 1_000_000
        values = partition_in(path, schema, made)
        return AddFile(path, values, size, now_ms, stats=statistics.text), statistics.rows

    with ThreadPoolExecutor(AT_ONCE) as pool:
        all_files = list(pool.map(found, paths, given))
    discard(storage, [file.path for file, rows in all_files if not rows])
    return FoundFiles([file for file, rows in all_files if rows], sum(n for _, n in all_files))


def fields_in(storage: Storage, path: str) -> Sequence[FieldInFile]:
    """Return the columns of a data file by its footer.

    Raises UnreadableTableError for a file that is absent or no Parquet.
    """
    with storage.open(path) as stream:
        try:
            return [field_in(each, each.name) for each in pq.read_schema(stream)]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            raise UnreadableTableError(
                f"file {path} cannot be read as Parquet: {problem}"
            ) from problem


def row_count(storage: Storage, path: str) -> int:
    """Return how many rows a data file has by its footer, deleted ones counted; as `fields_in`."""
    with storage.open(path) as stream:
        try:
            return int(pq.read_metadata(stream).num_rows)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            raise UnreadableTableError(
                f"file {path} cannot be read as Parquet: {problem}"
            ) from problem


def field_in(field: pa.Field, name: str) -> FieldInFile:
    """Return a field of a file under a name, with the fields within it."""
    type_ = field.type
    inner: list[tuple[pa.Field, str]] = []
    if pa.types.is_struct(type_):
        inner = [(each, each.name) for each in type_]
    elif pa.types.is_list(type_):
        inner = [(type_.value_field, ELEMENT)]
    elif pa.types.is_map(type_):
        inner = [(type_.key_field, KEY), (type_.item_field, VALUE)]
    return FieldInFile(field_number(field), name, [field_in(*each) for each in inner])


def partition_in(path: str, schema: TableSchema, results: Values = ()) -> Values:
    """Return the values in the names of the folders of a file, and the results of transforms.

    Times in names of folders are in UTC. Raises ValueError as `added_by_footers`.
    """
    columns, transforms = schema.divided_by, schema.transforms
    folders = path.split("/")[: len(columns) - len(transforms)]
    texts = (unescaped(folder.partition("=")[2]) for folder in folders)
    if len(results) != len(transforms):
        raise ValueError(
            f"file {path} of table {schema.name} must come with a result of each of "
            f"{', '.join(transforms) or 'no transforms'}, got {len(results)} results"
        )
    made = iter(results)
    return tuple(
        text_of(
            next(made) if each.name in transforms else folder_value(next(texts), each.type), each
        )
        for each in columns
    )


def folder_value(text: str, type_: str) -> str | None:
    """Return the value in the name of a folder, with a mark of UTC where a zone matters."""
    if text == HIVE_NULL:
        return None
    found = parse_type(type_)
    is_instant = found is not None and found.kind is Kind.TIMESTAMP
    return f"{text}Z" if is_instant and not text.endswith("Z") else text
