"""The files of one published log on a local disk: each is written once, whole or not at all.

A file is written aside and linked under its name, which fails if another writer was faster. So a
writer that dies leaves at most a file aside, which no reader looks at, and which a later writer
removes. A name that a power cut took away is written again when the publisher starts; a name that
is there has its bytes.
"""

import os
import secrets
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final, Protocol

from ledger.definitions.locations import in_one_spelling, is_file_uri, is_of_a_disk, path_of_uri
from ledger.errors.storage import refusals_named
from projections.delta.actions.schema_json import UnpublishableError

LOG_FOLDER: Final = "_delta_log"
LAST_CHECKPOINT: Final = "_last_checkpoint"
ASIDE: Final = ".lakeledger-"
FOREIGN: Final = ".foreign"
ASIDE_MAX_S: Final = 3600.0
"""No writer needs as long for a file."""

SAFE: Final = "The commits count, and readers of Delta do not see the newest ones yet"
THEN: Final = "the publisher goes on by itself"

NS_PER_MS: Final = 1_000_000


def set_time(path: Path, at_ms: int) -> None:
    """Set the time of a file; some file systems take no such time."""
    with suppress(OSError, OverflowError):
        os.utime(path, ns=(at_ms * NS_PER_MS, at_ms * NS_PER_MS))


def version_file(version: int) -> str:
    """Return the name of the file of a version."""
    return f"{version:020}.json"


def checkpoint_name(version: int) -> str:
    """Return the name of the checkpoint of a version, with twenty digits as Delta has it."""
    return f"{version:020}.checkpoint.parquet"


def local_folder(folder: str) -> Path:
    """Return the local folder of a published table; raises UnpublishableError for another place."""
    if not is_of_a_disk(folder):
        raise UnpublishableError(
            f"the folder of a published log must be on a local disk or in S3, got {folder}"
        )
    try:
        path = path_of_uri(folder) if is_file_uri(folder) else in_one_spelling(folder)
    except ValueError as error:
        raise UnpublishableError(f"the folder of a published log cannot be used: {error}") from None
    if not path.startswith("/"):
        raise UnpublishableError(f"the folder of a published log must be absolute, got {folder}")
    return Path(path)


def aside_name(name: str, folder: str) -> str:
    """Return the name of a file that is set aside, in a folder or beside the log."""
    return f"{folder}/{name}" if folder else f".{name}{FOREIGN}"


class LogFiles(Protocol):
    """The files of one log, wherever they lie.

    Every method but `place` raises StorageError if the storage refuses an access.
    """

    def place(self, name: str) -> str:
        """Return where a file is, for messages."""
        ...

    def names(self) -> list[str]:
        """Return the names of the files in order, without those written or set aside."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if it is absent."""
        ...

    def has(self, name: str) -> bool:
        """Return whether a file is there."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        ...

    def put(self, name: str, data: bytes, at_ms: int) -> bool:
        """Write a new file, whole or not at all; return False if one of that name is there.

        The file gets the time, if the storage can: some readers take it for that of the commit.
        """
        ...

    def date(self, name: str, at_ms: int) -> None:
        """Give a file the time, if the storage can, and if it has another one."""
        ...

    def set_aside(self, name: str, folder: str = "") -> str:
        """Give a file a name that no reader of the log looks at, and return its place.

        With `folder` it keeps its name, in a folder within the log.
        """
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Write a file in the place of the one that is there, if any."""
        ...


class LogFolder(LogFiles):
    """The folder of a log; `path` is `_delta_log` of the table.

    A file that was written aside more than `aside_max_s` ago is of a writer that died.
    """

    def __init__(self, table: str, aside_max_s: float = ASIDE_MAX_S) -> None:
        with refusals_named(table, safe=SAFE, then=THEN):
            self.path = local_folder(table) / LOG_FOLDER
        self._aside_max_s = aside_max_s
        self._left: set[Path] = set()
        self._is_swept = False

    def place(self, name: str) -> str:
        return str(self.path / name)

    def names(self) -> list[str]:
        with self._accesses(), suppress(FileNotFoundError):
            return sorted(each.name for each in self.path.iterdir() if each.name[0] != ".")
        return []

    def read(self, name: str) -> bytes | None:
        with self._accesses(name), suppress(FileNotFoundError):
            return (self.path / name).read_bytes()
        return None

    def has(self, name: str) -> bool:
        with self._accesses(name):
            return (self.path / name).exists()

    def delete(self, name: str) -> None:
        with self._accesses(name):
            (self.path / name).unlink(missing_ok=True)

    def put(self, name: str, data: bytes, at_ms: int) -> bool:
        with self._accesses(name):
            aside = self._aside(data)
            if not self._is_swept:
                self._sweep(aside)
            try:
                set_time(aside, at_ms)
                self._link(aside, name)
            except FileExistsError:
                return False
            finally:
                self._remove(aside)
            return True

    def date(self, name: str, at_ms: int) -> None:
        with suppress(OSError):
            if (self.path / name).stat().st_mtime_ns // NS_PER_MS != at_ms:
                set_time(self.path / name, at_ms)

    def set_aside(self, name: str, folder: str = "") -> str:
        kept = self.path / aside_name(name, folder)
        with self._accesses(name):
            kept.parent.mkdir(exist_ok=True)
            self._rename(self.path / name, str(kept.relative_to(self.path)))
            self._flush_names()
        return str(kept)

    def replace(self, name: str, data: bytes) -> None:
        with self._accesses(name):
            aside = self._aside(data)
            try:
                self._sweep(aside)
                self._rename(aside, name)
            except OSError:
                self._remove(aside)
                raise

    def _accesses(self, name: str = "") -> AbstractContextManager[None]:
        """Raise StorageError, with the name of the file, if the disk refuses an access."""
        return refusals_named(self.place(name), safe=SAFE, then=THEN)

    def _aside(self, data: bytes) -> Path:
        """Return a new file that no reader looks at, with the data on the disk."""
        self.path.mkdir(parents=True, exist_ok=True)
        aside = self.path / f"{ASIDE}{secrets.token_hex(8)}"
        try:
            with aside.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:
            self._remove(aside)
            raise
        return aside

    def _remove(self, aside: Path) -> None:
        """Remove a file written aside; one that stays is removed once the disk takes files."""
        try:
            aside.unlink(missing_ok=True)
        except OSError:
            self._left.add(aside)
            self._is_swept = False
        else:
            self._left.discard(aside)

    def _sweep(self, aside: Path) -> None:
        """Remove the files that this writer left, and old ones of writers that died.

        The file `aside` was just written: it has the time of the disk's own clock. The time of a
        change of the entry tells the age, since a file that is written aside may be dated back.
        """
        self._is_swept = True
        for each in list(self._left):
            self._remove(each)
        before = aside.stat().st_ctime - self._aside_max_s
        for each in self.path.glob(f"{ASIDE}*"):
            with suppress(OSError):
                if each != aside and each.stat().st_ctime < before:
                    each.unlink()

    def _link(self, aside: Path, name: str) -> None:
        os.link(aside, self.path / name)

    def _rename(self, aside: Path, name: str) -> None:
        aside.replace(self.path / name)

    def _flush_names(self) -> None:
        """Make the names of the folder outlast a power cut."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
