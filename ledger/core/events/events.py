"""Events: what happened, in the past tense. The log of a domain is a sequence of these.

An event is a `Control`, equal in form for every type so that a reader can accept or skip a record
without decoding the rest, and a body. The fields of each body stand in the order of its Avro schema
in `ledger/log/schemas`. Nothing here decides anything.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.core.commands import Footprint, TableDefinition, TableWrite, TxnType
from ledger.core.events.parts import (
    AbortedPart,
    AllocatedId,
    CommittedPart,
    Evidence,
    ForgottenPart,
    Limits,
    PassedOver,
    TableFloor,
    TxnEnd,
)


class Control(NamedTuple):
    """The fields every event begins with.

    `chain` is 8 bytes; `at` is milliseconds since 1970 UTC; (`session`, `n`) name the asker's
    command and are (0, 0) for internal events; `txn` is the txn concerned or 0.
    """

    chain: bytes
    epoch: int
    position: int
    cmd: int
    session: int
    n: int
    at: int
    txn: int


class Fenced(NamedTuple):
    """A claimant takes the lead of the next epoch; position and chain are assigned by the fold."""

    nonce: bytes
    sequencer: str
    code_version: int
    min_reader: int


class Resigned(NamedTuple):
    """The leader stopped cleanly; a standby may claim at once."""

    sequencer: str


class LedgerCreated(NamedTuple):
    """Genesis: who this ledger is and which topics hold it."""

    ledger: str
    name: str
    domain: int
    commands_topic: str
    events_topic: str
    limits: Limits


class CatalogCreated(NamedTuple):
    """A catalog belongs to this domain from here on."""

    catalog: str


class CommandsMoved(NamedTuple):
    """Commands below the next offset will never be read; `control.cmd` is the new last command."""

    topic: str
    reason: str


class LogCut(NamedTuple):
    """The log lost what followed position `base`, and goes on above all that may have been seen.

    The position and epoch of this event are above every one that may have been given, and so are
    `next_txn`, `next_table` and what follows the floors in `tables`. Commands up to `control.cmd`
    will never be read. `passed` are records that are no events. Its position is the number of a
    session that takes up the ids of what was lost.
    """

    base: int
    next_txn: int
    next_table: int
    tables: Sequence[TableFloor]
    passed: Sequence[PassedOver]
    commands_topic: str
    author: str
    reason: str


class SessionOpened(NamedTuple):
    """The session's number is the position of this event."""

    nonce: bytes
    user: str
    host: str
    application: str
    lease_ms: int


class SessionClosed(NamedTuple):
    """The session ended at its own wish, and its open txns with it."""

    ends: Sequence[TxnEnd]


class TxnOpened(NamedTuple):
    """`size` txns from `control.txn` on are open, and what they may see.

    `open` and `aborted` are the exceptions below the first of them, ascending, given when `inline`;
    otherwise `digest` checks a list read elsewhere as of this position. `deadline` is a time in
    milliseconds. `min_open` is what the txns add to the min history (HIVE-18747). `ids` are the
    write ids that they were opened with.
    """

    type: TxnType
    size: int
    min_open: int
    deadline: int
    inline: bool
    open: Sequence[int]
    aborted: Sequence[int]
    digest: int
    ids: Sequence[AllocatedId] = ()


class WriteIdsAllocated(NamedTuple):
    """Write ids by (table, txn), those given before included."""

    ids: Sequence[AllocatedId]


class TableCreated(NamedTuple):
    """A table exists: at once for `control.txn` 0, else pending as change `number` of the txn."""

    table: int
    number: int
    write_id: int
    read_at: int
    catalog: str
    name: str
    definition: TableDefinition


class TableAltered(NamedTuple):
    """A table has another definition, at once or at the commit of `control.txn`.

    `one_shot` = a txn of its own was opened and committed with it: then `version` is the commit's,
    otherwise -1.
    """

    table: int
    number: int
    write_id: int
    read_at: int
    one_shot: bool
    version: int
    committed_at: int
    definition: TableDefinition
    operation: str


class TableRenamed(NamedTuple):
    """A table has another name, at once or at the commit of `control.txn`."""

    table: int
    number: int
    write_id: int
    read_at: int
    catalog: str
    name: str


class TableDropped(NamedTuple):
    """A table is gone, at once or at the commit of `control.txn`."""

    table: int
    number: int
    write_id: int
    read_at: int


class WritesStaged(NamedTuple):
    """A chunk of a footprint waits for the commit of `control.txn`."""

    table: int
    number: int
    footprint: Footprint


class TxnCommitted(NamedTuple):
    """`control.txn` is visible from this position on; `one_shot` = it was opened here too.

    `reads` are the tables it only read, as it declared them.
    """

    type: TxnType
    one_shot: bool
    parts: Sequence[CommittedPart]
    reads: Sequence[TableWrite] = ()
    level: str = ""


class TxnAborted(NamedTuple):
    """`control.txn` will never be visible; a lost conflict carries its evidence.

    `attempted` is what the loser declared, without its file lists. One that was `already_applied`
    names in `first` the position at which its application made the same progress.
    """

    reason: str
    one_shot: bool
    parts: Sequence[AbortedPart]
    evidence: Evidence | None
    attempted: Sequence[TableWrite] = ()
    level: str = ""
    first: int = 0


class TxnsExpired(NamedTuple):
    """Housekeeping ended silent sessions and overdue txns; sessions ascend, txns too."""

    sessions: Sequence[int]
    ends: Sequence[TxnEnd]


class AbortedForgotten(NamedTuple):
    """No data of these aborted txns is left: `parts` one by one, `txns` altogether."""

    txns: Sequence[int]
    parts: Sequence[ForgottenPart]


class CommandRepeated(NamedTuple):
    """The command was answered before, at `answered`, with `outcome`; nothing changed."""

    nonce: bytes
    answered: int
    outcome: str
    first: int
    size: int
    ids: Sequence[AllocatedId]


class CommandRefused(NamedTuple):
    """The command changed nothing; `reason` is a name of `ledger.core.refusals.Reason`."""

    nonce: bytes
    reason: str
    message: str
    subject: int


Answer = (
    SessionOpened
    | SessionClosed
    | TxnOpened
    | WriteIdsAllocated
    | TableCreated
    | TableAltered
    | TableRenamed
    | TableDropped
    | WritesStaged
    | TxnCommitted
    | TxnAborted
    | AbortedForgotten
    | CommandRepeated
    | CommandRefused
)
Internal = (
    Resigned
    | LedgerCreated
    | CatalogCreated
    | CommandsMoved
    | LogCut
    | TxnsExpired
    | AbortedForgotten
)
Body = Fenced | Answer | Internal


class Event(NamedTuple):
    """One accepted record: where it stands in the log and what happened."""

    control: Control
    body: Body
