"""The conflict check: one attempt of delta-spark, decided from the index of the winners.

Winners are considered one by one in commit order, and within one winner in the documented order:
protocol, metadata, domains, application ids, added files, files read and removed, files removed
twice (facts a.4). So the first conflict is the least pair (position, step). Each step asks the
index for the first winner it minds, which costs what the attempt itself read and wrote, not how
many won meanwhile. Hive's write-write check (rule c1) is the same check on coarse units.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from ledger.core.commands import CoarseWrite, Footprint, IsolationLevel
from ledger.core.conflicts.footprints import (
    ROW_TRACKING_DOMAIN,
    hashes,
    is_backfill,
    operations_of,
)
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.winners import ANY_FILE, ANYWHERE, removed_units
from ledger.core.partitions.names import Values, partition_values
from ledger.core.partitions.units import WHOLE_TABLE, Unit, meeting, unit_of
from ledger.core.predicates.predicates import CompiledPredicate, Predicates

# Operations whose mixed conditions still bound the partitions they read (facts d.3).
DERIVING: Final = frozenset({"DELETE", "UPDATE"})


class Attempt(NamedTuple):
    """One table part about to commit. `changes` = of its metadata, `rearranges` = no data changes.

    `alters` = one of its changes is more than another name. `operation` is what it does, in a word
    or two; `breaks` = its protocol action takes a feature away.
    """

    read_at: int
    level: IsolationLevel
    coarse: Sequence[CoarseWrite]
    footprint: Footprint | None
    blind: bool
    rearranges: bool
    changes: bool
    alters: bool
    replaces: bool
    breaks: bool
    operation: str = ""


class Hit(NamedTuple):
    """A conflict: the winner's position, the step that found it, in what both met, by which scan.

    Hits are ordered: the first of several is the least.
    """

    position: int
    step: int
    rule: str
    unit: str
    predicate: str = ""


Check = Callable[[TableWinners, Attempt, Predicates], Iterator[Hit]]


def first_hit(winners: TableWinners, attempt: Attempt, predicates: Predicates) -> Hit | None:
    """Return the first conflict of an attempt with the winners after its read, or None."""
    if not winners.first("any", attempt.read_at):
        return None
    checks = COARSE_CHECKS if attempt.footprint is None else CHECKS
    hits = [hit for check in checks for hit in check(winners, attempt, predicates)]
    return min(hits) if hits else None


def protocol_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Step 1: a feature that is not known, or taken away, two protocol actions or replacements."""
    footprint = attempt.footprint
    asked: list[tuple[object, str]] = [
        (("protocol", "beyond"), "feature_beyond_known"),
        (("protocol", "breaks"), "feature_dropped"),
    ]
    if footprint is not None and footprint.protocol is not None:
        asked.append(("protocol", "protocol_twice"))
    if attempt.replaces:
        asked.append(("replaces", "replaced_twice"))
    if attempt.breaks:
        asked.append(("any", "feature_drop_overtaken"))
    for key, rule in asked:
        if position := winners.first(key, attempt.read_at):
            yield Hit(position, 1, rule, "protocol")


def metadata_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Step 2: two metadata changes, or one that a commit in flight cannot take on."""
    read_at = attempt.read_at
    if attempt.changes and (position := winners.first("metadata", read_at)):
        yield Hit(position, 2, "metadata_twice", "metadata")
    kinds = ("shape", "properties") if attempt.footprint is not None else ("shape",)
    for kind in kinds:
        if position := winners.first(("metadata", kind), read_at):
            yield Hit(position, 2, "metadata_changed", kind)
    if attempt.footprint is None:
        return
    # An identity mark is tolerated but not taken on: any change after it differs in two things.
    marked = winners.first(("metadata", "identity"), read_at)
    if marked and (position := winners.first(("metadata", "resolvable"), marked)):
        yield Hit(position, 2, "metadata_changed", "properties")


def domain_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Step 3: one domain written twice; that of row tracking is merged."""
    for domain in attempt.footprint.domains if attempt.footprint else ():
        if domain.name == ROW_TRACKING_DOMAIN:
            continue
        if position := winners.first(("domain", domain.name), attempt.read_at):
            yield Hit(position, 3, "domain_twice", f"domain {domain.name}")


def app_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Step 4: progress recorded of an application whose progress was looked up."""
    for app in attempt.footprint.read_apps if attempt.footprint else ():
        if position := winners.first(("app", app), attempt.read_at):
            yield Hit(position, 4, "app_progressed", f"app {app}")


def added_hits(winners: TableWinners, attempt: Attempt, predicates: Predicates) -> Iterator[Hit]:
    """Step 6: files added where the attempt read; the only step that asks for the level."""
    footprint = attempt.footprint
    if footprint is None or attempt.blind or attempt.level == "SnapshotIsolation":
        return
    if is_backfill(footprint):
        return
    blind_exempt = attempt.level == "WriteSerializable" and not attempt.alters
    kind = "seen" if blind_exempt else "added"
    schema = winners.schema_at(attempt.read_at)
    if footprint.reads_whole or not schema:
        if position := winners.first(kind, attempt.read_at):
            yield Hit(position, 6, "file_added", "table", "")
        return
    derive = DERIVING.issuperset(operations_of(footprint))
    left = predicates.asked_max
    for text in footprint.reads:
        scan = predicates.of(text, schema, derive=derive)
        partitions, left = asked_of(winners, attempt.read_at, scan, left)
        if partitions is not None:
            yield from scanned_hits(winners, attempt.read_at, kind, scan, partitions)
        elif position := winners.first(kind, attempt.read_at):
            yield Hit(position, 6, "file_added", "table", scan.text)
            return  # No other scan meets an earlier winner.


def asked_of(
    winners: TableWinners, read_at: int, scan: CompiledPredicate, left: int
) -> tuple[Sequence[str] | None, int]:
    """Return the partitions that a scan has to be asked of, None if it read them all.

    That is also what a scan counts as that would take more than the steps that are `left`; what
    then is left of them comes beside.
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
    """Return the files added within one scan, by the first winner in each partition."""
    for text in (ANYWHERE, *partitions):
        position = winners.first((kind, text), read_at)
        if position and reads(scan, text):
            yield Hit(position, 6, "file_added", f"partition {text}", scan.text)


def candidates(winners: TableWinners, read_at: int, scan: CompiledPredicate) -> Iterator[str]:
    """Return all partitions with new files that a scan can have read, and others."""
    if scan.equals and winners.are_valued_at(read_at):
        return winners.partitions_with(scan.equals)
    return winners.newest_partitions(read_at)


def reads(scan: CompiledPredicate, text: str) -> bool:
    """Tell whether a scan read a partition; one that cannot be judged counts as read."""
    values: Values | None = partition_values(text)
    return values is None or scan.matches(values)


def removed_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Steps 7 and 8: files removed that the attempt read, or removes too."""
    footprint = attempt.footprint
    if footprint is None:
        return
    read_at = attempt.read_at
    if footprint.reads_whole and (position := winners.first("removed", read_at)):
        yield Hit(position, 7, "file_read_removed", "table")
    if reads_anywhere(attempt, footprint) and (at := winners.first("coarse", read_at)):
        yield Hit(at, 7, "file_read_removed", "table")
    # A backfill that reads files only to record them again leaves out those that are gone (a.4 step
    # 5): so does everyone who takes its files in.
    read_files = b"" if is_backfill(footprint) else footprint.read_files
    for position, unit in removers(winners, read_at, read_files):
        yield Hit(position, 7, "file_read_removed", unit)
    for position, unit in removers(winners, read_at, footprint.removes):
        # Two commits that only rearrange read what they remove: the documented answer is that both
        # removed it (DESIGN.md 5.3).
        both = attempt.rearranges and winners.parts[position].rearranges
        yield Hit(position, 6 if both else 8, "file_removed_twice", unit)


def removers(winners: TableWinners, read_at: int, row: bytes) -> Iterator[tuple[int, str]]:
    """Return the first winner that removed each of these files, and what both met in."""
    if row and (position := winners.first(ANY_FILE, read_at)):
        yield position, "files"
    for path in hashes(row):
        if position := winners.first(path, read_at):
            yield position, f"file {path.hex()}"


def reads_anywhere(attempt: Attempt, footprint: Footprint) -> bool:
    """Tell whether nobody else asks where a file lies that was read, and who changed rows there.

    Step 6 does, within the scans, but not at SnapshotIsolation; step 8 does for what is removed.
    """
    if not footprint.reads:
        return bool(footprint.read_files)
    if attempt.level != "SnapshotIsolation":
        return False
    return bool(set(hashes(footprint.read_files)).difference(hashes(footprint.removes)))


def coarse_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Step 8 for units: rows changed in a unit that the attempt changes, or removes files from."""
    schema = winners.schema_at(attempt.read_at)
    for write in attempt.coarse:
        if write.operation != "insert":
            unit = unit_of(write, schema)
            yield from unit_hits(winners, attempt.read_at, unit, ("coarse", "changed"), write)
    if attempt.footprint is not None:
        for unit in removed_units(attempt.footprint, schema):
            yield from unit_hits(winners, attempt.read_at, unit, ("coarse",), None)


def unit_hits(
    winners: TableWinners,
    read_at: int,
    unit: Unit,
    kinds: Sequence[str],
    write: CoarseWrite | None,
) -> Iterator[Hit]:
    """Return the winners that changed a unit; the whole table meets every unit of it."""
    name = unit_name(write) if write is not None else "partition"
    for kind in kinds:
        for key in unit_keys(winners, kind, unit):
            if position := winners.first(key, read_at):
                yield Hit(position, 8, "coarse_write_write", name)


def unit_keys(winners: TableWinners, kind: str, unit: Unit) -> Iterator[Hashable]:
    """Return the keys under which the changes that meet a unit stand."""
    is_any = unit == WHOLE_TABLE or (unit[0] == "named" and winners.names_many_columns)
    if is_any:
        yield "removed" if kind == "changed" else "coarse"
        return
    yield from meeting(kind, unit)
    if unit[0] == "named":
        others = (names for names in winners.column_names if names != unit[1])
        yield from ((kind, "names", names) for names in others)


def unit_name(write: CoarseWrite) -> str:
    """Return the unit of a coarse write as one word that no other unit of the table shares."""
    if write.scope == "partition":
        return f"partition {write.partition}"
    return "table" if write.scope == "table" else "unpartitioned"


CHECKS: Final[Sequence[Check]] = (
    protocol_hits,
    metadata_hits,
    domain_hits,
    app_hits,
    added_hits,
    removed_hits,
    coarse_hits,
)
# What can meet an attempt that declared no files.
COARSE_CHECKS: Final[Sequence[Check]] = (protocol_hits, metadata_hits, coarse_hits)
