"""What an ingest did since its start, for metrics, health and lines of progress."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self

from ledger.ingest.source import Partition

TIMES_KEPT: Final = 1_000


@dataclass(slots=True)
class IngestTally:
    """Counters of one process; another thread may read them.

    Attributes:
        records: the committed records, by topic.
        rows: the rows of tables that they made, by topic.
        bad: the records that did not fit, by topic.
        lost: the records that were deleted before they were read, by topic.
        commits: the commits.
        repeats: the attempts that another commit overtook.
        seconds: the time of all commits.
        latest: the times of the newest commits.
        lag: the records of each owned partition that are not committed.
        problem: why nothing is committed now, "" if all is well.
        away: why topics cannot be read now, "" if all can be.
        position: the position of the last commit.
    """

    records: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    bad: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    commits: int = 0
    repeats: int = 0
    seconds: float = 0.0
    latest: "deque[float]" = field(default_factory=lambda: deque(maxlen=TIMES_KEPT))
    lag: dict[Partition, int] = field(default_factory=dict)
    problem: str = ""
    away: str = ""
    position: int = 0

    @classmethod
    def of(cls, topics: Iterable[str]) -> Self:
        """Return the tally of a process that begins.

        Each topic is counted from 0 on: the growth of a counter that begins at 1 is not seen.
        """
        made = cls()
        zeros = dict.fromkeys(topics, 0)
        for counter in (made.records, made.rows, made.bad, made.lost):
            counter.update(zeros)
        return made

    @property
    def trouble(self) -> str:
        """Return why records do not come into tables now, "" if all is well."""
        return "; ".join(why for why in (self.problem, self.away) if why)

    def note_commit(self, seconds: float, position: int) -> None:
        """Count a commit at a position of the ledger."""
        self.commits += 1
        self.seconds += seconds
        self.latest.append(seconds)
        self.position = position
        self.problem = ""
