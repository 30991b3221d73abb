"""Replay of one Delta version: the one txn that does in a ledger what the version did.

It creates or alters the table, stages the files that fit no single record, records the progress of
the import, and commits. All of it is one txn, so a version is imported whole or not at all.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from ledger.client import Ledger
from ledger.core.commands import (
    AlterTable,
    CommitTxn,
    CreateTable,
    Footprint,
    Property,
    StageWrites,
    TableDefinition,
    TableWrite,
)
from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.core.events.events import (
    CommandRepeated,
    TableAltered,
    TableCreated,
    TxnCommitted,
    WritesStaged,
)
from ledger.delta.actions import DeltaCommit
from ledger.delta.footprint import operation_of, part_of
from ledger.delta.schema import definition_of
from ledger.errors import ConflictError, LedgerError, told_cause
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED
from ledger.transaction.transaction import Transaction
from ledger.work.staging import Send, Staging

FOREIGN: Final = "ConcurrentWrite"
REPLACED_ID: Final = "lakeledger.delta.id"
"""Under this property a table keeps the id of a Delta table that was replaced since its import."""


@dataclass(slots=True)
class ImportedTable:
    """A table as far as it is imported; `table` 0 = it is not created yet.

    Delta version `first` became version 0 of the table; `delta_version` is the newest one imported,
    `newest` the table's newest version in the ledger, equal unless another program wrote. A read at
    `position` shows that state. `apps` are the versions that applications recorded in the table;
    the import's own is under `app`.
    """

    name: str
    location: str
    app: str
    first: int
    table: int = 0
    definition: TableDefinition | None = None
    delta_version: int = -1
    newest: int = -1
    position: int = 0
    apps: dict[str, int] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """The table's version in the ledger that the newest Delta version became, -1 = none."""
        return self.delta_version - self.first if self.table else -1

    def new_apps(self, commit: DeltaCommit) -> dict[str, int]:
        """Return the applications whose progress in a version is new to the ledger."""
        return {
            app: version
            for app, version in commit.apps.items()
            if app not in self.apps or version > self.apps[app]
        }

    def known_as(self, delta_id: str, definition: TableDefinition) -> TableDefinition:
        """Return the definition, with the id of the Delta table if that is no longer the first one.

        A table that is replaced has another, by which alone it is known without its early versions.
        """
        if self.app == f"{IMPORT_APPS}{delta_id}@{self.first}":
            return definition
        properties = [*definition.properties, Property(REPLACED_ID, delta_id)]
        return definition._replace(properties=sorted(properties))

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


def replay(ledger: Ledger, imported: ImportedTable, commit: DeltaCommit, read_at: int) -> None:
    """Commit a version as made from what was there at position `read_at`, and note it.

    Raises ConflictError if it lost, or somebody else wrote to the table; other RefusedErrors if it
    was imported before or `read_at` is too old; OutcomeUnknownError; ShapeError.
    """
    imported.check_unshared()
    apps = imported.new_apps(commit) | {imported.app: commit.version}
    txn = ledger.begin()
    try:
        table, definition = defined(txn, ledger.catalog, imported, commit, read_at)
        about = table, imported.definition, definition
        part = part_of(commit, about, apps, read_at if imported.table else 0)
        writes = Staging().fit([part], stages_in(txn))
        version, position = committed(txn, writes, commit.provenance.level)
    except BaseException as error:
        with suppress(LedgerError):
            txn.abort(told_cause(error), ())
        raise
    imported.table, imported.definition = table, definition
    imported.delta_version, imported.position = commit.version, position
    imported.newest = imported.version if version is None else version
    imported.apps |= apps
    imported.check_unshared()


def defined(
    txn: Transaction, catalog: str, imported: ImportedTable, commit: DeltaCommit, read_at: int
) -> tuple[int, TableDefinition]:
    """Return the table and its definition, created or altered in the txn if the version says so.

    Raises TableExistsError, and MetadataChangedException if it was altered after `read_at`.
    """
    before = imported.definition
    if commit.metadata is None:
        assert before is not None, f"version {commit.version} comes before any metaData"
        return imported.table, before
    after = definition_of(commit.metadata, imported.location, before)
    after = imported.known_as(commit.metadata.id, after)
    if not imported.table:
        answer = txn.ask(CreateTable(*UNNUMBERED, txn.id, 0, catalog, imported.name, after))
        return body_as(TableCreated, answer).table, after
    alter = AlterTable(*UNNUMBERED, txn.id, read_at, imported.table, after, operation_of(commit))
    answer = txn.ask(alter)
    body_as(TableAltered, answer)
    return imported.table, after


def committed(txn: Transaction, writes: Sequence[TableWrite], level: str) -> tuple[int | None, int]:
    """Commit the txn; return the table's version, None if not known, and the position."""
    answer = txn.ask(CommitTxn(*UNNUMBERED, txn.id, writes, level))
    body = answer.body
    if isinstance(body, CommandRepeated) and body.outcome == TxnCommitted.__name__:
        return None, body.answered
    part = body_as(TxnCommitted, answer).parts[0]
    return part.version, answer.control.position


def stages_in(txn: Transaction) -> Send:
    """Return a function that stages a chunk in a txn."""

    def send(table: int, number: int, chunk: Footprint) -> None:
        answer = txn.ask(StageWrites(*UNNUMBERED, txn.id, table, number, chunk))
        body_as(WritesStaged, answer)

    return send
