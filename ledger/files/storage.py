"""Access to the files of tables: on disks, in S3, in Google's storage and in Azure's.

Logins come from the environment and the settings of each cloud's own tools, never from the log. A
path in the log may be written as plain text or as a URI: both are looked for.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from ledger.core.partitions.file_paths import FILE, is_absolute, parts_of, spellings
from ledger.definitions.locations import as_stored, in_one_spelling, is_file_uri
from ledger.errors import DiskFullError, SettingsError, UnreadableTableError
from ledger.errors.storage import refusals_named
from ledger.files.file_writers import writer_of

NANOS_PER_MS: Final = 1_000_000
CLOCK: Final = ".lakeledger-clock-"
"""The beginning of the name of a file that is written to see the clock of a storage."""

ASIDE_CHARS_MAX: Final = 100
"""The characters of a file's name in the name of the file that is written aside first."""

ABSENCE: Final = (FileNotFoundError, FileExistsError)


class StoredFile(NamedTuple):
    """A file that was found: its path below the location, bytes, and time in milliseconds."""

    path: str
    size: int
    modified: int


class Storage:
    """The files below one location.

    Paths are relative to the location, or absolute, as in the log.
    """

    def __init__(self, location: str) -> None:
        self.location = as_stored(location)
        self._systems: dict[tuple[str, str], Any] = {}
        self._system_of(self.location)

    def open(self, path: str) -> pa.NativeFile:
        """Open a file for reads at any place in it; raises UnreadableTableError if it is absent."""
        system, place = self._found(path)
        try:
            with accesses(place):
                return system.open_input_file(place)
        except FileNotFoundError:
            raise missing(place) from None

    def size(self, path: str) -> int:
        """Return the bytes of a file; raises UnreadableTableError if it is absent."""
        system, place = self._found(path)
        with accesses(place):
            found = system.get_file_info(place)
        if found.type == fs.FileType.NotFound:
            raise missing(place)
        return int(found.size)

    def create(self, path: str) -> pa.NativeFile:
        """Open a new file for writing, with its folders; `path` is plain text.

        This and the writes raise OSError if the storage refuses them. Raises FileExistsError if
        something is there: no file of a table is ever overwritten.
        """
        place = self._place(path)
        system = self._system_of(place)
        inner = inside(place)
        if isinstance(system, fs.LocalFileSystem):
            system.create_dir(inner.rpartition("/")[0] or "/", recursive=True)
            return pa.PythonFile(open(inner, "xb"), mode="w")  # noqa: PTH123
        if system.get_file_info(inner).type != fs.FileType.NotFound:
            raise FileExistsError(f"{place} is there, and files of tables are written once")
        return system.open_output_stream(inner)

    def write(self, path: str, data: bytes) -> None:
        """Write a new file; raises FileExistsError if something is there."""
        with accesses(self._place(path)), self.create(path) as stream:
            stream.write(data)

    def put(self, path: str, data: bytes) -> None:
        """Write a file whole or not at all, instead of one that is there; `path` is plain text.

        Raises StorageError if the storage refuses it.
        """
        place = self._place(path)
        system, inner = self._system_of(place), inside(place)
        with accesses(place):
            if not isinstance(system, fs.LocalFileSystem):
                with system.open_output_stream(inner) as stream:
                    stream.write(data)
                return
            folder, _, name = inner.rpartition("/")
            system.create_dir(folder or "/", recursive=True)
            aside = Path(folder) / f".{name[:ASIDE_CHARS_MAX]}-{secrets.token_hex(8)}"
            try:
                aside.write_bytes(data)
                aside.replace(inner)
            except OSError:
                aside.unlink(missing_ok=True)
                raise

    def found(self, path: str) -> StoredFile | None:
        """Return what is known of a file, None if it is absent; `path` is plain text."""
        place = self._place(path)
        with accesses(place):
            info = self._system_of(place).get_file_info(inside(place))
        if info.type != fs.FileType.File:
            return None
        return StoredFile(path, int(info.size), (info.mtime_ns or 0) // NANOS_PER_MS)

    def delete(self, path: str) -> bool:
        """Delete a file; return False if it was absent."""
        try:
            system, place = self._found(path)
            with accesses(place):
                system.delete_file(place)
        except (FileNotFoundError, UnreadableTableError):
            return False
        return True

    def list(self, prefix: str = "", *, skip_unnamed: bool = False) -> Iterator[StoredFile]:
        """Yield the files below a folder of the location, with paths relative to the location.

        No path in the log can name a file whose name is not UTF-8. It is skipped if the caller says
        so, else UnreadableTableError is raised.
        """
        system, root = self._system_of(self.location), inside(self.location)
        folder = f"{root}/{prefix}".rstrip("/") if prefix else root
        with accesses(folder):
            selector = fs.FileSelector(folder, allow_not_found=True, recursive=True)
            found = system.get_file_info(selector)
        start = len(root.rstrip("/")) + 1
        for each in found:
            if each.type != fs.FileType.File:
                continue
            try:
                path = each.path
            except UnicodeDecodeError as problem:
                if skip_unnamed:
                    continue
                raise UnreadableTableError(
                    f"the name of a file must be UTF-8, got {problem.object!r}. Rename the file, "
                    f"or move it out of {self.location}"
                ) from None
            modified = (each.mtime_ns or 0) // NANOS_PER_MS
            yield StoredFile(path[start:], int(each.size), modified)

    def now_ms(self) -> int:
        """Return the time by the clock that stamps the files, by a file that is deleted again.

        0 = unknown: a full disk has no room for the file.
        """
        system = self._system_of(self.location)
        place = f"{inside(self.location)}/{CLOCK}{secrets.token_hex(8)}"
        try:
            with accesses(place):
                try:
                    with system.open_output_stream(place) as stream:
                        stream.write(b"")
                    found = system.get_file_info(place)
                finally:
                    with suppress(OSError):
                        system.delete_file(place)
        except DiskFullError:
            return 0
        return int(found.mtime_ns or 0) // NANOS_PER_MS

    def remove_empty_folders(self, *, itself: bool) -> None:
        """Remove the empty folders of a disk below the location, and `itself` if it is empty."""
        if not isinstance(self._system_of(self.location), fs.LocalFileSystem):
            return
        root = inside(self.location)
        for folder, _, _ in os.walk(root, topdown=False):
            if folder != root or itself:
                with suppress(OSError):
                    Path(folder).rmdir()

    def exists(self, path: str) -> bool:
        """Return whether a file is there."""
        try:
            self.size(path)
        except UnreadableTableError:
            return False
        return True

    def place(self, path: str) -> str:
        """Return the absolute place of a file as a plain path or as a URI without escapes.

        Raises UnreadableTableError if the path may mean two files, or none of several is there.
        """
        places = places_of(self.location, path)
        if len(places) == 1:
            return places[0]
        inner = self._found(path)[1]
        return next(each for each in places if inside(each) == inner)

    def _place(self, path: str) -> str:
        """Return the absolute place of a path that is plain text."""
        return path if is_absolute(path) else f"{self.location}/{path}"

    def _found(self, path: str) -> tuple[Any, str]:
        """Return the file system of a file and its path there, whichever way the path is written.

        Raises UnreadableTableError if two files may be meant, or none of several is there.
        """
        places = places_of(self.location, path)
        system = self._system_of(places[0])
        inner = list(map(inside, places))
        if len(inner) == 1:
            return system, inner[0]
        with accesses(inner[0]):
            infos = system.get_file_info(inner)
        there = [info.path for info in infos if info.type != fs.FileType.NotFound]
        if len(there) > 1:
            raise UnreadableTableError(
                f"the path {path} may mean two files: {' and '.join(there)}. Remove the one that "
                "is not of the table"
            )
        if not there:
            raise missing(inner[0])
        return system, there[0]

    def _system_of(self, place: str) -> Any:
        """Return the file system of a place; raises SettingsError for an unknown one."""
        scheme, authority, _ = parts_of(place)
        made = self._systems.get((scheme, authority))
        if made is None:
            made = self._systems[scheme, authority] = system_at(scheme, authority, place)
        return made

    def __repr__(self) -> str:
        return f"<Storage {self.location}>"


def storage_at(location: str) -> Storage:
    """Return the files below a location: a path, or a URI of file, s3, gs or abfs.

    Raises SettingsError for another place.
    """
    if not location:
        raise SettingsError(
            "the table must have a location to be read or written as rows, got none; alter the "
            "table to have one"
        )
    if not is_absolute(location):
        raise SettingsError(
            f"the location of a table must be an absolute path or a URI, got {location!r}; alter "
            "the table to have such a location"
        )
    try:
        found = in_one_spelling(location)
    except ValueError as error:
        raise SettingsError(f"{error}; alter the table to have such a location") from None
    if is_file_uri(found):
        raise SettingsError(
            f"the name of a folder must be UTF-8 to be read or written as rows, got {found}; "
            "rename the folder, and alter the table to have the new location"
        )
    return Storage(found)


def places_of(location: str, path: str) -> Sequence[str]:
    """Return the places at one of which a file lies, as plain texts.

    A URI of `file:` is decoded once. The ledger's own writers escape nothing. Any other path is of
    a Delta log, or of a program that escapes nothing: there may be two places.
    """
    if is_file_uri(path):
        try:
            return [in_one_spelling(path)]
        except ValueError as error:
            raise UnreadableTableError(
                f"the path of a file cannot be read: {error}. Remove the file from the table, and "
                "add it by another path"
            ) from None
    if is_absolute(path):
        return spellings("", path)
    if writer_of(path) is not None:
        return [f"{location}/{path}"]
    return spellings(location, path)


def inside(place: str) -> str:
    """Return the path of an absolute place within its file system."""
    scheme, authority, path = parts_of(place)
    if scheme in ("", FILE):
        return path
    # The host of an Azure container follows its name.
    return f"{authority.partition('@')[0]}/{path.strip('/')}".rstrip("/")


def missing(place: str) -> UnreadableTableError:
    """Return the error for a file that is absent."""
    return UnreadableTableError(
        f"the ledger names a file that is not there: {place}. A vacuum deletes files that only old "
        "versions need: read a newer version then. Else bring it back, or remove it from the table"
    )


def accesses(place: str) -> AbstractContextManager[None]:
    """Raise StorageError if a file system refuses an access for another reason than absence."""
    return refusals_named(place, passing=ABSENCE)


def system_at(scheme: str, authority: str, place: str) -> Any:
    """Return the file system of a scheme and a host; raises SettingsError for an unknown one."""
    if scheme in ("", FILE):
        return fs.LocalFileSystem()
    make = SYSTEMS.get(scheme)
    if make is None:
        raise SettingsError(
            f"a location must be a path, or a URI of {', '.join(['file', *SYSTEMS])}, got {place}; "
            "alter the table to have such a location"
        )
    try:
        return make(authority)
    except (OSError, ValueError, NotImplementedError, AttributeError) as problem:
        raise SettingsError(
            f"{place} cannot be reached: {problem}. Check the login and the settings of the "
            "cloud's own tools"
        ) from problem


def s3_system(bucket: str) -> Any:
    """Return S3 as the settings of AWS' own tools have it."""
    variables = os.environ
    endpoint = variables.get("AWS_ENDPOINT_URL_S3") or variables.get("AWS_ENDPOINT_URL") or ""
    region = variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION")
    if not endpoint:
        return fs.S3FileSystem(region=region or fs.resolve_s3_region(bucket))
    parts = urlsplit(endpoint)
    return fs.S3FileSystem(
        region=region or "us-east-1", endpoint_override=parts.netloc, scheme=parts.scheme
    )


def gcs_system(_: str) -> Any:
    """Return Google's storage with the login of this machine."""
    return fs.GcsFileSystem()


def azure_system(authority: str) -> Any:
    """Return Azure's storage of `container@account.dfs.core.windows.net`."""
    _, _, host = authority.partition("@")
    return fs.AzureFileSystem(host.partition(".")[0])


SYSTEMS: Final[Mapping[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), s3_system),
    **dict.fromkeys(("gs", "gcs"), gcs_system),
    **dict.fromkeys(("abfs", "abfss"), azure_system),
}
