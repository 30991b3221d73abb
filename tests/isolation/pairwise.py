"""Judge a finished log pair by pair: every attempt against every winner after its read, in order.

Facts a.4 in the documented order, straightforwardly and without an index: O(n^2) in the commits.
Two answers differ from delta-spark's as the documentation wants it: two that only rearrange files
and remove the same one get ConcurrentDeleteDelete, two that replace a table ProtocolChanged.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tests.isolation.lake import Lake, Table, Win
from tests.isolation.plain import Attempt, Change, Footprint, Part, Verdict
from tests.isolation.rules import (
    BACKFILL,
    JUDGED_TYPE,
    REPLACE,
    ROW_TRACKING,
    SERIALIZABLE,
    SNAPSHOT,
    WRITE_SERIALIZABLE,
    changed_units,
    changes_of,
    is_blind,
    level_of,
    overlap,
    rearranges,
    redefines,
    removed_units,
)
from tests.isolation.values import may_hold

LEVELS: Final = ("SnapshotIsolation", "WriteSerializable", "Serializable")
DERIVING: Final = frozenset({"DELETE", "UPDATE"})
METADATA_STEP: Final = 2


class Side(NamedTuple):
    """One table of an attempt, with all that the steps ask of it."""

    table: Table
    part: Part
    changes: Sequence[Change]
    read_at: int
    level: int
    blind: bool
    rearranges: bool

    @property
    def footprint(self) -> Footprint | None:
        """What it declared file by file."""
        return self.part.footprint


class Clash(NamedTuple):
    """A conflict; the least one of an attempt is its answer: by winner, step, then table."""

    winner: int
    step: int
    table: int
    rule: str
    exception: str


def verdict_on(lake: Lake, attempt: Attempt) -> Verdict:
    """Return what must come of an attempt."""
    applied = applied_before(lake, attempt)
    if applied is not None:
        return applied
    if is_too_old(lake, attempt):
        return Verdict("too_old")
    first = min(clashes(lake, attempt), default=None)
    if first is not None:
        return Verdict("conflict", first.exception, first.table, first.winner, first.rule)
    return Verdict("committed", levels=levels_of(lake, attempt))


def is_too_old(lake: Lake, attempt: Attempt) -> bool:
    """Tell whether something was planned from before what the ledger remembers of the winners.

    Of a table that is gone the drop is remembered.
    """
    plans = [
        read_at_of(attempt, part)
        for part in attempt.parts.values()
        if lake.is_there(attempt.txn, part.table) and is_judged(attempt, part)
    ]
    plans += [change.read_at for change in attempt.changes if change.kind != "create"]
    return any(0 < read_at < attempt.floor for read_at in plans)


def is_judged(attempt: Attempt, part: Part) -> bool:
    """Tell whether the winners may matter to a part."""
    coarse = attempt.type == JUDGED_TYPE and bool(part.coarse)
    return part.footprint is not None or coarse or bool(changes_of(attempt, part.table))


def read_at_of(attempt: Attempt, part: Part) -> int:
    """Return the position a part was planned from, 0 if nobody said."""
    planned = [change.read_at for change in changes_of(attempt, part.table)]
    if part.table not in attempt.parts and planned:
        return min(planned)
    return min([part.read_at or attempt.opened, *planned])


def applied_before(lake: Lake, attempt: Attempt) -> Verdict | None:
    """Return the verdict on progress that was made before, wholly or in part."""
    found = []
    for part in attempt.parts.values():
        is_there = part.table in lake.tables and not lake.tables[part.table].dropped
        known = lake.tables[part.table].apps if is_there else {}
        for app, version in (part.footprint.apps if part.footprint else {}).items():
            before, position = known.get(app, (-1, 0))
            found.append(position if before >= version else 0)
    if not any(found):
        return None
    return Verdict("applied", winner=max(found)) if all(found) else Verdict("disagree")


def clashes(lake: Lake, attempt: Attempt) -> Iterator[Clash]:
    """Yield the conflicts of each table that count, the first of it among them."""
    for number in {*attempt.parts, *(change.table for change in attempt.changes)}:
        if number in lake.hidden.get(attempt.txn, ()):
            continue
        table = lake.tables[number]
        if table.dropped:
            yield Clash(table.dropped, METADATA_STEP, number, "table_dropped", "MetadataChanged")
            continue
        side = side_of(attempt, table, number)
        is_unjudged = number in attempt.parts and not is_judged(attempt, attempt.parts[number])
        if is_unjudged and attempt.type != JUDGED_TYPE:
            continue
        is_written = number in lake.touched(attempt)
        if is_written or side.level == SERIALIZABLE:
            yield from clashes_with(number, side)


def side_of(attempt: Attempt, table: Table, number: int) -> Side:
    """Return one table of an attempt; a replicated txn was judged where it comes from."""
    changes = changes_of(attempt, number)
    part = attempt.parts.get(number, Part(number, 0, (), None))
    if attempt.type != JUDGED_TYPE:
        part = part._replace(coarse=())
    if attempt.type == "replicated":
        part = part._replace(footprint=None)
    footprint = part.footprint
    return Side(
        table,
        part,
        changes,
        read_at_of(attempt, part) or attempt.position,
        level_of(table.definition, attempt, part),
        footprint is not None and is_blind(footprint),
        rearranges(part, changes),
    )


def clashes_with(number: int, side: Side) -> Iterator[Clash]:
    """Yield the first conflict with the winners of one table, and the one with a new name.

    A new name is no commit of the table, which remembers the last one only.
    """
    if side.changes and side.table.changed > side.read_at:
        yield Clash(side.table.changed, METADATA_STEP, number, "metadata", "MetadataChanged")
    marked = False
    for win in side.table.wins_after(side.read_at):
        for step, rule, exception in meet(side, win, marked=marked):
            yield Clash(win.position, step, number, rule, exception)
            return
        marked = marked or win.metadata == "identity"


def meet(side: Side, win: Win, *, marked: bool) -> Iterator[tuple[int, str, str]]:
    """Yield what stands between an attempt and one winner, in the order of the steps."""
    if win.protocol == "beyond":
        yield 1, "feature_beyond_known", "UnsupportedTableFeature"
    if protocols_clash(side, win):
        yield 1, "protocol", "ProtocolChanged"
    if metadata_clashes(side, win, marked=marked):
        yield 2, "metadata", "MetadataChanged"
    if domains_clash(side, win):
        yield 3, "domain_twice", "ConcurrentTransaction"
    if apps_clash(side, win):
        yield 4, "app_progressed", "ConcurrentTransaction"
    if any(is_read(side, cells) for cells in candidates(side, win)):
        yield 6, "file_added", "ConcurrentAppend"
    if side.rearranges and win.rearranges and removed_twice(side, win):
        yield 6, "removed_twice", "ConcurrentDeleteDelete"
    if read_was_removed(side, win):
        yield 7, "file_read_removed", "ConcurrentDeleteRead"
    if removed_twice(side, win) or units_clash(side, win):
        yield 8, "removed_twice", "ConcurrentDeleteDelete"


def protocols_clash(side: Side, win: Win) -> bool:
    """Step 1: two protocol actions, two replacements, or a feature taken away."""
    replaces = any(change.operation == REPLACE for change in side.changes)
    features = side.footprint.features if side.footprint is not None else None
    drops = features is not None and not side.table.features <= features
    twice = features is not None and win.protocol
    return bool(win.protocol == "breaks" or twice or (replaces and win.replaces) or drops)


def metadata_clashes(side: Side, win: Win, *, marked: bool) -> bool:
    """Step 2: two changes, or one that an attempt cannot take on; a coarse write minds the shape.

    An identity mark is tolerated and not taken on: a resolvable change `marked` by it is too much.
    """
    if win.metadata == "shape" or (side.changes and win.metadata):
        return True
    if side.footprint is None:
        return False
    return win.metadata == "properties" or (marked and win.metadata == "resolvable")


def domains_clash(side: Side, win: Win) -> bool:
    """Step 3: one domain written twice; that of row tracking is merged."""
    own, other = side.footprint, win.part.footprint
    return bool(own and other and (own.domains - {ROW_TRACKING}) & other.domains)


def apps_clash(side: Side, win: Win) -> bool:
    """Step 4: progress of an application that was looked up, whichever version."""
    own, other = side.footprint, win.part.footprint
    return bool(own and other and own.read_apps & other.apps.keys())


def candidates(side: Side, win: Win) -> list[tuple[str | None, ...] | None]:
    """Return the added partitions that step 6 looks at: the only step that asks for the level."""
    footprint = side.footprint
    if footprint is None or side.blind or side.level == SNAPSHOT or footprint.operation == BACKFILL:
        return []
    exempt = win.blind and side.level == WRITE_SERIALIZABLE and not redefines(side.changes)
    return [] if exempt else win.adds()


def is_read(side: Side, cells: tuple[str | None, ...] | None) -> bool:
    """Tell whether a partition was read; without partition columns everything was."""
    footprint = side.footprint
    assert footprint is not None
    schema = side.table.definition_at(side.read_at).schema
    if footprint.whole or not schema:
        return True
    derives = set(footprint.operation.split(", ")) <= DERIVING
    return any(may_hold(scan, cells, schema, derives=derives) for scan in footprint.scans)


def read_was_removed(side: Side, win: Win) -> bool:
    """Step 7: a file that was read is gone; a coarse write may have been in any file of a list."""
    own, other = side.footprint, win.part.footprint
    if own is None:
        return False
    removes = other.removes if other is not None else frozenset()
    coarse = bool(changed_units(win.part, win.schema))
    if own.whole and (removes or coarse):
        return True
    kept = side.level == SNAPSHOT and own.read_files - own.removes
    anywhere = own.read_files and (kept or not own.scans)
    # A backfill leaves out what is gone.
    gone = own.operation != BACKFILL and own.read_files & removes
    return bool(gone or (coarse and anywhere))


def removed_twice(side: Side, win: Win) -> bool:
    """Step 8: both removed one file."""
    own, other = side.footprint, win.part.footprint
    return own is not None and other is not None and bool(own.removes & other.removes)


def units_clash(side: Side, win: Win) -> bool:
    """Step 8 for units: both changed rows of one, or one changed rows where the other removed."""
    schema = side.table.definition_at(side.read_at).schema
    own, other = changed_units(side.part, schema), changed_units(win.part, win.schema)
    removed = removed_units(side.footprint, schema) if side.footprint else set()
    gone = removed_units(win.part.footprint, win.schema) if win.part.footprint else set()
    return overlap(own, other) or overlap(own, gone) or overlap(removed, other)


def levels_of(lake: Lake, attempt: Attempt) -> dict[int, tuple[str, bool]]:
    """Return level and blindness of each part of a commit that was declared file by file."""
    found = {}
    for number in sorted(lake.touched(attempt) & attempt.parts.keys()):
        part = attempt.parts[number]
        if part.footprint is None:
            continue
        made = lake.hidden.get(attempt.txn, {}).get(number)
        judged = part if attempt.type == JUDGED_TYPE else part._replace(coarse=())
        rank = level_of(made or lake.tables[number].definition, attempt, judged)
        inserts = all(each.operation == "insert" for each in part.coarse)
        found[number] = (LEVELS[rank], inserts and is_blind(part.footprint))
    return found
