"""The command line of a stress run."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode, set_up_logging
from tests.iceberg.clients import spark_environment
from tests.iceberg.clients.stress import __doc__ as described
from tests.iceberg.clients.stress.journal import DONE, REFUSED, UNKNOWN
from tests.iceberg.clients.stress.run import Plan, Report, run

WRONG_MAX = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.iceberg.clients.stress", description=described
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="how long clients work")
    parser.add_argument("--every-s", type=float, default=8.0, help="how often one is killed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without-spark", action="store_true")
    parser.add_argument("--folder", type=Path, help="keep all files here")
    options = parser.parse_args(arguments)
    with_spark = spark_environment.is_there() and not options.without_spark
    plan = Plan(options.seconds, options.every_s, options.seed, with_spark)
    console = Console()
    set_up_logging()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch) / "run"
        folder.mkdir(parents=True)
        with Broker.start(folder / "kafka") as broker:
            report = run(broker, "stress", folder, plan, console.print)
    show(report, console)
    return ExitCode.FAILED if report.wrong else ExitCode.DONE


def show(report: Report, console: Console) -> None:
    """Print what came of a run."""
    found = report.outcomes()
    table = Table("client", "kind", DONE, REFUSED, UNKNOWN)
    for client, kind in sorted({(client, kind) for client, kind, _ in found}):
        cells = [str(found.get((client, kind, each), 0)) for each in (DONE, REFUSED, UNKNOWN)]
        table.add_row(client, kind, *cells)
    console.print(table)
    console.print(f"versions {dict(report.versions)}, committed {dict(report.committed)}")
    console.print(f"kills {dict(report.kills)}, {report.restored} files restored")
    for outcome in (REFUSED, UNKNOWN):
        for why, count in report.reasons(outcome).items():
            console.print(f"{outcome}, {count} times: {why}", highlight=False, markup=False)
    for each in report.wrong[:WRONG_MAX]:
        console.print(f"WRONG: {each}", highlight=False, markup=False)
    console.print(f"{len(report.wrong)} things are wrong")


if __name__ == "__main__":
    sys.exit(main())
