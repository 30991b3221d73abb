"""Every exception the project raises on purpose.

LedgerError
├── SettingsError            the machine or the configuration does not fit
│   └── LedgerDownError      no such ledger is up on this machine
├── JarsError                the Java libraries are missing, damaged or out of reach
├── BrokerError              the embedded Kafka did not start, died, or lost its folder
│   └── BrokerDamagedError   the folder of the embedded Kafka lacks data
├── RoleEndedError           a process of the ledger failed; a restart would fail alike
├── RefusedError             the ledger refused a command, with a reason; nothing changed
│   ├── SessionExpiredError  the session ended; open a new one
│   ├── TxnNotOpenError      the txn is committed, aborted, forgotten or never existed
│   ├── NotOwnerError        the txn belongs to another session
│   ├── UnknownTableError    no table of this name or id
│   ├── UnknownVersionError  the table has no such version
│   ├── TableExistsError     the name is taken
│   ├── UnknownNamespaceError    no namespace of this name
│   ├── NamespaceExistsError     the namespace was created before
│   ├── NamespaceNotEmptyError   a table or a namespace is in it
│   ├── LimitExceededError   a bound of the ledger was reached
│   ├── CommandInvalidError  no state of the ledger allows the command
│   ├── CommandTooLateError  the command arrived after the caller had stopped waiting
│   ├── CommandFailedError   the sequencer could not decide the command
│   ├── SnapshotTooOldError  the plan or the list is older than the history still kept
│   ├── AppVersionsDisagreeError  some tables have an application's version, others not
│   ├── LostByCutError       the base of the command was lost when the log was cut
│   ├── LogHeldError         an open txn needs the events that a trim would take
│   ├── StagedWritesDifferError   the staged chunks are not the chunks the commit names
│   └── ConflictError        an earlier commit won; the txn is aborted, with evidence
│       ├── ConcurrentAppendException       ├── ConcurrentDeleteReadException
│       ├── ConcurrentDeleteDeleteException ├── MetadataChangedException
│       ├── ConcurrentTransactionException  ├── ProtocolChangedException
│       └── UnsupportedTableFeatureException
├── UnknownColumnError       a condition names a column that the table does not have
├── ConstraintViolatedError  a row breaks a CHECK constraint of the table
├── DuplicateKeyError        a statement would leave two rows with one key
├── FilesUnknownError        the ledger does not know the requested files
├── OutcomeUnknownError      no answer came: the command may or may not be executed
├── LogError
│   ├── LogUnavailableError  the broker does not answer
│   │   ├── TopicMissingError    the broker answers, and has no such topic
│   │   └── LogRefusedError      the broker answers, and refuses this user
│   │       ├── LoginRefusedError    the broker refuses the connection
│   │       └── AccessDeniedError    the user lacks a right on a topic
│   ├── FencedError          another sequencer leads
│   ├── OffsetGoneError      records were removed before they were read
│   ├── LogDamagedError      the log holds bytes that no sequencer can have written
│   ├── LogTrimmedError      the events were trimmed from the log, and are in an archive
│   ├── TrimRefusedError     a precondition of a trim does not hold
│   │   └── NothingToTrimError   the log has no event that a trim may take
│   ├── EventsLostError      the events are gone, and traces of the ledger are left
│   └── RestoreUnfinishedError   a restore of the log from a backup is not finished
├── StateBrokenError         the state breaks an invariant: a fault of the program
├── IncompatibleError        written by a version that this version cannot read
│   └── FileListError        the file list of a commit has an unknown form
├── StorageError             a disk or a cloud refuses an access to a file
│   └── DiskFullError        no room on the disk, or no more of a quota
├── UnreadableTableError     a scan would show other rows than the table holds
│   └── RowsKeyError         the key of encrypted rows in the log is not at hand
│       └── RowsErasedError  it was dropped, so the rows are gone for good
├── DeltaLogError            the log of a Delta table is damaged or incomplete
├── IcebergTableError        the metadata of an Iceberg table is damaged or incomplete
├── ReadsUnavailableError    the read model does not answer
│   └── ReadsRefusedError    its server refuses this client, or is not trusted
├── LogRewrittenError        the log lost an end that was seen, and went on without it
└── ReaderBehindError        the reader has not reached the wanted position in time

Each message says what happened, why, and what to do. With `retry_unchanged` the same call may
succeed later and does nothing twice. With `retry_anew` the work may be repeated from a new read.
Every error survives pickling, so it can leave a worker process. This package imports nothing else
of the project, so every module may import it.

An error that only one part of the product raises is defined there: `projections.errors` (stores and
caches) and PredicateSyntaxError (`ledger.expressions.parse`).
"""

from typing import TYPE_CHECKING

from ledger.errors.conflicts import *
from ledger.errors.log import *
from ledger.errors.machine import *
from ledger.errors.reading import *
from ledger.errors.refused import *
from ledger.errors.root import LedgerError as LedgerError
from ledger.errors.root import told_cause as told_cause
from ledger.errors.storage import *
from ledger.errors.tables import *

if not TYPE_CHECKING:  # A type checker reads the imports.
    __all__ = sorted(
        name
        for name, kind in globals().items()
        if isinstance(kind, type) and issubclass(kind, LedgerError)
    )
