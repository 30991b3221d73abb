"""Operations: the names of a table's versions in its history."""

from collections.abc import Iterable
from typing import Final

from ledger.core.commands import TableWrite
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


def altered(body: TableAltered) -> str:
    """Return the operation of an alter that is a commit of its own."""
    return body.operation or CHANGES["alter"]


def committed(part: CommittedPart | TableWrite, changes: Iterable[Pending]) -> str:
    """Return the operation of one table of a commit, won or lost: the writer's name, else by deed.

    `changes` are all changes of metadata that waited for the commit.
    """
    coarse = [write.operation for write in part.writes]
    rewriting = [each for each in coarse if each != "insert"]
    if part.footprint is not None and part.footprint.operation:
        named = operations_of(part.footprint)
        said = {each.lower() for each in named}
        return joined_names([*named, *(each for each in rewriting if each not in said)])
    own = [change for change in changes if change.table == part.table]
    changed = [change.operation or CHANGES[change.kind] for change in own]
    return (*changed[-1:], joined_names(rewriting) or joined_names(coarse))[0]
