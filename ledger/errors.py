"""Every exception the project raises on purpose.

LedgerError
├── SettingsError            the machine or the configuration does not fit
│   └── LedgerDownError      no such ledger is up on this machine
├── JarsError                the Java libraries are missing, damaged or out of reach
├── BrokerError              the embedded Kafka did not start, died, or lost its folder
├── RoleEndedError           a process of the ledger ended, and would end so again
├── RefusedError             the ledger said no, with a reason; nothing changed
│   ├── SessionExpiredError  the session ended; open a new one
│   ├── TxnNotOpenError      committed, aborted, forgotten or never there
│   ├── NotOwnerError        the txn belongs to another session
│   ├── UnknownTableError    no table of this name or id
│   ├── UnknownVersionError  the table has no such version
│   ├── TableExistsError     the name is taken
│   ├── LimitExceededError   a bound of the ledger
│   ├── CommandInvalidError  the command asked for what no state allows
│   ├── CommandTooLateError  the command arrived after the caller had stopped waiting
│   ├── CommandFailedError   the sequencer could not decide the command
│   ├── SnapshotTooOldError  the plan, or the list, is older than what is still remembered
│   ├── AppVersionsDisagreeError  some tables have an application's version, others not
│   ├── LostByCutError       what it builds on was lost, and the log was cut
│   ├── StagedWritesDifferError   what was staged is not what the commit names
│   └── ConflictError        an earlier commit won; the txn is aborted, with evidence
│       ├── ConcurrentAppendException       ├── ConcurrentDeleteReadException
│       ├── ConcurrentDeleteDeleteException ├── MetadataChangedException
│       ├── ConcurrentTransactionException  ├── ProtocolChangedException
│       └── UnsupportedTableFeatureException
├── UnknownColumnError       a condition names a column that the table does not have
├── FilesUnknownError        the files that are asked for are not in the ledger, or not yet
├── OutcomeUnknownError      nobody knows yet whether the command was executed
├── LogError
│   ├── LogUnavailableError  the broker does not answer
│   │   ├── TopicMissingError    it does, and knows no such topic
│   │   └── LogRefusedError      it does, and refuses this user
│   │       ├── LoginRefusedError    it does not let this client in
│   │       └── AccessDeniedError    the user lacks a right on a topic
│   ├── FencedError          another sequencer leads
│   ├── OffsetGoneError      records were removed before they were read
│   ├── LogDamagedError      the log holds bytes no sequencer can have written
│   └── RestoreUnfinishedError   the log is being restored from a backup
├── IncompatibleError        written by a version this one does not know
│   └── FileListError        the file list of a commit is in no form this version knows
├── DeltaLogError            the log of a Delta table contradicts itself
├── ReadsUnavailableError    the read model does not answer
├── LogRewrittenError        the log lost its end and goes on without what was seen
└── ReaderBehindError        the reader has not reached the wanted position in time

Each message says what happened, why, and what to do. `retry_unchanged` tells whether the very same
call may succeed later and does nothing twice, `retry_anew` whether the work may be done again from
a new read. Every error survives pickling, so it can leave a worker process. This module imports
nothing of the project, so that every other may import it. What only one part of the product can
meet is a LedgerError of that part: `projections.errors` (stores and caches), PredicateSyntaxError
(`ledger.sdk.predicate_sql`), UnreadableTableError (`spark_sink.frames`), and EventsLostError, which
is a LogError (`ledger.log.errors`).
"""

from copyreg import __newobj__ as made_anew  # type: ignore[attr-defined]
from typing import Any, ClassVar


class LedgerError(Exception):
    """Root of the tree: catching it catches everything below and nothing else."""

    retry_unchanged: bool = False
    retry_anew: ClassVar[bool] = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message and fields: the constructors take more than the message."""
        return made_anew, (type(self), *self.args), self.__dict__


class SettingsError(LedgerError):
    """A setting, or something the settings point at, cannot be used as it is."""


class LedgerDownError(SettingsError):
    """No ledger is up where it is looked for: it was never started, stopped, or its `up` killed."""


class JarsError(LedgerError):
    """The pinned Java libraries are missing, damaged, or cannot be fetched."""


class BrokerError(LedgerError):
    """The embedded Kafka could not be started, or ended before it was stopped."""


class RoleEndedError(LedgerError):
    """A role failed in a way that a restart would repeat; `code` becomes the exit code."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class RefusedError(LedgerError):
    """The ledger refused a command; `reason` is its name in the log, `subject` what it is about."""

    def __init__(self, message: str, *, reason: str, subject: int = 0, position: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.subject = subject
        self.position = position


class SessionExpiredError(RefusedError):
    """The session ended or is not remembered; the command was not executed."""


class TxnNotOpenError(RefusedError):
    """The txn is not open any more, or never was."""


class NotOwnerError(RefusedError):
    """Only the session that opened a txn may allocate, stage and commit in it."""


class UnknownTableError(RefusedError):
    """There is no such table, or this txn may not see it."""


class UnknownVersionError(RefusedError):
    """The table has no such version, or not yet."""


class TableExistsError(RefusedError):
    """The name is held by another table."""


class LimitExceededError(RefusedError):
    """A bound of the ledger was reached, and the message says which.

    The same call may succeed once others have ended where too many are open or under way. Where it
    asks for too much at once it never does: it takes several calls that ask for less.
    """

    retry_unchanged = True


class CommandInvalidError(RefusedError):
    """What was asked for is not possible, however early it is asked."""


class CommandTooLateError(RefusedError):
    """The command arrived after its time and was not executed."""

    retry_unchanged = True


class CommandFailedError(RefusedError):
    """Deciding the command failed inside the sequencer; it was not executed."""


class SnapshotTooOldError(RefusedError):
    """The plan or list is older than the history still kept; read again."""

    retry_anew = True


class AppVersionsDisagreeError(RefusedError):
    """Some of the progress of applications in a commit was recorded before, some was not."""


class StagedWritesDifferError(RefusedError):
    """The chunks that were staged are not those the commit names."""


class LostByCutError(RefusedError):
    """What the command builds on was lost: the log lost its end, and was cut by an operator."""

    retry_anew = True


class ConflictError(RefusedError):
    """An earlier commit won; `evidence` says what met what, and `subject` is the loser.

    A commit that lost has aborted its txn. A change of metadata that came too late is refused
    before, without evidence. Six of the subclasses carry the names Delta gives them; the seventh is
    what Delta's client finds out by itself.
    """

    retry_anew = True

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        subject: int = 0,
        position: int = 0,
        evidence: Any = None,
        explanation: Any = None,
    ) -> None:
        super().__init__(message, reason=reason, subject=subject, position=position)
        self.evidence = evidence
        self.explanation = explanation

    def explain(self) -> str:
        """Return a few lines that say who won, with what, by which rule, and what helps."""
        return str(self) if self.explanation is None else str(self.explanation)

    def as_dict(self) -> dict[str, Any]:
        """Return what `explain` says for programs, of types that JSON has."""
        found = {} if self.explanation is None else self.explanation.as_dict()
        return {"exception": self.reason, "message": str(self), **found}


class ConcurrentAppendException(ConflictError):  # noqa: N818 - Delta's own name
    """Files were added where this txn read."""


class ConcurrentDeleteReadException(ConflictError):  # noqa: N818 - Delta's own name
    """A file this txn read was removed."""


class ConcurrentDeleteDeleteException(ConflictError):  # noqa: N818 - Delta's own name
    """Both txns changed or removed the same rows or files."""


class MetadataChangedException(ConflictError):  # noqa: N818 - Delta's own name
    """The table's metadata was changed, or the table dropped."""


class ConcurrentTransactionException(ConflictError):  # noqa: N818 - Delta's own name
    """An application made progress elsewhere: look up how far it came, the work may be done."""

    retry_anew = False


class ProtocolChangedException(ConflictError):  # noqa: N818 - Delta's own name
    """The table's protocol was changed, or its name taken by another table."""


class UnsupportedTableFeatureException(ConflictError):  # noqa: N818 - as Delta's own are called
    """The table gained a feature that is not known here, nor what it asks of files."""

    retry_anew = False


class UnknownColumnError(LedgerError, ValueError):
    """A condition, or the text of a partition, names a `column` that `table` does not have."""

    def __init__(self, message: str, *, column: str, table: int = 0) -> None:
        super().__init__(message)
        self.column = column
        self.table = table


class FilesUnknownError(LedgerError):
    """The ledger does not know the requested files of `table`; there may be some.

    The rows of an external table, and of a table of layout `directories`, lie in folders. No read
    returns the files that an open txn adds itself.
    """

    def __init__(self, message: str, *, table: int = 0) -> None:
        super().__init__(message)
        self.table = table


class OutcomeUnknownError(LedgerError):
    """No answer came in time; the command may or may not be executed.

    Ask later with `ledger.outcome(session, n)`. The same call again is another command, under a
    number of its own: only where that cannot do the work twice is `retry_unchanged` true.
    """

    def __init__(
        self, message: str, *, session: int, n: int, retry_unchanged: bool = False
    ) -> None:
        super().__init__(message)
        self.session = session
        self.n = n
        self.retry_unchanged = retry_unchanged


class LogError(LedgerError):
    """The log could not be read or written."""


class LogUnavailableError(LogError):
    """The broker does not answer, or did not take a record."""

    retry_unchanged = True


class TopicMissingError(LogUnavailableError):
    """The broker knows no `topic` of this name; it may be created later."""

    def __init__(self, message: str, *, topic: str) -> None:
        super().__init__(message)
        self.topic = topic


class LogRefusedError(LogUnavailableError):
    """The broker refuses this user; the same call is refused again until an operator changes that.

    What was refused was not written.
    """

    retry_unchanged = False


class LoginRefusedError(LogRefusedError):
    """The broker does not let this client in: login, certificates or security.protocol differ."""


class AccessDeniedError(LogRefusedError):
    """The user lacks `right`, such as WRITE, on `topic`."""

    def __init__(self, message: str, *, topic: str, right: str) -> None:
        super().__init__(message)
        self.topic = topic
        self.right = right


class FencedError(LogError):
    """Another sequencer leads; this one must end and may start again as a standby."""


class OffsetGoneError(LogError):
    """Records were removed before they were read.

    `earliest` is the first offset still there, 0 if the broker did not tell.
    """

    def __init__(self, message: str, *, wanted: int, earliest: int) -> None:
        super().__init__(message)
        self.wanted = wanted
        self.earliest = earliest


class LogDamagedError(LogError):
    """The log holds bytes no sequencer can have written; `position` is the first bad one."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(
            f"the events log is damaged at position {position}: {what}. Nothing from there on was "
            "applied. lakeledger recover tells what is lost and leads back, restore takes a "
            "backup; a reader that followed another log is rebuilt"
        )
        self.position, self.what = position, what


class RestoreUnfinishedError(LogError):
    """The events are being restored from a backup, or that was interrupted."""


class IncompatibleError(LedgerError):
    """Something was written by a version this one does not know how to read."""


class FileListError(IncompatibleError):
    """The opaque bytes of a commit are no file list: another writer wrote them otherwise."""


class DeltaLogError(LedgerError):
    """The log of a Delta table is damaged, or a part of it is gone; `file` is where, `what` how."""

    def __init__(self, file: str, what: str) -> None:
        super().__init__(
            f"the Delta log is damaged at {file}: {what}. Nothing from there on was imported; "
            "restore the file from a copy, then start the import again"
        )
        self.file = file
        self.what = what


class ReadsUnavailableError(LedgerError):
    """The read model does not answer, or not as one does."""

    retry_unchanged = True


class LogRewrittenError(LedgerError):
    """The log lost its end; at `position` it has the chain `found` now, and had `seen` before."""

    def __init__(self, position: int, seen: str, found: str) -> None:
        super().__init__(
            f"position {position} was seen with chain {seen}, the log has {found or 'nothing'} "
            "there: it lost its end and goes on without some of what was seen, maybe without "
            "commits that were acknowledged. Connect anew, and look up what is committed"
        )
        self.position, self.seen, self.found = position, seen, found


class ReaderBehindError(LedgerError):
    """The reader has not reached the wanted position in time; both are in the error."""

    retry_unchanged = True

    def __init__(self, applied: int, wanted: int, waited_ms: int) -> None:
        super().__init__(
            f"position {wanted} was not reached within {waited_ms} ms, the reader is at {applied}; "
            "see whether the follower runs, or wait longer. If the log is no longer than that, it "
            "lost its end: see lakeledger log verify"
        )
        self.applied = applied
        self.wanted = wanted
