"""Transaction manager of a data lake, built as an event-sourced ledger on Kafka.

What a program needs is named here, and loaded when it is first used: so a part of the package can
be imported without the rest.

    from ledger import Ledger
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ledger.errors import (
    BrokerError,
    CommandFailedError,
    CommandInvalidError,
    CommandTooLateError,
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConflictError,
    FencedError,
    IncompatibleError,
    JarsError,
    LedgerError,
    LimitExceededError,
    LogDamagedError,
    LogError,
    LogUnavailableError,
    MetadataChangedException,
    NotOwnerError,
    OffsetGoneError,
    OutcomeUnknownError,
    ProtocolChangedException,
    ReaderBehindError,
    RefusedError,
    SessionExpiredError,
    SettingsError,
    SnapshotTooOldError,
    TableExistsError,
    TxnNotOpenError,
    UnknownTableError,
)

if TYPE_CHECKING:
    from ledger.client import Ledger
    from ledger.core.commands import CoarseWrite, Column, TableWrite
    from ledger.core.valid_lists import ValidTxnList, ValidWriteIdList
    from ledger.receipt import Outcome, Receipt, TableVersion, Token
    from ledger.transaction import Transaction

__all__ = [
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
    "FencedError",
    "IncompatibleError",
    "JarsError",
    "Ledger",
    "LedgerError",
    "LimitExceededError",
    "LogDamagedError",
    "LogError",
    "LogUnavailableError",
    "MetadataChangedException",
    "NotOwnerError",
    "OffsetGoneError",
    "Outcome",
    "OutcomeUnknownError",
    "ProtocolChangedException",
    "ReaderBehindError",
    "Receipt",
    "RefusedError",
    "SessionExpiredError",
    "SettingsError",
    "SnapshotTooOldError",
    "TableExistsError",
    "TableVersion",
    "TableWrite",
    "Token",
    "Transaction",
    "TxnNotOpenError",
    "UnknownTableError",
    "ValidTxnList",
    "ValidWriteIdList",
]

_HOME = {
    "CoarseWrite": "ledger.core.commands",
    "Column": "ledger.core.commands",
    "Ledger": "ledger.client",
    "Outcome": "ledger.receipt",
    "Receipt": "ledger.receipt",
    "TableVersion": "ledger.receipt",
    "TableWrite": "ledger.core.commands",
    "Token": "ledger.receipt",
    "Transaction": "ledger.transaction",
    "ValidTxnList": "ledger.core.valid_lists",
    "ValidWriteIdList": "ledger.core.valid_lists",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
