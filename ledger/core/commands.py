"""Commands: the requests that producers send to a domain, in the imperative.

Each is one record in the commands topic and gets exactly one event as its answer. Time, nonces and
numbers come with the command, so that `decide` needs neither clock nor randomness. The fields of
each class have the order of its Avro schema in `ledger/log/schemas`.

The literals below travel as Avro enums: their spelling is part of the wire format.
Numbers (txn ids, write ids, table ids, positions) are plain integers everywhere; 0 means absent.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from ledger.core.rows.changes import RowChanges

TxnType = Literal["default", "read_only", "compaction", "replicated", "soft_delete"]
TableKind = Literal["managed", "external", "view"]
Layout = Literal["listed", "directories"]
Operation = Literal["insert", "update", "delete"]
Scope = Literal["partition", "unpartitioned", "table"]
NamespaceAct = Literal["create", "alter", "drop"]
EndCause = Literal["lease", "deadline", "closed", "cut"]
IsolationLevel = Literal["SnapshotIsolation", "WriteSerializable", "Serializable"]


# Hive judges only ordinary writers: a replayed txn was judged at its source, and a compaction or a
# soft delete changes no rows (rule c4).
JUDGED_TYPES: Final = frozenset({"default"})
LEVEL_PROPERTY: Final = "delta.isolationLevel"
# From the weakest to the strongest (Delta's order; WriteSerializable is Databricks' default).
LEVELS: Final[tuple[IsolationLevel, ...]] = (
    "SnapshotIsolation",
    "WriteSerializable",
    "Serializable",
)


class Column(NamedTuple):
    """A column: `type` is a Spark SQL type, `id` stays with the column across renames.

    `metadata` is Delta's JSON object (comment, identity mark, physical name), "" if absent.
    """

    name: str
    type: str
    nullable: bool
    id: int
    metadata: str = ""


class Property(NamedTuple):
    """One table property."""

    key: str
    value: str


class TableDefinition(NamedTuple):
    """All that defines a table except its name and its data; properties ascend by key."""

    kind: TableKind
    layout: Layout
    location: str
    columns: Sequence[Column]
    partition_columns: Sequence[str]
    properties: Sequence[Property]


class CoarseWrite(NamedTuple):
    """A change of rows in one unit, without its files (the grain of Hive's WRITE_SET).

    The unit is one `partition`, the rows of an *unpartitioned* table, or the whole `table`.
    """

    scope: Scope
    partition: str
    operation: Operation


class Protocol(NamedTuple):
    """Delta's protocol: what a program must support to read and write a table.

    `features` ascend.
    """

    min_reader: int
    min_writer: int
    features: Sequence[str]


class Domain(NamedTuple):
    """A domain metadata entry of Delta; `configuration` is opaque here."""

    name: str
    configuration: str
    removed: bool


class AppVersion(NamedTuple):
    """Delta's SetTransaction: the progress of an application in a table."""

    app: str
    version: int


class Footprint(NamedTuple):
    """What one table part read and wrote, file by file, as far as a decision needs it.

    `operation` is Delta's name of the operation, "" if the table was only read. `reads` holds one
    predicate per scan, in the form of `predicates`. `read_files` and `removes` are concatenated
    path hashes of 8 bytes each. `adds` and `removes_in` are the partitions of added and removed
    files, as `partitions` writes them. `not_blind` says that the commit read something, though it
    only adds. `files` is the file list itself, which is opaque to the core. `staged` counts the
    chunks sent before, and `digest` (8 bytes, empty if there are no chunks) is over their `files`
    and `rows`.
    """

    operation: str
    reads: Sequence[str]
    reads_whole: bool
    read_files: bytes
    read_apps: Sequence[str]
    adds: Sequence[str]
    removes: bytes
    removes_in: Sequence[str]
    data_change: bool
    not_blind: bool
    rows_added: int
    protocol: Protocol | None
    domains: Sequence[Domain]
    apps: Sequence[AppVersion]
    files: bytes
    staged: int
    digest: bytes
    rows: RowChanges | None = None


class TableWrite(NamedTuple):
    """What a commit read and wrote in one table, in coarse units or file by file.

    `read_at` is the position the plan was made from, 0 = the position of the txn's snapshot.
    """

    table: int
    read_at: int
    writes: Sequence[CoarseWrite]
    footprint: Footprint | None = None


class OpenSession(NamedTuple):
    """Open a session; `nonce` (16 bytes) is the retry key, `lease_ms` 0 = the ledger's default."""

    session: int
    n: int
    not_after: int
    nonce: bytes
    user: str
    host: str
    application: str
    lease_ms: int


class CloseSession(NamedTuple):
    """End the session and abort its open txns."""

    session: int
    n: int
    not_after: int


class OpenTxn(NamedTuple):
    """Open `size` txns of one type, each with a write id in every one of `tables`.

    `deadline_ms` is a duration, 0 = the ledger's default.
    """

    session: int
    n: int
    not_after: int
    type: TxnType
    size: int
    deadline_ms: int
    tables: Sequence[int] = ()


class AllocateWriteIds(NamedTuple):
    """Allocate one write id per (table, txn); ids already given are returned unchanged."""

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
    """Drop a table; its id is never used again, a new table of the name gets another id."""

    session: int
    n: int
    not_after: int
    txn: int
    read_at: int
    table: int


class ChangeNamespace(NamedTuple):
    """Create, alter or drop a namespace at once; `properties` are all that it has afterwards.

    They ascend by key. `read_at` is the position from which the change was planned, 0 = any.
    """

    session: int
    n: int
    not_after: int
    read_at: int
    catalog: str
    name: str
    act: NamespaceAct
    properties: Sequence[Property]


class AlterTable(NamedTuple):
    """Replace the whole definition of a table; `operation` is Delta's name of the change.

    In a txn the change takes effect at the commit. Without a txn, a managed table is altered by a
    commit of its own, and an external table at once.
    """

    session: int
    n: int
    not_after: int
    txn: int
    read_at: int
    table: int
    definition: TableDefinition
    operation: str


class StageWrites(NamedTuple):
    """Stage chunk `number` (from 1) of a footprint that is too large for one record."""

    session: int
    n: int
    not_after: int
    txn: int
    table: int
    number: int
    footprint: Footprint


class CommitTxn(NamedTuple):
    """Commit `txn`, or with txn 0 open, allocate and commit in one step.

    Every table is judged at its own isolation level, and at least at `level` unless that is "".
    """

    session: int
    n: int
    not_after: int
    txn: int
    tables: Sequence[TableWrite]
    level: str = ""


class AbortTxn(NamedTuple):
    """Abort `txn`; `wrote` lists the tables that hold data of it, None = unknown."""

    session: int
    n: int
    not_after: int
    txn: int
    reason: str
    wrote: Sequence[int] | None


class ForgetAborted(NamedTuple):
    """Forget aborted ids: either whole `txns`, or `write_ids` of one `table`.

    The client states that no file under these ids is reachable and that their writers are fenced.
    """

    session: int
    n: int
    not_after: int
    txns: Sequence[int]
    table: int
    write_ids: Sequence[int]


class TrimLog(NamedTuple):
    """Let the events below a position leave the log; the first event that stays is `below`.

    `archive` is the place of a backup that holds them, in the words of its owner. `image` is the
    position of verified rows there, from which a reader begins, and `digest` that of their bytes.
    """

    session: int
    n: int
    not_after: int
    below: int
    archive: str
    image: int
    digest: bytes
    reason: str


class Unreadable(NamedTuple):
    """A command record that no schema can decode; it is answered with a refusal."""

    session: int
    n: int
    not_after: int
    reason: str


SessionCommand = (
    CloseSession
    | OpenTxn
    | AllocateWriteIds
    | CreateTable
    | AlterTable
    | RenameTable
    | DropTable
    | ChangeNamespace
    | StageWrites
    | CommitTxn
    | AbortTxn
    | ForgetAborted
    | TrimLog
)
Command = OpenSession | SessionCommand | Unreadable
