"""What an ingest did since its start, for metrics, health and lines of progress."""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

from ledger.ingest.source import Partition

TIMES_KEPT: Final = 1_000


@dataclass(slots=True)
class IngestTally:
    """Counters of one process; another thread may read them.

    Attributes:
        records: the committed records, by topic.
        rows: the rows of tables that they made, by topic.
        bad: the records that did not fit, by topic.
        commits: the commits.
        repeats: the attempts that another commit overtook.
        seconds: the time of all commits.
        latest: the times of the newest commits.
        lag: the records of each owned partition that are not committed.
        problem: why nothing is committed now, "" if all is well.
    """

    records: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    bad: Counter[str] = field(default_factory=Counter)
    commits: int = 0
    repeats: int = 0
    seconds: float = 0.0
    latest: "deque[float]" = field(default_factory=lambda: deque(maxlen=TIMES_KEPT))
    lag: dict[Partition, int] = field(default_factory=dict)
    problem: str = ""
    position: int = 0

    def note_commit(self, seconds: float, position: int) -> None:
        """Count a commit at a position of the ledger."""
        self.commits += 1
        self.seconds += seconds
        self.latest.append(seconds)
        self.position = position
        self.problem = ""
