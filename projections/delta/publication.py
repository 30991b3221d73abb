"""The publication of tables: events in, the bytes of the versions of Delta logs out.

Version n of a table is version n of its log. The bytes are a function of the events alone, so every
publisher writes the same ones at any time. Nothing here reads or writes files.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.conflicts import operations
from ledger.core.events.events import (
    Control,
    Event,
    TableAltered,
    TableCreated,
    TableDropped,
    TxnCommitted,
)
from ledger.core.events.parts import CommittedPart
from ledger.core.state.domain import DomainState
from ledger.core.state.staged_progress import whole_domains
from ledger.log.file_list import chunks_of, records_again
from ledger.sdk.column_mapping import is_published
from projections.delta.log_state import LogState, checkpoint_interval
from projections.delta.metadata_action import (
    TIMESTAMPS,
    Adopted,
    adopted_as,
    delta_id,
    metadata_action,
)
from projections.delta.protocol_action import COMMIT_TIMES, protocol_action
from projections.delta.schema_json import UnpublishableError, compact
from projections.delta.table_state import (
    Action,
    CommittedVersion,
    PublishedState,
    reason_against,
)
from projections.rows.applied import Applied, apply
from projections.store.memory import MemoryStore

ENGINE: Final = "LakeLedger"


class DeltaVersion(NamedTuple):
    """A version of a published log: its folder and bytes.

    With `begins` it is the first one that is published. `state` is what its checkpoint holds, None
    for a version without a checkpoint. A log that begins late has a checkpoint at once, unless it
    goes on behind the versions of a Delta table that was adopted.
    """

    table: int
    name: str
    folder: str
    version: int
    at: int
    position: int
    data: bytes
    begins: bool
    state: LogState | None = None


class StoppedTable(NamedTuple):
    """A table whose publication ends before a version, and the reason."""

    table: int
    name: str
    version: int
    reason: str


Outcome = DeltaVersion | StoppedTable


class PublishedLog:
    """The log of one table while its property publishes it."""

    def __init__(self, ledger: str, state: PublishedState) -> None:
        self._ledger = ledger
        self._state = state
        self._adopted: Adopted | None = None
        self._first = (state.version, 0)
        self._protocol: Action = {}
        self._metadata: Action = {}
        self._definition: TableDefinition | None = None
        self._folder = ""
        self.is_on = False
        self.is_stopped = False

    def next(
        self, name: str, version: CommittedVersion, actions: Sequence[Action]
    ) -> Outcome | None:
        """Return the next version of the log, or why there is none; None if it is not published.

        The version that ends the publication lets other writers in. A table that gets another
        folder begins a log there.
        """
        is_on, was_on = is_published(version.definition), self.is_on
        is_moved = is_on and self._state.folder != self._folder
        self.is_on, self._folder = is_on, self._state.folder
        if not is_on and not was_on:
            self.is_stopped = False
            return None
        if self.is_stopped and not is_moved:
            self.is_stopped = is_on
            return None
        self.is_stopped = False
        reason = reason_against(version.definition) if is_on else ""
        reason = reason or self._state.reason or self._state.reason_against_files()
        if not reason:
            try:
                is_again = was_on and is_moved
                return self._written(name, version, actions, is_new=not was_on, is_moved=is_again)
            except UnpublishableError as error:
                reason = str(error)
        self.is_stopped = True
        return StoppedTable(version.table, name, self._number(version), reason)

    @property
    def newest(self) -> int:
        """The Delta version of the newest version of the table, written or not."""
        first = self._adopted.first if self._adopted is not None else 0
        return self._state.version + first

    def _number(self, version: CommittedVersion) -> int:
        """Return the Delta version of a version: the same, unless an adopted log began later."""
        return version.version + (self._adopted.first if self._adopted is not None else 0)

    def _written(
        self,
        name: str,
        version: CommittedVersion,
        actions: Sequence[Action],
        *,
        is_new: bool,
        is_moved: bool,
    ) -> DeltaVersion:
        state = self._state
        is_new = is_new or is_moved
        if is_new:
            self._adopted = adopted_as(version.definition)
            self._first = self._number(version), version.at
        adopted = self._adopted
        metadata = self._metadata
        if is_new or version.definition is not self._definition:
            metadata = metadata_action(
                version.definition,
                state.widened,
                id=adopted.id if adopted is not None else delta_id(self._ledger, state.table),
                created_at=state.created_at,
                first=self._first if self.is_on else None,
                is_adopted=adopted is not None,
            )
            self._definition = version.definition
        has_times = TIMESTAMPS in metadata["configuration"]
        protocol = protocol_action(
            state.protocol,
            version.definition,
            extra=state.features | ({COMMIT_TIMES} if has_times else set()),
            is_released=not self.is_on,
        )
        lines: list[Action] = [{"commitInfo": commit_info(self._ledger, version)}]
        if is_new or protocol != self._protocol:
            lines.append({"protocol": protocol})
        if is_new or metadata != self._metadata:
            lines.append({"metaData": metadata})
        self._protocol, self._metadata = protocol, metadata
        lines += actions
        data = "".join(f"{compact(each)}\n" for each in lines).encode()
        # The versions below are in the folder of an adopted table, but in no other folder.
        has_past = is_new and version.version > 0 and (adopted is None or is_moved)
        number = self._number(version)
        has_checkpoint = has_past if is_new else number % checkpoint_interval(metadata) == 0
        return DeltaVersion(
            version.table,
            name,
            self._folder,
            number,
            version.at,
            version.position,
            data,
            is_new,
            self._whole() if has_checkpoint else None,
        )

    def _whole(self) -> LogState:
        state = self._state
        return LogState(
            self._protocol,
            self._metadata,
            sorted(state.apps.items()),
            sorted(state.domains.items()),
            list(state.live.values()),
            state.places(),
        )


class Publication:
    """All tables of a ledger, event by event from the first on."""

    def __init__(self) -> None:
        self.state = DomainState()
        self.logs: dict[int, PublishedLog] = {}
        self._tables: dict[int, PublishedState] = {}
        # Nothing looks up a row: the state here is of events alone.
        self._rows = MemoryStore()

    def reason_against(self, table: int, definition: TableDefinition) -> str:
        """Return why a table cannot be published from now on with a definition, "" if it can."""
        state = self._tables.get(table)
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
        found = [
            outcome
            for version in versions_of(applied, event)
            if (outcome := self._version(applied, version)) is not None
        ]
        if isinstance(event.body, TableDropped | TxnCommitted):
            for table in applied.named:
                if table not in self.state.tables.by_id:
                    self._tables.pop(table, None)
                    self.logs.pop(table, None)
        return found

    def _version(self, applied: Applied, version: CommittedVersion) -> Outcome | None:
        table = version.table
        state = self._tables.setdefault(table, PublishedState(table))
        actions = state.take(version)
        genesis = self.state.genesis
        assert genesis is not None, f"table {table} comes before its ledger"
        log = self.logs.setdefault(table, PublishedLog(genesis.ledger, state))
        return log.next(applied.tables[table].table.name, version, actions)


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


def commit_info(ledger: str, version: CommittedVersion) -> Action:
    """Return the commitInfo of a version, with what its writer noted."""
    noted = notes(version.files.info) if version.files is not None else {}
    fields: dict[str, Any] = {
        "inCommitTimestamp": version.at,
        "timestamp": version.at,
        "operation": version.operation,
        "operationParameters": noted.pop("operationParameters", {}),
    }
    if version.level:
        fields["isolationLevel"] = version.level
    fields["isBlindAppend"] = version.blind
    fields["engineInfo"] = noted.pop("engineInfo", ENGINE)
    own = {
        "ledger": ledger,
        "table": version.table,
        "position": version.position,
        "txn": version.txn,
        "writeId": version.write_id,
    }
    rest = {key: each for key, each in noted.items() if key not in fields and key != "lakeledger"}
    return {**fields, "lakeledger": own, **rest}


def notes(info: str) -> dict[str, Any]:
    """Return what the writer of a commit noted, without what is no JSON object."""
    try:
        found: Mapping[str, Any] = json.loads(info) if info else {}
    except ValueError:
        return {}
    return dict(found) if isinstance(found, dict) else {}
