"""Mutants: the judge of rows, or a writer, with one rule broken, which the laws must tell.

Each shows why a rule is there. `hunt` plays a law by one seed after the other until a mutant is
told. `python -m tests.tables.laws.row_grain --mutants` hunts them all.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.conflicts import removed_checks, settling, told_rows
from ledger.core.conflicts.following import Followed, follow
from ledger.core.conflicts.settling import Settled, Settling, settle
from ledger.core.decide import commit as decide_commit
from ledger.core.evolve import commits as evolve_commits
from ledger.core.rows.bitmaps import bytes_of, empty, rows_from, rows_in
from ledger.core.rows.changes import Marks, Moved
from ledger.core.rows.moves import Move
from ledger.expressions.build import condition_in, lit
from ledger.files.rows import told_values
from ledger.files.rows.placing import moved_rows
from ledger.log.wire import inline_vectors
from ledger.log.wire.counted_files import counted_files
from ledger.statements import marking, merging
from ledger.statements.marking import ChangedFiles
from ledger.work.noted_rows import NotedRows
from projections.rows import applying
from tests.isolation.mutants import Mutant, Swap, broken
from tests.tables.laws.row_play import play

SEEDS: Final = 150


class RowMutant(NamedTuple):
    """A broken rule, and the laws that may tell it."""

    name: str
    swaps: Sequence[Swap]
    laws: Sequence[str] = ("pairs", "history")


class Told(NamedTuple):
    """How a mutant was told."""

    law: str
    seed: int
    error: Exception


def hunt(mutant: RowMutant, seeds: int = SEEDS) -> Told | None:
    """Return what told a mutant first, None if it passed for honest."""
    for seed in range(seeds):
        for law in mutant.laws:
            try:
                with broken(Mutant(mutant.name, mutant.swaps)):
                    play(law, seed)
            except Exception as error:  # noqa: BLE001 - any exception tells a mutant
                return Told(law, seed, error)
    return None


def dropped(*, of_rows_read: bool) -> Callable[..., Iterator[Any]]:
    """Return a check of marked rows that finds nothing for rows read, or for rows changed."""
    honest = removed_checks.marked_hits

    def check(winners: Any, read_at: int, marks: Marks, *, is_read: bool) -> Iterator[Any]:
        return (
            iter(())
            if is_read == of_rows_read
            else honest(winners, read_at, marks, is_read=is_read)
        )

    return check


def blind_to_replaced(*given: Any) -> Followed:
    """Take rows whose file gave way without saying where they are for untouched."""
    return follow(*given)._replace(gone=0)


def first_place_only(winners: Any, file: bytes, rows: Any, since: int) -> Followed:
    """Take the rows for untouched once a rewrite has put them elsewhere."""
    found = follow(winners, file, rows, since)
    if not found.replaced:
        return found
    known = winners.rows.files.get(file)
    marked = known.first(rows, since) if known is not None else 0
    return found._replace(marked=marked, gone=0)


def shifted(honest: Callable[[Move, Any], Any]) -> Callable[[Move, Any], Any]:
    """Return a translation whose rank is off by one."""

    def move(self: Move, rows: Any) -> Any:
        found = honest(self, rows)
        return found.shift(1) if found else found

    return move


def within(self: Move, rows: Any) -> Any:
    """Return the place in a target as if no row before it had stayed."""
    going = (rows & rows_from(0, self.size)) - self.stayed
    return going.shift(self.first)


def sources_alone(rows: Any) -> Iterator[Sequence[str]]:
    """Return groups without their new files."""
    yield from ([each.source] for each in rows.moved)


def without_marks(*given: Any, **more: Any) -> Settled:
    """Leave files out, and translate no mark."""
    return settle(*given, **more)._replace(translated=())


def without_left_out(*given: Any, **more: Any) -> Settled:
    """Translate marks, and leave no file out."""
    return settle(*given, **more)._replace(left_out=())


def marks_anyway(self: Settling, path: str, found: Followed) -> None:
    """Leave a file out, and forget where its rows are now."""
    if found.replaced:
        self._out[path] = None


def never_met(*_: Any) -> tuple[int, str]:
    return 0, ""


def outside(*_: Any) -> bool:
    return False


def told_short(value: Any, column: Any) -> str | None:
    """Tell the first letters of a text, as statistics do."""
    found = told_text(value, column)
    return found[:32] if found else found


told_text = told_values.told_text


def null_untold(value: Any, column: Any) -> str | None:
    """Tell another value for NULL."""
    return told_text(value, column) if value.is_valid else "0"


def untold_forgotten(self: NotedRows, scanned: bytes, _: Any) -> Any:
    """Say nothing of new rows whose values no statement told."""
    return honest_changes(self, scanned, ())


honest_changes = NotedRows.changes


def reads_nothing(*_: Any, **__: Any) -> Any:
    return condition_in(lit(1) == lit(0))


def last_marks(_: Any, rows: Any) -> Any:
    """Return a vector of the newest marks alone."""
    return inline_vectors.inline_vector(rows)


def counted_all(part: Any, chunks: Any, files: Any) -> Any:
    """Count what was left out."""
    return counted_files(part._replace(left_out=()), chunks, files)


def numbered_among_left(hit: Any, _: Any) -> Any:
    """Number the rows that are left, as if none had been deleted before."""
    return marking_numbered(hit, empty())


marking_numbered = marking.numbered


def moved_later(placed: Any, sources: Any) -> Iterator[Moved]:
    """Say that rows lie one place further on."""
    yield from (each._replace(first=each.first + 1) for each in moved_rows(placed, sources))


def moved_all(placed: Any, sources: Any) -> Iterator[Moved]:
    """Forget the rows that a rewrite left out."""
    for each in moved_rows(placed, sources):
        gone = rows_in(each.stayed)
        yield each._replace(stayed=bytes_of(gone - rows_from(0, 1)))


def keeps_nothing(*_: Any) -> None:
    """Note no row that was matched and left."""


MUTANTS: Final = (
    RowMutant(
        "rows changed twice", [Swap(removed_checks, "marked_hits", dropped(of_rows_read=False))]
    ),
    RowMutant(
        "rows read and changed", [Swap(removed_checks, "marked_hits", dropped(of_rows_read=True))]
    ),
    RowMutant("matched rows not noted", [Swap(ChangedFiles, "keep", keeps_nothing)]),
    RowMutant("files gone without moves", [Swap(removed_checks, "follow", blind_to_replaced)]),
    RowMutant("rows not followed", [Swap(removed_checks, "follow", first_place_only)]),
    RowMutant("rank off by one, forward", [Swap(Move, "forward", shifted(Move.forward))]),
    RowMutant("rank off by one, back", [Swap(Move, "back", shifted(Move.back))]),
    RowMutant("rank without what stayed", [Swap(Move, "forward", within)]),
    RowMutant("a group left out by half", [Swap(settling, "groups", sources_alone)]),
    RowMutant("marks not translated", [Swap(decide_commit, "settle", without_marks)]),
    RowMutant("replaced files not left out", [Swap(decide_commit, "settle", without_left_out)]),
    RowMutant("rows not placed", [Swap(Settling, "_place", marks_anyway)]),
    RowMutant(
        "translated marks not entered", [Swap(evolve_commits, "counted", lambda _, given: given)]
    ),
    RowMutant("left out files counted", [Swap(applying, "counted_files", counted_all)]),
    RowMutant("marks instead of their union", [Swap(inline_vectors, "with_rows", last_marks)]),
    RowMutant("numbers among rows left", [Swap(marking, "numbered", numbered_among_left)]),
    RowMutant("moved one further", [Swap(marking, "moved_rows", moved_later)]),
    RowMutant("what stayed forgotten", [Swap(marking, "moved_rows", moved_all)]),
    RowMutant(
        "new rows never met", [Swap(told_rows.ToldRows, "first", never_met)], ["bounds", "pairs"]
    ),
    RowMutant("bounds exclude all", [Swap(told_rows, "is_inside", outside)], ["bounds"]),
    RowMutant("told texts cut", [Swap(told_values, "told_text", told_short)], ["bounds"]),
    RowMutant("NULL told as a value", [Swap(told_values, "told_text", null_untold)], ["bounds"]),
    RowMutant(
        "untold rows forgotten",
        [Swap(NotedRows, "changes", untold_forgotten)],
        ["bounds", "history"],
    ),
    RowMutant("keys of a merge not read", [Swap(merging, "read_of", reads_nothing)], ["pairs"]),
)
BY_NAME: Final = {mutant.name: mutant for mutant in MUTANTS}
