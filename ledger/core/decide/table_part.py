"""A table part: one table of a txn about to commit, with every fact that the decision needs.

Each fact is computed once, when the candidate is gathered. The checks read fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ledger.core.commands import CoarseWrite, Footprint, IsolationLevel, TableDefinition, TableWrite
from ledger.core.conflicts.footprints import (
    effective_level,
    is_blind,
    only_reads,
    reads_anything,
    rearranges,
)
from ledger.core.state.tables import Pending, Table, redefines
from ledger.core.state.traits import Traits, traits_of


@dataclass(slots=True)
class TablePart:
    """One table that a txn wrote, read, changed, or only holds a write id in.

    `seen` is the table if it is visible to the txn, else None. `write` is the declared part with
    all its chunks joined, None if nothing is declared for the table. `last_chunk` is its footprint
    as the commit command holds it. `coarse` are the coarse writes that are judged. `read_at` is the
    earliest position that the part was planned from, 0 if the part names no position. `definition`
    and `traits` are the ones after the txn's own changes (facts a.2), `table_level` is the
    isolation level in them.

    `is_read`: the table was only read. `is_blind`: rows were added and no rows read.
    `appends_blind`: the files alone are a blind append. `alters`: the txn changes more of the table
    than its name. `does_more`: the part has coarse writes or alters the table. `rearranges`: the
    files hold the same rows as before. `has_effect`: the part does more than to read or rearrange
    files. `meets_winners`: earlier commits can conflict with it; they cannot with coarse writes
    that are not judged (c4).
    """

    table: int
    seen: Table | None
    write: TableWrite | None
    footprint: Footprint | None
    last_chunk: Footprint | None
    changes: Sequence[Pending]
    coarse: Sequence[CoarseWrite]
    read_at: int
    definition: TableDefinition | None
    traits: Traits | None
    is_read: bool
    is_blind: bool
    appends_blind: bool
    alters: bool
    does_more: bool
    rearranges: bool
    has_effect: bool
    meets_winners: bool

    @property
    def table_level(self) -> IsolationLevel:
        """The isolation level in the definition of the table."""
        assert self.traits is not None, "only a visible table has a level"
        return self.traits.level

    def level_under(
        self,
        table_level: IsolationLevel,
        asked: IsolationLevel | Literal[""],
        *,
        changes_data: bool,
    ) -> IsolationLevel:
        """Return the level the files are judged at, given the table's and the txn's own.

        A part that only rearranges files is downgraded in a txn that changes no data. If the txn
        changes data in another table, this part's reads are judged as if the table had only been
        read.
        """
        assert self.footprint is not None, "only a part with files is downgraded"
        is_strongest = "Serializable" in {table_level, asked}
        if is_strongest and changes_data and reads_anything(self.footprint):
            return "Serializable"
        return effective_level(table_level, asked, self.footprint, rearranging=self.rearranges)


def part_of(
    table: int,
    seen: Table | None,
    write: TableWrite | None,
    changes: Sequence[Pending],
    last_chunk: Footprint | None,
    *,
    is_read: bool,
    is_judged: bool,
    snapshot: int,
) -> TablePart:
    """Return the part of one table; `snapshot` is the position at which the txn opened.

    `is_judged`: coarse writes are judged, as they are not in replayed and rearranging txns (c4).
    """
    footprint = write.footprint if write is not None else None
    coarse = write.writes if write is not None and is_judged else ()
    alters = redefines(changes) if changes else False
    does_more = bool(coarse) or alters
    rearranging = footprint is not None and rearranges(footprint, does_more=does_more)
    appends_blind = footprint is not None and is_blind(footprint)
    definition, traits = given(seen, changes) if seen is not None else (None, None)
    return TablePart(
        table,
        seen,
        write,
        footprint,
        last_chunk,
        changes,
        coarse,
        planned_at(write, changes, snapshot),
        definition,
        traits,
        is_read,
        write is not None and inserts(write) and (footprint is None or appends_blind),
        appends_blind,
        alters,
        does_more,
        rearranging,
        does_more if footprint is None else not rearranging,
        is_judged or bool(changes) or footprint is not None,
    )


def planned_at(write: TableWrite | None, changes: Sequence[Pending], snapshot: int) -> int:
    """Return the earliest position that a part was planned from."""
    if not changes:
        return (write.read_at if write is not None else 0) or snapshot
    planned = [change.read_at for change in changes]
    return min(planned if write is None else [write.read_at or snapshot, *planned])


def given(table: Table, changes: Sequence[Pending]) -> tuple[TableDefinition, Traits]:
    """Return the definition of a table after the txn's own changes, and its traits."""
    for change in reversed(changes):
        if change.definition is not None:
            return change.definition, traits_of(change.definition)
    return table.definition, table.traits


def inserts(write: TableWrite) -> bool:
    """Tell whether a part has no coarse writes other than inserts."""
    return not write.writes or all(each.operation == "insert" for each in write.writes)


def is_read(write: TableWrite) -> bool:
    """Tell whether a declared part names only reads."""
    return not write.writes and write.footprint is not None and only_reads(write.footprint)
