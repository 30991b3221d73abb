"""Refusals of the ledger at a commit, as its clients take them.

A conflict is tried again by the client, after a new load. What no retry mends is a bad request. An
unknown outcome is said as such. Errors of the log, the rows and the storage, which no request
causes, pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ledger.errors import (
    ConflictError,
    ConstraintViolatedError,
    OutcomeUnknownError,
    RefusedError,
    SettingsError,
    SnapshotTooOldError,
    TableExistsError,
    UnknownTableError,
    UnreadableTableError,
)
from ledger.iceberg.types import NoIcebergTypeError
from projections.iceberg.errors import (
    IcebergRefusal,
    bad_request,
    commit_failed,
    no_table,
    outcome_unknown,
)

GIVEN: Final = (ConstraintViolatedError, SettingsError, UnreadableTableError)
"""Errors about what was given, or about a table whose files must be mended first."""


@contextmanager
def as_refusals(name: str) -> Iterator[None]:
    """Turn what the ledger refuses in a block into IcebergRefusal; `name` is the table's.

    SnapshotTooOldError passes: another plan helps.
    """
    try:
        yield
    except SnapshotTooOldError:
        raise
    except OutcomeUnknownError as error:
        raise outcome_unknown(str(error)) from error
    except TableExistsError as error:
        raise commit_failed(f"Requirement failed: table already exists: {error}") from error
    except UnknownTableError as error:
        raise no_table(f"{name}: {error}") from error
    except ConflictError as error:
        raise commit_failed(worded(error)) from error
    except RefusedError as error:
        raise refusal_of(error) from error
    except (NoIcebergTypeError, *GIVEN) as error:
        raise bad_request(f"{name}: {error}") from error


@contextmanager
def as_bad_requests(name: str) -> Iterator[None]:
    """Turn errors about given values into IcebergRefusal; nothing else may be in the block."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise bad_request(f"{name}: {error}") from error


def worded(error: ConflictError) -> str:
    """Return a conflict with the commit that won, and what helps."""
    return f"{type(error).__name__}: {error}\n{error.explain()}".strip()


def refusal_of(error: RefusedError) -> IcebergRefusal:
    """Return another refusal: one that a new attempt may pass, or a bad request."""
    if error.retry_unchanged or error.retry_anew:
        return commit_failed(f"{type(error).__name__}: {error}")
    return bad_request(f"{type(error).__name__}: {error}")
