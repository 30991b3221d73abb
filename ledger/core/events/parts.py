"""Parts of events: values that one event holds many of, or that several events share."""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.core.commands import CoarseWrite, EndCause, Footprint
from ledger.core.rows.changes import Marks


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
    """One table of a commit: `write_id` 0 = no write id, `version` is dense per table from 0.

    Behind a cut the first version of a table stands above all versions that it may have lost.
    `level` is the level it was judged at, `blind` whether it counts as a blind append.
    `committed_at` (milliseconds) rises with every version of the table. `first_row_id` is the row
    id of the first row it added, -1 if rows are not tracked. Winners since `read_at` may have put
    rows elsewhere, or replaced files. So `translated` are further marks of this commit, by the
    present places of the rows, and what it says of the files `left_out` does not count: their add,
    their removal and their marks.
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
    translated: Sequence[Marks] = ()
    left_out: Sequence[str] = ()


class AbortedPart(NamedTuple):
    """One table of an abort; `wrote`: data may lie under its ids there."""

    table: int
    write_id: int
    metadata_events: int
    wrote: bool


class TxnEnd(NamedTuple):
    """The end of a txn by housekeeping or with its session, and the cause."""

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
    """A run of records from an offset on that readers skip because they are no events."""

    offset: int
    records: int


class Side(NamedTuple):
    """The winner of a conflict; txn 0 = it changed the table outside a txn.

    `at` is in milliseconds, 0 = no longer remembered.
    """

    txn: int
    position: int
    operation: str
    author: str
    at: int = 0


class Evidence(NamedTuple):
    """Why a txn lost: the rule, its own operation and read position, the winner, the remedy.

    `unit` is where both met: a partition, a file by its path hash, a property. `predicate` is the
    scan that matched, or "". `level` is the level the table part was judged at.
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
