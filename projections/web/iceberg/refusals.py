"""Refusals: each error as the protocol words it, by the first class that fits.

Clients go by the status. A conflict is always 409, so that they try again. At a commit 500 means
that its outcome is unknown. So 503 is for what certainly changed nothing.
"""

from collections.abc import Mapping
from errno import ENAMETOOLONG
from typing import Any, Final, NamedTuple

from ledger.errors import (
    CommandTooLateError,
    ConflictError,
    LedgerError,
    LogError,
    LogRewrittenError,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    OutcomeUnknownError,
    ReaderBehindError,
    ReadsUnavailableError,
    RefusedError,
    SettingsError,
    SnapshotTooOldError,
    StorageError,
    TableExistsError,
    UnknownNamespaceError,
    UnknownTableError,
)
from ledger.iceberg.types import NoIcebergTypeError
from projections.errors import StoreError
from projections.iceberg.errors import UNKNOWN, IcebergRefusal
from projections.web.answers.problems import FAULT_TEXT, RETRY_AFTER_S, BusyError, Problem
from projections.web.server.bodies import BodyTooLongError

BAD: Final = "BadRequestException"
EXISTS: Final = "AlreadyExistsException"
FAILED: Final = "CommitFailedException"
AWAY: Final = "ServiceUnavailableException"
INTERNAL: Final = "InternalServerError"
UNAVAILABLE: Final = 503
FAULT: Final = 500


class Worded(NamedTuple):
    """The status and the type of an error."""

    code: int
    kind: str


KINDS: Final[Mapping[type[Exception], Worded]] = {
    OutcomeUnknownError: Worded(FAULT, UNKNOWN),
    UnknownTableError: Worded(404, "NoSuchTableException"),
    UnknownNamespaceError: Worded(404, "NoSuchNamespaceException"),
    TableExistsError: Worded(409, EXISTS),
    NamespaceExistsError: Worded(409, EXISTS),
    NamespaceNotEmptyError: Worded(409, "NamespaceNotEmptyException"),
    ConflictError: Worded(409, FAILED),
    SnapshotTooOldError: Worded(409, FAILED),
    CommandTooLateError: Worded(UNAVAILABLE, AWAY),
    RefusedError: Worded(400, BAD),
    NoIcebergTypeError: Worded(400, BAD),
    SettingsError: Worded(UNAVAILABLE, AWAY),
    ReaderBehindError: Worded(UNAVAILABLE, AWAY),
    ReadsUnavailableError: Worded(UNAVAILABLE, AWAY),
    LogRewrittenError: Worded(UNAVAILABLE, AWAY),
    StoreError: Worded(UNAVAILABLE, AWAY),
    StorageError: Worded(UNAVAILABLE, AWAY),
    LogError: Worded(UNAVAILABLE, AWAY),
    BusyError: Worded(UNAVAILABLE, AWAY),
    BodyTooLongError: Worded(413, BAD),
}
"""The first class that fits decides."""

BY_STATUS: Final[Mapping[int, str]] = {
    401: "NotAuthorizedException",
    403: "ForbiddenException",
    404: "NotFoundException",
    405: "MethodNotAllowedException",
    FAULT: INTERNAL,
    UNAVAILABLE: AWAY,
}
"""The type of a refusal that no answer of the catalog made."""


def refusal_of(error: Exception) -> IcebergRefusal | None:
    """Return how an error is refused, None for a fault of the program."""
    if isinstance(error, IcebergRefusal):
        return error
    for kind, worded in KINDS.items():
        if isinstance(error, kind):
            return IcebergRefusal(*worded, str(error))
    if isinstance(error, OSError) and error.errno == ENAMETOOLONG:
        return IcebergRefusal(400, BAD, f"a name is too long for a folder: {error.strerror}")
    # Errors of the ledger that are values too are about what was given.
    if isinstance(error, LedgerError) and isinstance(error, ValueError):
        return IcebergRefusal(400, BAD, str(error))
    return IcebergRefusal(FAULT, INTERNAL, str(error)) if isinstance(error, LedgerError) else None


def fault() -> IcebergRefusal:
    """Return the refusal after a fault of the program."""
    return IcebergRefusal(FAULT, INTERNAL, FAULT_TEXT)


def error_form(refused: IcebergRefusal) -> dict[str, Any]:
    """Return a refusal as the fields that clients expect."""
    return {"error": {"message": str(refused), "type": refused.kind, "code": refused.code}}


def headers_of(refused: IcebergRefusal) -> Mapping[str, str]:
    """Return the headers of a refusal: when to ask again, where that may help."""
    return {"retry-after": str(RETRY_AFTER_S)} if refused.code == UNAVAILABLE else {}


def iceberg_problem(problem: Problem) -> Mapping[str, Any]:
    """Return the form of a request that reaches no answer of the catalog."""
    kind = BY_STATUS.get(problem.status, BAD)
    return error_form(IcebergRefusal(problem.status, kind, problem.message))
