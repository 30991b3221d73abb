"""Exit codes of commands and roles, and the code of each error."""

from enum import IntEnum

from ledger.backup.errors import BackupDamagedError
from ledger.errors import (
    ConflictError,
    EventsLostError,
    IncompatibleError,
    LedgerError,
    LogDamagedError,
    LogTrimmedError,
    OutcomeUnknownError,
    ReaderBehindError,
    RoleEndedError,
    SettingsError,
    StateBrokenError,
    UnknownTableError,
    UnknownVersionError,
)


class ExitCode(IntEnum):
    """What the exit code of a command or a role means."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    CONFLICT = 3
    NOT_FOUND = 4
    OUTCOME_UNKNOWN = 5
    DEADLINE = 6
    INCOMPATIBLE = 8
    UNHEALTHY = 10
    INTERRUPTED = 130


# A role that ends with one of these would end so again: a person has to look first.
FINAL = frozenset({ExitCode.USAGE, ExitCode.INCOMPATIBLE, ExitCode.UNHEALTHY})

_CODES: tuple[tuple[type[LedgerError], ExitCode], ...] = (
    (ConflictError, ExitCode.CONFLICT),
    (UnknownTableError, ExitCode.NOT_FOUND),
    (UnknownVersionError, ExitCode.NOT_FOUND),
    (OutcomeUnknownError, ExitCode.OUTCOME_UNKNOWN),
    (ReaderBehindError, ExitCode.DEADLINE),
    (IncompatibleError, ExitCode.INCOMPATIBLE),
    (LogDamagedError, ExitCode.UNHEALTHY),
    (LogTrimmedError, ExitCode.UNHEALTHY),
    (StateBrokenError, ExitCode.UNHEALTHY),
    (BackupDamagedError, ExitCode.UNHEALTHY),
    (EventsLostError, ExitCode.UNHEALTHY),
    (SettingsError, ExitCode.USAGE),
)


def exit_code(error: LedgerError) -> ExitCode:
    """Return the code of the first class in the table that fits, `FAILED` if none does."""
    if isinstance(error, RoleEndedError):
        return ExitCode(error.code)
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)
