"""The publication of tables: events in, the bytes of the versions of Delta logs out.

Version n of a table is version n of its log. The bytes are a function of the events alone, so every
publisher writes the same ones at any time. Nothing here reads or writes files.
"""

from collections.abc import Iterator

from ledger.core.commands import TableDefinition
from ledger.core.conflicts import operations
from ledger.core.events.events import (
    Control,
    Event,
    LogCut,
    TableAltered,
    TableCreated,
    TableDropped,
    TxnCommitted,
)
from ledger.core.events.parts import CommittedPart
from ledger.core.state.domain import DomainState
from ledger.core.state.staged_progress import whole_domains
from ledger.log.wire.file_list import FileList, chunks_of, records_again
from projections.delta.actions.file_actions import FileKey
from projections.delta.actions.metadata_action import metadata_action
from projections.delta.actions.protocol_action import protocol_action
from projections.delta.actions.schema_json import UnpublishableError
from projections.delta.log.log_marks import LostVersions
from projections.delta.published_log import DeltaVersion, Outcome, PublishedLog
from projections.delta.table_state import CommittedVersion, PublishedState, reason_against
from projections.rows.applied import Applied
from projections.rows.applying import apply
from projections.store.memory import MemoryStore


class Publication:
    """All tables of a ledger, event by event from the first on, or from a kept state on.

    Attributes:
        state: the domain after the last event.
        tables: the state of each table, by id.
        logs: the log of each table that is or was published, by id.
        changed: the live files by table that changed since the state was kept, dropped tables too;
            None if it is not kept.
    """

    def __init__(self) -> None:
        self.state = DomainState()
        self.logs: dict[int, PublishedLog] = {}
        self.tables: dict[int, PublishedState] = {}
        self.changed: dict[int, set[FileKey]] | None = None
        # Nothing looks up a row: the state here is of events alone.
        self._rows = MemoryStore()

    def reason_against(self, table: int, definition: TableDefinition) -> str:
        """Return why a table cannot be published from now on with a definition, "" if it can."""
        state = self.tables.get(table)
        if state is None:
            return "it has no version"
        if reason := reason_against(definition) or state.reason or state.reason_against_files():
            return reason
        try:
            protocol_action(state.protocol, definition, extra=state.features)
            metadata_action(definition, state.widened, id="", created_at=0, first=None)
        except UnpublishableError as error:
            return str(error)
        return ""

    def take(self, event: Event) -> list[Outcome]:
        """Apply the next event, and return the versions that it makes in published logs."""
        applied = apply(self.state, event, self._rows)
        found: list[Outcome] = []
        for version in versions_of(applied, event):
            outcome = self._version(applied, version)
            if isinstance(outcome, DeltaVersion) and outcome.begins:
                found += self._lost_before(outcome)
            found += [outcome] if outcome is not None else []
        if isinstance(event.body, LogCut):
            found += self.lost()
        if isinstance(event.body, TableDropped | TxnCommitted):
            for table in applied.named:
                if table not in self.state.tables.by_id:
                    self.tables.pop(table, None)
                    self.logs.pop(table, None)
                    if self.changed is not None:
                        self.changed[table] = set()
        return found

    def _lost_before(self, begun: DeltaVersion) -> list[LostVersions]:
        """Return what cuts take from a folder in which a log begins."""
        lost = self.logs[begun.table].lost(begun.name, self.state.cuts)
        return [lost._replace(version=begun.version - 1)] if lost is not None else []

    def lost(self) -> list[LostVersions]:
        """Return what cuts of the ledger's log take from each published log."""
        tables, cuts = self.state.tables.by_id, self.state.cuts
        found = (log.lost(tables[each].name, cuts) for each, log in self.logs.items())
        return [each for each in found if each is not None]

    def _version(self, applied: Applied, version: CommittedVersion) -> Outcome | None:
        table = version.table
        state = self.tables.setdefault(table, PublishedState(table))
        if self.changed is not None:
            self.changed.setdefault(table, set()).update(keys_of(version.files))
        actions = state.take(version)
        genesis = self.state.genesis
        assert genesis is not None, f"table {table} comes before its ledger"
        log = self.logs.setdefault(table, PublishedLog(genesis.ledger, state))
        return log.next(applied.tables[table].table.name, version, actions)


def keys_of(files: FileList | None) -> Iterator[FileKey]:
    """Yield the files that a version adds or removes."""
    if files is not None:
        yield from ((each.path, each.vector) for each in files.adds)
        yield from ((each.path, each.vector) for each in files.removes)


def versions_of(applied: Applied, event: Event) -> Iterator[CommittedVersion]:
    """Yield the versions of tables that an event makes."""
    control, body = event
    match body:
        case TxnCommitted():
            for part in body.parts:
                yield of_part(applied, part)
        case TableCreated() if not control.txn:
            yield of_change(control, body, 0, control.at, operations.CREATED)
        case TableAltered() if body.one_shot:
            operation = operations.altered(body)
            yield of_change(control, body, body.version, body.committed_at, operation)


def of_change(
    control: Control, body: TableCreated | TableAltered, version: int, at: int, operation: str
) -> CommittedVersion:
    """Return the version that a change of metadata outside a txn makes."""
    return CommittedVersion(
        body.table,
        version,
        at,
        control.position,
        control.txn,
        operation,
        body.definition,
        write_id=body.write_id,
    )


def of_part(applied: Applied, part: CommittedPart) -> CommittedVersion:
    """Return the version that a commit makes of one table."""
    control = applied.control
    chunks = chunks_of(part, applied.ended.get(control.txn))
    version = CommittedVersion(
        part.table,
        part.version,
        part.committed_at,
        control.position,
        control.txn,
        operations.committed(part, applied.changes),
        applied.tables[part.table].table.definition,
        level=part.level,
        blind=part.blind,
        write_id=part.write_id,
        coarse=bool(part.writes),
    )
    if part.footprint is None:
        return version
    files = applied.files[part.table]
    return version._replace(
        files=files,
        is_again=files is not None and records_again(part, files),
        protocol=part.footprint.protocol,
        domains=whole_domains([each for chunk in chunks for each in chunk.domains]),
        apps=[each for chunk in chunks for each in chunk.apps],
    )
