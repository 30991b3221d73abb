"""Mutants of rows: the rules of marks and moves with one of them broken.

Their rules are functions that call each other by their names in a module. So a mutant is a list of
such names with what stands there instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ledger.core.commands import Footprint
from ledger.core.conflicts import removed_checks, settling, told_rows
from ledger.core.conflicts.attempts import Attempt, Hit
from ledger.core.conflicts.footprints import hashes, path_hash
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.row_changes import NO_ROWS
from ledger.core.conflicts.row_winners import FileMarks, RowWinners
from ledger.core.conflicts.settling import Settled
from ledger.core.conflicts.told_rows import ToldRows
from ledger.core.decide import commit as decide_commit
from ledger.core.events.parts import CommittedPart
from ledger.core.evolve import commits as evolve_commits
from ledger.core.evolve import form
from ledger.core.evolve.form import row_changes_form
from ledger.core.rows.bitmaps import empty
from ledger.core.rows.changes import AddedRows, RowChanges
from ledger.core.rows.moves import Move
from ledger.log.wire.counted_files import counted_files
from ledger.log.wire.file_list import FileList
from projections.rows import applying
from tests.isolation.mutants import Swap

FORWARD: Final = Move.forward
BACK: Final = Move.back
SETTLE: Final = settling.settle
COUNTED: Final = settling.counted
GROUPS: Final = settling.groups
REMOVERS: Final = removed_checks.removers
ROW_HITS: Final = removed_checks.row_hits
MET_ADDED: Final = ToldRows._met_added  # noqa: SLF001 - a mutant stands in its place
LEAVE: Final = RowWinners.leave


def untouched(*_: Any) -> tuple[int, Any]:
    """Find no mark."""
    return 0, empty()


def without_read(
    winners: TableWinners, attempt: Attempt, footprint: Footprint, rows: RowChanges
) -> Iterator[Hit]:
    """Forget which rows a statement matched and left."""
    return ROW_HITS(winners, attempt, footprint, rows._replace(read=()))


def forward_by_one(self: Move, rows: Any) -> Any:
    """Put each row one place further."""
    return FORWARD(self, rows).shift(1)


def back_by_one(self: Move, rows: Any) -> Any:
    """Take each row for the next one of its source."""
    return BACK(self, rows).shift(1)


def no_moves(*_: Any) -> list[Move]:
    """Take each rewrite for the end of its rows."""
    return []


def copies_alive(*given: Any, **named: Any) -> Settled:
    """Mark no row in the files that the commit itself adds."""
    settled: Settled = SETTLE(*given, **named)
    rows = given[1].rows or NO_ROWS
    targets = {moved.target for moved in rows.moved}
    return settled._replace(
        translated=[marks for marks in settled.translated if marks.path not in targets]
    )


def nothing_translated(*given: Any, **named: Any) -> Settled:
    """Leave marks where they were planned."""
    settled: Settled = SETTLE(*given, **named)
    return settled._replace(translated=())


def nothing_left_out(*given: Any, **named: Any) -> Settled:
    """Let everything count that a commit says."""
    settled: Settled = SETTLE(*given, **named)
    return settled._replace(left_out=())


def counted_whole(part: CommittedPart, footprint: Footprint) -> Footprint:
    """Enter what was left out into the index."""
    return COUNTED(part._replace(left_out=()), footprint)


def counted_as_planned(part: CommittedPart, footprint: Footprint) -> Footprint:
    """Enter no translated mark into the index."""
    return COUNTED(part._replace(translated=()), footprint)


def files_whole(part: CommittedPart, chunks: Sequence[Footprint], files: FileList) -> FileList:
    """Show what was left out."""
    return counted_files(part._replace(left_out=()), chunks, files)


def files_as_planned(part: CommittedPart, chunks: Sequence[Footprint], files: FileList) -> FileList:
    """Show no translated mark."""
    return counted_files(part._replace(translated=()), chunks, files)


def pairs_only(rows: RowChanges) -> Iterator[Sequence[str]]:
    """Overlook that files of one rewrite hang together."""
    return ((moved.source, moved.target) for moved in rows.moved)


def one_group(rows: RowChanges) -> Iterator[Sequence[str]]:
    """Take all files of a rewrite for one group."""
    every = dict.fromkeys(path for group in GROUPS(rows) for path in group)
    if every:
        yield list(every)


def first_value(self: ToldRows, added: AddedRows, text: str) -> Iterator[str]:
    """Take the first told value for all."""
    return MET_ADDED(self, added._replace(values=added.values[:1]), text)


def strictly_inside(key: Any, low: Any, high: Any) -> bool:
    """Take bounds for values that no row has."""
    return bool(low < key < high)


def anywhere(*_: Any) -> bool:
    """Take no bound for one that excludes a value."""
    return True


def only_removed(
    winners: TableWinners, read_at: int, row: bytes, *, is_read: bool
) -> Iterator[tuple[int, str]]:
    """Let marks pass where a file is removed without a word on its rows."""
    if is_read:
        yield from REMOVERS(winners, read_at, row, is_read=is_read)
        return
    for path in hashes(row):
        if position := winners.first(path, read_at):
            yield position, f"file {path.hex()}"


def leave_with_marks(self: RowWinners, position: int, rows: RowChanges) -> None:
    """Forget the later marks of a file with the oldest one."""
    files = {path_hash(path) for path, _ in rows.marks}
    for file in files:
        self.files.setdefault(file, FileMarks())
    LEAVE(self, position, rows)
    for file in files & self.files.keys():
        self.files[file] = FileMarks()


def form_without(rows: RowChanges | None, **lost: Any) -> Any:
    """Write row changes into a checkpoint without some of them."""
    return row_changes_form(None if rows is None else rows._replace(**lost))


def form_without_marks(rows: RowChanges | None) -> Any:
    return form_without(rows, marks=())


def form_without_moves(rows: RowChanges | None) -> Any:
    return form_without(rows, moved=())


def nothing_from(_: Any) -> RowChanges | None:
    """Read no row changes from a checkpoint."""
    return None


SWAPS: Final[Mapping[str, Sequence[Swap]]] = {
    "marks never meet": [Swap(FileMarks, "touched", untouched)],
    "rows read and left forgotten": [Swap(removed_checks, "row_hits", without_read)],
    "rows moved one too far": [Swap(Move, "forward", forward_by_one)],
    "rows moved back one too far": [Swap(Move, "back", back_by_one)],
    "moves not followed": [Swap(RowWinners, "moves_at", no_moves)],
    "dead rows copied alive": [Swap(decide_commit, "settle", copies_alive)],
    "marks not translated": [Swap(decide_commit, "settle", nothing_translated)],
    "marks not translated by the fold": [Swap(evolve_commits, "counted", counted_as_planned)],
    "marks not translated in rows": [Swap(applying, "counted_files", files_as_planned)],
    "nothing left out": [Swap(decide_commit, "settle", nothing_left_out)],
    "nothing left out by the fold": [Swap(evolve_commits, "counted", counted_whole)],
    "nothing left out in rows": [Swap(applying, "counted_files", files_whole)],
    "pairs left out, not groups": [Swap(settling, "groups", pairs_only)],
    "all groups left out": [Swap(settling, "groups", one_group)],
    "one told value for all": [Swap(ToldRows, "_met_added", first_value)],
    "bounds taken for outside": [Swap(told_rows, "is_inside", strictly_inside)],
    "bounds exclude nothing": [Swap(told_rows, "is_inside", anywhere)],
    "plain removals meet no marks": [Swap(removed_checks, "removers", only_removed)],
    "later marks leave with the oldest": [Swap(RowWinners, "leave", leave_with_marks)],
    "checkpoints lose marks": [Swap(form, "row_changes_form", form_without_marks)],
    "checkpoints lose moves": [Swap(form, "row_changes_form", form_without_moves)],
    "checkpoints not read": [Swap(form, "row_changes_from", nothing_from)],
}
