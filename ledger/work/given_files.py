"""Files as a caller gives them: paths and sizes of any library, values checked against columns.

The functions here return files as the log records them: a path is a text, a size a plain number, a
partition value its one text. Impossible values raise before anything is noted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import index
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any, Final, TypeVar

from ledger.core.partitions.names import Values
from ledger.core.partitions.transforms import parse_transform
from ledger.core.state.traits import traits_of
from ledger.definitions.given import check_list, shown
from ledger.definitions.partition_texts import PartitionColumn, text_of
from ledger.log.wire.file_extras import is_sealed
from ledger.log.wire.file_list import AddFile, RemoveFile, added, check_data_change, values_of
from ledger.properties.known_properties import asks_for_encryption
from ledger.reads.port import FileRow, TableRow

AddLike = AddFile | str | PathLike[str]
"""A file to add, or the path of one in a table without partitions."""

RemoveLike = RemoveFile | AddFile | FileRow | str | PathLike[str]
"""A file to remove, or its path: then the partition is taken from the file as it was read."""

Columns = Sequence[PartitionColumn]
Spell = Callable[[Sequence[Any]], Values]
Listed = TypeVar("Listed", AddFile, RemoveFile)

PLAIN: Final = {str, type(None)}
CURE: Final = "Write its rows into files, and give a list of AddFile or of paths"
ROWS_FORM: Final = (
    "rows are an Arrow table, a data frame, a list of dicts such as [{'id': 1}], or a dict of "
    "lists such as {'id': [1]}"
)
SINGLE_FILES: Final = (AddFile, RemoveFile, FileRow)


def several(files: Any) -> Iterable[Any]:
    """Return files as they are; raises TypeError for anything but a list."""
    check_list("files", files, *SINGLE_FILES, cure=CURE)
    return files  # type: ignore[no-any-return]


def are_rows(given: Any) -> bool:
    """Tell whether these are rows of some library, or dicts, and not files or columns."""
    if isinstance(given, Mapping):
        return bool(given) and all(hasattr(each, "__len__") for each in given.values())
    if isinstance(given, list | tuple):
        first = given[0] if given else None
        return isinstance(first, Mapping) or hasattr(first, "to_pylist")
    kind = type(given)
    is_frame = hasattr(kind, "columns") or hasattr(kind, "to_reader") or hasattr(kind, "read_all")
    is_stream = hasattr(kind, "__arrow_c_stream__") and not hasattr(kind, "dtype")
    return is_frame or is_stream or bool(getattr(getattr(given, "dtype", None), "names", None))


def check_rows_or(what: str, given: Any) -> None:
    """Raise TypeError for anything but rows or a list of `what`."""
    is_list = isinstance(given, Iterable | PathLike) and not isinstance(given, Mapping)
    if not (is_list or are_rows(given) or is_schema(given)):
        raise TypeError(
            f"rows must be a table of any library, or a list of {what}, got {shown(given)}: "
            f"{ROWS_FORM}"
        )


def is_schema(given: Any) -> bool:
    """Tell whether this is a schema of Arrow."""
    return hasattr(given, "pandas_metadata") and hasattr(given, "empty_table")


def columns_of(row: TableRow | None) -> Columns | None:
    """Return the partition columns of a table, without types if it names no columns.

    None = not known, and not checked.
    """
    if row is None:
        return None
    is_typed = bool(row.definition.columns)
    schema = traits_of(row.definition).schema
    return [PartitionColumn(name, kind if is_typed else "") for name, kind in schema]


def added_files(
    files: Iterable[AddLike], columns: Columns | None, *, data_change: bool
) -> Iterator[AddFile]:
    """Return files to add; `columns` None = the partition columns are not known.

    Where transforms alone divide a table, a file may have no values. Raises ValueError for any
    other file without exactly one value per partition column, and for a value that its column
    cannot hold; TypeError for anything but files, and for one file in place of a
    list.
    """
    spell, is_same = speller(columns), data_change is True
    for each in several(files):
        given = each if isinstance(each, AddFile) else lone(each)
        if given is None:
            raise TypeError(
                f"a file to add must be an AddFile or a path, got {shown(each)}; {ROWS_FORM}"
            )
        path = path_of(given.path)
        values = in_order(path, given.partition)
        if columns is not None and len(values) != len(columns) and not may_lack(values, columns):
            names = ", ".join(column.name for column in columns)
            raise ValueError(
                f"file {path} must have one partition value per column ({names or 'no column'}), "
                f"got {len(values)}"
            )
        if not is_same:
            check_data_change(path, data_change)
        partition = said_of(path, spell, values)
        size, modified = (
            whole_number(path, "size", given.size),
            whole_number(path, "modified", given.modified),
        )
        file = added(path, partition, size, modified, *given[4:])
        yield file if is_same else file._replace(data_change=file.data_change and data_change)


def checked_rows(row: TableRow | None, files: Iterable[AddFile]) -> Iterable[AddFile]:
    """Return the files to add to a table; raises ValueError for rows that must be encrypted."""
    if row is None or not asks_for_encryption(row.definition):
        return files
    kept = list(files)
    for file in kept:
        if file.rows and not is_sealed(file.rows):
            raise ValueError(
                f"file {file.path} must have its rows encrypted, as table {row.name} wants it in "
                "the log, got them in clear: let append and insert write the rows"
            )
    return kept


def may_lack(values: Sequence[Any], columns: Columns) -> bool:
    """Return whether a file may have no partition values: transforms alone divide its table."""
    return not values and all(parse_transform(each.name) is not None for each in columns)


def lone(path: object) -> AddFile | None:
    """Return the file of a path alone, None for anything but a path."""
    return AddFile(path_of(path)) if isinstance(path, str | PathLike) else None


def are_given(files: Iterable[RemoveLike]) -> bool:
    """Return whether a list may hold files whose partitions a caller has spelled."""
    return not isinstance(files, Sequence) or any(
        isinstance(file, AddFile | RemoveFile) for file in files
    )


def removed_files(files: Iterable[RemoveLike], columns: Columns | None) -> list[RemoveLike]:
    """Return files to remove, with their paths as texts and their partitions as the log has them.

    Files that were read stay as they are, and so do texts that are not values of their column: a
    wrong file in the log must stay removable. Raises TypeError for one file in place of a list.
    """
    spell = speller(columns)
    return [removal_of(each, columns, spell) for each in several(files)]


def removal_of(file: Any, columns: Columns | None, spell: Spell) -> Any:
    """Return a file to remove as the log has it."""
    if isinstance(file, str | PathLike):
        return path_of(file)
    if not isinstance(file, AddFile | RemoveFile):
        return file
    path = path_of(file.path)
    if file.partition is None:
        return file._replace(path=path)
    values = in_order(path, file.partition)
    if columns is None or len(values) != len(columns):
        return file._replace(path=path, partition=values)
    try:
        return file._replace(path=path, partition=said_of(path, spell, values))
    except ValueError:
        return file._replace(path=path, partition=values)


def path_of(path: Any) -> Any:
    """Return a path as a text; anything else is returned as it is, and refused with its file."""
    if type(path) is str:
        return path
    if isinstance(path, PurePath):
        return path.as_posix()
    if isinstance(path, PathLike):
        return fspath(path)
    return str.__str__(path) if isinstance(path, str) else path


def whole_number(path: str, what: str, number: Any) -> int:
    """Return a number of any library as an int; raises TypeError unless it is a whole number."""
    if type(number) is int:
        return number
    try:
        if not isinstance(number, bool):
            return index(number)
    except TypeError:
        pass
    raise TypeError(f"{what} of file {path!r} must be a whole number, got {number!r}")


def in_order(path: Any, partition: Any) -> tuple[Any, ...]:
    """Return partition values; raises TypeError for a mapping, a set, and anything but a list.

    The names of a mapping would be taken for the values.
    """
    if type(partition) is tuple:
        return partition
    if isinstance(partition, Mapping | AbstractSet):
        raise TypeError(
            f"the partition of file {path!r} must be a list of values in the order of the table's "
            f"partition columns, such as ('3',), got {partition!r}"
        )
    return values_of(path, partition)


def said_of(path: str, spell: Spell, values: Sequence[Any]) -> Values:
    """Return values as the log has them; raises ValueError or TypeError that names the file."""
    try:
        return spell(values)
    except (ValueError, TypeError) as error:
        raise type(error)(f"file {path!r}: {error}") from None


def speller(columns: Columns | None) -> Spell:
    """Return a function that spells values by the types of their columns.

    It caches texts: thousands of files lie in few partitions.
    """
    known: dict[Sequence[Any], Values] = {}

    def spelled(values: Sequence[Any]) -> Values:
        if columns is None or len(values) != len(columns):
            return tuple(values)
        # Only texts: other values may be equal and differ in type, as 1 and True do.
        is_plain = {type(value) for value in values} <= PLAIN
        if is_plain and values in known:
            return known[values]
        texts = tuple(text_of(value, each) for value, each in zip(values, columns, strict=True))
        if is_plain:
            known[values] = texts
        return texts

    return spelled
