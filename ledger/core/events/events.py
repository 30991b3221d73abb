"""Events: what happened, in the past tense. The log of a domain is a sequence of events.

An event is a `Control` and a body. The control fields are the same for every type, so a reader can
accept or skip a record without decoding the rest. The fields of each body have the order of its
Avro schema in `ledger/log/schemas`. This module holds no rules.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.core.commands import (
    Footprint,
    NamespaceAct,
    Property,
    TableDefinition,
    TableWrite,
    TxnType,
)
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

    `chain` is 8 bytes; `at` is milliseconds since 1970 UTC; (`session`, `n`) name the command that
    is answered and are (0, 0) for internal events; `txn` is the txn concerned or 0.
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
    """A sequencer takes the lead of the next epoch; the fold assigns position and chain."""

    nonce: bytes
    sequencer: str
    code_version: int
    min_reader: int


class Resigned(NamedTuple):
    """The leader stopped cleanly; a standby may claim at once."""

    sequencer: str


class LedgerCreated(NamedTuple):
    """Genesis: the identity of the ledger, its topics and its limits."""

    ledger: str
    name: str
    domain: int
    commands_topic: str
    events_topic: str
    limits: Limits


class CatalogCreated(NamedTuple):
    """A catalog belongs to this domain from this position on."""

    catalog: str


class CommandsMoved(NamedTuple):
    """Commands up to `control.cmd`, the new last command, will never be read."""

    topic: str
    reason: str


class LogCut(NamedTuple):
    """The log lost all events after position `base`, and continues above all that clients saw.

    The position and epoch of this event are above all that may have been given out, and so are
    `next_txn`, `next_table` and the ids after the floors in `tables`. Commands up to `control.cmd`
    will never be read. `passed` are records that are no events. The position of this event is also
    the number of a session, which takes up the lost ids: a table's when it is written next.
    """

    base: int
    next_txn: int
    next_table: int
    tables: Sequence[TableFloor]
    passed: Sequence[PassedOver]
    commands_topic: str
    author: str
    reason: str


class LogTrimmed(NamedTuple):
    """Events below the position `below` may be gone from the log; an archive holds them.

    `archive` is the place of that backup, `image` the position of verified rows in it, `digest`
    that of their bytes.
    """

    below: int
    archive: str
    image: int
    digest: bytes
    reason: str


class RecordsTrimmed(NamedTuple):
    """The log begins at the event `below`: a trim has removed the records in front of it.

    A leader says so once it sees it. What nothing but those events needed may go from then on.
    """

    below: int


class SessionOpened(NamedTuple):
    """A session opened; its number is the position of this event."""

    nonce: bytes
    user: str
    host: str
    application: str
    lease_ms: int


class SessionClosed(NamedTuple):
    """A client closed its session, which aborted its open txns."""

    ends: Sequence[TxnEnd]


class TxnOpened(NamedTuple):
    """`size` txns from `control.txn` on are open, with the snapshot they hold.

    If `inline`, `open` and `aborted` are the exceptions below the first of these txns, ascending.
    Otherwise `digest` checks a list read elsewhere as of this position. `deadline` is a time in
    milliseconds. `min_open` is the entry of the txns in the min history (HIVE-18747). `ids` are the
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
    """A table was created: at once for `control.txn` 0, else pending as change `number`."""

    table: int
    number: int
    write_id: int
    read_at: int
    catalog: str
    name: str
    definition: TableDefinition


class TableAltered(NamedTuple):
    """A table gets another definition, at once or at the commit of `control.txn`.

    `one_shot`: the event also opened and committed a txn for the change. Then `version` is the
    version of that commit, otherwise -1.
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
    """A table gets another name, at once or at the commit of `control.txn`."""

    table: int
    number: int
    write_id: int
    read_at: int
    catalog: str
    name: str


class TableDropped(NamedTuple):
    """A table is dropped, at once or at the commit of `control.txn`."""

    table: int
    number: int
    write_id: int
    read_at: int


class NamespaceChanged(NamedTuple):
    """A namespace was created, got other properties, or was dropped; a dropped one has none."""

    read_at: int
    catalog: str
    name: str
    act: NamespaceAct
    properties: Sequence[Property]


class WritesStaged(NamedTuple):
    """A chunk of a footprint was stored until the commit of `control.txn`."""

    table: int
    number: int
    footprint: Footprint


class TxnCommitted(NamedTuple):
    """`control.txn` is visible from this position on; `one_shot`: this event also opened it.

    `reads` are the tables it only read, as the command declared them.
    """

    type: TxnType
    one_shot: bool
    parts: Sequence[CommittedPart]
    reads: Sequence[TableWrite] = ()
    level: str = ""


class TxnAborted(NamedTuple):
    """`control.txn` will never be visible; `evidence` explains a lost conflict.

    `attempted` is the declaration of the loser, without its file lists. For the reason
    `already_applied`, `first` is the position at which the application made the same progress.
    """

    reason: str
    one_shot: bool
    parts: Sequence[AbortedPart]
    evidence: Evidence | None
    attempted: Sequence[TableWrite] = ()
    level: str = ""
    first: int = 0


class TxnsExpired(NamedTuple):
    """Housekeeping ended silent sessions and overdue txns; both ascend."""

    sessions: Sequence[int]
    ends: Sequence[TxnEnd]


class AbortedForgotten(NamedTuple):
    """Aborted txns without data are forgotten: single tables in `parts`, whole txns in `txns`."""

    txns: Sequence[int]
    parts: Sequence[ForgottenPart]


class CommandRepeated(NamedTuple):
    """The command was answered before, at position `answered`, with `outcome`; nothing changed."""

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
    | NamespaceChanged
    | WritesStaged
    | TxnCommitted
    | TxnAborted
    | AbortedForgotten
    | LogTrimmed
    | CommandRepeated
    | CommandRefused
)
Internal = (
    Resigned
    | LedgerCreated
    | CatalogCreated
    | CommandsMoved
    | LogCut
    | RecordsTrimmed
    | TxnsExpired
    | AbortedForgotten
)
Body = Fenced | Answer | Internal


class Event(NamedTuple):
    """One accepted record: its control fields and its body."""

    control: Control
    body: Body
