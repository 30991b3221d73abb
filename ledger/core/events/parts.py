"""Parts of events: what one event holds many of, and what several kinds of events hold."""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.core.commands import CoarseWrite, EndCause, Footprint


class Limits(NamedTuple):
    """Bounds of a domain, fixed at its creation; durations in milliseconds."""

    open_txns_max: int
    txns_per_open_max: int
    sessions_max: int
    tables_per_command_max: int
    lease_ms: int
    txn_deadline_ms: int
    replicated_deadline_ms: int
    outcomes_max: int
    conflict_entries_min: int
    conflict_entries_max: int
    snapshot_inline_max: int


class AllocatedId(NamedTuple):
    """The write id of one txn in one table."""

    table: int
    txn: int
    write_id: int


class CommittedPart(NamedTuple):
    """One table of a commit: `write_id` 0 = none, `version` is dense per table from 0.

    `level` is the one it was judged at, `blind` whether it counts as a blind append. `committed_at`
    (milliseconds) rises with every version of the table; `first_row_id` is the row id of the first
    row it added, -1 where rows are not tracked.
    """

    table: int
    read_at: int
    write_id: int
    version: int
    metadata_events: int
    writes: Sequence[CoarseWrite]
    level: str = ""
    blind: bool = False
    committed_at: int = 0
    first_row_id: int = -1
    footprint: Footprint | None = None


class AbortedPart(NamedTuple):
    """One table of an abort; `wrote` says that data may lie under its ids there."""

    table: int
    write_id: int
    metadata_events: int
    wrote: bool


class TxnEnd(NamedTuple):
    """A txn ended by housekeeping or with its session, and why."""

    txn: int
    cause: EndCause
    parts: Sequence[AbortedPart]


class ForgottenPart(NamedTuple):
    """One table of an aborted txn whose data is gone."""

    txn: int
    table: int


class TableFloor(NamedTuple):
    """The last write id and version of a table that may have been given before a cut."""

    table: int
    write_id: int
    version: int


class PassedOver(NamedTuple):
    """Records, from an offset on, that no reader judges because none of them is an event."""

    offset: int
    records: int


class Side(NamedTuple):
    """The winner of a conflict; txn 0 = it changed the table outside a txn.

    `at` is in milliseconds, 0 = not remembered.
    """

    txn: int
    position: int
    operation: str
    author: str
    at: int = 0


class Evidence(NamedTuple):
    """Why a txn lost: the rule, what it did and from which position, who won, what helps.

    `unit` is what both met in: a partition, a file by its path hash, a property. `predicate` is the
    scan that matched, "" if none did; `level` the one the table part was judged at.
    """

    rule: str
    exception: str
    table: int
    unit: str
    operation: str
    read_at: int
    winner: Side
    remedy: str
    predicate: str = ""
    level: str = ""
