"""Law 7 by re-execution: no two committed txns conflict under the level they committed at.

Every committed txn is done again at its place in the log, on rows. What is checked of a part that
read at r, committed at c, and was judged at a level (worked out here, not taken from the ledger):

- At every level no update is lost: a file it removed was live before c, a file it added was not,
  and every file it had read was live still.
- Serializable: each scan finds before c the very rows it found at r, in whatever files they lie
  now. So the txns done one after the other, in log order, read what they read. Tables only read
  are held to this as well.
- WriteSerializable: the same, once the blind appends that committed between r and c are left out.
  So the txn reads what it read in an order that is the log's but for blind appends, which come
  later than they committed, right after it. It is one such order for each txn; the level promises
  none for all of them together. A txn that changes more of a table than its name gets no such
  leave.
- SnapshotIsolation: nothing more.

A txn that was judged elsewhere (replicated) is replayed and not checked.
"""

from collections.abc import Iterator
from typing import Final

from tests.isolation.lake import Files, Lake, Table, written
from tests.isolation.plain import Attempt, Footprint, Part, Schema
from tests.isolation.rules import (
    BACKFILL,
    JUDGED_TYPE,
    SERIALIZABLE,
    SNAPSHOT,
    changes_of,
    level_of,
    only_reads,
    redefines,
)
from tests.isolation.values import holds

EVERYTHING: Final = '["lit","true","boolean"]'


def broken_promises(lake: Lake, attempt: Attempt) -> Iterator[str]:
    """Yield what a commit must not have done, before it is taken into the lake."""
    if attempt.verdict.outcome != "committed" or attempt.type == "replicated":
        return
    for number, part in attempt.parts.items():
        if part.footprint is None or number in lake.hidden.get(attempt.txn, ()):
            continue
        table = lake.tables[number]
        if number in written(attempt):
            yield from (
                f"table {number}: {update}" for update in lost_updates(table, part.footprint)
            )
        yield from (f"table {number}: {read}" for read in other_reads(lake, attempt, part))


def lost_updates(table: Table, footprint: Footprint) -> Iterator[str]:
    """Yield the files that were not what the commit took them for."""
    live = table.contents[-1][1]
    for name in sorted(footprint.removed - live.keys()):
        yield f"{name} was removed and was not live"
    for file in footprint.added:
        if file.name in live and footprint.operation != BACKFILL:
            yield f"{file.name} was added and was live"
    # A backfill takes its files for live ones only: those that are gone it leaves out.
    read_files = frozenset() if footprint.operation == BACKFILL else footprint.read_files
    for name in sorted(read_files - live.keys()):
        yield f"{name} was read and is gone"


def other_reads(lake: Lake, attempt: Attempt, part: Part) -> Iterator[str]:
    """Yield the scans that find other rows when the txn is done again at its commit."""
    table, footprint = lake.tables[part.table], part.footprint
    assert footprint is not None
    read_at, changes = part.read_at or attempt.opened, changes_of(attempt, part.table)
    # Coarse writes of txns that only replay or rearrange are nobody's to judge.
    judged = part if attempt.type == JUDGED_TYPE else part._replace(coarse=())
    level = level_of(table.definition, attempt, judged)
    if level == SNAPSHOT or not read_at or (only_reads(part) and level != SERIALIZABLE):
        return
    schema = table.definition_at(read_at).schema
    moved: frozenset[int] = frozenset()
    if level != SERIALIZABLE and not redefines(changes):
        moved = blind_rows(table, read_at)
    then, now = table.files_at(read_at), table.contents[-1][1]
    for scan in (*footprint.scans, *([EVERYTHING] if footprint.whole else [])):
        before, after = scanned(scan, then, schema), scanned(scan, now, schema) - moved
        if before != after:
            yield f"{scan} found {sorted(before)} at {read_at}, finds {sorted(after)}"


def blind_rows(table: Table, read_at: int) -> frozenset[int]:
    """Return the rows that blind appends brought after a position."""
    found: frozenset[int] = frozenset()
    for win in table.wins_after(read_at):
        if win.blind:
            older = table.files_at(win.position - 1)
            files = table.files_at(win.position)
            found = found.union(*(files[name].rows for name in files.keys() - older.keys()))
    return found


def scanned(scan: str, files: Files, schema: Schema) -> frozenset[int]:
    """Return the rows for which a scan is TRUE."""
    return frozenset(
        row for file in files.values() for row in file.rows if holds(scan, file.cells, schema, row)
    )
