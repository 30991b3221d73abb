"""The publication of tables: events in, the bytes of the versions of Delta logs out.

Version n of a table is version n of its log. The bytes are a function of the events alone, so every
publisher writes the same ones at any time. Nothing here reads or writes files.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final, Self

from ledger.core.commands import TableDefinition
from ledger.core.conflicts import operations
from ledger.core.events.events import (
    Body,
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
from ledger.log.wire.file_list import chunks_of, records_again
from projections.delta.actions.metadata_action import metadata_action
from projections.delta.actions.protocol_action import protocol_action
from projections.delta.actions.schema_json import UnpublishableError
from projections.delta.kept_rows import (
    FILE,
    LOG_OF_TABLE,
    PAST,
    SHOWN_FILE,
    TABLE,
    file_row_key,
    live_file,
    number_in,
    row_key,
    rows_below,
    shown_file,
    table_in,
)
from projections.delta.log.log_marks import LostVersions
from projections.delta.past_files import PastFiles, past_in
from projections.delta.published_log import DeltaVersion, Outcome, PublishedLog
from projections.delta.table_state import CommittedVersion, PublishedState, reason_against
from projections.delta.unshown import Unshown
from projections.rows.applied import Applied
from projections.rows.applying import apply
from projections.rows.keys import reader_of, value_as_given
from projections.store.batch import LateChange
from projections.store.memory import MemoryStore
from projections.store.port import RowReader


class Publication:
    """All tables of a ledger, event by event from the first on, or from their rows on.

    Attributes:
        logs: the log of each table, published or not, with the state of the table, by id.
    """

    def __init__(self) -> None:
        self.logs: dict[int, PublishedLog] = {}

    @classmethod
    def load(cls, rows: RowReader) -> Self:
        """Return the tables as their rows have them.

        Raises KeyError, TypeError or ValueError for rows that are damaged.
        """
        publication = cls()
        states = {table_in(key): read_state(row) for key, row in rows_below(rows, TABLE)}
        for key, row in rows_below(rows, LOG_OF_TABLE):
            table = table_in(key)
            publication.logs[table] = read_log(row).of(states[table])
        for key, row in rows_below(rows, FILE):
            file, live = live_file(key, row)
            states[table_in(key)].live[file] = live
        for key, row in rows_below(rows, SHOWN_FILE):
            file, shown = shown_file(key, row)
            states[table_in(key)].unshown.files[file] = shown
        for key, row in rows_below(rows, PAST):
            states[table_in(key)].unshown.past.load(number_in(key), past_in(row))
        return publication

    def reason_against(self, table: int, definition: TableDefinition) -> str:
        """Return why a table cannot be published from now on with a definition, "" if it can."""
        if table not in self.logs:
            return "it has no version"
        state = self.logs[table].state
        if reason := reason_against(definition) or state.reason or state.reason_against_files():
            return reason
        try:
            protocol_action(state.protocol, definition, extra=state.features)
            metadata_action(definition, state.widened, id="", created_at=0, first=None)
        except UnpublishableError as error:
            return str(error)
        return ""

    def take(self, applied: Applied, body: Body) -> tuple[list[Outcome], list[LateChange]]:
        """Return the versions that an event makes in published logs, and the rows of its tables."""
        outcomes: list[Outcome] = []
        rows: list[LateChange] = []
        for version in versions_of(applied, body):
            outcome = self._version(applied, version)
            if isinstance(outcome, DeltaVersion) and outcome.begins:
                outcomes += self._lost_before(applied.state, outcome)
            outcomes += [outcome] if outcome is not None else []
            rows += self._rows(version)
        if isinstance(body, LogCut):
            outcomes += self.lost(applied.state)
        if isinstance(body, TableDropped | TxnCommitted):
            for table in applied.named:
                if table not in applied.state.tables.by_id and table in self.logs:
                    rows += self._dropped(table)
        return outcomes, rows

    def lost(self, domain: DomainState) -> list[LostVersions]:
        """Return what cuts of the ledger's log take from each published log."""
        tables, cuts = domain.tables.by_id, domain.cuts
        found = (log.lost(tables[each].name, cuts) for each, log in self.logs.items())
        return [each for each in found if each is not None]

    def _lost_before(self, domain: DomainState, begun: DeltaVersion) -> list[LostVersions]:
        """Return what cuts take from a folder in which a log begins."""
        lost = self.logs[begun.table].lost(begun.name, domain.cuts)
        return [lost._replace(version=begun.version - 1)] if lost is not None else []

    def _version(self, applied: Applied, version: CommittedVersion) -> Outcome | None:
        table, genesis = version.table, applied.state.genesis
        assert genesis is not None, f"table {table} comes before its ledger"
        if table not in self.logs:
            state = PublishedState(table, {}, {}, {}, set(), [], Unshown([], PastFiles()))
            log = PublishedLog(genesis.ledger, {}, {}, first=(version.version, 0))
            self.logs[table] = log.of(state)
        return self.logs[table].next(applied.tables[table].table.name, version)

    def _rows(self, version: CommittedVersion) -> Iterator[LateChange]:
        """Yield the rows of a table that a version changes."""
        table, log = version.table, self.logs[version.table]
        yield row_key(TABLE, table), partial(value_as_given, log.state)
        yield row_key(LOG_OF_TABLE, table), partial(value_as_given, log)
        for key in log.state.changed:
            live = log.state.live.get(key)
            yield file_row_key(table, key), None if live is None else partial(value_as_given, live)
        shown = log.state.unshown
        for key in shown.touched:
            row = partial(value_as_given, shown.files[key]) if key in shown.files else None
            yield file_row_key(table, key, SHOWN_FILE), row
        for number in shown.past.touched:
            past = shown.past.versions.get(number)
            yield row_key(PAST, table, number), None if past is None else past.value

    def _dropped(self, table: int) -> Iterator[LateChange]:
        """Forget a table, and yield its rows."""
        yield row_key(TABLE, table), None
        yield row_key(LOG_OF_TABLE, table), None
        state = self.logs.pop(table).state
        for file in state.live:
            yield file_row_key(table, file), None
        for file in state.unshown.files:
            yield file_row_key(table, file, SHOWN_FILE), None
        for number in state.unshown.past.versions:
            yield row_key(PAST, table, number), None


read_state: Final = reader_of(PublishedState)
read_log: Final = reader_of(PublishedLog)


def outcomes_of(events: Iterable[Event], publication: Publication) -> Iterator[Outcome]:
    """Yield what a publication makes of all events of a ledger, from the first on."""
    state, nothing = DomainState(), MemoryStore()
    for event in events:
        yield from publication.take(apply(state, event, nothing), event.body)[0]


def versions_of(applied: Applied, body: Body) -> Iterator[CommittedVersion]:
    """Yield the versions of tables that an event makes."""
    control = applied.control
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
        read_at=part.read_at,
    )
    if part.footprint is None:
        return version
    files = applied.files[part.table]
    return version._replace(
        files=files,
        is_again=files is not None and records_again(part, files),
        protocol=part.footprint.protocol,
        domains=whole_domains([domain for chunk in chunks for domain in chunk.domains]),
        apps=[app for chunk in chunks for app in chunk.apps],
    )
