"""Run benchmarks: `python -m tests.benchmarks [ID ...]` measures all of them, or those named.

One JSON line a figure goes to stdout, at the end a table for people; progress goes to stderr. Both
sides of a ratio are measured in one run, in turn, and the median of the ratios is told.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from ledger.broker import Broker
from ledger.process import set_up_logging
from tests.benchmarks import (
    closed_loop,
    idle,
    log_bytes,
    round_trip,
    sequencer_loop,
    take_over,
    visibility,
)
from tests.benchmarks.figure import Figure, show

STDERR: Final = 2
LAST_LINES: Final = 20


class Benchmark(NamedTuple):
    """Something to measure, and what it is in a few words."""

    measure: Callable[[Broker], list[Figure]]
    what: str


BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "R1": Benchmark(sequencer_loop.measure, "the sequencer's loop : raw consume and produce"),
    "R13": Benchmark(round_trip.measure, "a command and its answer : one raw hop"),
    "CL1": Benchmark(closed_loop.measure_one, "transactions of one session in a closed loop"),
    "CL16": Benchmark(closed_loop.measure_sixteen, "transactions of sixteen sessions"),
    "TO": Benchmark(take_over.measure, "from kill -9 of the leader to the next one's answer"),
    "CV": Benchmark(visibility.measure, "from a commit to its rows in the follower's store"),
    "CVS": Benchmark(visibility.measure_spark, "the same in the Spark feeder's store"),
    "BYTES": Benchmark(log_bytes.measure, "bytes of log of a transaction"),
    "IDLE": Benchmark(idle.measure, "CPU of processes nobody asks anything of"),
}


def main() -> None:
    """Measure what was asked for; one broker serves all of it."""
    asked = chosen()
    figures: list[Figure] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        lines_kept(Path(folder) / "lines") as terminal,
        Broker.start(Path(folder) / "kafka") as broker,
    ):
        set_up_logging()
        for name in asked:
            began_s = time.monotonic()
            print(f"{name}: {BENCHMARKS[name].what} ...", file=terminal, flush=True)
            for figure in BENCHMARKS[name].measure(broker):
                print(figure.line(), flush=True)
                figures.append(figure)
            took_s = time.monotonic() - began_s
            print(f"{name}: measured in {took_s:.0f} s", file=terminal, flush=True)
    show(figures, machine())


def chosen() -> list[str]:
    """Return the benchmarks that the command line names, all of them if none."""
    told = "\n".join(f"  {name:6}{each.what}" for name, each in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        epilog=f"benchmarks:\n{told}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="measure only these")
    ids: list[str] = parser.parse_args().ids
    unknown = [name for name in ids if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    return ids or list(BENCHMARKS)


@contextmanager
def lines_kept(file: Path) -> Iterator[TextIO]:
    """Keep what all processes say about their work out of the way, and show its end on an error.

    Yields the terminal, or whatever standard error was.
    """
    before = os.dup(STDERR)
    with file.open("w") as lines, os.fdopen(os.dup(before), "w") as terminal:
        os.dup2(lines.fileno(), STDERR)
        try:
            yield terminal
        except BaseException:
            said = file.read_text(encoding="utf-8", errors="replace").splitlines()
            print(*said[-LAST_LINES:], sep="\n", file=terminal)
            raise
        finally:
            os.dup2(before, STDERR)
            os.close(before)


def machine() -> str:
    """Return the shape of this machine."""
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"load {os.getloadavg()[0]:.1f}; Kafka on the same cores, one copy, no fsync"
    )


if __name__ == "__main__":
    main()
