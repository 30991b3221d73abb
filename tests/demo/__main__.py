"""`python -m tests.demo`: the whole of LakeLedger in a few minutes, with real data.

Everything runs on this machine, in a temporary home. It ends by itself; Ctrl-C ends it early and
leaves nothing behind either. With `--keep` the ledger is up again after that, until Ctrl-C, and its
home stays.
"""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Final, NoReturn

import typer

from ledger.errors import LedgerError
from ledger.machine.process import ExitCode, set_up_logging
from tests.demo.report import CheckFailedError, Report
from tests.demo.stage import LEDGER, Home
from tests.demo.story import play

STDERR: Final = 2
LINES: Final = "processes.log"


def main(
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the ledger up until Ctrl-C, and keep its home.")
    ] = False,
) -> None:
    """Run a ledger with its producers, readers and Spark, kill some of them, check the rest."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    report = Report()
    home = Path(mkdtemp(prefix="lakeledger-demo-"))
    code = perform(home, report)
    if keep or code == ExitCode.FAILED:
        report.say(f"kept: {home}; the output of the processes is in {home / LINES}")
    else:
        shutil.rmtree(home)
    if keep and code == ExitCode.DONE:
        stay_up(Home(home), report)
    sys.exit(code)


def stay_up(home: Home, report: Report) -> NoReturn:
    """Become the command that runs the ledger of the demo."""
    report.say(f"look at it: LAKELEDGER_HOME={home.ledger} lakeledger ui")
    up = ("up", "--ledger", LEDGER, "--home", str(home.ledger), "--publish", "--caches", "1")
    sys.stdout.flush()
    os.execv(sys.executable, (sys.executable, "-m", "ledger", *up))  # noqa: S606 - of this program


def perform(home: Path, report: Report) -> ExitCode:
    """Play the story and return the exit code."""
    try:
        with errors_to(home / LINES):
            play(Home(home), report)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except (CheckFailedError, LedgerError) as error:
        report.end(f"failed: {type(error).__name__}: {error}", well=False)
        return ExitCode.FAILED
    except Exception as error:  # noqa: BLE001 - any error is shown and fails the demo
        report.crash(error)
        return ExitCode.FAILED
    report.end(f"{report.checks} checks hold, {report.elapsed_s:.0f} s", well=True)
    return ExitCode.DONE


def interrupt(*_: object) -> NoReturn:
    """Leave the story at once; later signals do not disturb the cleanup."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    print("\ninterrupted: taking everything down", flush=True)
    raise KeyboardInterrupt


@contextmanager
def errors_to(path: Path) -> Iterator[None]:
    """Send standard error of this process and its children to a file for experts."""
    terminal = os.dup(STDERR)
    with path.open("wb") as lines:
        os.dup2(lines.fileno(), STDERR)
        set_up_logging()
        try:
            yield
        finally:
            os.dup2(terminal, STDERR)
            os.close(terminal)


if __name__ == "__main__":
    typer.run(main)
