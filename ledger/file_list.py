"""File lists: the files a commit adds and removes, as one opaque field of its record.

Only who writes or lists files looks inside; a decision knows paths by their hashes and partitions
by their text (`ledger.core.footprints`). The form is JSON, packed with zlib once that pays.
"""

import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ledger.core.commands import Footprint
from ledger.core.footprints import packed
from ledger.core.partitions import Values, partition_text
from ledger.errors import FileListError

PLAIN: Final = b"j"
PACKED: Final = b"z"
PACK_FROM_BYTES: Final = 512


class AddFile(NamedTuple):
    """A file added: `size` in bytes, `modified` in milliseconds, `stats` Delta's JSON or "".

    `partition` has one value per partition column of the table. `vector` is the unique id of its
    deletion vector, "" = none; path and vector together are what is live.
    """

    path: str
    partition: Values = ()
    size: int = 0
    modified: int = 0
    data_change: bool = True
    stats: str = ""
    vector: str = ""


class RemoveFile(NamedTuple):
    """A file removed; `partition` None = not known."""

    path: str
    partition: Values | None = None
    data_change: bool = True
    vector: str = ""


class FileList(NamedTuple):
    """What a commit adds and removes in one table."""

    adds: Sequence[AddFile] = ()
    removes: Sequence[RemoveFile] = ()


EMPTY: Final = FileList()


def pack(files: FileList) -> bytes:
    """Return the opaque form of a file list; b"" for an empty one."""
    if not files.adds and not files.removes:
        return b""
    text = json.dumps(files, separators=(",", ":"), ensure_ascii=False).encode()
    return PLAIN + text if len(text) < PACK_FROM_BYTES else PACKED + zlib.compress(text, 1)


def unpack(data: bytes) -> FileList:
    """Return the file list of an opaque form; raises FileListError if it is none."""
    if not data:
        return EMPTY
    try:
        form = json.loads(data[1:] if data[:1] == PLAIN else zlib.decompress(data[1:]))
        adds, removes = form
        return FileList([added(*each) for each in adds], [removed(*each) for each in removes])
    except (ValueError, TypeError, zlib.error) as error:
        raise FileListError(f"{len(data)} bytes are no file list: {error}") from error


def added(path: str, partition: Iterable[str | None], *rest: object) -> AddFile:
    """Return an added file of its form."""
    return AddFile(path, tuple(partition), *rest)  # type: ignore[arg-type]


def removed(path: str, partition: Iterable[str | None] | None, *rest: object) -> RemoveFile:
    """Return a removed file of its form."""
    values = None if partition is None else tuple(partition)
    return RemoveFile(path, values, *rest)  # type: ignore[arg-type]


def listed(footprint: Footprint, files: FileList) -> Footprint:
    """Return a footprint with a file list and all that a decision asks of it."""
    partitions = [each.partition for each in files.removes]
    known = [partition_text(each) for each in partitions if each is not None]
    return footprint._replace(
        adds=list(dict.fromkeys(partition_text(each.partition) for each in files.adds)),
        removes=packed(each.path for each in files.removes),
        removes_in=list(dict.fromkeys(known)) if len(known) == len(partitions) else [],
        data_change=any(each.data_change for each in files.adds)
        or any(each.data_change for each in files.removes),
        files=pack(files),
    )
