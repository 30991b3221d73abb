"""What an adapter must do, and what it may raise."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

from tests.consistency.history import Result
from tests.consistency.operations import Operation

Job: TypeAlias = Mapping[str, Any]


class RefusedError(Exception):
    """The system refused, and says that nothing was changed."""


class Session(Protocol):
    """One session with a system; used by one thread.

    Attributes:
        place: where the last commit stands, 0 if the system does not tell.
        read_from: the place of the snapshot of the txn, 0 if the system does not tell.
        token: what another session can wait for, "" for nothing.
    """

    place: int
    read_from: int
    token: str

    def begin(self) -> None:
        """Open a txn; the operations up to `commit` or `abort` belong to it."""

    def do(self, operation: Operation) -> Result:
        """Carry out an operation of the open txn; raises RefusedError."""

    def alone(self, operation: Operation) -> Result:
        """Carry out an operation as a txn of its own; raises RefusedError."""

    def commit(self) -> None:
        """Commit the txn; raises RefusedError."""

    def abort(self) -> None:
        """End the txn without effect."""

    def wait_for(self, token: str) -> None:
        """Let later reads see the commit of a token."""


class Subject(Protocol):
    """A module that is an adapter.

    Attributes:
        LACKS: operations that the system does not have, by name.
        UNTRIED: operations that it has and the adapter does not ask for.
        STALE_READS: whether a lone read may be older than what others were acknowledged.
    """

    LACKS: frozenset[str]
    UNTRIED: frozenset[str]
    STALE_READS: bool

    def version(self) -> str:
        """Return the version of what is judged."""

    def create(self, job: Job) -> None:
        """Make the tables, with their first rows."""

    def session(self, job: Job) -> AbstractContextManager[Session]:
        """Open a session."""


def skipped(subject: Any) -> frozenset[str]:
    """Return the operations that a subject is not asked for."""
    return frozenset(subject.LACKS | subject.UNTRIED)
