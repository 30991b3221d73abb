"""One fixed value for every schema on the wire, and the bytes it must have.

`python -m tests.log.golden` writes the bytes to `golden/<Schema>.hex`. Until version 1.0.0 a schema
may change, and that is how its bytes follow; afterwards a file that exists is never written again,
because the records of that version lie in logs for ever.
"""

from pathlib import Path
from typing import Any, get_args

from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    AlterTable,
    AppVersion,
    ChangeNamespace,
    CloseSession,
    CoarseWrite,
    Column,
    CommitTxn,
    CreateTable,
    Domain,
    DropTable,
    Footprint,
    ForgetAborted,
    OpenSession,
    OpenTxn,
    Property,
    Protocol,
    RenameTable,
    StageWrites,
    TableDefinition,
    TableWrite,
    TrimLog,
)
from ledger.core.events.events import (
    AbortedForgotten,
    Body,
    CatalogCreated,
    CommandRefused,
    CommandRepeated,
    CommandsMoved,
    Control,
    Fenced,
    LedgerCreated,
    LogCut,
    LogTrimmed,
    NamespaceChanged,
    RecordsTrimmed,
    Resigned,
    SessionClosed,
    SessionOpened,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
    WritesStaged,
)
from ledger.core.events.parts import (
    AbortedPart,
    AllocatedId,
    CommittedPart,
    Evidence,
    ForgottenPart,
    Limits,
    PassedOver,
    Side,
    TableFloor,
    TxnEnd,
)
from ledger.core.rows.changes import AddedRows, Marks, Moved, RowChanges, ToldColumn
from ledger.log.wire.codec import encode_command, frame_event, frame_fence

FOLDER = Path(__file__).with_name("golden")
NONCE = bytes(range(16))
AT = 1_700_000_000_123
ASKER = (40, 7, AT + 60_000)
CHAIN_BEFORE = bytes.fromhex("0102030405060708")
CONTROL = Control(bytes(8), 3, 1_000, 129, 40, 7, AT, 64)

DEFINITION = TableDefinition(
    kind="managed",
    layout="listed",
    location="s3://lake/flights",
    columns=[
        Column("origin", "string", False, 1),  # noqa: FBT003
        Column("délai", "int", True, 2, '{"comment":"minutes"}'),  # noqa: FBT003
    ],
    partition_columns=["origin"],
    properties=[Property("delta.isolationLevel", "Serializable")],
)
COARSE = CoarseWrite("partition", "origin=JFK", "update")
ABORTED = AbortedPart(5, 300, 2, True)  # noqa: FBT003
ENDS = [TxnEnd(64, "lease", [ABORTED]), TxnEnd(65, "deadline", []), TxnEnd(66, "closed", [])]
SCAN = '["=",["col","origin"],["lit","JFK","string"]]'
# The last part of an update whose first chunk was staged.
FOOTPRINT = Footprint(
    operation="UPDATE",
    reads=[SCAN],
    reads_whole=False,
    read_files=bytes(range(16)),
    read_apps=["loader"],
    adds=['["JFK"]', "[null]"],
    removes=bytes(range(8)),
    removes_in=['["JFK"]'],
    data_change=True,
    not_blind=False,
    rows_added=1_200,
    protocol=Protocol(3, 7, ["deletionVectors", "rowTracking"]),
    domains=[Domain("delta.clustering", "{}", False), Domain("old", "", True)],  # noqa: FBT003
    apps=[AppVersion("loader", 17)],
    files=b"zopaque",
    staged=1,
    digest=bytes.fromhex("1112131415161718"),
)
CHUNK = FOOTPRINT._replace(reads=[], protocol=None, domains=[], apps=[], staged=0, digest=b"")
WRITES = [TableWrite(5, 990, [COARSE]), TableWrite(6, 985, [], FOOTPRINT)]
READS = [TableWrite(7, 990, [], CHUNK._replace(operation="", adds=[], removes=b"", files=b""))]
EVIDENCE = Evidence(
    rule="file_added",
    exception="ConcurrentAppend",
    table=6,
    unit='partition ["JFK"]',
    operation="UPDATE",
    read_at=985,
    winner=Side(63, 995, "DELETE", "sdk@host", AT - 40),
    remedy="read again and repeat",
    predicate=SCAN,
    level="Serializable",
)
COMMITTED = [
    CommittedPart(5, 990, 300, 17, 2, [COARSE], committed_at=AT),
    CommittedPart(
        table=6,
        read_at=985,
        write_id=12,
        version=30,
        metadata_events=0,
        writes=[],
        level="Serializable",
        blind=True,
        committed_at=AT + 1,
        first_row_id=44_000,
        footprint=FOOTPRINT,
    ),
]
LIMITS = Limits(
    open_txns_max=100_000,
    txns_per_open_max=1_000,
    sessions_max=10_000,
    tables_per_command_max=100,
    lease_ms=10_000,
    txn_deadline_ms=3_600_000,
    replicated_deadline_ms=950_400_000,
    outcomes_max=100_000,
    conflict_entries_min=100_000,
    conflict_entries_max=1_000_000,
    snapshot_inline_max=4_096,
)

COMMANDS: tuple[Any, ...] = (
    OpenSession(0, 0, AT, NONCE, "ada", "host-1", "loader", 10_000),
    CloseSession(*ASKER),
    OpenTxn(*ASKER, "compaction", 3, 0, [1, 2]),
    AllocateWriteIds(*ASKER, [64, 65], [5]),
    CreateTable(*ASKER, 0, 990, "lake", "flights", DEFINITION),
    RenameTable(*ASKER, 64, 990, 5, "departures"),
    DropTable(*ASKER, 64, 990, 5),
    ChangeNamespace(*ASKER, 990, "lake", "air.north", "alter", [Property("comment", "flights")]),
    AlterTable(*ASKER, 64, 990, 5, DEFINITION, "ADD COLUMNS"),
    StageWrites(*ASKER, 64, 6, 1, CHUNK),
    CommitTxn(*ASKER, 64, WRITES, "Serializable"),
    AbortTxn(*ASKER, 64, "cancelled", [5]),
    ForgetAborted(*ASKER, [], 5, [300, 301]),
    TrimLog(*ASKER, 900, "s3://lake/backup", 950, NONCE, "keep 30 days"),
)
EVENTS: tuple[Any, ...] = (
    Fenced(NONCE, "sequencer-1", 12, 10),
    Resigned("sequencer-1"),
    LedgerCreated("5f3a9c1e5f3a9c1e", "flights", 0, "nUY4DkqsRJqXkLzCW9GH4g", "Xw59D", LIMITS),
    CatalogCreated("lake"),
    CommandsMoved("nUY4DkqsRJqXkLzCW9GH4g", "retention"),
    LogCut(
        *(600, 1_064, 1_006, [TableFloor(5, 301, 20)], [PassedOver(610, 1)]),
        *("nUY4DkqsRJqXkLzCW9GH4g", "ada", "power cut"),
    ),
    SessionOpened(NONCE, "ada", "host-1", "loader", 10_000),
    SessionClosed(ENDS),
    TxnOpened("default", 3, 60, AT + 3_600_000, True, [60, 61], [62], 0, [AllocatedId(1, 63, 7)]),  # noqa: FBT003
    WriteIdsAllocated([AllocatedId(5, 64, 300), AllocatedId(5, 65, 301)]),
    TableCreated(5, 0, 300, 990, "lake", "flights", DEFINITION),
    TableRenamed(5, 1, 300, 990, "lake", "departures"),
    TableDropped(5, 2, 300, 990),
    NamespaceChanged(990, "lake", "air.north", "alter", [Property("comment", "flights")]),
    LogTrimmed(900, "s3://lake/backup", 950, NONCE, "keep 30 days"),
    RecordsTrimmed(900),
    TableAltered(5, 1, 300, 990, True, 18, AT, DEFINITION, "ADD COLUMNS"),  # noqa: FBT003
    WritesStaged(6, 1, CHUNK),
    TxnCommitted("default", False, COMMITTED, READS, "Serializable"),  # noqa: FBT003
    TxnAborted("conflict", True, [ABORTED], EVIDENCE, WRITES, "Serializable", 0),  # noqa: FBT003
    TxnsExpired([40, 41], ENDS),
    AbortedForgotten([64], [ForgottenPart(65, 5)]),
    CommandRepeated(NONCE, 900, "TxnCommitted", 64, 3, [AllocatedId(5, 64, 300)]),
    CommandRefused(b"", "TxnNotOpen", "txn 64 was aborted at position 998", 64),
)
# What only the second schema of a type holds: rows 7 and 90 of a file, and a rewrite.
MARKED = bytes.fromhex("3a30000001000000000001001000000007005a00")
ROWS = RowChanges(
    marks=[Marks("a", MARKED)],
    read=[Marks("b", MARKED)],
    scanned=bytes(range(8)),
    moved=[Moved("a", "c", 10, 998, MARKED), Moved("d", "c", 1_008, 4, b"")],
    added=[
        AddedRows('["JFK"]', [ToldColumn("délai", "int")], ['["5"]', "[null]"], "", ""),
        AddedRows("[null]", [ToldColumn("délai", "int")], [], '["-3"]', "[null]"),
    ],
)
BY_ROW = FOOTPRINT._replace(rows=ROWS)
ROW_CHUNK = CHUNK._replace(rows=ROWS._replace(moved=[], added=[]))
ROW_WRITES = [WRITES[0], TableWrite(6, 985, [], BY_ROW)]
ROW_COMMITTED = [
    COMMITTED[0]._replace(translated=[Marks("e", MARKED)], left_out=["a", "délai"]),
    COMMITTED[1]._replace(footprint=BY_ROW, translated=[], left_out=[]),
]
SECOND: dict[str, Any] = {
    "StageWrites.2": StageWrites(*ASKER, 64, 6, 1, ROW_CHUNK),
    "CommitTxn.2": CommitTxn(*ASKER, 64, ROW_WRITES, "Serializable"),
    "WritesStaged.2": WritesStaged(6, 1, ROW_CHUNK),
    "TxnCommitted.2": TxnCommitted("default", False, ROW_COMMITTED, READS, "Serializable"),  # noqa: FBT003
    "TxnAborted.2": TxnAborted(
        *("conflict", True, [ABORTED]), EVIDENCE._replace(rule="row_changed_twice"), ROW_WRITES
    ),
}
EXAMPLES: dict[str, Any] = {
    **{type(each).__name__: each for each in (*COMMANDS, *EVENTS)},
    **SECOND,
}


def encoded(example: Any) -> bytes:
    """Return the framed bytes of an example; events stand in one and the same place of the log."""
    if isinstance(example, Fenced):
        return frame_fence(CONTROL, example)
    if type(example) in get_args(Body):
        return frame_event(CONTROL, example, CHAIN_BEFORE)[1]
    return encode_command(example)


def golden(name: str) -> bytes:
    """Return the bytes that the example of a type must have."""
    return bytes.fromhex((FOLDER / f"{name}.hex").read_text())


def main() -> None:
    """Write the bytes of every example."""
    FOLDER.mkdir(exist_ok=True)
    for name, example in EXAMPLES.items():
        (FOLDER / f"{name}.hex").write_text(encoded(example).hex() + "\n")


if __name__ == "__main__":
    main()
