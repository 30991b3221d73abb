"""Errors of the log: the broker, the topics, and what is in them."""

from collections.abc import Iterable

from ledger.errors.root import LedgerError


class LogError(LedgerError):
    """The log could not be read or written."""


class LogUnavailableError(LogError):
    """The broker does not answer, or did not take a record."""

    retry_unchanged = True


class TopicMissingError(LogUnavailableError):
    """The broker has no `topic` of this name; it may be created later."""

    def __init__(self, message: str, *, topic: str) -> None:
        super().__init__(message)
        self.topic = topic


class LogRefusedError(LogUnavailableError):
    """The broker refuses this user, and wrote nothing.

    It refuses the same call again until an operator changes the rights or the login.
    """

    retry_unchanged = False


class LoginRefusedError(LogRefusedError):
    """The broker refuses the connection: login, certificates or security.protocol differ."""


class AccessDeniedError(LogRefusedError):
    """The user lacks `right`, such as WRITE, on `topic`."""

    def __init__(self, message: str, *, topic: str, right: str) -> None:
        super().__init__(message)
        self.topic = topic
        self.right = right


class FencedError(LogError):
    """Another sequencer leads; this sequencer must end, and may start again as a standby."""


class OffsetGoneError(LogError):
    """Records were removed before they were read.

    `earliest` is the first offset still there, 0 if the broker did not report it.
    """

    def __init__(self, message: str, *, wanted: int, earliest: int) -> None:
        super().__init__(message)
        self.wanted = wanted
        self.earliest = earliest


class LogDamagedError(LogError):
    """The log holds bytes that no sequencer can have written; `position` is the first of them."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(
            f"the events log is damaged at position {position}: {what}. Nothing from there on was "
            "applied. Run lakeledger recover: it shows what is lost and repairs the log. Or run "
            "lakeledger restore with a backup. Connect a client anew, and rebuild a reader, that "
            "followed another log"
        )
        self.position, self.what = position, what


class LogTrimmedError(LogError):
    """The wanted events were trimmed from the log; `archive` is the place of a backup with them.

    `below` is the position of the first event that is still in the log.
    """

    def __init__(self, message: str, *, below: int, archive: str) -> None:
        super().__init__(message)
        self.below, self.archive = below, archive


class TrimRefusedError(LogError):
    """A precondition of a trim does not hold; nothing was changed."""


class NothingToTrimError(TrimRefusedError):
    """The log has no event that a trim may take; nothing was changed."""


class StateBrokenError(LedgerError):
    """The state of a domain breaks an invariant: a fault of the program."""

    def __init__(self, position: int, invariant: str, what: str) -> None:
        super().__init__(
            f"the state at position {position} breaks the invariant {invariant}: {what}. The "
            "checkpoint was not written, and what was made of the log is not to be trusted. This "
            "is a fault of the program: report it, and keep the log"
        )
        self.position, self.invariant, self.what = position, invariant, what


class RestoreUnfinishedError(LogError):
    """A restore of the events from a backup is running, or was interrupted."""


class EventsLostError(LogError):
    """The events of a ledger are gone, but `traces` of it are left."""

    def __init__(self, traces: Iterable[str]) -> None:
        self.traces = tuple(traces)
        super().__init__(
            "the events of this ledger are gone, although it existed before "
            f"({', '.join(self.traces)}). The events topic was lost or made anew, and a sequencer "
            "would begin another ledger under this name. Keep what is left until you know what "
            "happened. Then stop all processes and clients of the ledger, and give up what is left "
            "with `lakeledger init --begin-anew`. After that `lakeledger restore` brings back a "
            "backup, or a sequencer begins another ledger. `lakeledger up --begin-anew` does this "
            "for a ledger of this machine"
        )
