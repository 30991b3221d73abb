"""The conflict check: one attempt of delta-spark, decided from the index of the winners.

delta-spark takes the winners one by one in commit order, and checks each in the documented order:
protocol, metadata, domains, application ids, added files, files read and removed, files removed
twice (facts a.4). So the first conflict is the least pair (position, step). Each step here looks up
the first winner that conflicts. The cost grows with what the attempt read and wrote, not with the
number of winners. Hive's write-write check (rule c1) is the same check on coarse units.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from ledger.core.commands import CoarseWrite, Footprint, IsolationLevel
from ledger.core.conflicts.footprints import ROW_TRACKING_DOMAIN, hashes, is_backfill, operations_of
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.winners import ANY_FILE, ANYWHERE, removed_units
from ledger.core.partitions.names import Values, partition_values
from ledger.core.partitions.units import WHOLE_TABLE, Unit, meeting, unit_of
from ledger.core.predicates.predicates import CompiledPredicate, Predicates

# Operations whose mixed conditions still bound the partitions they read (facts d.3).
DERIVING: Final = frozenset({"DELETE", "UPDATE"})


class Attempt(NamedTuple):
    """One table part about to commit, as the check reads it.

    `changes`: it changes metadata. `alters`: one of these changes is more than a rename.
    `rearranges`: its files hold the same rows as before. `breaks`: its protocol action removes a
    feature. `operation` names what it does in a word or two.
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
    """A conflict: the winner's position, the step and rule that found it, and where both met.

    `unit` names the place, `predicate` the scan that matched. The least of several hits counts.
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
    """Step 1: an unknown or removed feature, two protocol actions, or two replacements."""
    footprint = attempt.footprint
    keys: list[tuple[object, str]] = [
        (("protocol", "beyond"), "feature_beyond_known"),
        (("protocol", "breaks"), "feature_dropped"),
    ]
    if footprint is not None and footprint.protocol is not None:
        keys.append(("protocol", "protocol_twice"))
    if attempt.replaces:
        keys.append(("replaces", "replaced_twice"))
    if attempt.breaks:
        keys.append(("any", "feature_drop_overtaken"))
    for key, rule in keys:
        if position := winners.first(key, attempt.read_at):
            yield Hit(position, 1, rule, "protocol")


def metadata_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Step 2: two metadata changes, or one that a commit in flight cannot be rebased over."""
    read_at = attempt.read_at
    if attempt.changes and (position := winners.first("metadata", read_at)):
        yield Hit(position, 2, "metadata_twice", "metadata")
    kinds = ("shape", "properties") if attempt.footprint is not None else ("shape",)
    for kind in kinds:
        if position := winners.first(("metadata", kind), read_at):
            yield Hit(position, 2, "metadata_changed", kind)
    if attempt.footprint is None:
        return
    # A commit tolerates an identity mark, but is not rebased over it. A resolvable change after the
    # mark therefore differs from the base in two ways, and conflicts.
    marked = winners.first(("metadata", "identity"), read_at)
    if marked and (position := winners.first(("metadata", "resolvable"), marked)):
        yield Hit(position, 2, "metadata_changed", "properties")


def domain_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Step 3: one domain written twice; the row tracking domain is merged instead."""
    for domain in attempt.footprint.domains if attempt.footprint else ():
        if domain.name == ROW_TRACKING_DOMAIN:
            continue
        if position := winners.first(("domain", domain.name), attempt.read_at):
            yield Hit(position, 3, "domain_twice", f"domain {domain.name}")


def app_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Step 4: an application progressed whose progress this attempt had looked up."""
    for app in attempt.footprint.read_apps if attempt.footprint else ():
        if position := winners.first(("app", app), attempt.read_at):
            yield Hit(position, 4, "app_progressed", f"app {app}")


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
    if footprint.reads_whole or not schema:
        if position := winners.first(kind, attempt.read_at):
            yield Hit(position, 6, "file_added", "table", "")
        return
    derive = DERIVING.issuperset(operations_of(footprint))
    left = predicates.asked_max
    for text in footprint.reads:
        scan = predicates.of(text, schema, derive=derive)
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


def removed_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Steps 7 and 8: files removed that the attempt read, or also removes."""
    footprint = attempt.footprint
    if footprint is None:
        return
    read_at = attempt.read_at
    if footprint.reads_whole and (position := winners.first("removed", read_at)):
        yield Hit(position, 7, "file_read_removed", "table")
    if reads_unlocated(attempt, footprint) and (at := winners.first("coarse", read_at)):
        yield Hit(at, 7, "file_read_removed", "table")
    # A backfill reads files only to record them again. It leaves out files that are gone (a.4 step
    # 5), and so does every reader of its commit.
    read_files = b"" if is_backfill(footprint) else footprint.read_files
    for position, unit in removers(winners, read_at, read_files):
        yield Hit(position, 7, "file_read_removed", unit)
    for position, unit in removers(winners, read_at, footprint.removes):
        # Two commits that only rearrange also read what they remove. The documented answer is that
        # both removed it.
        both = attempt.rearranges and winners.parts[position].rearranges
        yield Hit(position, 6 if both else 8, "file_removed_twice", unit)


def removers(winners: TableWinners, read_at: int, row: bytes) -> Iterator[tuple[int, str]]:
    """Return the first winner that removed each of these files, with the unit where both met."""
    if row and (position := winners.first(ANY_FILE, read_at)):
        yield position, "files"
    for path in hashes(row):
        if position := winners.first(path, read_at):
            yield position, f"file {path.hex()}"


def reads_unlocated(attempt: Attempt, footprint: Footprint) -> bool:
    """Tell whether files were read whose partitions no other step checks for coarse writes.

    Step 6 checks the partitions of the scans, except at SnapshotIsolation. Step 8 checks those of
    removed files.
    """
    if not footprint.reads:
        return bool(footprint.read_files)
    if attempt.level != "SnapshotIsolation":
        return False
    return bool(set(hashes(footprint.read_files)).difference(hashes(footprint.removes)))


def coarse_hits(winners: TableWinners, attempt: Attempt, _: Predicates) -> Iterator[Hit]:
    """Step 8 for units: rows changed in a unit where the attempt changes rows or removes files."""
    schema = winners.schema_at(attempt.read_at)
    for write in attempt.coarse:
        if write.operation != "insert":
            unit = unit_of(write, schema)
            yield from unit_hits(winners, attempt.read_at, unit, ("coarse", "changed"), write)
    if attempt.footprint is not None:
        for unit in removed_units(attempt.footprint, schema):
            yield from unit_hits(winners, attempt.read_at, unit, ("coarse",), None)


def unit_hits(
    winners: TableWinners, read_at: int, unit: Unit, kinds: Sequence[str], write: CoarseWrite | None
) -> Iterator[Hit]:
    """Return a hit for the first winner under each key of a unit; a whole table meets any unit."""
    name = unit_name(write) if write is not None else "partition"
    for kind in kinds:
        for key in unit_keys(winners, kind, unit):
            if position := winners.first(key, read_at):
                yield Hit(position, 8, "coarse_write_write", name)


def unit_keys(winners: TableWinners, kind: str, unit: Unit) -> Iterator[Hashable]:
    """Return the keys of the index under which changes that meet a unit are entered."""
    is_any = unit == WHOLE_TABLE or (unit[0] == "named" and winners.names_many_columns)
    if is_any:
        yield "removed" if kind == "changed" else "coarse"
        return
    yield from meeting(kind, unit)
    if unit[0] == "named":
        others = (names for names in winners.column_names if names != unit[1])
        yield from ((kind, "names", names) for names in others)


def unit_name(write: CoarseWrite) -> str:
    """Return the name of the unit of a coarse write, unique within its table."""
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
# The checks that apply to an attempt without files.
COARSE_CHECKS: Final[Sequence[Check]] = (protocol_hits, metadata_hits, coarse_hits)
