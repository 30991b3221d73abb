"""Replay of one snapshot: the one txn that makes of a table in the ledger what the snapshot shows.

It creates or alters the table, adds and removes files, notes the snapshot and the progress of the
import, and commits. All of it is one txn, so a snapshot is imported whole or not at all.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.core.commands import AlterTable, AppVersion, CreateTable, TableDefinition
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, packed
from ledger.core.events.events import TableAltered, TableCreated
from ledger.delta.replay import FOREIGN, committed, stages_in
from ledger.errors import ConflictError, LedgerError, told_cause
from ledger.iceberg.imports.report import NOT_BEGUN, ImportedSnapshots
from ledger.log.wire.file_list import AddFile, RemoveFile
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED
from ledger.transaction.transaction import Transaction
from ledger.work.footprint_writer import FootprintWriter
from ledger.work.staging import Staging
from ledger.work.writes import DeclaredPart

OPERATIONS: Final = {
    "append": "WRITE",
    "overwrite": "WRITE",
    "delete": "DELETE",
    "replace": "OPTIMIZE",
}
CHANGED: Final = "SET TBLPROPERTIES"
"""The operation of a version that changes the definition alone."""

ROLLED_BACK: Final = "RESTORE"
"""The operation of a version that shows an earlier snapshot again."""


class ImportStep(NamedTuple):
    """One version to be: what it makes of the table, and how far the import is with it."""

    definition: TableDefinition
    adds: Sequence[AddFile]
    removes: Sequence[RemoveFile]
    operation: str
    info: str
    progress: ImportedSnapshots


@dataclass(slots=True)
class ImportedIceberg:
    """A table as far as it is imported; `table` 0 = it is not created yet.

    `version` is its newest version by the import, `newest` by anyone, equal unless another program
    wrote. A read at `position` shows that state.
    """

    name: str
    app: str = ""
    table: int = 0
    definition: TableDefinition | None = None
    version: int = -1
    newest: int = -1
    position: int = 0
    progress: ImportedSnapshots = NOT_BEGUN

    def check_unshared(self) -> None:
        """Raise ConflictError if another program ever wrote to the table."""
        if self.newest != self.version:
            raise ConflictError(
                f"table {self.name} has version {self.newest}, the last one imported is "
                f"{self.version}: another program has written to it, and a table can follow only "
                "one source. Import into another table, or end the import and write here",
                reason=FOREIGN,
                subject=self.table,
            )


def replay_step(ledger: Ledger, imported: ImportedIceberg, step: ImportStep) -> None:
    """Commit a version, and note it.

    Raises ConflictError if another program wrote to the table; other RefusedErrors if another
    process imported the version before; OutcomeUnknownError.
    """
    imported.check_unshared()
    txn = ledger.begin()
    try:
        table = defined(txn, ledger.catalog, imported, step)
        part = part_of(step, table, AppVersion(imported.app, imported.version + 1), imported)
        writes = Staging().fit([part], stages_in(txn))
        version, position = committed(txn, writes, "")
    except BaseException as error:
        with suppress(LedgerError):
            txn.abort(told_cause(error), ())
        raise
    imported.table, imported.definition = table, step.definition
    imported.version, imported.position = imported.version + 1, position
    imported.newest = imported.version if version is None else version
    imported.progress = step.progress
    imported.check_unshared()


def defined(txn: Transaction, catalog: str, imported: ImportedIceberg, step: ImportStep) -> int:
    """Return the table, created or altered in the txn if its definition is another one."""
    if not imported.table:
        answer = txn.ask(
            CreateTable(*UNNUMBERED, txn.id, 0, catalog, imported.name, step.definition)
        )
        return int(body_as(TableCreated, answer).table)
    if step.definition != imported.definition:
        at = imported.position
        alter = AlterTable(*UNNUMBERED, txn.id, at, imported.table, step.definition, step.operation)
        body_as(TableAltered, txn.ask(alter))
    return imported.table


def part_of(
    step: ImportStep, table: int, app: AppVersion, imported: ImportedIceberg
) -> DeclaredPart:
    """Return the part of a version: a table's files, and the progress of the import."""
    files = FootprintWriter()
    files.name(step.operation)
    files.add(step.adds)
    files.remove(step.removes)
    read_files = packed(each.path for each in step.removes)
    head = EMPTY_FOOTPRINT._replace(
        operation=step.operation, not_blind=bool(step.removes), apps=[app]
    )
    read_at = imported.position if imported.table else 0
    return DeclaredPart(table, read_at, (), head, read_files, files, step.info)
