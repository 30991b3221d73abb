"""IDLE: what processes of a ledger cost that nobody asks anything of, in % of one core."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Final

import psutil

from ledger.client import Ledger
from ledger.log.kafka.log import KafkaLog
from ledger.machine.kafka.broker import Broker
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from tests.benchmarks.figure import Figure
from tests.benchmarks.reading import wait_for_leader
from tests.benchmarks.stores import opened
from tests.benchmarks.worked import process_cpu_s, tree_cpu_s

SECONDS: Final = 60.0
# Starting, catching up and standing by are over by then.
SETTLE_S: Final = 8.0
NAME: Final = "idle"
FEEDER: Final = "idle-feeder"
BATCHES: Final = 150
FED_MS: Final = 60_000


def measure(broker: Broker) -> list[Figure]:
    """Return the share of a core of each role, of a connected client and of the broker."""
    with tempfile.TemporaryDirectory() as home:
        settings = UpSettings(ledger=NAME, home=Path(home), bootstrap=broker.bootstrap)
        with running(settings) as up, Ledger.connect(broker.bootstrap, NAME) as client:
            client.begin("read_only").abort("measured", ())
            pids = {**roles(broker, up.roles()), "client": os.getpid(), "broker": broker.pid}
            shares = busy(pids)
    return [figure(f"IDLE-{name}", share) for name, share in shares.items()]


def measure_feeder(broker: Broker) -> list[Figure]:
    """Return the share of a core of a Spark feeder with its JVM, whose query is warm."""
    with tempfile.TemporaryDirectory() as home:
        settings = UpSettings(
            ledger=FEEDER, home=Path(home), bootstrap=broker.bootstrap, with_spark=True
        )
        with running(settings) as up:
            feed(broker, settings.folder / "spark" / "rows")
            (share,) = busy({FEEDER: up.roles()["feeder"]}, tree_cpu_s).values()
    return [figure(FEEDER, share, ", its JVM included")]


def feed(broker: Broker, rows: Path) -> None:
    """Let a feeder take small batches until its query is warm."""
    with (
        closing(opened(rows)) as reads,
        Ledger.connect(broker.bootstrap, FEEDER, reads=reads) as client,
    ):
        for _ in range(BATCHES):
            client.begin("read_only").abort("measured", ())
            reads.wait(client.token.position, FED_MS)


def figure(name: str, share: float, note: str = "") -> Figure:
    """Return a figure of a share of a core."""
    over = f"over {SECONDS:.0f} s, user and system{note}"
    return Figure(name, round(share * 100, 2), "% of a core", note=over)


def roles(broker: Broker, pids: Mapping[str, int]) -> dict[str, int]:
    """Return the process ids of the leader, the standby and the follower."""
    with closing(KafkaLog(broker.bootstrap, NAME)) as log:
        leader = wait_for_leader(log).partition("/")[0]
    (standby,) = (name for name in pids if name.startswith("sequencer") and name != leader)
    return {"leader": pids[leader], "standby": pids[standby], "follower": pids["follower"]}


def busy(
    pids: Mapping[str, int], cpu_s: Callable[[psutil.Process], float] = process_cpu_s
) -> dict[str, float]:
    """Return what share of a core each process uses while nothing is asked."""
    processes = {name: psutil.Process(pid) for name, pid in pids.items()}
    never = Signal()
    never.wait(SETTLE_S)
    before = {name: cpu_s(process) for name, process in processes.items()}
    never.wait(SECONDS)
    return {name: (cpu_s(process) - before[name]) / SECONDS for name, process in processes.items()}
