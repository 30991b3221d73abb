"""What sessions in a closed loop did together, whoever's they are: ours or those of a peer."""

from collections.abc import Sequence
from typing import NamedTuple

import psutil

from tests.benchmarks.figure import Figure, percentile

CPU_NOTE = "user and system, of clients, servers and broker together"


class Worked(NamedTuple):
    """What all sessions did within `seconds`: the milliseconds of each success, what failed.

    `cpu_s` is what all processes of the benchmark used meanwhile, servers included; `errors` are
    the commonest texts of what failed.
    """

    took_ms: list[float]
    failed: int
    seconds: float
    cpu_s: float
    errors: Sequence[str] = ()

    @property
    def rate(self) -> float:
        """Successes a second."""
        return len(self.took_ms) / self.seconds

    @property
    def p99_ms(self) -> float:
        """What 99 % of the successes took at most."""
        return percentile(self.took_ms, 0.99)

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU for each success."""
        return self.cpu_s / len(self.took_ms) * 1e6

    def figures(self, name: str, note: str) -> list[Figure]:
        """Return transactions a second, their p50 and p99, and their CPU."""
        return [
            Figure(name, round(self.rate), "txn/s", note=note),
            Figure(f"{name}-p50", round(percentile(self.took_ms, 0.5), 2), "ms", note=note),
            Figure(f"{name}-p99", round(self.p99_ms, 2), "ms", note=note),
            Figure(f"{name}-cpu", round(self.cpu_us), "us of CPU per txn", note=CPU_NOTE),
        ]


def tree_cpu_s(process: psutil.Process | None = None) -> float:
    """Return the seconds of CPU that a process, or this one, and all that it started have used."""
    root = process or psutil.Process()
    return sum(map(process_cpu_s, (root, *root.children(recursive=True))))


def process_cpu_s(process: psutil.Process) -> float:
    """Return the seconds of one process and of its children that ended; 0 if it just ended."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
