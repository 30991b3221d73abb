"""Conflicts: an earlier commit won. Six classes carry Delta's own names."""

from html import escape
from typing import Any

from ledger.errors.refused import RefusedError


class ConflictError(RefusedError):
    """An earlier commit won; `evidence` shows the two changes that met, `subject` is the loser.

    The txn of a lost commit is aborted. A change of metadata that comes too late is refused before
    the commit, without evidence. Six subclasses carry Delta's names. Delta's client finds the
    seventh case by itself.
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
        """Return a few lines: the winner, its change, the rule, and what helps."""
        return str(self) if self.explanation is None else str(self.explanation)

    def _repr_html_(self) -> str:
        lines = escape(self.explain()).replace("\n", "<br>")
        return f"<div><p>{type(self).__name__}</p><p>{lines}</p></div>"

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation for programs, in types that JSON has."""
        found = {} if self.explanation is None else self.explanation.as_dict()
        return {"exception": self.reason, "message": str(self), **found}


class ConcurrentAppendException(ConflictError):  # noqa: N818 - Delta's own name
    """Another commit added files where this txn read."""


class ConcurrentDeleteReadException(ConflictError):  # noqa: N818 - Delta's own name
    """Another commit removed a file that this txn read."""


class ConcurrentDeleteDeleteException(ConflictError):  # noqa: N818 - Delta's own name
    """Both txns changed or removed the same rows or files."""


class MetadataChangedException(ConflictError):  # noqa: N818 - Delta's own name
    """Another commit changed the table's metadata, or dropped the table."""


class ConcurrentTransactionException(ConflictError):  # noqa: N818 - Delta's own name
    """Another commit recorded the application's progress: look it up, the work may be done."""

    retry_anew = False


class ProtocolChangedException(ConflictError):  # noqa: N818 - Delta's own name
    """The table's protocol changed, or another table took its name."""


class UnsupportedTableFeatureException(ConflictError):  # noqa: N818 - as Delta's own are called
    """The table has a feature that this version does not know; its file rules are unknown."""

    retry_anew = False
