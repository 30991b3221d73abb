"""Whether a commit that lost would have passed at WriteSerializable, as far as rows can say.

The exact answer replays the log: `lakeledger conflict whatif`. The rows hold what the loser read,
the winner and its rule, and the files of every version since. That decides nearly every conflict;
where it does not, the answer is that the rows do not say.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from ledger.core.commands import Footprint, TableWrite
from ledger.core.conflicts.added_checks import DERIVING
from ledger.core.conflicts.footprints import (
    BACKFILLS,
    hashes,
    is_backfill,
    is_blind,
    operations_of,
    path_hash,
)
from ledger.core.decide.table_part import is_read
from ledger.core.partitions.names import Values
from ledger.core.predicates.predicates import Predicates
from ledger.core.state.traits import traits_of
from ledger.reads.port import ConflictRow, FileChange, Reads, VersionRow

WEAKER: Final = "WriteSerializable"
VERSIONS_MAX: Final = 500
CHANGES_MAX: Final = 5_000


class WhatIf(NamedTuple):
    """Whether a commit would have passed, None if the rows do not say, and why."""

    passes: bool | None
    why: str


def at_write_serializable(reads: Reads, row: ConflictRow) -> WhatIf:
    """Return whether a commit that lost would have passed at WriteSerializable."""
    why = why_it_holds(reads, row)
    if why:
        return WhatIf(passes=False, why=why)
    part = next(each for each in row.attempted if each.table == row.evidence.table)
    first = what_changes(row, part)
    if any(each.footprint is not None and each.footprint.staged for each in row.attempted):
        return WhatIf(passes=None, why=f"{first}, but the rows lack the loser's staged chunks")
    for other in (each for each in row.attempted if not is_read(each)):
        found = other_conflict(reads, row, other)
        if found is not None:
            return found._replace(why=f"{first}; but {found.why}")
    why = f"{first}, and no other commit in between meets what it read or removed"
    return WhatIf(passes=True, why=why)


def what_changes(row: ConflictRow, part: TableWrite) -> str:
    """Return why WriteSerializable does not see the conflict in the evidence."""
    if is_read(part):
        return f"{WEAKER} does not judge a table that was only read"
    if row.evidence.rule != "file_added":
        return f"{WEAKER} compares the rows that a statement matched, not the files that it read"
    return f"{winner_text(row)} is a blind append, which {WEAKER} passes over"


def why_it_holds(  # noqa: PLR0911 - one for each reason
    reads: Reads, row: ConflictRow
) -> str:
    """Return why the conflict in the evidence is one at WriteSerializable too, "" if it is not."""
    lost = row.evidence
    if lost.level == WEAKER:
        return f"it was judged at {WEAKER}, and lost there"
    if lost.level != "Serializable":
        level = lost.level or "no level: coarse writes and table changes are judged alike at each"
        return f"it was judged at {level}"
    part = next((each for each in row.attempted if each.table == lost.table), None)
    if part is None or has_changed(reads, row, lost.table):
        return "it changed the table itself, which every level compares"
    if is_read(part) or (lost.rule == "file_added" and has_blind_winner(reads, row)):
        return ""
    if lost.rule == "file_read_removed" and part.footprint is not None and part.footprint.rows:
        return ""  # At the strongest level alone a statement reads whole files.
    if lost.rule == "file_added":
        return f"{WEAKER} passes over blind appends alone, and {winner_text(row)} read data"
    return f"the rule {lost.rule} holds at every level"


def winner_text(row: ConflictRow) -> str:
    """Return the winner in words."""
    winner = row.evidence.winner
    return f"txn {winner.txn}" if winner.txn else f"the commit at position {winner.position}"


def has_changed(reads: Reads, row: ConflictRow, table: int) -> bool:
    """Return whether the loser changed the definition of a table."""
    txn = reads.txn(row.txn) if row.txn else None
    return txn is not None and any(
        part.table == table and part.metadata_events for part in txn.parts
    )


def has_blind_winner(reads: Reads, row: ConflictRow) -> bool:
    """Return whether the winner was a blind append to the table."""
    lost = row.evidence
    version = reads.version_row(lost.table, position=lost.winner.position)
    return version is not None and version.position == lost.winner.position and version.blind


def other_conflict(reads: Reads, row: ConflictRow, part: TableWrite) -> WhatIf | None:
    """Return what else the loser meets in a table at WriteSerializable, None for nothing."""
    footprint, name = part.footprint, f"table {part.table}"
    if part.writes or footprint is None or has_changed(reads, row, part.table):
        return WhatIf(passes=None, why=f"the rows do not say what else it meets in {name}")
    if footprint.rows is not None:
        return WhatIf(passes=None, why=f"the answer for {name} goes row by row")
    is_special = footprint.protocol is not None or is_backfill(footprint)
    if is_special or footprint.domains or footprint.read_apps:
        return WhatIf(
            passes=None, why=f"the rows do not say whether its protocol or progress met {name}"
        )
    txn = reads.txn(row.txn) if row.txn else None
    since = part.read_at or (txn.opened if txn is not None else row.position - 1)
    table = reads.table(part.table)
    if table is None or since < table.changed < row.position or table.dropped:
        return WhatIf(passes=None, why=f"the definition of {name} changed in between")
    return next(met_in(reads, footprint, between(reads, part.table, since, row.position)), None)


def between(reads: Reads, table: int, since: int, until: int) -> Sequence[VersionRow] | None:
    """Return the versions behind one position and before another, None for too many."""
    last = reads.version_row(table, position=until - 1)
    below = 0 if last is None else last.version + 1
    rows = reads.versions(table, VERSIONS_MAX, below=below)
    found = [row for row in rows if row.position > since]
    return None if len(found) == VERSIONS_MAX else found


def met_in(
    reads: Reads, footprint: Footprint, versions: Sequence[VersionRow] | None
) -> Iterator[WhatIf]:
    """Yield each commit among some versions that the loser meets, or may meet."""
    if versions is None:
        yield WhatIf(passes=None, why=f"more than {VERSIONS_MAX} commits came in between")
        return
    for version in reversed(versions):
        name = f"the commit at position {version.position}"
        is_other = version.metadata_events or version.operation in BACKFILLS
        if is_other or not (version.adds or version.removes):
            yield WhatIf(passes=None, why=f"the rows do not say whether {name} meets it")
        elif not version.blind or version.removes:
            changes = reads.file_changes(
                version.table, version.version, version.version, CHANGES_MAX
            )
            if len(changes) == CHANGES_MAX or len(changes) < version.adds + version.removes:
                yield WhatIf(passes=None, why=f"{name} has too many files to compare")
            elif meets(reads, footprint, version, changes):
                yield WhatIf(passes=False, why=f"{name} meets it at {WEAKER} too")


def meets(
    reads: Reads, footprint: Footprint, version: VersionRow, changes: Sequence[FileChange]
) -> bool:
    """Return whether a commit that read data meets what the loser read or removed."""
    removed = {path_hash(change.file.path) for change in changes if not change.added}
    own = {*hashes(footprint.read_files), *hashes(footprint.removes)}
    if removed and footprint.reads_whole:
        return True
    if own & removed:
        return True
    if version.blind or is_blind(footprint):
        return False
    added = {change.file.partition for change in changes if change.added}
    return bool(added) and has_read(reads, footprint, version, added)


def has_read(
    reads: Reads, footprint: Footprint, version: VersionRow, partitions: AbstractSet[Values]
) -> bool:
    """Return whether the scans of the loser read one of some partitions."""
    definition = reads.definition(version.table, version.position)
    schema = () if definition is None else traits_of(definition).schema
    if footprint.reads_whole or not schema:
        return True
    derive = DERIVING.issuperset(operations_of(footprint))
    known = Predicates()
    scans = [known.of(text, schema, derive=derive) for text in footprint.reads]
    return any(
        scan.always or len(values) != len(schema) or scan.matches(values)
        for scan in scans
        for values in partitions
    )
