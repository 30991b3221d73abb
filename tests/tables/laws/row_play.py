"""Plays the laws of tables with marks by a seed: histories, copies of them, pairs and bounds.

    python -m tests.tables.laws.row_grain --histories 300

One seed is one history. Every third one has the grain of files. Some are published, copied and cut.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from ledger.files.rows import told_values
from ledger.log.memory import MemoryLog
from ledger.statements import marking
from ledger.testing import InMemoryLedger
from tests.isolation.mutants import Mutant, Swap, broken
from tests.tables.laws.history import replayable
from tests.tables.laws.row_bounds import hunt_bounds
from tests.tables.laws.row_checks import check_rows
from tests.tables.laws.row_copies import check_copies, check_cut
from tests.tables.laws.row_history import RowHistory
from tests.tables.laws.row_pairs import hunt_pairs
from tests.tables.published_lake import PUBLISHED, PublishedLake, publish

READERS: Final = ("duckdb",)
"""Other readers than DuckDB refuse widened types, or column mapping."""

CHOICES: Final = ((10, 100), (10, 1), (1 << 20, 0))
"""Where a file is marked and where written anew is free to choose: as is, seldom marked, never."""

Law = Callable[[Path, int], Counter[str]]


def play_rows(folder: Path, seed: int, *, rows: str) -> Counter[str]:
    """Play a history, and check each version and its changes."""
    with InMemoryLedger() as memory:
        history = RowHistory(memory.connect(), folder, seed, rows=rows)
        with replayable(seed, history):
            history.play()
            check_rows(history)
    return history.outcomes


def play_copies(folder: Path, seed: int, *, rows: str = "marks") -> Counter[str]:
    """Play a published history, and compare all copies of its log; then cut the log."""
    log, tables = MemoryLog(), folder / "tables"
    with InMemoryLedger(log=log) as memory:
        history = RowHistory(memory.connect(), tables, seed, rows=rows, properties=PUBLISHED)
        with replayable(seed, history):
            lake = PublishedLake(memory, history.ledger, tables)
            history.committed = partial(follow, history, lake)
            history.play()
            publish(log)
            lake.check(READERS)
    with replayable(seed, history):
        check_copies(history, log, folder)
        check_cut(history, log)
    return history.outcomes


def follow(history: RowHistory, lake: PublishedLake) -> None:
    """Note what the tables show, and publish them now and then."""
    lake.note()
    if history.rng.random() < 0.3:
        publish(lake.memory.log)


LAWS: Final[Mapping[str, Law]] = {
    "history": partial(play_rows, rows="marks"),
    "history of files": partial(play_rows, rows="rewrite"),
    "copies": play_copies,
    "pairs": hunt_pairs,
    "bounds": hunt_bounds,
}


def laws_of(seed: int) -> list[str]:
    """Return the laws that a seed is played for."""
    found = ["history of files" if seed % 3 == 2 else "history"]
    found += ["copies"] if seed % 8 == 0 else []
    return [*found, "pairs" if seed % 2 else "bounds"]


def choosing(law: str, seed: int) -> AbstractContextManager[None]:
    """Choose otherwise between marks and new files, and between values and bounds, by the seed.

    Bounds tell less than values, so some pairs would meet by them.
    """
    chance = Random(f"choice of {seed}")  # noqa: S311 - a history must come back from its seed
    share, few = chance.choice(CHOICES)
    swaps = [Swap(marking, "SHARE", share), Swap(marking, "FEW", few)]
    if law != "pairs" and chance.random() < 0.5:
        swaps.append(Swap(told_values, "VALUES_MAX", 0))
    return broken(Mutant("", swaps))


def play(law: str, seed: int) -> Counter[str]:
    """Play a law by a seed in a folder of its own."""
    with choosing(law, seed), TemporaryDirectory(prefix="lakeledger-rows-") as folder:
        return LAWS[law](Path(folder) / "t", seed)
