"""The folder of a table that is cleaned, with files of any age, and what looks on."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ledger.client import Ledger
from ledger.files.file_writers import FileWriter
from ledger.log.wire.file_list import AddFile
from ledger.tables.vacuum_report import VacuumReport
from ledger.transaction.transaction import Transaction

TABLE = "flights"
HOUR_S = 3_600
OLD_S = 1_000 * HOUR_S
DIGITS = "0123456789abcdef"


class Files:
    """The folder of a table, and its client."""

    def __init__(self, ledger: Ledger, folder: Path, location: str = "") -> None:
        self.ledger = ledger
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.location = location or str(folder)
        self.row = ledger.create_table(TABLE, [("tail", "string")], location=self.location)

    def name(self, txn: Transaction, **others: Any) -> str:
        """Return the name of a file that a txn writes, or of another writer by some fields."""
        made = {each: getattr(txn, each) for each in ("id", "opened", "opened_at")}
        made = {"ledger": self.ledger.id} | made | others
        return f"{FileWriter.of(*made.values()).drawn()}-0.parquet"

    def put(self, name: str, age_s: int = OLD_S) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"rows")
        then = path.stat().st_mtime - age_s
        os.utime(path, (then, then))
        return name

    def add(self, *paths: str) -> None:
        """Commit files under these paths."""
        self.ledger.append(TABLE, [AddFile(path, size=4) for path in paths])

    def remove(self, *paths: str) -> None:
        """Commit the removal of files."""
        with self.ledger.transaction() as txn:
            txn.read(TABLE)
            txn.remove_files(TABLE, list(paths))

    def names(self) -> set[str]:
        found = self.folder.rglob("*")
        return {str(each.relative_to(self.folder)) for each in found if each.is_file()}

    def vacuum(self, older_than_h: float = 0.0, *, dry_run: bool = False) -> VacuumReport:
        return self.ledger.vacuum(TABLE, older_than_h=older_than_h, dry_run=dry_run)


def in_words(report: VacuumReport) -> list[tuple[str, str]]:
    """Return what was deleted and why."""
    return sorted((file.path, file.why) for file in report.files)


class Watched:
    """Reads or a storage; `before` runs before each call, with the name of the method."""

    def __init__(self, watched: Any, before: Callable[[str], object]) -> None:
        self._watched = watched
        self._before = before

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._watched, name)

        def call(*given: Any, **named: Any) -> Any:
            self._before(name)
            return method(*given, **named)

        return call
