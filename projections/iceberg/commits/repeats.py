"""Repeats: a client that got no answer sends its commit again, and it is done once.

A commit is known by the ids of its snapshots. The version that it made has noted the last one. Two
requests with one snapshot that come at once to this process are executed one after the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition
from typing import Final

from ledger.core.conflicts.metadata_diff import properties
from projections.iceberg.commits.definitions.definition_changes import TABLE_UUID
from projections.iceberg.commits.table_changes import TableChange
from projections.iceberg.commits.table_state import TableAsServed

CommitKey = tuple[str, int]
"""The id of a ledger, and that of a snapshot."""


class CommitsInFlight:
    """The commits that this process executes now, by their snapshots; threads share it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._keys: set[CommitKey] = set()

    @contextmanager
    def turn(self, keys: Iterable[CommitKey]) -> Iterator[None]:
        """Wait until no other commit has one of some snapshots, and hold them for the block."""
        wanted = set(keys)
        with self._changed:
            self._changed.wait_for(lambda: not wanted & self._keys)
            self._keys |= wanted
        try:
            yield
        finally:
            with self._changed:
                self._keys -= wanted
                self._changed.notify_all()


IN_FLIGHT: Final = CommitsInFlight()


def snapshots_of(ledger: str, changes: Iterable[TableChange]) -> set[CommitKey]:
    """Return the keys of all new snapshots of a commit."""
    return {(ledger, number) for change in changes for number in change.asked.snapshots}


def is_done(changes: Sequence[TableChange], tables: Sequence[TableAsServed | None]) -> bool:
    """Return whether a commit was executed before: each table of it shows that.

    A commit without snapshots that creates no table has no mark, and is never a repeat.
    """
    marks = [
        is_executed(change, table)
        for change, table in zip(changes, tables, strict=True)
        if change.asked.snapshots or change.creates
    ]
    return bool(marks) and all(marks)


def is_executed(change: TableChange, table: TableAsServed | None) -> bool:
    """Return whether a table has a change: its snapshot, or for a new table its uuid."""
    if table is None:
        return False
    if change.asked.head is not None and change.asked.snapshots:
        return table.version_row_of_noted(change.asked.head) is not None
    given = change.asked.uuid
    known = properties(table.definition).get(TABLE_UUID, "")
    return bool(given) and known.lower() == given
