"""Errors of backup and restore."""

from ledger.errors import LedgerError


class BackupError(LedgerError):
    """The place of a backup cannot be read or written."""


class BackupDamagedError(BackupError):
    """A file of a backup differs from what was written; `file` is its name."""

    def __init__(self, place: str, file: str, what: str) -> None:
        super().__init__(
            f"the backup in {place} is damaged at {file}: {what}. Nothing was restored from it. "
            "Take this file from another copy of the backup, then run the command again"
        )
        self.file = file


class ImageDamagedError(BackupDamagedError):
    """A file of an image of rows differs from what was written; `file` is its name."""

    def __init__(self, place: str, file: str, what: str) -> None:
        BackupError.__init__(
            self,
            f"the image of rows in {place} is damaged at {file}: {what}. No row was taken from it. "
            "Take this file from another copy of the backup. Or remove it, and take an image again "
            f"with: lakeledger backup {place}",
        )
        self.file = file


class ImageForeignError(BackupError):
    """Rows and backup, or an image and the log, belong to different ledgers or events topics."""


class ImageLacksError(BackupError):
    """The image of rows has none of the kind that a process begins with."""


class ImageLostError(BackupError):
    """The image of rows is of events that the log has lost since."""


class BackupForeignError(BackupError):
    """The backup was taken from another log than this one; nothing was changed."""


class RestoreRefusedError(BackupError):
    """The cluster holds records where the ledger would be restored; nothing was changed."""


class RestoreDifferError(BackupError):
    """The restored topic does not hold what the backup holds; another program wrote to it."""
