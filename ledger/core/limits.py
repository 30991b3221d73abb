"""Limits: every bound of the log's records and of the state, and the relations between them.

A single changed bound may break another one: an answer that no longer fits its record stops the
ledger. The `assert`s state these relations, and run when the program is loaded. The name of a
duration ends with its unit; `_BYTES` count bytes, `_CHARS` characters of up to four bytes each.
"""

from typing import Final

from ledger.core.events.parts import Limits

MIB: Final = 1024 * 1024
CHAR_BYTES: Final = 4

# ---- Numbers. Every id, position, version and time is a signed 64-bit number, as in Avro.
NUMBER_MAX: Final = 2**63 - 1
NUMBER_DIGITS_MAX: Final = len(str(NUMBER_MAX))
# No sum of a time and a duration leaves the 64 bits.
DURATION_MAX_MS: Final = 2**62
# Sums of the rows written by many footprints stay below NUMBER_MAX.
ROWS_PER_WRITE_MAX: Final = 2**40
# The size of an id in a record, up to 2**41.
ID_BYTES: Final = 6
# A table of a txn that ended: table, write id, changes of metadata, and whether it wrote.
PART_BYTES: Final = 2 * ID_BYTES + 3

assert 2 * DURATION_MAX_MS <= NUMBER_MAX + 1

# ---- Records. The size that Kafka accepts in each topic, its own framing included.
COMMAND_RECORD_BYTES_MAX: Final = MIB
EVENT_RECORD_BYTES_MAX: Final = 2 * MIB
CHECKPOINT_RECORD_BYTES_MAX: Final = 2 * MIB
CACHE_RECORD_BYTES_MAX: Final = 4 * MIB
# The largest record that a client hands to Kafka.
RECORD_BYTES_MAX: Final = CACHE_RECORD_BYTES_MAX
COMMAND_BYTES_MAX: Final = COMMAND_RECORD_BYTES_MAX - 4 * 1024
EVENT_BYTES_MAX: Final = EVENT_RECORD_BYTES_MAX - 64 * 1024
CHECKPOINT_CHUNK_BYTES: Final = 512 * 1024
# Rows of tables, in every store and in the cache topic, hold definitions unpacked.
DEFINITION_BYTES_MAX: Final = 3_500_000

assert COMMAND_RECORD_BYTES_MAX <= EVENT_RECORD_BYTES_MAX <= RECORD_BYTES_MAX
assert CHECKPOINT_RECORD_BYTES_MAX <= RECORD_BYTES_MAX
assert COMMAND_BYTES_MAX < COMMAND_RECORD_BYTES_MAX
assert EVENT_BYTES_MAX < EVENT_RECORD_BYTES_MAX
assert CHECKPOINT_CHUNK_BYTES < CHECKPOINT_RECORD_BYTES_MAX
assert DEFINITION_BYTES_MAX < CACHE_RECORD_BYTES_MAX
# An event repeats the content of its command, and adds to it.
assert COMMAND_BYTES_MAX < EVENT_BYTES_MAX

# ---- One command and its answer.
LABEL_CHARS_MAX: Final = 256
NONCE_BYTES: Final = 16
TABLE_NAME_CHARS_MAX: Final = 255
# Hive's text forms of lists separate names by them.
NAME_FORBIDDEN: Final = ":$"
# Write ids that one command may request: its answer names them all.
IDS_PER_COMMAND_MAX: Final = 10_000
# The end of a txn names all its tables in one record.
TABLES_PER_TXN_MAX: Final = 10_000
# The end of a session names all tables of all its txns in one record.
PARTS_PER_CLOSE_MAX: Final = 100_000
CHANGES_PER_TXN_MAX: Final = 1_000
# Of a namespace.
NAMESPACE_PROPERTIES_MAX: Final = 100
ARCHIVE_CHARS_MAX: Final = 1_000
DIGEST_BYTES_MAX: Final = 64
PROPERTY_CHARS_MAX: Final = 1_000

assert IDS_PER_COMMAND_MAX * 3 * ID_BYTES < EVENT_BYTES_MAX
assert TABLES_PER_TXN_MAX * PART_BYTES < EVENT_BYTES_MAX
assert PARTS_PER_CLOSE_MAX * PART_BYTES < EVENT_BYTES_MAX
assert TABLES_PER_TXN_MAX <= PARTS_PER_CLOSE_MAX
assert TABLES_PER_TXN_MAX <= IDS_PER_COMMAND_MAX
assert (
    NAMESPACE_PROPERTIES_MAX * (TABLE_NAME_CHARS_MAX + PROPERTY_CHARS_MAX) * CHAR_BYTES
    < COMMAND_BYTES_MAX
)

# ---- Internal events of the leader: the number of entries at which one is full.
ENDS_PER_EVENT_MAX: Final = 500
# A part takes up to forty bytes, and one txn may have thousands of parts.
ENDED_PARTS_PER_EVENT: Final = 10_000
FORGOTTEN_PER_EVENT: Final = 500
# Events after a cut of the log take up the lost ids in steps.
CUT_TXNS_PER_EVENT: Final = 500
CUT_TABLES_PER_EVENT: Final = 1_000

# The last txn in an event may have the maximum of tables.
assert (ENDED_PARTS_PER_EVENT + TABLES_PER_TXN_MAX) * PART_BYTES < EVENT_BYTES_MAX
assert (FORGOTTEN_PER_EVENT + TABLES_PER_TXN_MAX) * 2 * ID_BYTES < EVENT_BYTES_MAX
assert CUT_TABLES_PER_EVENT <= IDS_PER_COMMAND_MAX

# ---- Footprints: the files of one table in a commit.
HASH_BYTES: Final = 8
FOOTPRINT_ENTRIES_MAX: Final = 100_000
FOOTPRINT_READS_MAX: Final = 1_000
OPERATION_CHARS_MAX: Final = 100
# Names of applications and domains, which stay in the state.
TEXT_CHARS_MAX: Final = 150_000
PARTITION_CHARS_MAX: Final = 4096
PREDICATE_CHARS_MAX: Final = 65_536
# Each coarse write costs every reader of the log tens of microseconds.
COARSE_WRITES_MAX: Final = 10_000
# Footprints in one record, with room for its other fields.
FOOTPRINT_BYTES_MAX: Final = 700_000
# Progress and domains, each, in the commit itself; more goes into chunks.
RIDING_BYTES_MAX: Final = 100_000
# Row by row: bitmaps of one part in the index of winners. With more it counts as one that removed
# the files. A row costs the translation through a rewrite a microsecond.
ROWS_BYTES_MAX: Final = 64 * 1024
ROWS_TRANSLATED_MAX: Final = 200_000
# What a commit means after the rewrites since its read, beside its footprint in one record.
TRANSLATED_BYTES_MAX: Final = 500_000
# Rewrites of one file in a row that a row is followed through.
REWRITES_MAX: Final = 100
# Columns of new rows whose values a commit may state.
ADDED_COLUMNS_MAX: Final = 4
# The chunks of a larger footprint.
FILES_PER_CHUNK: Final = 10_000
# Of the unpacked text. In memory a character takes up to eight bytes.
LIST_CHARS_PER_CHUNK: Final = 8_000_000
READ_BYTES_PER_CHUNK: Final = 80_000 * HASH_BYTES
# Of an unpacked list, so that no packed one can fill the memory of readers.
LIST_BYTES_MAX: Final = 64 * MIB
# Chunks wait with their txn, in the state.
STAGED_CHUNKS_MAX: Final = 1_000
STAGED_BYTES_MAX: Final = 64 * MIB

assert FOOTPRINT_BYTES_MAX + 2 * RIDING_BYTES_MAX < COMMAND_BYTES_MAX
assert TEXT_CHARS_MAX * CHAR_BYTES < FOOTPRINT_BYTES_MAX
assert PREDICATE_CHARS_MAX * CHAR_BYTES < FOOTPRINT_BYTES_MAX
assert PARTITION_CHARS_MAX * CHAR_BYTES < FOOTPRINT_BYTES_MAX
assert READ_BYTES_PER_CHUNK < FOOTPRINT_BYTES_MAX
assert READ_BYTES_PER_CHUNK // HASH_BYTES <= FOOTPRINT_ENTRIES_MAX
assert ROWS_BYTES_MAX < FOOTPRINT_BYTES_MAX
assert COMMAND_BYTES_MAX + TRANSLATED_BYTES_MAX < EVENT_BYTES_MAX
assert FILES_PER_CHUNK <= FOOTPRINT_ENTRIES_MAX
assert LIST_CHARS_PER_CHUNK * 8 <= LIST_BYTES_MAX
assert COMMAND_BYTES_MAX <= STAGED_BYTES_MAX

# ---- Entries kept in the state.
# Commands of a session in flight, and answers kept for it.
WINDOW: Final = 1024
REMEMBERED_SESSIONS_MAX: Final = 10_000
REMEMBERED_ANSWERS_MAX: Final = 200_000
DROPS_REMEMBERED_MAX: Final = 10_000
NAMESPACES_MAX: Final = 10_000
# Mappings leave in bounded steps, so that no single event pays for a long backlog. The last txn of
# a step leaves with all of its mappings.
CLEAN_TXNS_MAX: Final = 256
CLEAN_MAPPINGS_MAX: Final = 1_000
# A short run in a list can name any number of ids; this many fit in memory.
LISTED_IDS_MAX: Final = 10_000_000

# An ended session is kept whole.
assert WINDOW <= REMEMBERED_ANSWERS_MAX

# ---- The index of winners.
# A part with more partitions counts as one that changed all. Each partition costs every reader
# 10 us, and a standby treats a leader that is silent for too long as dead.
WINNER_PARTITIONS_MAX: Final = 100_000
# A part that removed more files counts as one that removed all. Each costs 5 us and 350 bytes.
WINNER_REMOVES_MAX: Final = 100_000
# If units name more different sets of columns than this, each counts as the whole table.
COLUMN_NAMES_MAX: Final = 64
# At most this many entries leave with one event, or one part more; most commits add a few.
ENTRIES_LEAVING_MAX: Final = 2_000

# ---- Leases and leaders.
# A shorter lease would end live sessions at every delay. A longer one would keep the txns of a
# crashed client open for too long.
LEASE_MIN_MS: Final = 500
LEASE_MAX_MS: Final = 24 * 60 * 60 * 1000
# The interval of a leader's beats, and the silence after which a standby claims.
BEAT_S: Final = 0.3
SUSPECT_S: Final = 1.2
JITTER_S: Final = 0.2
# Decided events are sent at least this often; until then they share a request.
SEND_S: Final = 0.1

assert LEASE_MIN_MS <= LEASE_MAX_MS <= DURATION_MAX_MS
# Two beats in a row may be lost, and an event may wait to be sent between them.
assert 3 * BEAT_S + SEND_S < SUSPECT_S

# ---- The default limits of a new ledger.
DEFAULT_LIMITS: Final = Limits(
    open_txns_max=100_000,
    txns_per_open_max=1_000,
    sessions_max=10_000,
    tables_per_command_max=1_000,
    lease_ms=10_000,
    txn_deadline_ms=3_600_000,
    replicated_deadline_ms=11 * 24 * 3_600_000,
    outcomes_max=100_000,
    conflict_entries_min=100_000,
    conflict_entries_max=1_000_000,
    snapshot_inline_max=256,
)

assert LEASE_MIN_MS <= DEFAULT_LIMITS.lease_ms <= LEASE_MAX_MS
# A standby takes over before the leases of clients end.
assert DEFAULT_LIMITS.lease_ms > (SUSPECT_S + JITTER_S) * 1000
assert DEFAULT_LIMITS.lease_ms <= DEFAULT_LIMITS.txn_deadline_ms <= DURATION_MAX_MS
assert DEFAULT_LIMITS.txn_deadline_ms <= DEFAULT_LIMITS.replicated_deadline_ms <= DURATION_MAX_MS
assert DEFAULT_LIMITS.txns_per_open_max <= DEFAULT_LIMITS.open_txns_max < LISTED_IDS_MAX
assert DEFAULT_LIMITS.tables_per_command_max <= TABLES_PER_TXN_MAX
assert DEFAULT_LIMITS.txns_per_open_max >= CUT_TXNS_PER_EVENT
assert DEFAULT_LIMITS.conflict_entries_min <= DEFAULT_LIMITS.conflict_entries_max
# The largest part fits the index as a whole.
assert DEFAULT_LIMITS.conflict_entries_max >= WINNER_PARTITIONS_MAX + WINNER_REMOVES_MAX
# The snapshot in the answer to an open.
assert DEFAULT_LIMITS.snapshot_inline_max * ID_BYTES < EVENT_BYTES_MAX
