"""Refusals of an Iceberg REST catalog, in the words of its protocol.

Clients choose their exception by the status, and at 404 by the kind. Only a `CommitFailedException`
is tried again.
"""

from typing import Final

UNKNOWN: Final = "CommitStateUnknownException"
"""The kind of a commit whose outcome is unknown: clients keep its files then."""


class IcebergRefusal(Exception):  # noqa: N818 - the protocol calls it no error
    """A request that is refused: `code` is the HTTP status, `kind` the type of the error."""

    def __init__(self, code: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.code, self.kind = code, kind


class RowsInLogError(IcebergRefusal):
    """A table has rows in the log, which readers of Iceberg do not find; its flush helps."""


def bad_request(message: str) -> IcebergRefusal:
    """Return the refusal of a request that no state allows."""
    return IcebergRefusal(400, "BadRequestException", message)


def no_table(name: str) -> IcebergRefusal:
    """Return the refusal, 404 by its kind, for a name that no table has."""
    return IcebergRefusal(404, "NoSuchTableException", f"Table does not exist: {name}")


def no_namespace(name: str) -> IcebergRefusal:
    """Return the refusal, 404 by its kind, for a name that no namespace has."""
    return IcebergRefusal(404, "NoSuchNamespaceException", f"Namespace does not exist: {name}")


def already_there(what: str, name: str) -> IcebergRefusal:
    """Return the refusal of a name that is taken; `what` is `Table` or `Namespace`."""
    return IcebergRefusal(409, "AlreadyExistsException", f"{what} already exists: {name}")


def not_empty(name: str) -> IcebergRefusal:
    """Return the refusal to drop a namespace with something in it."""
    return IcebergRefusal(409, "NamespaceNotEmptyException", f"Namespace {name} is not empty")


def commit_failed(message: str) -> IcebergRefusal:
    """Return the refusal of a commit that may succeed after a new load of the table."""
    return IcebergRefusal(409, "CommitFailedException", message)


def outcome_unknown(message: str) -> IcebergRefusal:
    """Return the answer for a commit that may have been executed."""
    return IcebergRefusal(500, UNKNOWN, message)
