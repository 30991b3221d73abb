"""Step 6 of the check: rows added where the attempt read; the only step that depends on the level.

A scan is tested against the partitions with new rows, and then against the values that winners
state of these rows.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.core.conflicts.attempts import Attempt, Hit
from ledger.core.conflicts.footprints import is_backfill, operations_of
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.told_rows import ToldRows, told_columns
from ledger.core.conflicts.winners import ANYWHERE
from ledger.core.partitions.names import Values, partition_values
from ledger.core.predicates.predicates import CompiledPredicate, Predicates

# Operations whose mixed conditions still bound the partitions they read (facts d.3).
DERIVING: Final = frozenset({"DELETE", "UPDATE"})


def added_hits(winners: TableWinners, attempt: Attempt, predicates: Predicates) -> Iterator[Hit]:
    """Step 6: files added where the attempt read; the only step that depends on the level."""
    footprint = attempt.footprint
    if footprint is None or attempt.blind or attempt.level == "SnapshotIsolation":
        return
    if is_backfill(footprint):
        return
    blind_exempt = attempt.level == "WriteSerializable" and not attempt.alters
    kind = "seen" if blind_exempt else "added"
    schema = winners.schema_at(attempt.read_at)
    columns = told_columns(winners, attempt.definition, schema)
    if footprint.reads_whole or not (schema or columns):
        if position := winners.first(kind, attempt.read_at):
            yield Hit(position, 6, "file_added", "table", "")
        return
    derive = DERIVING.issuperset(operations_of(footprint))
    left = predicates.asked_max
    known = ToldRows(winners, predicates, schema, columns, attempt.read_at, kind, left)
    for text in footprint.reads:
        scan = predicates.of(text, schema, derive=derive)
        if columns:
            position, unit = known.first(text)
            if position:
                yield Hit(position, 6, "file_added", unit, scan.text)
            continue
        partitions, left = partitions_to_test(winners, attempt.read_at, scan, left)
        if partitions is not None:
            yield from scanned_hits(winners, attempt.read_at, kind, scan, partitions)
        elif position := winners.first(kind, attempt.read_at):
            yield Hit(position, 6, "file_added", "table", scan.text)
            return  # No other scan can meet an earlier winner.


def partitions_to_test(
    winners: TableWinners, read_at: int, scan: CompiledPredicate, left: int
) -> tuple[Sequence[str] | None, int]:
    """Return the partitions to test a scan against, None for all, and the steps left after that.

    A scan that would need more than the steps `left` counts as one that read all partitions.
    """
    if scan.always:
        return None, left
    found: list[str] = []
    for text in candidates(winners, read_at, scan):
        left -= scan.cost(text)
        if left < 0:
            return None, 0
        found.append(text)
    return found, left


def scanned_hits(
    winners: TableWinners,
    read_at: int,
    kind: str,
    scan: CompiledPredicate,
    partitions: Sequence[str],
) -> Iterator[Hit]:
    """Return a hit for the first winner that added files in each partition the scan read."""
    for text in (ANYWHERE, *partitions):
        position = winners.first((kind, text), read_at)
        if position and reads(scan, text):
            yield Hit(position, 6, "file_added", f"partition {text}", scan.text)


def candidates(winners: TableWinners, read_at: int, scan: CompiledPredicate) -> Iterator[str]:
    """Return a superset of the partitions with new files that a scan can have read."""
    if scan.equals and winners.are_valued_at(read_at):
        return winners.partitions_with(scan.equals)
    return winners.newest_partitions(read_at)


def reads(scan: CompiledPredicate, text: str) -> bool:
    """Tell whether a scan read a partition; a partition that cannot be judged counts as read."""
    values: Values | None = partition_values(text)
    return values is None or scan.matches(values)
