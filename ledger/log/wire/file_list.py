"""File lists: the files a commit adds and removes, as one opaque field of its record.

Only writers and readers of files unpack a list. A decision uses hashes of paths and texts of
partitions instead (`conflicts.footprints`). The form is the Avro record of `file_list_avro`. Logs
of earlier releases hold JSON instead, compressed with zlib if it is large; it stays readable.
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from ledger.core.commands import Footprint
from ledger.core.conflicts.footprints import is_backfill, packed
from ledger.core.events.parts import CommittedPart
from ledger.core.limits import LIST_BYTES_MAX, NUMBER_MAX
from ledger.core.partitions.names import Values, partition_text
from ledger.core.rows.changes import Marks
from ledger.core.state.txns import TxnInFlight
from ledger.errors import FileListError
from ledger.log.wire import file_list_avro
from ledger.log.wire.file_extras import (
    BLOCK,
    NO_EXTRAS,
    DeletionVector,
    FileExtras,
    Tags,
    checked_extras,
    is_block,
)

# The first bytes of a list in JSON, and of one that is compressed.
PLAIN: Final = b"j"
PACKED: Final = b"z"
FIRST_FORM: Final = (PLAIN, PACKED)


class AddFile(NamedTuple):
    """A file added: `size` in bytes, `modified` in milliseconds, `stats` Delta's JSON or "".

    `partition` has one value per partition column of the table. `vector` is the unique id of its
    deletion vector, "" = no vector; path and vector together identify a live file.
    `deletion_vector` has the place of that vector. It, the tags, `base_row_id` and `row_version`
    (the default row commit version) are as in Delta. `rows` are the rows themselves, as
    `ledger.files.rows.blocks` makes them, if the log holds them and no file does.
    """

    path: str
    partition: Values = ()
    size: int = 0
    modified: int = 0
    data_change: bool = True
    stats: str = ""
    vector: str = ""
    deletion_vector: DeletionVector | None = None
    tags: Mapping[str, str | None] = Tags()
    base_row_id: int | None = None
    row_version: int | None = None
    rows: bytes = b""


class RemoveFile(NamedTuple):
    """A file removed; `partition` None = unknown. The last fields are as for `AddFile`."""

    path: str
    partition: Values | None = None
    data_change: bool = True
    vector: str = ""
    deletion_vector: DeletionVector | None = None
    tags: Mapping[str, str | None] = Tags()
    base_row_id: int | None = None
    row_version: int | None = None


Listed = TypeVar("Listed", AddFile, RemoveFile)


class FileList(NamedTuple):
    """The files a commit adds and removes in one table.

    `info` is a JSON object with the writer's notes about the commit, or "". Each chunk of a list
    may hold a piece of that text. Beside the packed list, in `Footprint.rows`, the commit says what
    it does row by row: `marks` are the rows that it deletes of files that stay, each file once, and
    `rewritten` are the paths of removed files that it removes under any vector.
    """

    adds: Sequence[AddFile] = ()
    removes: Sequence[RemoveFile] = ()
    info: str = ""
    marks: Sequence[Marks] = ()
    rewritten: frozenset[str] = frozenset()


EMPTY: Final = FileList()
# As `_make`, at a third of the time: the rows of a list have all fields.
NEW_ADD: Final = partial(tuple.__new__, AddFile)
NEW_REMOVE: Final = partial(tuple.__new__, RemoveFile)


def pack(files: FileList) -> bytes:
    """Return the opaque form of a file list; b"" for an empty one.

    Raises ValueError for a list that is too long for readers, or that no reader takes.
    """
    return b"" if files == EMPTY else file_list_avro.encode(files.adds, files.removes, files.info)


def unpack(data: bytes) -> FileList:
    """Return the file list of an opaque form; raises FileListError for other bytes."""
    if not data:
        return EMPTY
    try:
        if data[:1] not in FIRST_FORM:
            adds, removes, info = file_list_avro.decode(data)
            return FileList([*map(NEW_ADD, adds)], [*map(NEW_REMOVE, removes)], info)
        adds, removes, *rest = json.loads(text_of(data))
        return FileList(
            [added(*add) for add in adds], [removed(*remove) for remove in removes], info_of(rest)
        )
    except (ValueError, TypeError, RecursionError, zlib.error) as error:
        raise FileListError(f"{len(data)} bytes are no file list: {error}") from error


def chunks_of(part: CommittedPart, txn: TxnInFlight | None) -> Sequence[Footprint]:
    """Return all chunks of the footprint of a part, first the ones that its `txn` staged."""
    if part.footprint is None:
        return ()
    return *(txn.staged.get(part.table, ()) if txn is not None else ()), part.footprint


def unpack_chunks(chunks: Iterable[Footprint]) -> FileList:
    """Return the files of all chunks of one footprint, in order; raises FileListError."""
    lists = [unpack(chunk.files) for chunk in chunks]
    if len(lists) == 1:
        return lists[0]
    return FileList(
        [file for each in lists for file in each.adds],
        [file for each in lists for file in each.removes],
        "".join(each.info for each in lists),
    )


def info_of(rest: Sequence[object]) -> str:
    """Return the text after the files of a form, or ""; raises ValueError for other values."""
    match rest:
        case []:
            return ""
        case [str() as info]:
            return info
        case _:
            raise ValueError("only one text may follow the files")


def records_again(part: CommittedPart, files: FileList) -> bool:
    """Tell whether a part with these files only records present files again.

    Files that are gone by then are no part of it (facts a.4 step 5).
    """
    if part.footprint is None or not is_backfill(part.footprint):
        return False
    added = any(add.data_change for add in files.adds)
    return not (added or any(remove.data_change for remove in files.removes))


def text_of(data: bytes) -> str:
    """Return the JSON text of an opaque form; raises ValueError if it is too long."""
    if data[:1] == PLAIN:
        return data[1:].decode()
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(data[1:], LIST_BYTES_MAX)
    if not unpacker.eof:
        raise ValueError(f"it is cut short, or longer than {LIST_BYTES_MAX} bytes")
    return text.decode()


def added(path: str, partition: Iterable[str | None], *rest: Any) -> AddFile:
    """Return an added file of its form; raises ValueError or TypeError for another form."""
    file = with_extras(AddFile(path, values_of(path, partition), *rest))
    check_names(file.path, file.partition, file.stats, file.vector)
    if not isinstance(file.rows, bytes):
        raise TypeError(f"file {path!r}: rows must be bytes, got {file.rows!r}")
    if bool(file.rows) != is_block(file.path):
        raise ValueError(
            f"file {path!r}: a path begins with {BLOCK} if the log holds its rows, and only then. "
            "Give the file another name, or let append and insert write the rows"
        )
    check_data_change(path, file.data_change)
    if type(file.size) is not int or type(file.modified) is not int:
        raise TypeError(
            f"file {path!r}: size and modified must be whole numbers, got {file.size!r} and "
            f"{file.modified!r}"
        )
    if not (0 <= file.size <= NUMBER_MAX and 0 <= file.modified <= NUMBER_MAX):
        raise ValueError(
            f"file {path!r}: size and modified must be 0 to {NUMBER_MAX}, got {file.size} and "
            f"{file.modified}"
        )
    return file


def removed(path: str, partition: Iterable[str | None] | None, *rest: Any) -> RemoveFile:
    """Return a removed file of its form; raises ValueError or TypeError for another form."""
    known = None if partition is None else values_of(path, partition)
    file = with_extras(RemoveFile(path, known, *rest))
    check_names(file.path, file.partition or (), "", file.vector)
    check_data_change(path, file.data_change)
    return file


def extras_of(file: AddFile | RemoveFile) -> FileExtras:
    """Return the last fields of a file."""
    return FileExtras(file.deletion_vector, file.tags, file.base_row_id, file.row_version)


def with_extras(file: Listed) -> Listed:
    """Return a file with extras of exact types; raises ValueError or TypeError for others."""
    if extras_of(file) == NO_EXTRAS:
        return file
    vector, extras = checked_extras(file.path, file.vector, extras_of(file))
    return file._replace(vector=vector, **extras._asdict())


def values_of(path: str, partition: Iterable[str | None]) -> Values:
    """Return partition values; raises TypeError for a single value in place of a sequence."""
    if isinstance(partition, str) or not isinstance(partition, Iterable):
        raise TypeError(
            f"file {path!r}: partition must have one value per partition column, such as "
            f"({str(partition)!r},), got {partition!r}"
        )
    return tuple(partition)


def check_data_change(path: str, data_change: object) -> None:
    """Raise TypeError unless this is a boolean, since "no" would count as true."""
    if not isinstance(data_change, bool):
        raise TypeError(f"file {path!r}: data_change must be True or False, got {data_change!r}")


def check_names(path: str, partition: Values, stats: str, vector: str) -> None:
    """Raise ValueError or TypeError for texts that cannot describe a file.

    No file system has a path with a zero byte, and no store takes a text that is not UTF-8.
    """
    texts = [path, stats, vector, *[value for value in partition if value is not None]]
    try:
        joined = "".join(texts)
    except TypeError:
        odd = next(text for text in texts if not isinstance(text, str))
        raise TypeError(
            f"file {path!r}: path, statistics, deletion vector and partition values must be texts, "
            f"such as {str(odd)!r}, or None for a partition value; got {odd!r}"
        ) from None
    if not joined.isascii():
        joined.encode()
    if "\0" in joined or not path:
        raise ValueError(
            f"file {path!r}: the path must not be empty, and no text may hold a zero byte"
        )


def listed(footprint: Footprint, files: FileList) -> Footprint:
    """Return a footprint with a file list, and with the facts about it that a decision needs."""
    partitions = [remove.partition for remove in files.removes]
    known = [partition_text(partition) for partition in partitions if partition is not None]
    return footprint._replace(
        adds=list(dict.fromkeys(partition_text(add.partition) for add in files.adds)),
        removes=packed(remove.path for remove in files.removes),
        removes_in=list(dict.fromkeys(known)) if len(known) == len(partitions) else [],
        data_change=any(add.data_change for add in files.adds)
        or any(remove.data_change for remove in files.removes),
        files=pack(files),
    )
