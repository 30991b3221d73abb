"""Laws of rows: which commits must lose, which may, and what each one that counts must mean."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ledger.core.conflicts.footprints import hashes
from ledger.core.events.parts import Evidence
from ledger.core.partitions.names import partition_values
from ledger.core.rows.changes import AddedRows
from tests.simulation.broken import must
from tests.simulation.lake import Condition, partition_of
from tests.simulation.lives import Change, Entered, RowTable

GONE: Final = ("row_changed_twice", "row_read_changed", "file_removed_twice", "file_read_removed")
ADDED: Final = ("file_added",)
DERIVING: Final = frozenset({"DELETE", "UPDATE"})
# Two changes of tables that meet, which no law of rows is about.
OTHERS: Final = ("metadata_twice", "name_claimed")
ALTERED: Final = ("metadata_changed", "table_dropped")


class Reason(NamedTuple):
    """A reason to lose: the position of the winner, and the rules that may name it.

    `is_sure`: the commit must lose. Otherwise it may, where a winner does not tell enough.
    """

    position: int
    rules: Sequence[str]
    is_sure: bool
    what: str


def check_commit(table: RowTable, change: Change, level: str, left_out: set[str]) -> None:
    """Raise BrokenError unless a commit means what it would mean alone at its place."""
    for row in change.rows:
        must(row in table.places, "a row is deleted once", f"row {row} at {change.position}")
    for row in change.read:
        must(row in table.places, "a row that was read is there", f"{row} at {change.position}")
    sure = next((each for each in reasons(table, change, level) if each.is_sure), None)
    must(
        sure is None,
        "a commit that meets a winner loses",
        f"position {change.position}, read at {change.read_at}, meets {sure}",
    )
    check_matched(table, change, level)
    expected = table.left_out(change)
    must(
        left_out == expected,
        "what is left out is what a winner replaced",
        f"position {change.position} leaves out {sorted(left_out)}, replaced {sorted(expected)}",
    )


def check_matched(table: RowTable, change: Change, level: str) -> None:
    """Hold that a statement matches at its place the rows that it matched where it read."""
    spared = {row for each in winners(table, change) if is_spared(each, level) for row in each.new}
    matched: set[int] = set()
    for text in change.footprint.reads:
        condition = table.lake.conditions[text]
        lives = table.rows.items()
        fulfilling = [each for each in lives if table.lake.fulfils(each[0], condition)]
        then = {row for row, life in fulfilling if life.is_live_at(change.read_at)}
        here = {row for row, life in fulfilling if not life.died} - spared
        matched |= then
        must(
            then == here,
            "a statement matches at its place what it matched where it read",
            f"position {change.position} matched {sorted(then)}, there it matches {sorted(here)}",
        )
    if change.rows:
        must(
            matched == {*change.rows, *change.read},
            "a statement changes the rows that it matched",
            f"position {change.position} changes {change.rows}, matched {sorted(matched)}",
        )


NAMED: Final = re.compile(r"rows ([0-9, ]+)( and \d+ more)? of file ([0-9a-f]+)")


def check_abort(table: RowTable, change: Change, evidence: Evidence, *, alters: bool) -> None:
    """Raise BrokenError unless a commit lost for a reason that there is.

    `alters`: its txn changes the table too. Then neither told values nor blind winners spare it.
    """
    if evidence.rule in OTHERS:
        return
    found = [
        each
        for each in reasons(table, change, evidence.level, alters=alters)
        if each.position == evidence.winner.position and evidence.rule in each.rules
    ]
    must(
        bool(found),
        "a commit loses only where it meets a winner",
        f"position {change.position}, read at {change.read_at}, lost by {evidence.rule} in "
        f"{evidence.unit} to {evidence.winner.position}",
    )
    named = NAMED.fullmatch(evidence.unit)
    if named is not None:
        rows = table.lake.files[table.lake.paths[bytes.fromhex(named[3])]].rows
        for at in map(int, named[1].split(",")):
            touched = table.rows[rows[at]].touched if at < len(rows) else []
            must(
                any(position > change.read_at for position in touched),
                "evidence names rows that a winner took",
                f"position {change.position} names {evidence.unit}",
            )


def winners(table: RowTable, change: Change) -> Iterator[Entered]:
    """Yield the commits after the read of another one."""
    return (each for each in table.commits if each.position > change.read_at)


def is_spared(winner: Entered, level: str) -> bool:
    """Tell whether new rows of a winner do not count at a level."""
    return level == "SnapshotIsolation" or (level == "WriteSerializable" and winner.is_blind)


def reasons(
    table: RowTable, change: Change, level: str, *, alters: bool = False
) -> Iterator[Reason]:
    """Yield all reasons for which a commit may lose."""
    for position in table.altered:
        if position > change.read_at:
            yield Reason(position, ALTERED, is_sure=False, what="the table")
    rearranges = change.rearranges and not alters
    yield from rows_gone(table, change, rearranges=rearranges)
    read = [table.lake.paths[each] for each in hashes(change.footprint.read_files)]
    rows = change.footprint.rows
    if rows is not None and level == "Serializable" and not rearranges:
        read += [table.lake.paths[each] for each in hashes(rows.scanned)]
    said = {*change.copied, *(marks.path for marks in (rows.marks if rows is not None else ()))}
    for path in read:
        yield from file_changed(table, change, path)
    for path in change.removes:
        if path not in said:
            yield from file_changed(table, change, path)
            if table.gone.get(path, 0) > change.read_at:
                yield Reason(table.gone[path], GONE, is_sure=True, what=path)
    if not change.is_blind and level != "SnapshotIsolation":
        yield from rows_added(table, change, level, alters=alters)


def rows_gone(table: RowTable, change: Change, *, rearranges: bool) -> Iterator[Reason]:
    """Yield the winners that took a row which a commit takes or read."""
    for row in (*change.rows, *change.read):
        for position in table.rows[row].touched:
            if position > change.read_at:
                yield Reason(position, GONE, is_sure=True, what=f"row {row}")
    if rearranges:
        return
    for path in change.copied:
        # A copied row may be marked meanwhile, but its file may not go without a word on its rows.
        for reason in file_changed(table, change, path):
            yield reason._replace(is_sure=False)


def file_changed(table: RowTable, change: Change, path: str) -> Iterator[Reason]:
    """Yield the winners that took a row of a file, wherever it was by then."""
    for at, row in enumerate(table.lake.files[path].rows):
        for position in table.rows[row].touched:
            if position > change.read_at:
                # A copy may be dead from the first, and its row live in another file.
                is_sure = table.had_row(path, at, change.read_at)
                yield Reason(position, GONE, is_sure=is_sure, what=f"row {row} of {path}")
    gone = table.gone.get(path, 0)
    if gone > change.read_at:
        # Without rows it may be gone with no row touched.
        yield Reason(gone, GONE, is_sure=False, what=path)


def rows_added(table: RowTable, change: Change, level: str, *, alters: bool) -> Iterator[Reason]:
    """Yield the winners that added a row which a condition of a commit may hold for."""
    conditions = [table.lake.conditions[text] for text in change.footprint.reads]
    # A condition is taken apart by columns only if some winner tells values of one.
    tells = any(told.columns for winner in winners(table, change) for told in winner.told)
    is_whole = alters or not (tells or change.footprint.operation in DERIVING)
    for winner in winners(table, change):
        if is_spared(winner, level) and not alters:
            continue
        for condition in conditions:
            if any(table.lake.fulfils(row, condition) for row in winner.new):
                yield Reason(winner.position, ADDED, is_sure=True, what="new rows")
            elif any(is_whole or may_hold(condition, told) for told in winner.told):
                yield Reason(winner.position, ADDED, is_sure=False, what="rows told")


def may_hold(condition: Condition, told: AddedRows) -> bool:
    """Tell whether a condition may hold for a row of which this much is told."""
    if condition.partition and told.partition != partition_of(condition.partition):
        return False
    if not condition.keys:
        return True
    if told.values:
        return any(number_in(text) in condition.keys for text in told.values)
    if told.lowest:
        low, high = number_in(told.lowest), number_in(told.highest)
        return any(low <= key <= high for key in condition.keys)
    return True


def number_in(text: str) -> int:
    """Return the key in a told value."""
    values = partition_values(text)
    assert values is not None, "the workload tells keys"
    return int(values[0] or 0)
