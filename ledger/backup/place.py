"""The place of a backup: a folder of this machine, or a prefix of an S3 bucket.

A file appears under its name only when it is complete. Names have no folders in them. An adapter
raises BackupError with the path if the operating system or S3 refuses an operation.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from ledger.backup.errors import BackupError
from ledger.backup.s3_urls import S3
from ledger.config.layers import path_of
from ledger.core.partitions.file_paths import SCHEME
from ledger.errors import SettingsError

LOCK: Final = ".lock"
UNFINISHED: Final = ".unfinished"


class BackupPlace(Protocol):
    """Holds the files of one backup.

    `path` is what is recorded of the place: it leads there from any folder, and has no login.
    """

    path: str

    def names(self) -> set[str]:
        """Return the names of the complete files; an absent folder has no files."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file, None if absent."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a complete file, over a file of the same name."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file that is there."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Lock the place for one writer, if the place has locks."""
        ...


def open_place(path: str) -> BackupPlace:
    """Return the place that a path names; raises SettingsError, BackupError for S3 without pyarrow.

    `s3://bucket/prefix` is S3, everything else a folder. What is recorded of a backup is read by
    processes that began elsewhere, so the place of a folder is absolute.
    """
    if path.startswith(S3):
        from ledger.backup.s3 import S3Place  # noqa: PLC0415 - needs an extra

        return S3Place(path)
    if not path or "://" in path or SCHEME.match(path):
        raise SettingsError(
            f"PATH must be a folder or s3://bucket/prefix, got {path.partition('?')[0]!r}"
        )
    return FolderPlace(path_of(path, "PATH").absolute())


class FolderPlace:
    """A folder, made with the first file; its files survive a power cut."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder)
        self._folder = folder

    def names(self) -> set[str]:
        """Return the names of the whole files, without those that begin with a dot."""
        with refusals_named(self.path):
            if not self._folder.exists():
                return set()
            return {each.name for each in self._folder.iterdir() if not each.name.startswith(".")}

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file, None if there is none."""
        with refusals_named(f"{self.path}/{name}"):
            try:
                return (self._folder / name).read_bytes()
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """Write under another name, flush it to the disk, and rename it."""
        unfinished = self._folder / f".{name}{UNFINISHED}"
        with refusals_named(f"{self.path}/{name}"):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with os.fdopen(for_owner(unfinished), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(self._folder / name)
            except OSError:
                with suppress(OSError):
                    unfinished.unlink(missing_ok=True)
                raise
            self._flush_folder()

    def remove(self, name: str) -> None:
        """Remove a file that is there."""
        with refusals_named(f"{self.path}/{name}"):
            (self._folder / name).unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder; the unfinished file of a killed backup is removed.

        Raises BackupError if another backup writes here.
        """
        with refusals_named(self.path):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = for_owner(self._folder / LOCK)
        try:
            hold(lock, self.path)
            for left in self._folder.glob(f".*{UNFINISHED}"):
                left.unlink()
            yield
        finally:
            os.close(lock)

    def _flush_folder(self) -> None:
        """Flush the folder too: otherwise a flushed file may have no name after a power cut."""
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def for_owner(path: Path) -> int:
    """Open a file for writing that only its owner may read: it holds the ledger's data."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


def hold(lock: int, path: str) -> None:
    """Lock a folder until the process ends; raises BackupError if it is locked."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as problem:
        raise BackupError(
            f"another `lakeledger backup` writes to {path}. Wait for its end, or choose another "
            "path"
        ) from problem


@contextmanager
def refusals_named(path: str) -> Iterator[None]:
    """Raise BackupError if the operating system refuses an operation."""
    try:
        yield
    except OSError as problem:
        raise BackupError(
            f"{path} cannot be used for a backup: {problem.strerror or problem}. Choose a folder "
            "that this user may write to, with room on its disk; the same command goes on from "
            "there"
        ) from problem
