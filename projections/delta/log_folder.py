"""The files of one published log on a local disk: each is written once, whole or not at all.

A file is written aside and linked under its name, which fails if another writer was faster. So a
writer that dies leaves at most a file aside, which no reader looks at. A name that a power cut took
away is written again when the publisher starts; a name that is there has its bytes.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from ledger.core.partitions.file_paths import FILE, LOCAL, decoded, parts_of
from projections.delta.schema_json import UnpublishableError

LOG_FOLDER: Final = "_delta_log"
LAST_CHECKPOINT: Final = "_last_checkpoint"
ASIDE: Final = ".lakeledger-"
FOREIGN: Final = ".foreign"


NS_PER_MS: Final = 1_000_000


def set_time(path: Path, at_ms: int) -> None:
    """Set the time of a file; some file systems take no such time."""
    with suppress(OSError, OverflowError):
        os.utime(path, ns=(at_ms * NS_PER_MS, at_ms * NS_PER_MS))


def version_file(version: int) -> str:
    """Return the name of the file of a version."""
    return f"{version:020}.json"


def checkpoint_name(version: int) -> str:
    """Return the name of the checkpoint of a version."""
    return f"{version:020}.checkpoint.parquet"


def local_folder(folder: str) -> Path:
    """Return the local folder of a published table; raises UnpublishableError for another place."""
    scheme, authority, path = parts_of(folder)
    if scheme not in ("", FILE) or authority not in LOCAL:
        raise UnpublishableError(
            f"the folder of a published log must be on a local disk or in S3, got {folder}"
        )
    if not path.startswith("/"):
        raise UnpublishableError(f"the folder of a published log must be absolute, got {folder}")
    plain = Path(path)
    return plain if "%" not in path or plain.is_dir() or not scheme else Path(decoded(path))


def aside_name(name: str, folder: str) -> str:
    """Return the name of a file that is set aside, in a folder or beside the log."""
    return f"{folder}/{name}" if folder else f".{name}{FOREIGN}"


class LogFiles(Protocol):
    """The files of one log, wherever they lie."""

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


class LogFolder:
    """The folder of a log; `path` is `_delta_log` of the table."""

    def __init__(self, table: str) -> None:
        self.path = local_folder(table) / LOG_FOLDER

    def place(self, name: str) -> str:
        """Return where a file is, for messages."""
        return str(self.path / name)

    def names(self) -> list[str]:
        """Return the names of the files in order, without those written aside."""
        with suppress(FileNotFoundError):
            return sorted(each.name for each in self.path.iterdir() if each.name[0] != ".")
        return []

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if it is absent."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def has(self, name: str) -> bool:
        """Return whether a file is there."""
        return (self.path / name).exists()

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def put(self, name: str, data: bytes, at_ms: int) -> bool:
        """Write a new file with a time; return False if one of that name is there."""
        aside = self._aside(data)
        try:
            set_time(aside, at_ms)
            self._link(aside, name)
        except FileExistsError:
            return False
        finally:
            aside.unlink(missing_ok=True)
        return True

    def date(self, name: str, at_ms: int) -> None:
        """Give a file the time, if it has another one."""
        with suppress(OSError):
            if (self.path / name).stat().st_mtime_ns // NS_PER_MS != at_ms:
                set_time(self.path / name, at_ms)

    def set_aside(self, name: str, folder: str = "") -> str:
        """Give a file a name that no reader of the log looks at, and return its path."""
        kept = self.path / aside_name(name, folder)
        kept.parent.mkdir(exist_ok=True)
        self._rename(self.path / name, str(kept.relative_to(self.path)))
        self._flush_names()
        return str(kept)

    def replace(self, name: str, data: bytes) -> None:
        """Write a file in the place of the one that is there, if any."""
        self._rename(self._aside(data), name)

    def _aside(self, data: bytes) -> Path:
        self.path.mkdir(parents=True, exist_ok=True)
        aside = self.path / f"{ASIDE}{secrets.token_hex(8)}"
        with aside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        return aside

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
