"""Columns of data files as their footers name and number them, and columns of a table to compare.

Iceberg finds a column in a file by its id. A file of another writer has no ids: then the name
mapping of the table gives ids to its names. The ledger finds columns by names where ids say the
same. So each footer is compared once, when its file is taken in.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import parquet as pq

from ledger.arrow.type_fields import field_number
from ledger.core.commands import Column
from ledger.errors import IcebergTableError, UnreadableTableError
from ledger.files.storage import Storage
from ledger.properties.column_mapping import physical_name
from ledger.properties.field_ids import ID, IN_FILES, WITHIN, Tree, fields_of
from ledger.properties.type_text import ELEMENT, KEY, VALUE

AT_ONCE: Final = 16
"""Footers are read by so many threads: on an object store each is a round trip."""

Path = tuple[str, ...]
"""Names from a column to a field within it."""


class StoredColumn(NamedTuple):
    """A column of a file or a field within it; `id` 0 = it has none."""

    name: str
    id: int
    within: Sequence["StoredColumn"]


def footers_of(storage: Storage, paths: Iterable[str]) -> Mapping[str, Sequence[StoredColumn]]:
    """Return the columns of Parquet files by path; a file that is gone is left out.

    Raises IcebergTableError for a file that is no Parquet.
    """

    def found(path: str) -> tuple[str, Sequence[StoredColumn] | None]:
        try:
            with storage.open(path) as stream:
                return path, columns_in(pq.read_schema(stream))
        except UnreadableTableError:
            return path, None
        except (pa.ArrowException, OSError) as error:
            raise IcebergTableError(path, f"it must be a Parquet file: {error}") from error

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {path: each for path, each in pool.map(found, paths) if each is not None}


def columns_in(fields: Iterable[pa.Field]) -> Sequence[StoredColumn]:
    """Return the columns of a schema or a struct in a file."""
    return [stored(field, field.name) for field in fields]


def stored(field: pa.Field, name: str) -> StoredColumn:
    """Return a field of a file under a name, with the fields within it."""
    type_: Any = field.type
    within: Sequence[StoredColumn] = ()
    if pa.types.is_struct(type_):
        within = columns_in(type_)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        within = [stored(type_.value_field, ELEMENT)]
    elif pa.types.is_map(type_):
        within = [stored(type_.key_field, KEY), stored(type_.item_field, VALUE)]
    return StoredColumn(name, field_number(field), within)


def table_columns(columns: Iterable[Column], *, is_mapped: bool) -> Sequence[StoredColumn]:
    """Return the columns of a definition as its own files have them."""
    return [
        StoredColumn(
            physical_name(column) if is_mapped else column.name,
            column.id,
            table_fields(fields_of(column), is_mapped=is_mapped),
        )
        for column in columns
    ]


def table_fields(tree: Tree, *, is_mapped: bool) -> Sequence[StoredColumn]:
    """Return the fields of a column as files of its table have them."""
    return [
        StoredColumn(
            node.get(IN_FILES, name) if is_mapped else name,
            node[ID],
            table_fields(node.get(WITHIN, {}), is_mapped=is_mapped),
        )
        for name, node in tree.items()
    ]


def has_ids(columns: Iterable[StoredColumn]) -> bool:
    """Return whether any column or field of a file has an id."""
    return any(each.id or has_ids(each.within) for each in columns)


def agree(file: Sequence[StoredColumn], table: Sequence[StoredColumn]) -> bool:
    """Return whether names and ids say the same of each column that a file or a table has.

    A column of the file that the table does not have does not agree: it could come back.
    """
    names = {each.name.lower(): each for each in table}
    numbers = {each.id: each for each in table}
    if len({each.name.lower() for each in file}) < len(file):
        return False
    for each in file:
        known = names.get(each.name.lower())
        if (
            known is None
            or known is not numbers.get(each.id)
            or not agree(each.within, known.within)
        ):
            return False
    return True


def numbered_by(file: Sequence[StoredColumn], mapping: Any) -> Sequence[StoredColumn]:
    """Return the columns of a file without ids with those that a name mapping gives.

    A column that the mapping does not name keeps 0: it is no column of the table.
    """
    known: dict[str, Mapping[str, Any]] = {}
    for entry in mapping if isinstance(mapping, list) else ():
        if isinstance(entry, dict):
            for name in entry.get("names") or ():
                known.setdefault(name, entry)
    found = []
    for each in file:
        entry = known.get(each.name, {})
        number = entry.get("field-id")
        within = numbered_by(each.within, entry.get("fields") or [])
        found.append(StoredColumn(each.name, number if type(number) is int else 0, within))
    return found


def numbered_alike(
    file: Sequence[StoredColumn], table: Sequence[StoredColumn]
) -> Sequence[StoredColumn]:
    """Return the columns of a file without ids with those of a table's columns of their names."""
    known = {each.name: each for each in table}
    return [
        StoredColumn(
            each.name,
            known[each.name].id if each.name in known else 0,
            numbered_alike(each.within, known[each.name].within if each.name in known else ()),
        )
        for each in file
    ]


def names_by_id(columns: Iterable[StoredColumn]) -> Iterator[tuple[int, str]]:
    """Yield the ids of columns and fields with their names, none for one without an id."""
    for each in columns:
        if each.id:
            yield each.id, each.name
        yield from names_by_id(each.within)


def without_unknown(columns: Iterable[StoredColumn]) -> Sequence[StoredColumn]:
    """Return the columns that have an id."""
    return [each._replace(within=without_unknown(each.within)) for each in columns if each.id]


def are_names_sure(schemas: Iterable[Sequence[StoredColumn]]) -> bool:
    """Return whether each name meant one column in all schemas, and each column had one name."""
    names: dict[int, Path] = {}
    numbers: dict[Path, int] = {}
    return all(
        names.setdefault(number, path) == path and numbers.setdefault(path, number) == number
        for schema in schemas
        for number, path in paths_by_id(schema)
    )


def paths_by_id(columns: Iterable[StoredColumn], above: Path = ()) -> Iterator[tuple[int, Path]]:
    """Yield the ids of all columns and fields with the names that lead to them."""
    for each in columns:
        path = (*above, each.name.lower())
        yield each.id, path
        yield from paths_by_id(each.within, path)
