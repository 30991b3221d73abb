"""Run a soak: `python -m tests.integration.soak [--minutes 5 --every-s 10 --seed 1 --no-spark]`.

Exit status 1 if a reader was told something wrong, if what somebody holds at the end differs from
what the log makes of it, if a process did not come back, or if one said that it failed.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode, set_up_logging
from tests.integration.soak.run import Plan, Report, run
from tests.integration.soak.told import show


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long processes are killed")
    parser.add_argument("--every-s", type=float, default=10.0, help="how often one is killed")
    parser.add_argument("--seed", type=int, default=1, help="of what is asked")
    parser.add_argument("--no-spark", action="store_true", help="leave the feeder out")
    parser.add_argument("--keep", type=Path, help="a new folder for all files, to look at later")
    options = parser.parse_args(arguments)
    plan = Plan(options.minutes * 60, options.every_s, options.seed, not options.no_spark)
    try:
        report = soaked(plan, options.keep)
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted; nothing is left running")
        return ExitCode.INTERRUPTED
    show(report)
    return ExitCode.FAILED if report.wrong else ExitCode.DONE


def soaked(plan: Plan, keep: Path | None) -> Report:
    """Return what comes of a soak on a broker of its own, with a bar that tells how far it is."""
    columns = BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with (
        tempfile.TemporaryDirectory() as scratch,
        Progress(*columns) as bar,
        Broker.start((keep or Path(scratch)) / "kafka") as broker,
    ):
        set_up_logging()
        task = bar.add_task("starting", total=plan.lasts_s)

        def progress(seconds: float, what: str) -> None:
            bar.update(task, completed=seconds, description=what or None)

        return run(broker, "soak", keep or Path(scratch), plan, progress)


if __name__ == "__main__":
    sys.exit(main())
