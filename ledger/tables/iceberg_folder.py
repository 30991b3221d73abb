"""The folder in which a catalog writes Iceberg's metadata of a table, and which of it may go.

Its files are made again when they are asked for. So an old one may go, unless the newest metadata
file leads to it, or one that it names as earlier: a program may have been given that path. A
catalog renews the files that it sends readers to. A folder with metadata files of another program
is that program's.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ledger.errors import UnreadableTableError
from ledger.files.storage import Storage, StoredFile
from ledger.iceberg.limits import LIST_LIMITS, MANIFEST_LIMITS, IcebergFormatError
from ledger.iceberg.manifests import read_manifest, read_manifest_list

FOLDER: Final = "metadata/"
OWN: Final = "metadata/lakeledger-"
ASIDE: Final = "metadata/.lakeledger-"
"""A file that is being written, or that a writer left when it was killed."""

METADATA: Final = ".metadata.json"
HINT: Final = "metadata/version-hint.text"
CLIENTS: Final = ".avro"
"""Clients leave the manifests and lists of their commits, which nothing reads afterwards."""

METADATA_BYTES_MAX: Final = 64 << 20


def is_of_another(file: StoredFile) -> bool:
    """Return whether a file shows that another program keeps its list of files in the folder."""
    is_list = file.path.endswith(METADATA) or file.path == HINT
    return file.path.startswith(FOLDER) and is_list and not file.path.startswith(OWN)


def is_served(file: StoredFile) -> bool:
    """Return whether a file is a catalog's own, or was left by the commit of a client."""
    if not file.path.startswith(FOLDER):
        return False
    return file.path.startswith((OWN, ASIDE)) or file.path.endswith(CLIENTS)


def is_metadata(file: StoredFile) -> bool:
    """Return whether a file is a catalog's own metadata file."""
    return file.path.startswith(OWN) and file.path.endswith(METADATA)


def unneeded(files: Sequence[StoredFile], storage: Storage) -> list[StoredFile]:
    """Return the files to which neither the newest metadata file nor its earlier ones lead.

    All files stay if it leads to one that is not there, or cannot be read.
    """
    known = sorted(each.path for each in files if is_metadata(each))
    if not known:
        return []
    try:
        needed = set(led_to(known, storage))
    except (UnreadableTableError, IcebergFormatError, KeyError, TypeError):
        return []
    return [each for each in files if each.path not in needed]


def led_to(known: Sequence[str], storage: Storage) -> Iterator[str]:
    """Yield the last metadata file, the earlier ones that it names, and all that they lead to.

    `known` are the metadata files of the folder. Raises UnreadableTableError or IcebergFormatError
    if a file cannot be read.
    """
    newest = metadata_in(known[-1], storage)
    earlier = {inner(each["metadata-file"]) for each in newest["metadata-log"]}.intersection(known)
    lists = {inner(each["manifest-list"]): None for each in newest["snapshots"]}
    for path in earlier:
        found = metadata_in(path, storage)["snapshots"]
        lists |= {inner(each["manifest-list"]): None for each in found}
    yield from (known[-1], *earlier)
    seen = set[str]()
    for path in lists:
        yield path
        for line in read_manifest_list(data_of(path, storage, LIST_LIMITS.bytes)):
            manifest = inner(line.path)
            if manifest in seen:
                continue
            seen.add(manifest)
            yield manifest
            if line.content == "deletes":
                data = data_of(manifest, storage, MANIFEST_LIMITS.bytes)
                yield from (inner(each.path) for each in read_manifest(data).entries)


def metadata_in(path: str, storage: Storage) -> Any:
    """Return what a metadata file says."""
    try:
        return json.loads(data_of(path, storage, METADATA_BYTES_MAX))
    except (ValueError, RecursionError) as error:
        raise IcebergFormatError(f"{path} must be a metadata file: {error}") from error


def data_of(path: str, storage: Storage, bytes_max: int) -> bytes:
    """Return the first bytes of a file, up to a bound."""
    with storage.open(path) as stream:
        return bytes(stream.read(bytes_max))


def inner(path: str) -> str:
    """Return the path of a file of the folder below its location."""
    return f"{FOLDER}{path.rpartition('/')[2]}"
