"""Generations: the directories of a store under one root, one of them published.

    <root>/WRITER              locked by the one process that writes, and describes it
    <root>/PUBLISHED           names the generation that readers open
    <root>/000001-5f3a9c1e/    one generation: the directory of one RocksDB database

A store is rebuilt into a new generation while readers keep the old one, then published by the
atomic replacement of one small file. Readers compare that name at every refresh. Names never come
back, even if the root is deleted and made anew: a RocksDB secondary whose directory is replaced
under it does not notice, and mixes the rows of both.

This module handles files and directories only; it never opens a database.
"""

import fcntl
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple, TextIO

from ledger.config.private import make_private
from projections.errors import (
    StoreDamagedError,
    StoreLockedError,
    StoreMissingError,
    StoreUnavailableError,
)

WRITER = "WRITER"
PUBLISHED = "PUBLISHED"

LOOKS_MAX = 100
"""How often the files are read again because they changed meanwhile; usually once."""


class DiskState(NamedTuple):
    """The files on disk, as far as they decide what a reader sees.

    Every batch makes a write-ahead log longer, every flush and compaction the manifest.
    """

    generation: Path
    manifest: str
    manifest_bytes: int
    logs: tuple[tuple[str, int], ...]

    @property
    def tables(self) -> tuple[Path, str, int]:
        """A value that changes when a table file comes or goes."""
        return self[:3]


class Generations:
    """The generations of the store at `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def lock(self) -> TextIO:
        """Become the writer until the returned file is closed or the process ends.

        Raises:
            StoreLockedError: another process is the writer; the error names it.
            StoreUnavailableError: the directory cannot be made or written.
        """
        with _refusals(self.root), ExitStack() as held:
            make_private(self.root)
            holder = held.enter_context((self.root / WRITER).open("a+", encoding="utf-8"))
            try:
                fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder.seek(0)
                raise StoreLockedError(self.root, holder.read() or "another process") from None
            holder.truncate(0)
            holder.write(f"process {os.getpid()} on {socket.gethostname()}")
            holder.flush()
            held.pop_all()
        return holder

    def published(self) -> Path | None:
        """Return the generation readers open, None before the first is published.

        Raises:
            StoreUnavailableError: the file PUBLISHED cannot be read.
        """
        with _refusals(self.root), suppress(FileNotFoundError, NotADirectoryError):
            # Bytes that are not UTF-8 name no generation: opening it fails, and a rebuild repairs
            # it.
            name = (self.root / PUBLISHED).read_text(encoding="utf-8", errors="replace")
            return self.root / name.strip()
        return None

    def next(self) -> Path:
        """Return a directory that does not exist and never did, for a new generation."""
        last = max((int(path.name.partition("-")[0]) for path in self._all()), default=0)
        return self.root / f"{last + 1:06d}-{token_hex(4)}"

    def publish(self, generation: Path) -> None:
        """Make readers open `generation` from now on, also after a power cut.

        Raises:
            StoreUnavailableError: the file PUBLISHED cannot be written; its former content stays.
        """
        draft = self.root / f"{PUBLISHED}.draft"
        with _refusals(self.root):
            try:
                with draft.open("w", encoding="utf-8") as file:
                    file.write(generation.name)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(self.root / PUBLISHED)
            except OSError:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
                raise
            _sync_directory(self.root)

    def sweep(self) -> None:
        """Remove every generation but the published one; only the writer may call this.

        Readers of the old generation keep its open files until their next refresh.
        """
        keep = self.published()
        for path in self._all():
            if path != keep:
                shutil.rmtree(path, ignore_errors=True)

    def disk_state(self) -> DiskState:
        """Return the state of the published generation.

        Raises:
            StoreMissingError: no generation is published.
            StoreDamagedError: the generation lacks a file that every database has.
            StoreUnavailableError: its files cannot be read.
        """
        for _ in range(LOOKS_MAX):
            generation = self.published()
            if generation is None:
                raise StoreMissingError(self.root)
            try:
                return _disk_state(generation)
            # A publication, or a change of manifest, or a loss.
            except (FileNotFoundError, NotADirectoryError) as gone:
                missing = gone.filename
            except OSError as refusal:
                raise StoreUnavailableError(self.root, str(refusal)) from refusal
            except ValueError as problem:
                raise StoreDamagedError(
                    self.root, f"its file CURRENT names no manifest: {problem}"
                ) from problem
        raise StoreDamagedError(self.root, f"{missing} is missing")

    def _all(self) -> list[Path]:
        return [path for path in self.root.glob("[0-9]" * 6 + "-*") if path.is_dir()]


@contextmanager
def _refusals(root: Path) -> Iterator[None]:
    """Raise StoreUnavailableError for an OSError in the block."""
    try:
        yield
    except OSError as refusal:
        raise StoreUnavailableError(root, str(refusal)) from refusal


def _disk_state(generation: Path) -> DiskState:
    """Return the state of one generation. RocksDB names its manifest in the file CURRENT."""
    manifest = (generation / "CURRENT").read_text(encoding="ascii").strip()
    manifest_bytes = (generation / manifest).stat().st_size
    with os.scandir(generation) as files:
        logs = sorted(
            (file.name, file.stat().st_size) for file in files if file.name[-4:] == ".log"
        )
    return DiskState(generation, manifest, manifest_bytes, tuple(logs))


def _sync_directory(directory: Path) -> None:
    """Make new names in `directory` survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
