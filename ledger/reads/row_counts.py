"""How many rows a commit changed, by its statements, and how many rows of a table lie in the log.

The record of a commit has the counts as Delta's `operationMetrics`, so a published log has them in
its commitInfo.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

METRICS: Final = "operationMetrics"
INSERTED: Final = "numInsertedRows"
UPDATED: Final = "numUpdatedRows"
DELETED: Final = "numDeletedRows"


class BlocksRow(NamedTuple):
    """The rows of a table that lie in the log: in how many blocks, their bytes, their number.

    `since` is the time of the ledger in milliseconds from which on there were some, or at which
    some last went into files.
    """

    table: int
    blocks: int
    size: int
    rows: int
    since: int


class ChangedRows(NamedTuple):
    """How many rows a statement inserted, updated and deleted; None = not counted."""

    inserted: int = 0
    updated: int = 0
    deleted: int | None = 0

    @property
    def affected(self) -> int | None:
        """The number of rows that were inserted, updated or deleted, None = not counted."""
        return None if self.deleted is None else self.inserted + self.updated + self.deleted

    def plus(self, other: "ChangedRows") -> "ChangedRows":
        """Return the rows of two statements together."""
        deleted = None
        if self.deleted is not None and other.deleted is not None:
            deleted = self.deleted + other.deleted
        return ChangedRows(self.inserted + other.inserted, self.updated + other.updated, deleted)

    def metrics(self) -> dict[str, str]:
        """Return the counts by Delta's names, as texts, without what was not counted."""
        found = {INSERTED: self.inserted, UPDATED: self.updated, DELETED: self.deleted}
        return {name: str(count) for name, count in found.items() if count is not None}

    def __str__(self) -> str:
        counts = {name: count for name, count in self._asdict().items() if count != 0}
        words = [f"{'?' if count is None else count} {name}" for name, count in counts.items()]
        return ", ".join(words) or "none"


def rows_in(info: str) -> ChangedRows | None:
    """Return the counts in the info of a version, None for a version without them."""
    with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        found: Mapping[str, Any] = json.loads(info)[METRICS] if info else {}
        if INSERTED in found and UPDATED in found:
            deleted = found.get(DELETED)
            gone = None if deleted is None else int(deleted)
            return ChangedRows(int(found[INSERTED]), int(found[UPDATED]), gone)
    return None
