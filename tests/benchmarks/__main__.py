"""Run benchmarks: `python -m tests.benchmarks [ID ...]` measures all of them, or those named."""

import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from ledger.broker import Broker
from tests.benchmarks import closed_loop, round_trip, sequencer_loop
from tests.benchmarks.figure import Figure, show

Measure = Callable[[Broker], list[Figure]]
BENCHMARKS: Mapping[str, Measure] = {
    "R1": sequencer_loop.measure,
    "R13": round_trip.measure,
    "CL": closed_loop.measure,
}


def machine() -> str:
    """Return the shape of this machine."""
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"load {os.getloadavg()[0]:.1f}; Kafka on the same cores, one copy, no fsync"
    )


def main() -> None:
    """Measure what was asked for; one broker serves all of it."""
    asked = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in asked if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder, Broker.start(Path(folder) / "kafka") as broker:
        for name in asked:
            for figure in BENCHMARKS[name](broker):
                print(figure.line(), flush=True)
                figures.append(figure)
    show(figures, machine())


if __name__ == "__main__":
    main()
