"""Writers, an optimizer and kills of the publisher and the follower, on tables that are published.

`python -m tests.integration.published_soak [--minutes 5 --every-s 10]` prints the lag from a
commit's answer to the file of its version. Exit status 1 if a version is missing, differs or is
foreign at the end.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import quantiles
from threading import Event as Signal
from threading import Lock, Thread
from typing import Final, NamedTuple

from rich.console import Console

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.replay import Replay
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode, set_up_logging
from ledger.machine.supervisor import Supervisor
from ledger.properties.column_mapping import PUBLISH
from ledger.session.receipt import Receipt
from projections.delta.log.log_folder import LOG_FOLDER, version_file
from projections.delta.verify import LogReport, verify_log
from projections.queries import open_reads
from tests.integration.commands import environment
from tests.integration.soak.roles import Recorded
from tests.integration.soak.strikes import position_of

LEDGER: Final = "soak"
TABLES: Final = ("a", "b")
WRITERS: Final = 4
PAUSE_S: Final = 0.02
OPTIMIZE_S: Final = 2.0
PATIENCE_S: Final = 120.0
LOOK_S: Final = 0.1


class Answered(NamedTuple):
    """A version of a table, and when its commit was answered."""

    table: str
    version: int
    at_s: float


class Found(NamedTuple):
    """What came of a soak: the lags in ms, the kills, and how each log compares."""

    lags_ms: Sequence[float]
    kills: int
    reports: Sequence[LogReport]

    @property
    def is_clean(self) -> bool:
        """Whether every log is as the ledger says."""
        return all(report.is_clean for report in self.reports)


class PublishedSoak:
    """A ledger with two published tables, its roles, and what its writers were answered."""

    def __init__(self, bootstrap: str, folder: Path, held: ExitStack) -> None:
        self.folder, self.where = folder, (bootstrap, LEDGER)
        self.store = folder / "rows"
        self.answered: list[Answered] = []
        self.names: dict[int, str] = {}
        self._turn = Lock()
        create_topics(bootstrap, LEDGER)
        self.log = held.enter_context(closing(KafkaLog(bootstrap, LEDGER)))
        own = "--bootstrap", bootstrap, "--ledger", LEDGER, "--with-parent"
        roles = {
            "sequencer": (),
            "follower": ("--store", str(self.store), "--no-http"),
            "publisher": ("--store", str(folder / "state"), "--no-http"),
        }
        self.roles = {
            kind: Recorded(kind, ("serve", kind, *options, *own), said=folder / f"{kind}.log")
            for kind, options in roles.items()
        }
        self._supervisor = Supervisor(list(self.roles.values()))
        self._supervisor.environment = environment(folder)
        for role in self.roles.values():
            role.start(self._supervisor.environment)
        held.callback(self._supervisor.stop)

    def connect(self, held: ExitStack) -> Ledger:
        """Return a client that reads the follower's rows."""
        reads = held.enter_context(closing(open_reads(self.store)))
        return held.enter_context(Ledger.connect(*self.where, reads=reads))

    def create(self) -> None:
        """Create the tables."""
        with ExitStack() as held:
            ledger = self.connect(held)
            for name in TABLES:
                row = ledger.create_table(
                    name,
                    [("day", "int"), ("id", "bigint"), ("writer", "int")],
                    partition_columns=["day"],
                    location=self.folder / name,
                    properties={PUBLISH: "delta"},
                )
                self.names[row.table] = name

    def note(self, receipt: Receipt) -> None:
        """Note when a commit was answered."""
        now = time.time()
        found = [
            Answered(self.names[table], version, now) for table, version in receipt.versions.items()
        ]
        with self._turn:
            self.answered += found

    def write(self, number: int, stop: Signal) -> None:
        """Change rows until `stop` is set."""
        chance = Random(number)  # noqa: S311 - repeatable on purpose
        with ExitStack() as held:
            ledger = self.connect(held)
            while not stop.wait(PAUSE_S):
                rows = [
                    {"day": chance.randint(0, 3), "id": chance.randint(0, 99), "writer": number}
                    for _ in range(5)
                ]
                try:
                    self.change(ledger, number, rows, chance.random())
                except ConflictError:
                    continue

    def change(self, ledger: Ledger, number: int, rows: list[dict[str, int]], draw: float) -> None:
        """Append mostly; now and then change both tables, or delete rows of this writer."""
        table = TABLES[number % len(TABLES)]
        if draw < 0.8:
            self.note(ledger.append(table, rows))
            return
        txn = ledger.begin()
        with txn:
            if draw < 0.9:
                for each in TABLES:
                    txn.insert(each, rows)
            else:
                txn.delete(table, f"writer = {number} AND id < 50")
            self.note(txn.commit())

    def optimize(self, stop: Signal) -> None:
        """Put small files together, table by table."""
        with ExitStack() as held:
            ledger = self.connect(held)
            for table in cycle(TABLES):
                if stop.wait(OPTIMIZE_S):
                    return
                try:
                    with ledger.begin() as txn:
                        txn.optimize(table)
                        self.note(txn.commit())
                except ConflictError:
                    continue

    def run(self, lasts_s: float, every_s: float) -> int:
        """Let everybody work, kill publisher and follower in turn; return the number of kills."""
        stop, kills = Signal(), 0
        watch = Thread(target=self._supervisor.watch, args=(stop,), daemon=True)
        watch.start()
        with ThreadPoolExecutor(WRITERS + 1) as pool:
            work = [pool.submit(self.write, number, stop) for number in range(WRITERS)]
            work.append(pool.submit(self.optimize, stop))
            until_s = time.monotonic() + lasts_s
            for kind in cycle(("publisher", "follower")):
                stop.wait(min(every_s, max(until_s - time.monotonic(), 0)))
                failed = [each for each in work if each.done()]
                if failed or time.monotonic() >= until_s:
                    break
                process = self.roles[kind].process
                if process is not None and process.poll() is None:
                    process.kill()
                    kills += 1
            self.wait_for(self.all_are_there)
            stop.set()
            for each in work:
                each.result()
        watch.join()
        return kills

    def all_are_there(self) -> bool:
        """Return whether every version that was answered so far is published."""
        with self._turn:
            newest = {each.table: each.version for each in self.answered}
        return all(self.file(*item).exists() for item in newest.items())

    def file(self, table: str, version: int) -> Path:
        return self.folder / table / LOG_FOLDER / version_file(version)

    def lags_ms(self) -> Iterator[float]:
        """Yield how long after its commit's answer each version was published."""
        for each in self.answered:
            yield (self.file(each.table, each.version).stat().st_mtime - each.at_s) * 1000

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so; raises TimeoutError."""
        until_s = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > until_s:
                raise TimeoutError(f"not within {PATIENCE_S:.0f} s")
            Signal().wait(LOOK_S)


def soaked(bootstrap: str, folder: Path, lasts_s: float, every_s: float) -> Found:
    """Return what comes of a soak."""
    with ExitStack() as held:
        soak = PublishedSoak(bootstrap, folder, held)
        soak.wait_for(lambda: position_of(soak.store) > 0)
        soak.create()
        kills = soak.run(lasts_s, every_s)
        soak.wait_for(lambda: all(soak.file(e.table, e.version).exists() for e in soak.answered))
        reports = [verify_log(Replay(soak.log), table) for table in soak.names]
        return Found(sorted(soak.lags_ms()), kills, reports)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long processes are killed")
    parser.add_argument("--every-s", type=float, default=10.0, help="how often one is killed")
    options = parser.parse_args(arguments)
    set_up_logging()
    with tempfile.TemporaryDirectory() as scratch, Broker.start(Path(scratch) / "kafka") as broker:
        found = soaked(broker.bootstrap, Path(scratch), options.minutes * 60, options.every_s)
    cuts = quantiles(found.lags_ms, n=100)
    said = Console()
    said.print(
        f"{len(found.lags_ms)} versions, {found.kills} kills, lag p50 {cuts[49]:.0f} ms, "
        f"p99 {cuts[98]:.0f} ms, most {found.lags_ms[-1]:.0f} ms"
    )
    for report in found.reports:
        said.print(f"{report.compared} versions compared, {len(report.findings)} are not right")
    return ExitCode.DONE if found.is_clean else ExitCode.FAILED


if __name__ == "__main__":
    sys.exit(main())
