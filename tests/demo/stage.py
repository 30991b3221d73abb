"""The stage: all processes of the demo, brought up in a home of its own and taken down again.

A ledger with its broker, two sequencers, a follower, the publisher of Delta logs and the Spark
feeder as child processes; a batch session of Spark and one connection to the ledger in this one.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Final, NamedTuple, TypeVar

from pyspark.sql import SparkSession

from ledger.client import Ledger
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Topic
from ledger.machine.folder import SPARK
from ledger.machine.up import Running, running
from ledger.machine.up_settings import UpSettings
from ledger.reads.port import Reads
from projections.errors import StoreMissingError
from projections.queries import open_reads
from spark_sink.host_tables import HostTables
from tests.demo.acts.spark_job import start_spark
from tests.demo.report import PATIENCE_S, CheckFailedError, Report, wait_until

LEDGER: Final = "demo"
LEASE_S: Final = 3.0
NS_PER_MS: Final = 1_000_000
CATCH_UP_MS: Final = 150_000

Opened = TypeVar("Opened")


@dataclass(frozen=True, slots=True)
class Home:
    """The folders of the demo."""

    root: Path

    @property
    def ledger(self) -> Path:
        """Return the folder in which the ledger of the demo keeps its data."""
        return self.root / "ledger"

    @property
    def flights(self) -> Path:
        """Return the file of the raw rows."""
        return self.root / "flights.feather"

    @property
    def warehouse(self) -> Path:
        """Return the folder in which every table has its own."""
        return self.root / "warehouse"

    @property
    def location(self) -> Path:
        """Return the location of the table that the producers load."""
        return self.warehouse / "flights"

    @property
    def manifests(self) -> Path:
        """Return the folder of the producers' manifests."""
        return self.root / "manifests"

    @property
    def scratch(self) -> Path:
        """Return the folder that Spark spills to."""
        return self.root / "scratch"


class Kill(NamedTuple):
    """The end of a leader: its name and process id, and when in milliseconds since 1970."""

    sequencer: str
    pid: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Stage:
    """The running parts; `reads` read the follower's store, `tables` the feeder's."""

    home: Home
    up: Running
    log: KafkaLog
    ledger: Ledger
    reads: Reads
    tables: HostTables
    spark: SparkSession

    @property
    def spark_reads(self) -> Reads:
        """Return the reads of the feeder's store."""
        return self.tables.reads

    def catch_up(self) -> int:
        """Wait until both stores hold everything up to now, and return the position."""
        position = self.ledger.token.position
        return min(each.wait(position, CATCH_UP_MS) for each in (self.reads, self.spark_reads))

    def connect(self, application: str) -> Ledger:
        """Return another client, like one of another process; the caller closes it."""
        address = self.up.address
        return Ledger.connect(
            address.bootstrap, address.ledger, reads=self.reads, application=application
        )

    def events_on_disk(self) -> int:
        """Return how many bytes the events take in the broker's folder."""
        assert self.up.broker is not None, "the demo runs on the embedded broker"
        segments = self.up.broker.folder.glob(f"**/{LEDGER}.{Topic.EVENTS}-*/*.log")
        return sum(segment.stat().st_size for segment in segments)

    def kill_leader(self) -> Kill:
        """Kill the process of the leading sequencer as kill -9 does."""
        with closing(self.log.reader(Topic.BEATS, self.log.ends(Topic.BEATS)[1])) as beats:
            beat = beats.read(1, PATIENCE_S)[0]
        sequencer = json.loads(beat.value)["sequencer"]
        kill = Kill(sequencer, int(sequencer.split("/")[1]), now_ms())
        os.kill(kill.pid, signal.SIGKILL)
        return kill


def now_ms() -> int:
    """Return the wall clock in milliseconds since 1970, as the log is stamped with."""
    return time.time_ns() // NS_PER_MS


@contextmanager
def set_up(home: Home, report: Report) -> Iterator[Stage]:
    """Bring everything up, and down again on leaving; raises what `running` of `up` raises."""
    prepare_environment(home)
    settings = UpSettings(
        ledger=LEDGER,
        home=home.ledger,
        with_publisher=True,
        with_spark=True,
        with_iceberg=True,
        lease_s=LEASE_S,
    )
    with ExitStack() as held:
        pool = held.enter_context(ThreadPoolExecutor(1))
        starting = pool.submit(start_spark, home.scratch)
        held.callback(lambda: starting.result().stop())
        up = held.enter_context(running(settings, report.say))
        watchman = Watchman(up)
        held.callback(watchman.stop)
        assert up.address.store is not None, "a ledger that is up keeps rows"
        reads = open_when_there(open_reads, up.address.store, watchman)
        held.enter_context(closing(reads))
        tables = open_when_there(HostTables.open, settings.folder / SPARK / "rows", watchman)
        held.enter_context(closing(tables))
        log = held.enter_context(closing(KafkaLog(up.address.bootstrap, LEDGER)))
        ledger = held.enter_context(
            Ledger.connect(up.address.bootstrap, LEDGER, reads=reads, application="demo")
        )
        yield Stage(home, up, log, ledger, reads, tables, starting.result())


def prepare_environment(home: Home) -> None:
    """Set the environment of both Spark sessions, the feeder's and this process's."""
    # The scratch files are here, also those of a killed feeder.
    os.environ["SPARK_LOCAL_DIRS"] = str(home.scratch / "local")
    # Minutes are too short for the optimising compiler: it would take half of all the work.
    chosen = os.environ.get("JAVA_TOOL_OPTIONS", "")
    os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:TieredStopAtLevel=1 {chosen}".strip()


class Watchman:
    """Restarts roles that fail, in a thread of its own."""

    def __init__(self, up: Running) -> None:
        self._roles = up.supervisor.roles
        self._stop = Signal()
        self._thread = Thread(target=up.supervisor.watch, args=(self._stop,), daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise CheckFailedError if a role ended and would end again after a restart."""
        ended = [role.name for role in self._roles if role.process and role.process.poll()]
        if ended and not self._thread.is_alive():
            raise CheckFailedError(f"ended for good: {', '.join(ended)}")

    def stop(self) -> None:
        """Restart no longer; the roles run on."""
        self._stop.set()
        self._thread.join()


def open_when_there(
    open_store: Callable[[Path], Opened], store: Path, watchman: Watchman
) -> Opened:
    """Open a store as soon as its writer has made it."""
    found: list[Opened] = []

    def opened() -> bool:
        watchman.check()
        try:
            found.append(open_store(store))
        except StoreMissingError:
            return False
        return True

    wait_until(opened, f"the store at {store} is there")
    return found[0]
