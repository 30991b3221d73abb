"""The whole check: all subjects of the ledger one after the other, or all peers.

python -m tests.consistency ledger --minutes 20
python -m tests.consistency peers --minutes 10
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.consistency.judge.anomalies import Level
from tests.consistency.run import LEDGER_LEVELS, SUBJECTS, Run, carry_out

GRAINS: Final = ("file", "rows")
FAULTS: Final = ("kill", "pause")
PEERS: Final = (
    "deltalake",
    "ducklake-postgres",
    "ducklake-file",
    "pyiceberg-sqlite",
    "delta-spark",
)


class Share:
    """A part of a whole check: subject, level, grain and faults."""

    def __init__(
        self, subject: str, level: Level, grain: str, faults: Sequence[str] = FAULTS
    ) -> None:
        self.subject, self.level, self.grain, self.faults = subject, level, grain, faults

    @property
    def name(self) -> str:
        return f"{self.subject}-{self.level}-{self.grain}"


def ledger_shares() -> Iterator[Share]:
    """Yield the subjects of the ledger: every level and grain by the SDK, the others by turns."""
    for level in LEDGER_LEVELS:
        for grain in GRAINS:
            yield Share("ledger-sdk", level, grain)
    yield Share("ledger-sql", "serializable", "rows")
    yield Share("ledger-sql", "write-serializable", "file")
    yield Share("ledger-no-flush", "serializable", "rows", ("kill", "pause", "cut"))
    yield Share("ledger-iceberg", "serializable", "file")
    yield Share("ledger-iceberg", "write-serializable", "rows")
    yield Share("ledger-spark", "serializable", "rows")
    yield Share("ledger-spark", "write-serializable", "file")


def peer_shares(names: Sequence[str] = PEERS) -> Iterator[Share]:
    """Yield each peer at its strongest level."""
    for name in names:
        yield Share(name, SUBJECTS[name].levels[0], "file")


def run_shares(
    shares: Sequence[Share],
    seconds: float,
    seed: int,
    folder: Path,
    say: Callable[[str], None] = print,
) -> int:
    """Run every share for some seconds; return 1 if a level forbids what was found."""
    found: dict[str, Counter[str]] = {}
    for share in shares:
        place = folder / share.name
        run = Run(share.subject, share.level, share.grain, seed, seconds, share.faults, place)
        try:
            verdict = carry_out(run, say)
        except (RuntimeError, AssertionError, OSError) as error:
            say(f"{share.name} did not run: {error}")
            found[share.name] = Counter({"did not run": 1})
            continue
        found[share.name] = Counter(anomaly.kind for anomaly in verdict.forbidden)
    say("")
    for name, kinds in found.items():
        say(f"{name}: {dict(kinds) or 'nothing that its level forbids'}")
    return 1 if any(found.values()) else 0
