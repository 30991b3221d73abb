"""Refusals that concern a txn."""

from ledger.errors.refused import RefusedError


class TxnNotOpenError(RefusedError):
    """The txn is no longer open, or never was."""


class NotOwnerError(RefusedError):
    """Only the session that opened a txn may allocate, stage and commit in it."""


class SnapshotTooOldError(RefusedError):
    """The plan or list is older than the history still kept; read again."""

    retry_anew = True


class AppVersionsDisagreeError(RefusedError):
    """A commit repeats some recorded progress of applications and adds other progress."""


class StagedWritesDifferError(RefusedError):
    """The staged chunks are not the chunks that the commit names."""
