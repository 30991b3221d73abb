"""The small closed vocabularies of the ledger, as literal strings.

They travel in events as Avro enums, so their spelling is part of the wire format. Numbers (txn ids,
write ids, table ids, positions) are plain integers everywhere: 0 always means "none".
"""

from typing import Final, Literal

TxnType = Literal["default", "read_only", "compaction", "replicated", "soft_delete"]
TableKind = Literal["managed", "external"]
Layout = Literal["listed", "directories"]
Operation = Literal["insert", "update", "delete"]
Scope = Literal["partition", "unpartitioned", "table"]
EndCause = Literal["lease", "deadline", "closed", "cut"]
IsolationLevel = Literal["SnapshotIsolation", "WriteSerializable", "Serializable"]

# No sum of a time and a duration leaves the 64 bits of an Avro long.
DURATION_MAX_MS: Final = 2**62
# What a session may ask for. A shorter lease ends the living at every delay, and what a client left
# that died stays open for as long as its lease.
LEASE_MIN_MS: Final = 500
LEASE_MAX_MS: Final = 24 * 60 * 60 * 1000

# Hive judges only ordinary writers: a replayed txn was judged at its source, a compaction or a
# soft delete changes no rows (facts of rule c4).
JUDGED_TYPES: Final = frozenset({"default"})
LEVEL_PROPERTY: Final = "delta.isolationLevel"
# From the weakest to the strongest (Delta's order; WriteSerializable is Databricks' default).
LEVELS: Final[tuple[IsolationLevel, ...]] = (
    "SnapshotIsolation",
    "WriteSerializable",
    "Serializable",
)
