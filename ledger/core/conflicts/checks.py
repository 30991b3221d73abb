"""The conflict check: one attempt of delta-spark, decided from the index of the winners.

delta-spark takes the winners one by one in commit order, and checks each in the documented order:
protocol, metadata, domains, application ids, added files, files read and removed, files removed
twice (facts a.4). So the first conflict is the least pair (position, step). Each step here looks up
the first winner that conflicts. The cost grows with what the attempt read and wrote, not with the
number of winners. Hive's write-write check (rule c1) is the same check on coarse units.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from ledger.core.commands import CoarseWrite
from ledger.core.conflicts.added_checks import added_hits
from ledger.core.conflicts.attempts import Attempt, Check, Hit
from ledger.core.conflicts.footprints import ROW_TRACKING_DOMAIN
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.removed_checks import removed_hits
from ledger.core.conflicts.winners import removed_units
from ledger.core.partitions.units import WHOLE_TABLE, Unit, meeting, unit_of
from ledger.core.predicates.predicates import Predicates


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
