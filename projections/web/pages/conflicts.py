"""The pages about conflicts: the list, and one of them as a picture, with what would have been."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ledger.core.commands import Footprint, TableWrite
from ledger.core.limits import HASH_BYTES
from ledger.core.rows.bitmaps import rows_in
from ledger.core.rows.changes import Marks
from ledger.reads.amounts import amount
from ledger.reads.port import ConflictRow, VersionRow
from ledger.session.explain import RULES, Explanation, explanation, scan_text
from projections.reads.what_if import at_write_serializable
from projections.web.pages.page import ROWS, Fields, NothingHereError, PageView, rows_before
from projections.web.pages.pictures.heat_map import heat_map, table_bars

LISTED_MAX: Final = 8
SUMMED_EVENTS: Final = 20_000
SUMMED_MAX: Final = 500
"""How many events the pictures of conflicts look back, and how many conflicts they sum up."""


class LostLine(NamedTuple):
    """A conflict in one line, and the page about it."""

    row: ConflictRow
    explained: Explanation
    link: str


class DidItem(NamedTuple):
    """What one side of a conflict did in the table: a verb, and the things."""

    verb: str
    things: Sequence[str]


def lines_of(view: PageView, rows: Sequence[ConflictRow]) -> list[LostLine]:
    """Return a line for each conflict, with its explanation and a link."""
    return [
        LostLine(row, explained_in(view, row), view.link("conflict", position=row.position))
        for row in rows
    ]


def explained_in(view: PageView, row: ConflictRow) -> Explanation:
    """Return a conflict in words."""
    return explanation(view.reads, row.evidence, row.txn, row.position)


def conflicts(view: PageView) -> Fields:
    """Gather the conflicts, newest first, some at a time."""
    before = view.asked.number_or_none("before")
    last = view.at if before is None else min(view.at, max(0, before - 1))
    rows = rows_before(view.reads.conflicts, last, ROWS)
    since = max(0, view.at - SUMMED_EVENTS)
    summed = [row for row in view.reads.conflicts(since, SUMMED_MAX) if row.position <= view.at]
    return {
        "heat": heat_map(summed),
        "bars": [(bar, view.name_of(bar.table)) for bar in table_bars(summed)],
        "summed": len(summed),
        "span": min(view.at, SUMMED_EVENTS),
        "lines": lines_of(view, rows),
        "older": view.here(before=rows[-1].position) if len(rows) == ROWS else None,
        "first": view.here() if before is not None else None,
    }


def one_conflict(view: PageView) -> Fields:
    """Gather one conflict: both sides, where they met, what helps, and what would have been."""
    row = wanted(view)
    lost = row.evidence
    explained = explained_in(view, row)
    attempted = next((each for each in row.attempted if each.table == lost.table), None)
    winner = view.reads.version_row(lost.table, position=lost.winner.position)
    if winner is not None and winner.position != lost.winner.position:
        winner = None  # It changed the table outside a commit with files.
    return {
        "row": row,
        "lost": lost,
        "explained": explained,
        "because": RULES.get(lost.rule, ""),
        "scan": scan_text(lost.predicate) if lost.predicate else "",
        "loser_did": did(attempted),
        "winner_did": winner_did(view, winner) if winner is not None else (),
        "winner_version": winner.version if winner is not None else None,
        "what_if": at_write_serializable(view.reads, row),
        "by_row": attempted is not None and is_by_row(attempted),
        "others": [(each.table, view.name_of(each.table)) for each in row.attempted[:ROWS]],
        "table": view.name_of(lost.table),
        "happened": row.position <= view.at,
    }


def is_by_row(write: TableWrite) -> bool:
    """Return whether the loser was judged row by row."""
    return write.footprint is not None and write.footprint.rows is not None


def wanted(view: PageView) -> ConflictRow:
    """Return the conflict of a txn, or of the commit that lost at a position."""
    view.asked.check_one_of("txn", "position")
    if view.asked.number_or_none("position") is not None:
        position = view.number("position")
        found = view.reads.conflicts(position - 1, 1) if position else ()
        if not found or found[0].position != position:
            raise NothingHereError(f"No commit lost a conflict at position {position}.")
        return found[0]
    txn = view.number("txn")
    row = view.reads.conflict(txn)
    if row is None:
        raise NothingHereError(f"Txn {txn} lost no conflict up to position {view.newest}.")
    return row


def did(write: TableWrite | None) -> list[DidItem]:
    """Return what the loser attempted in the table."""
    if write is None:
        return []
    found = [
        DidItem(each.operation, [each.partition or f"the {each.scope}"])
        for each in write.writes[:LISTED_MAX]
    ]
    return found + (footprint_did(write.footprint) if write.footprint is not None else [])


def footprint_did(footprint: Footprint) -> list[DidItem]:
    """Return what a footprint says, in a few words each."""
    found = []
    if footprint.reads_whole:
        found.append(DidItem("read", ["the whole table"]))
    if footprint.reads:
        found.append(DidItem("read where", few([scan_text(read) for read in footprint.reads])))
    for verb, paths in (("read", footprint.read_files), ("removed", footprint.removes)):
        if paths:
            found.append(DidItem(verb, [amount(len(paths) // HASH_BYTES, "file")]))
    if footprint.rows is not None:
        for verb, marks in (("changed", footprint.rows.marks), ("matched", footprint.rows.read)):
            if marks:
                found.append(DidItem(verb, few([rows_text(each) for each in marks])))
    if footprint.adds:
        found.append(DidItem("added files in", few([part_text(add) for add in footprint.adds])))
    return found


def rows_text(marks: Marks) -> str:
    """Return rows of a file in a few words."""
    rows = rows_in(marks.rows)
    first = ", ".join(str(row) for row in rows[:LISTED_MAX])
    more = ", ..." if len(rows) > LISTED_MAX else ""
    return f"rows {first}{more} of {marks.path}"


def winner_did(view: PageView, won: VersionRow) -> list[DidItem]:
    """Return the first files that the winner added and removed."""
    changes = view.reads.file_changes(won.table, won.version, won.version, 2 * LISTED_MAX + 1)
    found = []
    for verb, added in (("added", True), ("removed", False)):
        paths = [change.file.path for change in changes if change.added == added]
        if paths:
            found.append(DidItem(verb, few(paths)))
    return found


def few(texts: Sequence[str]) -> list[str]:
    """Return the first of some texts, and how many there are besides."""
    more = len(texts) - LISTED_MAX
    return [*texts[:LISTED_MAX], *([f"and {more} more"] if more > 0 else [])]


def part_text(partition: str) -> str:
    """Return a partition in words."""
    return "the table, which has no partitions" if partition == "[]" else f"partition {partition}"
