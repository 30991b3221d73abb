"""Reads of a client with keys: the rows in the log come with the keys that open them.

They are opened where they are read as rows. Lists of files and of changes need no key.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from ledger.keys.folder import KeyFolder
from ledger.keys.sealed_rows import SealedRows
from ledger.log.wire.file_extras import is_sealed
from ledger.reads.port import FileChange, FileRow, Reads


class KeyedReads:
    """Some reads, with the keys in a folder."""

    def __init__(self, reads: Reads, folder: Path) -> None:
        self._reads, self._folder = reads, folder

    def __getattr__(self, name: str) -> Any:
        """Answer all else as the reads themselves."""
        return getattr(self._reads, name)

    @cached_property
    def _keys(self) -> KeyFolder:
        return KeyFolder(self._folder, self._reads.identity().ledger)

    def files(self, table: int, **asked: Any) -> Sequence[FileRow]:
        """Return files as the reads do."""
        return self._with_keys(table, self._reads.files(table, **asked))

    def file_changes(self, table: int, *asked: Any, **more: Any) -> Sequence[FileChange]:
        """Return changes of files as the reads do."""
        changes = self._reads.file_changes(table, *asked, **more)
        files = self._with_keys(table, [each.file for each in changes])
        return [
            each if each.file is file else each._replace(file=file)
            for each, file in zip(changes, files, strict=True)
        ]

    def _with_keys(self, table: int, files: Iterable[FileRow]) -> Sequence[FileRow]:
        return [
            file._replace(rows=SealedRows(file.rows, self._keys, table))
            if is_sealed(file.rows)
            else file
            for file in files
        ]


def keyed(reads: Reads, folder: Path | None) -> Reads:
    """Return reads with the keys in a folder, as they are without one."""
    if folder is None or isinstance(reads, KeyedReads):
        return reads
    return cast("Reads", KeyedReads(reads, folder))
