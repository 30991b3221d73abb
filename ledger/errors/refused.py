"""Refusals of commands, by what they concern."""

from ledger.errors.root import LedgerError


class RefusedError(LedgerError):
    """The ledger refused a command.

    `reason` is the name of the refusal in the log, `subject` the id of the txn, table or session.
    """

    def __init__(self, message: str, *, reason: str, subject: int = 0, position: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.subject = subject
        self.position = position

    @property
    def rule(self) -> str:
        """The reason of the refusal."""
        return self.reason


class SessionExpiredError(RefusedError):
    """The session ended, or the ledger has forgotten it; the command was not executed."""


class LimitExceededError(RefusedError):
    """A bound of the ledger was reached; the message names it.

    If too many txns or calls are open, the same call may succeed once others have ended. If one
    call asks for too much, it never succeeds: make several smaller calls.
    """

    retry_unchanged = True


class CommandInvalidError(RefusedError):
    """No state of the ledger allows this command."""


class CommandTooLateError(RefusedError):
    """The command arrived after the caller had stopped waiting, and was not executed."""

    retry_unchanged = True


class CommandFailedError(RefusedError):
    """The sequencer failed on the command and did not execute it."""


class LostByCutError(RefusedError):
    """The base of the command was lost: the log lost its end, and an operator cut it."""

    retry_anew = True


class LogHeldError(RefusedError):
    """An open txn holds events that a trim would take from the log; `subject` is the txn."""

    retry_unchanged = True


class OutcomeUnknownError(LedgerError):
    """No answer came in time; the command may or may not be executed.

    Ask later with `ledger.outcome(session, n)`. A repeated call is another command with its own
    number. `retry_unchanged` is true only where that cannot do the work twice.
    """

    def __init__(
        self, message: str, *, session: int, n: int, retry_unchanged: bool = False
    ) -> None:
        super().__init__(message)
        self.session = session
        self.n = n
        self.retry_unchanged = retry_unchanged


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
