"""Transaction manager of a data lake, built as an event-sourced ledger on Kafka.

This module names what a program needs, and loads each name when it is first used. So a part of the
package can be imported without the rest.

    from ledger import Ledger
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ledger.errors import (
    AccessDeniedError,
    AppVersionsDisagreeError,
    BrokerError,
    CommandFailedError,
    CommandInvalidError,
    CommandTooLateError,
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConflictError,
    ConstraintViolatedError,
    DeltaLogError,
    DiskFullError,
    FencedError,
    FileListError,
    FilesUnknownError,
    IncompatibleError,
    JarsError,
    LedgerDownError,
    LedgerError,
    LimitExceededError,
    LogDamagedError,
    LogError,
    LoginRefusedError,
    LogRefusedError,
    LogRewrittenError,
    LogUnavailableError,
    LostByCutError,
    MetadataChangedException,
    NotOwnerError,
    OffsetGoneError,
    OutcomeUnknownError,
    ProtocolChangedException,
    ReaderBehindError,
    ReadsRefusedError,
    ReadsUnavailableError,
    RefusedError,
    RestoreUnfinishedError,
    RoleEndedError,
    SessionExpiredError,
    SettingsError,
    SnapshotTooOldError,
    StagedWritesDifferError,
    StateBrokenError,
    StorageError,
    TableExistsError,
    TopicMissingError,
    TxnNotOpenError,
    UnknownColumnError,
    UnknownTableError,
    UnknownVersionError,
    UnreadableTableError,
    UnsupportedTableFeatureException,
)

if TYPE_CHECKING:
    from ledger.client import Ledger
    from ledger.core.commands import AppVersion, CoarseWrite, Column, TableDefinition, TableWrite
    from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
    from ledger.errors import EventsLostError
    from ledger.expressions.build import Expression, col, lit
    from ledger.log.wire.file_extras import DeletionVector
    from ledger.log.wire.file_list import AddFile, RemoveFile
    from ledger.reads.metadata import TableMetadata
    from ledger.session.receipt import Outcome, Receipt, TableVersion, Token
    from ledger.snapshot.reading import TableFiles
    from ledger.transaction.transaction import Transaction
    from ledger.work.app_notes import AppProgress
    from ledger.work.merge_clauses import MergeClause

__all__ = [
    "AccessDeniedError",
    "AddFile",
    "AppProgress",
    "AppVersion",
    "AppVersionsDisagreeError",
    "BrokerError",
    "CoarseWrite",
    "Column",
    "CommandFailedError",
    "CommandInvalidError",
    "CommandTooLateError",
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConflictError",
    "ConstraintViolatedError",
    "DeletionVector",
    "DeltaLogError",
    "DiskFullError",
    "EventsLostError",
    "Expression",
    "FencedError",
    "FileListError",
    "FilesUnknownError",
    "IncompatibleError",
    "JarsError",
    "Ledger",
    "LedgerDownError",
    "LedgerError",
    "LimitExceededError",
    "LogDamagedError",
    "LogError",
    "LogRefusedError",
    "LogRewrittenError",
    "LogUnavailableError",
    "LoginRefusedError",
    "LostByCutError",
    "MergeClause",
    "MetadataChangedException",
    "NotOwnerError",
    "OffsetGoneError",
    "Outcome",
    "OutcomeUnknownError",
    "ProtocolChangedException",
    "ReaderBehindError",
    "ReadsRefusedError",
    "ReadsUnavailableError",
    "Receipt",
    "RefusedError",
    "RemoveFile",
    "RestoreUnfinishedError",
    "RoleEndedError",
    "SessionExpiredError",
    "SettingsError",
    "SnapshotTooOldError",
    "StagedWritesDifferError",
    "StateBrokenError",
    "StorageError",
    "TableDefinition",
    "TableExistsError",
    "TableFiles",
    "TableMetadata",
    "TableVersion",
    "TableWrite",
    "Token",
    "TopicMissingError",
    "Transaction",
    "TxnNotOpenError",
    "UnknownColumnError",
    "UnknownTableError",
    "UnknownVersionError",
    "UnreadableTableError",
    "UnsupportedTableFeatureException",
    "ValidTxnList",
    "ValidWriteIdList",
    "col",
    "lit",
]

_HOME = {
    "AddFile": "ledger.log.wire.file_list",
    "AppProgress": "ledger.work.app_notes",
    "AppVersion": "ledger.core.commands",
    "CoarseWrite": "ledger.core.commands",
    "Column": "ledger.core.commands",
    "DeletionVector": "ledger.log.wire.file_extras",
    "EventsLostError": "ledger.errors.log",
    "Expression": "ledger.expressions.build",
    "Ledger": "ledger.client",
    "MergeClause": "ledger.work.merge_clauses",
    "Outcome": "ledger.session.receipt",
    "Receipt": "ledger.session.receipt",
    "RemoveFile": "ledger.log.wire.file_list",
    "TableDefinition": "ledger.core.commands",
    "TableFiles": "ledger.snapshot.reading",
    "TableMetadata": "ledger.reads.metadata",
    "TableVersion": "ledger.session.receipt",
    "TableWrite": "ledger.core.commands",
    "Token": "ledger.session.receipt",
    "Transaction": "ledger.transaction.transaction",
    "ValidTxnList": "ledger.core.lists.valid_lists",
    "ValidWriteIdList": "ledger.core.lists.valid_lists",
    "col": "ledger.expressions.build",
    "lit": "ledger.expressions.build",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
