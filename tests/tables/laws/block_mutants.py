"""Mutants: rows in the log, flushes, trims and an ingest with one rule broken.

Each shows why a rule is there. `hunt` plays a law by one seed after the other until a mutant is
told.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from ledger.core.events.events import RecordsTrimmed
from ledger.files.rows.joined_blocks import joined_blocks
from ledger.ingest.batch import PendingRecords
from ledger.ingest.offsets import LedgerOffsets, app_of
from ledger.snapshot import scan_rows
from ledger.statements.marking import ChangedFiles
from ledger.statements.rewrites import flushing
from projections.fold import fold
from projections.rows.tables import gone_blocks
from tests.ingest.histories import STEPS, Step
from tests.ingest.histories import play as play_ingest
from tests.isolation.mutants import Mutant, Swap, broken
from tests.tables.laws.test_flushed import play as play_flushes
from tests.tables.test_trimmed_blocks import TRIM_STEPS, check_trims

SEEDS: Final = 40

Play = Callable[[Path, int], object]


class BlockMutant(NamedTuple):
    """A broken rule, and the law that tells it."""

    name: str
    swaps: Sequence[Swap]
    play: Play


def hunt(mutant: BlockMutant, folder: Path) -> int | None:
    """Return the seed that told a mutant first, None if it passed for honest."""
    for seed in range(SEEDS):
        try:
            with broken(Mutant(mutant.name, mutant.swaps)):
                mutant.play(folder / str(seed), seed)
        except Exception:  # noqa: BLE001 - any exception tells a mutant
            return seed
    return None


def trims(folder: Path, seed: int) -> None:
    """Play a history with trims."""
    draw = Random(seed)  # noqa: S311 - replayable
    steps = [draw.choice(TRIM_STEPS) for _ in range(draw.randrange(2, 12))]
    check_trims(folder, steps, [draw.random() for _ in range(2)])


def ingests(folder: Path, seed: int) -> None:
    """Play a history of an ingest."""
    draw = Random(seed)  # noqa: S311 - replayable
    count = draw.randrange(20, 60)
    steps = [
        Step(draw.choice(STEPS), draw.randrange(6), draw.randrange(10_007)) for _ in range(count)
    ]
    folder.mkdir(parents=True)
    play_ingest(steps, folder)


def forgetting_places(self: ChangedFiles, files: Sequence[Any], _: Any, rows: Any) -> Any:
    """Stand for `ChangedFiles.rewrite`: no row of a file is said to be in another one."""
    self.files += files
    return rows


def as_new_rows(self: ChangedFiles, adds: Sequence[Any], operation: str = "OPTIMIZE") -> None:
    """Stand for `ChangedFiles.note_rewritten`: moved rows count as new ones."""
    self._table.replace(self.files, adds, operation, self.noted(adds))


def without_vectors(runs: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return runs of a flush that show deleted rows."""

    def mutant(table: Any, blocks: Sequence[Any]) -> Iterator[Any]:
        shown = [block._replace(vector="", deletion_vector=None) for block in blocks]
        return runs(table, shown)

    return mutant


def shorter(copied: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return what a flush copies, less its last run."""
    return lambda *given: iter(list(copied(*given))[:-1])


def joined_less(files: Any, schema_then: Any) -> Iterator[Any]:
    """Stand for `joined_blocks`: a group of several blocks is as its first."""
    kept = list(files)
    plain = [file for file in kept if file.rows and not file.vector]
    rest = [file for file in kept if not file.rows or file.vector]
    return joined_blocks([*rest, *plain[:1]], schema_then)


def joined_whole(files: Any, schema_then: Any) -> Iterator[Any]:
    """Stand for `joined_blocks`: deleted rows of a block are shown."""
    shown = (
        file._replace(vector="", deletion_vector=None) if file.rows else file for file in files
    )
    return joined_blocks(shown, schema_then)


def greedy(trimmed: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return a trim that takes blocks which were removed above it."""
    return lambda applied, body: trimmed(applied, body._replace(below=2**62))


def uncompared(self: Any, txn: Any, ends: Any, notes: Any, _: int) -> None:
    """Stand for `LedgerOffsets.record`: an offset goes for as new as the txn."""
    for partition, offset in ends.items():
        info = notes[partition]._asdict()
        app = app_of(self._name, partition)
        txn.app(app, offset, tables=[self.home()], info=info, alone=True)


def keeping(self: PendingRecords, found: Any) -> Sequence[Any]:
    """Stand for `PendingRecords.settle`: offsets are looked up, and no record is dropped."""
    self.known |= {partition: at for partition, at in found.items() if partition in self.known}
    return ()


MUTANTS: Final = (
    BlockMutant(
        "a flush does not say where rows go",
        [Swap(ChangedFiles, "rewrite", forgetting_places)],
        play_flushes,
    ),
    BlockMutant(
        "a flush counts as a change of rows",
        [Swap(ChangedFiles, "note_rewritten", as_new_rows)],
        play_flushes,
    ),
    BlockMutant(
        "a flush brings deleted rows back",
        [Swap(flushing, "runs", without_vectors(flushing.runs))],
        play_flushes,
    ),
    BlockMutant(
        "a flush leaves rows out",
        [Swap(flushing, "copied", shorter(flushing.copied))],
        play_flushes,
    ),
    BlockMutant(
        "a scan leaves blocks out", [Swap(scan_rows, "joined_blocks", joined_less)], play_flushes
    ),
    BlockMutant(
        "a scan shows deleted rows", [Swap(scan_rows, "joined_blocks", joined_whole)], play_flushes
    ),
    BlockMutant(
        "a trim takes what is read above it",
        [Swap(fold, "ROWS", {**fold.ROWS, RecordsTrimmed: [greedy(gone_blocks.trimmed)]})],
        trims,
    ),
    BlockMutant("offsets are not compared", [Swap(LedgerOffsets, "record", uncompared)], ingests),
    BlockMutant(
        "records that the ledger has are kept", [Swap(PendingRecords, "settle", keeping)], ingests
    ),
)
