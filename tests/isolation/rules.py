"""What the judges share: levels, blindness, and the kind of change a commit makes (a.2, a.5).

Written from the documentation a second time, for the properties and features that histories have.
"""

import json
from collections.abc import Sequence
from typing import Final

from tests.isolation.plain import (
    Attempt,
    Cells,
    Change,
    Coarse,
    Column,
    Definition,
    Footprint,
    Part,
    Schema,
)
from tests.isolation.values import UntoldError, Value, hive_cells, typed

RANKS: Final = {"snapshotisolation": 0, "writeserializable": 1, "serializable": 2}
SNAPSHOT, WRITE_SERIALIZABLE, SERIALIZABLE = range(3)
LEVEL: Final = "delta.isolationLevel"
ENFORCE: Final = "lakeledger.enforceConcurrentFeatureEnablement"
IDENTITY: Final = "delta.identity.highWaterMark"
ROW_TRACKING: Final = "delta.rowTracking"
# Features that files of commits in flight survive, of those that histories add.
HARMLESS: Final = frozenset({"appendOnly", "deletionVectors", "domainMetadata"})
CHANGES_DATA: Final = frozenset(
    {"WRITE", "STREAMING UPDATE", "DELETE", "MERGE", "UPDATE", "REPLACE TABLE", "RESTORE"}
)
# A feature that delta-spark does not know.
BEYOND: Final = "thinkingColumns"
BACKFILL: Final = "ROW TRACKING BACKFILL"
REPLACE: Final = "REPLACE TABLE"
WHOLE: Final = ("table",)
# Txns of other types replay or rearrange: their coarse writes are nobody's to judge.
JUDGED_TYPE: Final = "default"
UNPARTITIONED: Final = ("unpartitioned",)
Unit = tuple[Value, ...]


def level_of(definition: Definition, attempt: Attempt, part: Part) -> int:
    """Return the rank of the level a part is judged at (a.2): a request only ever raises it.

    The level is that of the definition which the txn leaves, if it changes it. What a part read
    that only rearranges is judged as in a table only read, where the txn changes data elsewhere.
    """
    changes = changes_of(attempt, part.table)
    altered = [change.definition for change in changes if change.definition is not None]
    left = (altered or [definition])[-1]
    of_table = RANKS[left.properties.get(LEVEL, "WriteSerializable").lower()]
    footprint = part.footprint
    if footprint is None:
        return of_table
    wanted = max(of_table, RANKS[attempt.level.lower()] if attempt.level else SNAPSHOT)
    if footprint.operation and rearranges(part, changes):
        has_read = footprint.scans or footprint.whole or footprint.read_files
        if wanted == SERIALIZABLE and has_read and changes_data(attempt):
            return SERIALIZABLE
        changing = bool(set(footprint.operation.split(", ")) & CHANGES_DATA)
        if of_table == SERIALIZABLE or not changing:
            return SNAPSHOT
    return wanted


def changes_of(attempt: Attempt, table: int) -> list[Change]:
    return [change for change in attempt.changes if change.table == table]


def changes_data(attempt: Attempt) -> bool:
    """Tell whether a txn does more than to read and to rearrange files, in any of its tables."""
    if any(redefines([change]) for change in attempt.changes):
        return True
    for part in attempt.parts.values():
        judged = part if attempt.type == JUDGED_TYPE else part._replace(coarse=())
        changes = changes_of(attempt, part.table)
        if judged.coarse or (judged.footprint is not None and not rearranges(judged, changes)):
            return True
    return False


def rearranges(part: Part, changes: Sequence[Change]) -> bool:
    """Tell whether a part has nothing but files that change no data; a new name is no matter."""
    footprint = part.footprint
    if footprint is None or part.coarse or redefines(changes):
        return False
    other = footprint.features is not None or footprint.apps
    return not (footprint.data_change or other or footprint.domains - {ROW_TRACKING})


def redefines(changes: Sequence[Change]) -> bool:
    """Tell whether a table gets more than another name."""
    return any(change.kind != "rename" for change in changes)


def is_blind(footprint: Footprint) -> bool:
    """Tell whether a part appended without having read (c.1): from what it declared."""
    read = footprint.scans or footprint.whole or footprint.read_files
    return not (read or footprint.removes or footprint.not_blind)


def is_blind_part(part: Part) -> bool:
    """Tell whether a part did nothing but append blindly, coarsely and file by file."""
    inserts = all(each.operation == "insert" for each in part.coarse)
    return inserts and (part.footprint is None or is_blind(part.footprint))


def only_reads(part: Part) -> bool:
    """Tell whether a part declares what was read and no operation."""
    return not part.coarse and part.footprint is not None and not part.footprint.operation


def kind_of_change(old: Definition, new: Definition, features: frozenset[str]) -> str:
    """Return what a change of a definition means to commits in flight (a.4 step 2, c.5)."""
    if old != new and old == new._replace(columns=old.columns) and marks_only(old, new):
        return "identity"
    if (old.columns, old.partitioned_by) != (new.columns, new.partitioned_by):
        return "shape"
    return "resolvable" if old.place == new.place and resolves(old, new, features) else "properties"


def marks_only(old: Definition, new: Definition) -> bool:
    """Tell whether columns differ in their identity marks alone."""
    return [unmarked(column) for column in old.columns] == [
        unmarked(column) for column in new.columns
    ]


def unmarked(column: Column) -> tuple[object, ...]:
    """Return a column without its identity mark."""
    metadata = json.loads(column.metadata or "{}")
    metadata.pop(IDENTITY, None)
    return (*column[:-1], sorted(metadata.items()))


def resolves(old: Definition, new: Definition, features: frozenset[str]) -> bool:
    """Tell whether all properties that differ are on the allow list; none may go."""
    changed = {
        key: value for key, value in new.properties.items() if old.properties.get(key) != value
    }
    allowed = changed == {"delta.enableDeletionVectors": "true"} and "deletionVectors" in features
    return old.properties.keys() <= new.properties.keys() and (allowed or not changed)


def unit_of(write: Coarse, schema: Schema) -> Unit:
    if write.scope == "table" or (schema and write.scope != "partition"):
        return WHOLE
    if write.scope != "partition":
        return UNPARTITIONED
    if not schema:
        return ("text", write.partition)
    return unit_in(hive_cells(write.partition, schema), schema)


def unit_in(cells: Cells | None, schema: Schema) -> Unit:
    """Return the unit that a partition is; it may be any if a value is missing or none."""
    if not schema or cells is None or len(cells) != len(schema):
        return WHOLE
    return WHOLE if UntoldError in typed(cells, schema) else ("partition", *typed(cells, schema))


def coarse_cells(write: Coarse, schema: Schema) -> Cells | None:
    """Return the partition whose rows a coarse write changed, None = any."""
    if write.scope == "unpartitioned":
        return ()
    return hive_cells(write.partition, schema) if write.scope == "partition" else None


def removed_units(footprint: Footprint, schema: Schema) -> set[Unit]:
    """Return the units a footprint removed files from; unsaid means anywhere."""
    if footprint.removes and not footprint.removes_in:
        return {WHOLE}
    return {unit_in(cells, schema) for cells in footprint.removes_in}


def changed_units(part: Part, schema: Schema) -> set[Unit]:
    """Return the units of which a part changed rows, the files unknown."""
    return {unit_of(each, schema) for each in part.coarse if each.operation != "insert"}


def overlap(one: set[Unit], two: set[Unit]) -> bool:
    """Tell whether some unit is in both; the whole table meets every unit of it."""
    return bool(one and two and (one & two or WHOLE in one | two))
