"""Refusals of commands and their reasons.

A refusal is an expected answer and a value in the log, not an exception; the SDK turns it into one.
The names of reasons are part of the wire format: new ones may be added, old ones never change.
"""

from enum import StrEnum

from ledger.core.events.events import CommandRefused


class Reason(StrEnum):
    """Why a command changed nothing."""

    SESSION_EXPIRED = "SessionExpired"
    COMMAND_FORGOTTEN = "CommandForgotten"
    COMMAND_TOO_LATE = "CommandTooLate"
    COMMAND_INVALID = "CommandInvalid"
    COMMAND_UNREADABLE = "CommandUnreadable"
    COMMAND_FAILED = "CommandFailed"
    LIMIT_EXCEEDED = "LimitExceeded"
    NOT_OWNER = "NotOwner"
    TXN_NOT_OPEN = "TxnNotOpen"
    TXN_READ_ONLY = "TxnReadOnly"
    TXN_NOT_ABORTED = "TxnNotAborted"
    UNKNOWN_TABLE = "UnknownTable"
    UNKNOWN_CATALOG = "UnknownCatalog"
    TABLE_EXISTS = "TableExists"
    UNKNOWN_NAMESPACE = "UnknownNamespace"
    NAMESPACE_EXISTS = "NamespaceExists"
    NAMESPACE_NOT_EMPTY = "NamespaceNotEmpty"
    TABLE_EXTERNAL = "TableExternal"
    WRITE_ID_REQUIRED = "WriteIdRequired"
    READ_AT_REQUIRED = "ReadAtRequired"
    READ_AT_AHEAD = "ReadAtAhead"
    SNAPSHOT_TOO_OLD = "SnapshotTooOld"
    METADATA_CHANGED = "MetadataChanged"
    PROTOCOL_CHANGED = "ProtocolChanged"
    APP_VERSIONS_DISAGREE = "AppVersionsDisagree"
    STAGED_WRITES_DIFFER = "StagedWritesDiffer"
    LOST_BY_CUT = "LostByCut"
    LOG_HELD = "LogHeld"


def refuse(reason: Reason, message: str, subject: int = 0) -> CommandRefused:
    """Return the refusal; `subject` is the txn, table or limit concerned."""
    return CommandRefused(b"", reason.value, message, subject)


class Refused(Exception):  # noqa: N818 - it carries an expected outcome, not an error
    """Ends a decision with a refusal; never leaves `decide`."""

    def __init__(self, reason: Reason, message: str, subject: int = 0) -> None:
        super().__init__(message)
        self.refusal = refuse(reason, message, subject)
