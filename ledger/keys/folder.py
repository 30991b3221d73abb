"""The folder of keys: one file for each key, outside the log and the data of tables.

A key belongs to a table and a month. It is made when rows are first written in that month. A
retired key opens rows and seals no more. A dropped one leaves a tombstone, so readers know why they
cannot read. Once a month's key is retired, the next rows of the month get a key with a new number.

The tombstone counts from its first moment: a drop that was killed behind it has erased the rows for
readers here. The next change of the table's keys ends it.

    <folder>/<ledger>/<table>/2026-11-1.key, 2026-11-1.retired, 2026-11-1.dropped
"""

import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast

from ledger.config.private import FILE, make_private
from ledger.errors import RowsErasedError, RowsKeyError, SettingsError

KEY_BYTES: Final = 32
MS: Final = 1000
NAMED: Final = re.compile(r"([0-9]{4}-[0-9]{2})-([0-9]+)\.(key|retired|dropped)")
LOCK: Final = "lock"

KeyStatus = Literal["key", "retired", "dropped"]
"""What became of a key; also the ending of its file."""

LEFT: Final[Sequence[KeyStatus]] = ("key", "retired")
"""The endings of files that have the bytes of a key."""


class KeyName(NamedTuple):
    """A key of a table: the month in UTC of the rows that it seals, and its number there."""

    table: int
    month: str
    number: int

    @property
    def text(self) -> str:
        """The name as commands show it."""
        return f"{self.month}-{self.number}"


class KeyFolder:
    """The keys of one ledger in a folder; programs and threads may share it."""

    def __init__(self, path: Path, ledger: str) -> None:
        self.path = path
        self._own = path / ledger

    def newest(self, table: int, month: str) -> tuple[KeyName, bytes]:
        """Return the key for new rows of a month, which is made if it is absent.

        Raises SettingsError if the folder cannot be used.
        """
        with self._usable():
            return self._in_use(table, month) or self._made(table, month)

    def key(self, name: KeyName) -> bytes:
        """Return a key; raises RowsErasedError for a dropped one, else RowsKeyError without it."""
        with self._usable():
            for status in () if self._file(name, "dropped").exists() else LEFT:
                with suppress(FileNotFoundError):
                    return self._file(name, status).read_bytes()
        raise self.missing(name)

    def missing(self, name: KeyName, why: str = "") -> RowsKeyError:
        """Return the error for a key that is not there, or that is another one for a reason."""
        what = f"rows of table {name.table} in the log"
        with self._usable():
            is_dropped = self._file(name, "dropped").exists()
        if is_dropped:
            return RowsErasedError(
                f"{what} are erased: their key {name.text} was dropped. Read a later version of "
                "the table, which has no such rows",
                table=name.table,
                month=name.month,
            )
        return RowsKeyError(
            f"{what} are encrypted with the key {name.text}, which {why or 'is not'} in {self._own}"
            ". Bring the folder of keys of the writers, or name it with LAKELEDGER_KEYS",
            table=name.table,
            month=name.month,
        )

    def names(self, table: int) -> dict[KeyName, KeyStatus]:
        """Return the keys of a table, also dropped ones, in the order of months and numbers.

        A key whose drop was killed is a retired one, until its bytes are gone.
        """
        found: dict[KeyName, set[KeyStatus]] = {}
        with self._usable(), suppress(FileNotFoundError):
            for file in (self._own / str(table)).iterdir():
                if named := NAMED.fullmatch(file.name):
                    name = KeyName(table, named[1], int(named[2]))
                    found.setdefault(name, set()).add(cast("KeyStatus", named[3]))
        return {name: status_in(found[name]) for name in sorted(found)}

    def retire(self, name: KeyName) -> float:
        """Let a key seal no more rows, and return when it was retired, in seconds since 1970."""
        with self._changing(name.table) as folder:
            used, retired = self._file(name, "key"), self._file(name, "retired")
            if used.exists():
                os.utime(used)
                used.rename(retired)
                sync(folder)
            return retired.stat().st_mtime if retired.exists() else time.time()

    def drop(self, name: KeyName) -> None:
        """Take a key away for good; its tombstone is on the disk before it goes."""
        with self._changing(name.table) as folder:
            write(self._file(name, "dropped"), b"")
            sync(folder)
            end_drops(folder)

    def _in_use(self, table: int, month: str) -> tuple[KeyName, bytes] | None:
        for name, status in reversed(self.names(table).items()):
            if name.month == month and status == "key":
                with suppress(FileNotFoundError):  # Another program retires it just now.
                    return name, self._file(name, status).read_bytes()
        return None

    def _made(self, table: int, month: str) -> tuple[KeyName, bytes]:
        with self._changing(table) as folder:
            if found := self._in_use(table, month):
                return found
            taken = [each.number for each in self.names(table) if each.month == month]
            name = KeyName(table, month, max(taken, default=0) + 1)
            key, fresh = secrets.token_bytes(KEY_BYTES), folder / f"fresh.{os.getpid()}"
            write(fresh, key)
            fresh.rename(self._file(name, "key"))
            sync(folder)
            return name, key

    def _file(self, name: KeyName, status: KeyStatus) -> Path:
        return self._own / str(name.table) / f"{name.text}.{status}"

    @contextmanager
    def _changing(self, table: int) -> Iterator[Path]:
        """Give the folder of a table to one program at a time."""
        folder = self._own / str(table)
        with self._usable():
            for each in (self.path, self._own, folder):
                make_private(each)
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, FILE)
            try:
                flock(lock, LOCK_EX)
                end_drops(folder)
                yield folder
            finally:
                os.close(lock)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise SettingsError(
                f"the folder of keys {self.path} cannot be used: {problem}. Give this user the "
                "right to it, or name another one with keys=... or LAKELEDGER_KEYS"
            ) from problem


def month_of(at_ms: int) -> str:
    """Return the month of a time in milliseconds since 1970, in UTC."""
    return time.strftime("%Y-%m", time.gmtime(at_ms / MS))


def status_in(files: AbstractSet[KeyStatus]) -> KeyStatus:
    """Return what became of a key that has some files: the bytes of a dropped one are gone."""
    return next(iter(files)) if len(files) == 1 else "retired"


def end_drops(folder: Path) -> None:
    """Take away the bytes of all keys that have a tombstone."""
    left = [
        file
        for tombstone in folder.glob("*.dropped")
        for status in LEFT
        if (file := tombstone.with_suffix(f".{status}")).exists()
    ]
    for file in left:
        write(file, bytes(KEY_BYTES))
        file.unlink()
    if left:
        sync(folder)


def write(file: Path, data: bytes) -> None:
    """Write a file that only its owner may read, over the same bytes of the disk if it is there."""
    opened = os.open(file, os.O_WRONLY | os.O_CREAT, FILE)
    with os.fdopen(opened, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def sync(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
