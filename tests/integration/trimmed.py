"""A lake whose log is trimmed to its last tenth under load, with kills of all its processes.

`python -m tests.integration.trimmed [--events 1000000 --tables 300 --every-s 3 --spark]` says how
long a follower takes from an image, and from the events. Exit status 1 if rows, reads, the cache or
a published log are not those of a log that was never trimmed: a restored backup is that twin.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from subprocess import TimeoutExpired
from threading import Event as Signal
from threading import Thread
from typing import Final, NamedTuple

import structlog
from rich.console import Console

from ledger.backup.contents import manifest_in
from ledger.backup.joined import joined_log
from ledger.backup.place import FolderPlace
from ledger.backup.restoring import Restore
from ledger.backup.taking import take
from ledger.client import Ledger
from ledger.errors import ConflictError, LedgerError, ReadsUnavailableError
from ledger.log.consumers import registered
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.log_end import last_position
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.log.replay import verify
from ledger.machine.folder import SPARK_ROWS
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode, set_up_logging
from ledger.machine.supervisor import Supervisor
from ledger.properties.column_mapping import PUBLISH
from ledger.reads.remote.publisher import HttpPublisher
from projections.queries import open_reads
from tests.backup.benches import NEVER
from tests.backup.images.benches import followed_at
from tests.driver import CATALOG, Driver, write
from tests.integration.commands import Command, environment
from tests.integration.soak.roles import Recorded, free_urls
from tests.integration.soak.strikes import position_of
from tests.integration.trimmed_twin import answers_of, differences

LEDGER: Final = "trimmed"
PUBLISHED: Final = 3
WRITERS: Final = 2
TRIMS: Final = 2
KEPT_SHARE: Final = 0.1
PATIENCE_S: Final = 600.0
LOOK_S: Final = 0.2
PAUSE_S: Final = 0.02
KILL_S: Final = 1.5
TABLES_BEFORE: Final = 20


class TrimmedFound(NamedTuple):
    """What came of it: where the log begins, its end, kills, seconds, and all that differs.

    A new follower began with an image under load, and one once nothing else ran.
    """

    begins_at: int
    position: int
    kills: int
    loaded_s: float
    from_image_s: float
    from_events_s: float
    differences: Sequence[str]


class TrimmedLake:
    """A ledger with a long history, its processes, and a folder for all else."""

    def __init__(self, bootstrap: str, folder: Path, held: ExitStack, *, spark: bool) -> None:
        self.folder, self.where = folder, (bootstrap, LEDGER)
        self.store, self.place = folder / "rows", FolderPlace(folder / "backup")
        # The rows that are followed, also those within Spark.
        self.stores = [self.store, *([folder / "feeder" / SPARK_ROWS] if spark else [])]
        self.tables: list[int] = []
        self.kills = 0
        create_topics(bootstrap, LEDGER)
        self.log = held.enter_context(closing(KafkaLog(bootstrap, LEDGER)))
        self.cache, self.publisher = free_urls(2)
        self.options = "--bootstrap", bootstrap, "--ledger", LEDGER
        often = ("--set", "sequencer.checkpoint_positions=300")
        roles = {
            "sequencer-1": often,
            "sequencer-2": often,
            "follower": ("--store", str(self.store), "--no-http", *set_s("follower")),
            "publisher": (
                *("--store", str(folder / "state")),
                *("--http", self.publisher.removeprefix("http://"), *set_s("publisher")),
            ),
            "cache": ("--store", str(self.store), "--http", self.cache.removeprefix("http://")),
            **({"feeder": ("--store", str(folder / "feeder"), *set_s("feeder"))} if spark else {}),
        }
        self.roles = {name: self._role(name, *options) for name, options in roles.items()}
        self.supervisor = Supervisor(list(self.roles.values()))
        self.supervisor.environment = environment(folder)
        held.callback(self.supervisor.stop)

    def _role(self, name: str, *options: str) -> Recorded:
        kind = name.partition("-")[0]
        arguments = ("serve", kind, *options, *self.options, "--with-parent")
        return Recorded(name, arguments, said=self.folder / f"{name}.log")

    def begin(self, events: int) -> None:
        """Give the ledger a history, by a restored backup of one in memory, and start it."""
        driver = Driver(name=LEDGER)
        session = driver.open_session()
        tables = [driver.create_table(session, f"old.t{n}") for n in range(TABLES_BEFORE)]
        while len(driver.records) < events:
            for table in tables:
                driver.commit(session, driver.open_txn(session), write(table))
            driver.events.clear()
        take(driver.log, self.place, {}, stop=NEVER)
        assert Restore(self.log, self.place, manifest_in(self.place)).run(NEVER).is_whole
        for role in self.roles.values():
            role.start(self.supervisor.environment)
        self.wait_for_rows(driver.head.position)

    def wait_for_rows(self, position: int) -> None:
        """Wait until all rows have come to a position."""
        for store in self.stores:
            wait_for(lambda: self.revived() and position_of(store) >= position)  # noqa: B023 - called at once

    def has_published(self, position: int) -> bool:
        """Tell whether the published logs have all versions up to a position."""
        try:
            with closing(HttpPublisher(self.publisher)) as publisher:
                status = publisher.status()
        except ReadsUnavailableError:
            return False
        return status.position >= position and not status.lag_versions

    def revived(self) -> bool:
        """Start again the processes that were killed, as soon as they have ended; return True."""
        for role in self.roles.values():
            if role.process is not None and role.process.poll() is not None:
                role.start(self.supervisor.environment)
        return True

    def connect(self, held: ExitStack) -> Ledger:
        """Return a client that reads the follower's rows."""
        reads = held.enter_context(closing(open_reads(self.store)))
        return held.enter_context(Ledger.connect(*self.where, catalog=CATALOG, reads=reads))

    def create(self, tables: int) -> None:
        """Create tables with a row each; some are published."""
        with ExitStack() as held:
            ledger = self.connect(held)
            for number in range(tables):
                row = ledger.create_table(
                    name_of(number),
                    [("id", "bigint"), ("writer", "int")],
                    location=self.folder / "lake" / str(number),
                    properties={PUBLISH: "delta"} if number < PUBLISHED else {},
                )
                self.tables.append(row.table)
                ledger.append(name_of(number), [{"id": number, "writer": 0}])

    def write(self, number: int, stop: Signal) -> None:
        """Change rows until `stop` is set; processes may be killed at any time."""
        chance = Random(number)  # noqa: S311 - repeatable on purpose
        while not stop.is_set():
            with ExitStack() as held:
                try:
                    self._write_on(self.connect(held), number, chance, stop)
                except ConflictError:
                    continue
                except LedgerError as away:
                    structlog.get_logger().info("a writer begins anew", why=str(away))

    def _write_on(self, ledger: Ledger, number: int, chance: Random, stop: Signal) -> None:
        while not stop.wait(PAUSE_S):
            table = name_of(chance.choice((0, chance.randrange(len(self.tables)))))
            if chance.random() < 0.9:
                ledger.append(table, [{"id": chance.randint(0, 99), "writer": number}])
            else:
                with ledger.begin() as txn:
                    txn.delete(table, f"writer = {number} AND id < 50")

    def kill(self, every_s: float, stop: Signal) -> None:
        """Kill one process after the other."""
        for name in cycle(self.roles):
            if stop.wait(every_s):
                return
            process = self.roles[name].process
            if process is not None and process.poll() is None:
                process.kill()
                self.kills += 1

    def run_command(self, *arguments: str, killed_s: float | None = None) -> int:
        """Run a command, which may be killed; return its exit code."""
        homes = {"LAKELEDGER_STORE": str(self.store)}
        state = {"LAKELEDGER_PUBLISHER__STORE": str(self.folder / "state")}
        with Command(self.folder, *arguments, *self.options, **homes, **state) as command:
            try:
                return command.process.wait(killed_s or PATIENCE_S)
            except TimeoutExpired:
                self.kills += 1
                command.process.kill()
                return command.process.wait()

    def trim(self, chance: Random) -> int:
        """Trim the log to its last tenth, in spite of kills; return where it begins."""
        wanted = int(last_position(self.log, 0) * (1 - KEPT_SHARE))
        wait_for(lambda: self._may_trim(wanted))
        before = self.log.ends(Topic.EVENTS)[0]
        trim = ("log", "trim", "--below", str(wanted), "--backup", self.place.path, "--yes")
        for seconds in (chance.uniform(0.5, KILL_S), chance.uniform(1.0, 2 * KILL_S)):
            self.run_command(*trim, killed_s=seconds)
        wait_for(
            lambda: (
                self.log.ends(Topic.EVENTS)[0] > before or self.run_command(*trim) == ExitCode.DONE
            )
        )
        return wanted

    def _may_trim(self, below: int) -> bool:
        """Back up, and tell whether every process would begin behind a position."""
        self.run_command("backup", self.place.path)
        consumers = registered(self.log) or ()
        return all(each.position >= below for each in consumers)

    def new_follower(self, name: str) -> float:
        """Return the seconds that a follower with nothing of its own takes to the end."""
        began_s, store = time.monotonic(), self.folder / name
        serve = ("serve", "follower", "--store", str(store), "--no-http", *self.options)
        with Command(self.folder, *serve) as follower:
            follower.wait_for("beginning with an image")
            follower.wait_for("caught up")
            return time.monotonic() - began_s


def set_s(role: str) -> tuple[str, str]:
    return "--set", f"{role}.checkpoint_s=1"


def name_of(number: int) -> str:
    return f"live.t{number}"


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so; raises TimeoutError."""
    until_s = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > until_s:
            raise TimeoutError(f"not within {PATIENCE_S:.0f} s")
        Signal().wait(LOOK_S)


def trimmed_lake(
    bootstrap: str, folder: Path, events: int, tables: int, every_s: float, *, spark: bool = False
) -> TrimmedFound:
    """Trim a lake under load, and compare it with its twin."""
    chance = Random(events)  # noqa: S311 - repeatable on purpose
    with ExitStack() as held:
        lake = TrimmedLake(bootstrap, folder, held, spark=spark)
        lake.begin(events)
        lake.create(tables)
        stop = Signal()
        watch = Thread(target=lake.supervisor.watch, args=(stop,), daemon=True)
        watch.start()
        with ThreadPoolExecutor(WRITERS + 1) as pool:
            work = [pool.submit(lake.write, number, stop) for number in range(WRITERS)]
            work.append(pool.submit(lake.kill, every_s, stop))
            held.callback(stop.set)
            began = [lake.trim(chance) for _ in range(TRIMS)]
            loaded_s = lake.new_follower("new")
            stop.set()
            for each in work:
                each.result()
        watch.join()
        return compared(lake, began[-1], loaded_s)


def compared(lake: TrimmedLake, begins_at: int, loaded_s: float) -> TrimmedFound:
    """Compare a lake at rest with the twin whose log was not trimmed."""
    end = last_position(lake.log, 0)
    lake.wait_for_rows(end)
    wait_for(lambda: lake.revived() and lake.has_published(end))
    wait_for(lambda: lake.revived() and answers_of(lake.cache, lake.tables, end) is not None)
    cached = answers_of(lake.cache, lake.tables, end) or {}
    lake.supervisor.stop()
    from_image_s = lake.new_follower("rested")
    take(lake.log, lake.place, {}, stop=NEVER)
    twin = MemoryLog()
    for topic in Topic:
        twin.recreate(topic)
    assert Restore(twin, lake.place, manifest_in(lake.place)).run(NEVER).is_whole
    stores = [*lake.stores, lake.folder / "new", lake.folder / "rested"]
    for store in stores:
        followed_at(lake.log, store)
    began_s = time.monotonic()
    followed_at(twin, lake.folder / "twin")
    from_events_s = time.monotonic() - began_s
    found = list(differences(twin, lake.folder / "twin", stores, cached, begins_at))
    if verify(joined_log(lake.log)).digest != verify(twin).digest:
        found.append("the state of log and archive")
    return TrimmedFound(
        begins_at, last_position(twin, 0), lake.kills, loaded_s, from_image_s, from_events_s, found
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="events before the load")
    parser.add_argument("--tables", type=int, default=300, help="tables with rows")
    parser.add_argument("--every-s", type=float, default=3.0, help="how often one is killed")
    parser.add_argument("--spark", action="store_true", help="with a feeder, which takes Spark")
    options = parser.parse_args(arguments)
    set_up_logging()
    run = partial(trimmed_lake, spark=options.spark)
    with tempfile.TemporaryDirectory() as scratch, Broker.start(Path(scratch) / "kafka") as broker:
        sizes = options.events, options.tables, options.every_s
        found = run(broker.bootstrap, Path(scratch), *sizes)
    said = Console()
    said.print(
        f"the log begins at position {found.begins_at} of {found.position}, after {found.kills} "
        f"kills; a new follower took {found.from_image_s:.1f} s from an image "
        f"({found.loaded_s:.1f} s under load), and {found.from_events_s:.1f} s from the events "
        "in memory"
    )
    said.print(
        "\n".join(found.differences) or "rows, reads, cache and published logs are the twin's"
    )
    return ExitCode.FAILED if found.differences else ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main())
