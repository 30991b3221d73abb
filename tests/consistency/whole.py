"""The whole check: all subjects of the ledger one after the other, or all peers.

python -m tests.consistency ledger --minutes 24
python -m tests.consistency peers --minutes 10
"""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.benchmarks.figure import SkippedError
from tests.consistency.client import now
from tests.consistency.judge.anomalies import Level
from tests.consistency.run import Run, carry_out
from tests.consistency.summary import Shown, shown, tables
from tests.consistency.systems import GRAINS, LEDGER_LEVELS, SUBJECTS

FAULTS: Final = ("kill", "pause")
PEERS: Final = (
    "deltalake",
    "ducklake-postgres",
    "ducklake-file",
    "pyiceberg-sqlite",
    "delta-spark",
)
# How long a share takes beside its clients' work: starts, the last reads, the judge.
BESIDE_S: Final = 18.0
BESIDE_SPARK_S: Final = 75.0
# A cut ends everything, and everything is started again.
CUT_S: Final = 25.0
SECONDS_MIN: Final = 15.0

Pair = tuple[Level, str]
Seconds = Callable[[int], float]


class Share(NamedTuple):
    """A part of a whole check: subject, level, grain and faults."""

    subject: str
    level: Level
    grain: str
    faults: Sequence[str] = FAULTS

    @property
    def beside_s(self) -> float:
        """How long it takes beside its clients' work, as a rule."""
        return BESIDE_SPARK_S if "spark" in self.subject else BESIDE_S + self.cut_s

    @property
    def cut_s(self) -> float:
        """How much longer its clients work, because a cut stops them."""
        return CUT_S if "cut" in self.faults else 0.0


EVERY: Final[Sequence[Pair]] = [(level, grain) for level in LEDGER_LEVELS for grain in GRAINS]
# Each half has every level and both grains; together they have all pairs.
ONE_HALF: Final[Sequence[Pair]] = (EVERY[1], EVERY[2], EVERY[5])
OTHER_HALF: Final[Sequence[Pair]] = (EVERY[0], EVERY[3], EVERY[4])
DOORS: Final[Sequence[tuple[str, Sequence[Pair], Sequence[str]]]] = (
    ("ledger-sdk", EVERY, FAULTS),
    ("ledger-sql-reads", ONE_HALF, FAULTS),
    ("ledger-http-reads", OTHER_HALF, FAULTS),
    ("ledger-no-flush", ONE_HALF, (*FAULTS, "cut")),
    ("ledger-no-flush", OTHER_HALF, FAULTS),
    ("ledger-iceberg", OTHER_HALF, FAULTS),
    ("ledger-spark", ONE_HALF, FAULTS),
)


def ledger_shares() -> Iterator[Share]:
    """Yield the shares of the ledger: every level and grain of each door, all pairs of the SDK."""
    for subject, pairs, faults in DOORS:
        for level, grain in pairs:
            yield Share(subject, level, grain, faults)


def peer_shares(names: Sequence[str] = PEERS) -> Iterator[Share]:
    """Yield each peer at the level that it promises."""
    for name in names:
        subject = SUBJECTS[name]
        yield Share(name, subject.levels[0], subject.grains[0])


def sharing(shares: Sequence[Share], seconds: float) -> Seconds:
    """Return how long the clients of a share may work, so that all shares fit into a time."""
    end = now() + seconds

    def left(at: int) -> float:
        beside = sum(share.beside_s for share in shares[at:])
        return max(SECONDS_MIN, (end - now() - beside) / len(shares[at:]))

    return left


def run_shares(
    shares: Sequence[Share],
    seconds: Seconds,
    seed: int,
    folder: Path,
    say: Callable[[str], None] = print,
) -> int:
    """Run every share and print the tables; return 1 if one did not run or shows a fault."""
    runs: list[Shown] = []
    not_run: list[str] = []
    for at, share in enumerate(shares):
        subject, level, grain, faults = share
        run = Run(subject, level, grain, seed, seconds(at) + share.cut_s, faults, folder)
        run = run._replace(folder=folder / run.name)
        try:
            carry_out(run, say)
        except (
            RuntimeError,
            AssertionError,
            OSError,
            SkippedError,
            subprocess.SubprocessError,
        ) as error:
            not_run.append(f"{run.name} did not run: {' '.join(str(error).split())}")
            say(not_run[-1])
            continue
        runs.append(shown(run.folder))
    say("")
    for line in (*tables(runs), "", *not_run):
        say(line)
    return 1 if not_run or any(run.forbidden for run in runs) else 0
