"""Applied: one event together with its effects that projections need.

Some state is gone once the event is applied: a txn that it ended with its waiting changes, a
dropped table, a former name. `projections.rows.applying` captures that first. A reader of rows
needs neither that module nor the core's `evolve`, which take time to load.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.events.events import (
    Control,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
)
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Pending, Table
from ledger.core.state.txns import TxnInFlight
from ledger.log.wire.file_list import FileList
from projections.store.batch import StoredRows

WriteId = tuple[int, int, int]
"""A write id and its txn, as (table, write id, txn)."""

MetadataChange = TableCreated | TableAltered | TableRenamed | TableDropped


class TouchedTable(NamedTuple):
    """A table after the event, dropped or not, and its name and definition before.

    `name_before` is the committed name before the event, "" if absent. `definition_before` is the
    committed definition before it, None if the table did not exist outside its txn.
    """

    table: Table
    name_before: str
    last_write_id_before: int
    definition_before: TableDefinition | None


class Applied(NamedTuple):
    """An event's place, the state after it, and what it ended, touched, gave and cleaned.

    `state` is the live one: it holds until the next event is applied. `ended` are the txns that the
    event ended. `named` are the tables that the event names, each once; `tables` are the named
    tables that existed before or exist now. `given` are the mappings (table, write id, txn) that
    entered TXN_TO_WRITE_ID with the event, `cleaned` the mappings that left it; a mapping may be in
    both. `changes` are the changes of metadata that waited for this commit. `files` are the files
    it adds and removes by table, None where the list cannot be decoded. `stored` finds a row as it
    was before this event.
    """

    control: Control
    state: DomainState
    ended: Mapping[int, TxnInFlight]
    named: Collection[int]
    tables: Mapping[int, TouchedTable]
    given: Collection[WriteId]
    cleaned: Collection[WriteId]
    changes: Sequence[Pending]
    files: Mapping[int, FileList | None]
    stored: StoredRows
