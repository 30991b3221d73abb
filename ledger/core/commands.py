"""Commands: what a producer asks of a domain, in the imperative.

Each is one record in the commands topic and gets exactly one event as its answer. Time, nonces and
numbers come with the command, so that `decide` needs neither clock nor randomness. The fields of
each class stand in the order of its Avro schema in `ledger/log/schemas`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.core.ids import Layout, Operation, Scope, TableKind, TxnType


class Column(NamedTuple):
    """A column: `type` is a Spark SQL type, `id` stays with the column across renames."""

    name: str
    type: str
    nullable: bool
    id: int


class Property(NamedTuple):
    """One table property."""

    key: str
    value: str


class TableDefinition(NamedTuple):
    """What a table is, apart from its name and its data; properties ascend by key."""

    kind: TableKind
    layout: Layout
    location: str
    columns: Sequence[Column]
    partition_columns: Sequence[str]
    properties: Sequence[Property]


class CoarseWrite(NamedTuple):
    """Rows of one unit changed, the files unknown (the grain of Hive's WRITE_SET).

    The unit is one `partition`, the rows of an *unpartitioned* table, or the whole `table`.
    """

    scope: Scope
    partition: str
    operation: Operation


class TableWrite(NamedTuple):
    """What a commit did to one table; `read_at` 0 = the position of the snapshot its txn holds."""

    table: int
    read_at: int
    writes: Sequence[CoarseWrite]


class OpenSession(NamedTuple):
    """Ask for a session; `nonce` (16 bytes) is the retry key, `lease_ms` 0 = the ledger's."""

    session: int
    n: int
    not_after: int
    nonce: bytes
    user: str
    host: str
    application: str
    lease_ms: int


class CloseSession(NamedTuple):
    """End the session; its open txns are aborted with it."""

    session: int
    n: int
    not_after: int


class OpenTxn(NamedTuple):
    """Ask for `size` txns of one type; `deadline_ms` is a duration, 0 = the ledger's default."""

    session: int
    n: int
    not_after: int
    type: TxnType
    size: int
    deadline_ms: int


class AllocateWriteIds(NamedTuple):
    """Ask for one write id per (table, txn); ids already given come back unchanged."""

    session: int
    n: int
    not_after: int
    txns: Sequence[int]
    tables: Sequence[int]


class CreateTable(NamedTuple):
    """Create a table, at once (txn 0) or pending until the commit of `txn`."""

    session: int
    n: int
    not_after: int
    txn: int
    read_at: int
    catalog: str
    name: str
    definition: TableDefinition


class RenameTable(NamedTuple):
    """Give a table another name in its catalog; its id and write ids stay."""

    session: int
    n: int
    not_after: int
    txn: int
    read_at: int
    table: int
    name: str


class DropTable(NamedTuple):
    """Drop a table; the id never returns, a new table of the name is a new incarnation."""

    session: int
    n: int
    not_after: int
    txn: int
    read_at: int
    table: int


class CommitTxn(NamedTuple):
    """Commit `txn`, or with txn 0 open, allocate and commit in one step."""

    session: int
    n: int
    not_after: int
    txn: int
    tables: Sequence[TableWrite]


class AbortTxn(NamedTuple):
    """Abort `txn`; `wrote` lists the tables it left data in, None = unknown."""

    session: int
    n: int
    not_after: int
    txn: int
    reason: str
    wrote: Sequence[int] | None


class ForgetAborted(NamedTuple):
    """State that no file under these ids is reachable and that their writers are fenced.

    Either whole `txns`, or `write_ids` of one `table`.
    """

    session: int
    n: int
    not_after: int
    txns: Sequence[int]
    table: int
    write_ids: Sequence[int]


class Unreadable(NamedTuple):
    """A command record that no schema explains; it is answered all the same."""

    session: int
    n: int
    not_after: int
    reason: str


SessionCommand = (
    CloseSession
    | OpenTxn
    | AllocateWriteIds
    | CreateTable
    | RenameTable
    | DropTable
    | CommitTxn
    | AbortTxn
    | ForgetAborted
)
Command = OpenSession | SessionCommand | Unreadable
