"""IDLE: what processes of a ledger cost that nobody asks anything of, in % of one core."""

import os
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Final

import psutil

from ledger.broker import Broker
from ledger.client import Ledger
from ledger.log.kafka import KafkaLog
from ledger.up import UpSettings, running
from tests.benchmarks.figure import Figure
from tests.benchmarks.reading import wait_for_leader

SECONDS: Final = 60.0
# Starting, catching up and standing by are over by then.
SETTLE_S: Final = 8.0
NAME: Final = "idle"


def measure(broker: Broker) -> list[Figure]:
    """Return the share of a core of each role, of a connected client and of the broker."""
    with tempfile.TemporaryDirectory() as home:
        settings = UpSettings(ledger=NAME, home=Path(home), bootstrap=broker.bootstrap)
        with running(settings) as up, Ledger.connect(broker.bootstrap, NAME) as client:
            client.begin("read_only").abort("measured", ())
            pids = {**roles(broker, up.roles()), "client": os.getpid(), "broker": broker.pid}
            shares = busy(pids)
    note = f"over {SECONDS:.0f} s, user and system"
    return [
        Figure(f"IDLE-{name}", round(share * 100, 2), "% of a core", note=note)
        for name, share in shares.items()
    ]


def roles(broker: Broker, pids: Mapping[str, int]) -> dict[str, int]:
    """Return the process ids of the leader, the standby and the follower."""
    with closing(KafkaLog(broker.bootstrap, NAME)) as log:
        leader = wait_for_leader(log).partition("/")[0]
    (standby,) = (name for name in pids if name.startswith("sequencer") and name != leader)
    return {"leader": pids[leader], "standby": pids[standby], "follower": pids["follower"]}


def busy(pids: Mapping[str, int]) -> dict[str, float]:
    """Return what share of a core each process uses while nothing is asked."""
    processes = {name: psutil.Process(pid) for name, pid in pids.items()}
    never = Signal()
    never.wait(SETTLE_S)
    before = {name: cpu_s(process) for name, process in processes.items()}
    never.wait(SECONDS)
    return {name: (cpu_s(process) - before[name]) / SECONDS for name, process in processes.items()}


def cpu_s(process: psutil.Process) -> float:
    """Return the seconds of CPU a process has used so far."""
    times = process.cpu_times()
    return float(times.user + times.system)
