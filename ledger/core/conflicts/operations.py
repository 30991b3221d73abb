"""Operations: the names of what a txn does to one table, in conflicts and in a table's history.

The name that the writer gave comes first; otherwise the name follows from the deed.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from ledger.core.commands import CoarseWrite, Footprint, TableWrite
from ledger.core.conflicts.footprints import joined_names, operations_of
from ledger.core.events.events import TableAltered
from ledger.core.events.parts import CommittedPart
from ledger.core.state.tables import Pending

# Delta's name of a change of metadata, for a change that was given no name.
CHANGES: Final = {
    "create": "CREATE TABLE",
    "alter": "ALTER TABLE",
    "rename": "RENAME TABLE",
    "drop": "DROP TABLE",
}
CREATED: Final = CHANGES["create"]
INSERT: Final = "insert"
FLUSH: Final = "FLUSH"
"""Rows of the log go into files."""


def attempted(
    footprint: Footprint | None, coarse: Sequence[CoarseWrite], changes: Iterable[Pending]
) -> str:
    """Return the operation of a part that is judged."""
    if footprint is not None:
        return footprint.operation or "READ"
    if coarse:
        return main_operation(coarse)
    return next((change.operation or change.kind for change in changes), "")


def winning(
    footprint: Footprint | None, coarse: Sequence[CoarseWrite], altered: Pending | None
) -> str:
    """Return the operation of a part that later commits are judged against."""
    if footprint is not None and footprint.operation:
        return footprint.operation
    return altered.operation if altered is not None else main_operation(coarse)


def main_operation(coarse: Sequence[CoarseWrite]) -> str:
    """Return the first operation of coarse writes other than insert, else insert, else ""."""
    operations: list[str] = [write.operation for write in coarse]
    return next(
        (operation for operation in operations if operation != INSERT), (operations or [""])[0]
    )


def altered(body: TableAltered) -> str:
    """Return the operation of an alter that is a commit of its own."""
    return body.operation or CHANGES["alter"]


def committed(part: CommittedPart | TableWrite, changes: Iterable[Pending]) -> str:
    """Return the operation of one table of a commit, won or lost: the writer's name, else by deed.

    `changes` are all changes of metadata that waited for the commit.
    """
    coarse = [write.operation for write in part.writes]
    rewriting = [each for each in coarse if each != INSERT]
    if part.footprint is not None and part.footprint.operation:
        named = operations_of(part.footprint)
        said = {each.lower() for each in named}
        return joined_names([*named, *(each for each in rewriting if each not in said)])
    own = [change for change in changes if change.table == part.table]
    changed = [change.operation or CHANGES[change.kind] for change in own]
    return (*changed[-1:], joined_names(rewriting) or joined_names(coarse))[0]
