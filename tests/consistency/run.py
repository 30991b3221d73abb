"""One run: a subject on its host, clients, faults, the reads at the end, the verdict."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import psutil

from tests.benchmarks import peer
from tests.consistency.client import now
from tests.consistency.history import read_history
from tests.consistency.hosts import (
    Host,
    iceberg_host,
    ledger_host,
    no_host,
    postgres_host,
    unflushed_host,
    wait,
)
from tests.consistency.judge.anomalies import SKEWS, Kind, Level, Verdict
from tests.consistency.judge.judging import judge

ROOT: Final = Path(__file__).parents[2]
PAUSE_S: Final = (0.5, 4.0)
CLIENTS: Final = 3
END_S: Final = 240.0
READY_S: Final = 120.0
LANES: Final = 10

HostOf = Callable[[Path], AbstractContextManager[Host]]


class Subject(NamedTuple):
    """A system to judge: its module, its host, whose Python runs it, and how many threads.

    `allows` are anomalies that its level forbids and that its door cannot tell the system of.
    """

    module: str
    host: HostOf
    more: Mapping[str, Any]
    environment: peer.Peer | None = None
    clients: int = CLIENTS
    threads: int = 1
    levels: Sequence[Level] = ("serializable",)
    allows: frozenset[Kind] = frozenset()


class Run(NamedTuple):
    """What to run: subject, level, grain, seed, for how long, with which faults."""

    subject: str
    level: Level
    grain: str
    seed: int
    seconds: float
    faults: Sequence[str]
    folder: Path


LEDGER_LEVELS: Final[Sequence[Level]] = ("serializable", "write-serializable", "snapshot-isolation")
# A client of Iceberg tells the tables that it writes and whether it only appends, no other reads.
UNTOLD: Final[frozenset[Kind]] = SKEWS | {"G2-table", "doubled key"}
# At Serializable each append counts as a reader of its table.
UNTOLD_BY_WRITERS: Final = SKEWS
SNAPSHOT: Final[Sequence[Level]] = ("snapshot-isolation",)
SUBJECTS: Final[Mapping[str, Subject]] = {
    "ledger-sdk": Subject("ledger_sdk", ledger_host, {}, levels=LEDGER_LEVELS),
    "ledger-sql": Subject("ledger_sdk", ledger_host, {"reads": "sql"}, levels=LEDGER_LEVELS),
    "ledger-no-flush": Subject("ledger_sdk", unflushed_host, {}, levels=LEDGER_LEVELS),
    "ledger-iceberg": Subject(
        "ledger_iceberg", iceberg_host, {}, levels=LEDGER_LEVELS, allows=UNTOLD
    ),
    "ledger-spark": Subject("ledger_spark", ledger_host, {}, None, 1, 4, LEDGER_LEVELS),
    "deltalake": Subject("deltalake_rs", no_host, {}, peer.DELTA),
    "ducklake-file": Subject("ducklake", no_host, {}, peer.DUCKLAKE, 1, 4, SNAPSHOT),
    "ducklake-postgres": Subject("ducklake", postgres_host, {}, peer.DUCKLAKE, levels=SNAPSHOT),
    "pyiceberg-sqlite": Subject("pyiceberg_sqlite", no_host, {}, peer.PYICEBERG),
    "delta-spark": Subject("delta_spark", no_host, {}, None, 1, 4),
}


class Crew:
    """The clients of a run, as processes; a killed one is followed by another life."""

    def __init__(self, run: Run, subject: Subject, host: Host) -> None:
        self._run, self._subject, self._host, self.until = run, subject, host, 0.0
        self.never_ready: Sequence[str] = ()
        self._lives: Counter[int] = Counter()
        self._running = {
            client * LANES: self._start(client * LANES) for client in range(subject.clients)
        }

    def _start(self, client: int) -> "subprocess.Popen[bytes]":
        life = self._lives[client]
        self._lives[client] += 1
        more = {"client": client, "life": life, "until": self.until}
        return start(self._run, self._subject, self._host, **more)

    def begin(self) -> None:
        """Wait until every client has what it shares; from then on the time counts."""
        wanted = [self._run.folder / f"ready-{client}" for client in self._running]
        limit = now() + READY_S
        while now() < limit and not all(file.exists() for file in wanted):
            wait(0.2)
        self.never_ready = [file.name for file in wanted if not file.exists()]
        self.until = now() + self._run.seconds

    def processes(self) -> Sequence[psutil.Process]:
        if self._subject.threads > 1 and not self._subject.environment:
            return ()  # An application of Spark takes half a minute to begin again.
        return [psutil.Process(each.pid) for each in self._running.values() if each.poll() is None]

    def look(self) -> None:
        """Start the next life of every client that ended before its time."""
        for client, process in self._running.items():
            if process.poll() is not None and now() < self.until - 1:
                self._running[client] = self._start(client)

    def wait(self) -> None:
        for process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            process.kill()
            process.wait()


def job_of(run: Run, subject: Subject, host: Host, **more: Any) -> Mapping[str, Any]:
    """Return the job of a client."""
    return {
        "module": subject.module,
        "folder": str(run.folder),
        "seed": run.seed,
        "level": run.level,
        "grain": run.grain,
        "seconds": run.seconds,
        "threads": subject.threads,
        "life": 0,
        "client": 0,
        **subject.more,
        **host.job(),
        **more,
    }


def start(run: Run, subject: Subject, host: Host, **more: Any) -> "subprocess.Popen[bytes]":
    """Start a client; what it complains of goes to a file of the run."""
    python = sys.executable if subject.environment is None else str(peer.python())
    job = json.dumps(job_of(run, subject, host, **more))
    with (run.folder / "complaints.txt").open("ab") as said:
        return subprocess.Popen(
            [python, "-m", "tests.consistency.client", job],
            cwd=ROOT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            stdout=subprocess.PIPE,
            stderr=said,
        )


def play_scenes(name: str, level: Level, grain: str) -> int:
    """Play the scenes of a subject on a host of their own; they print what came of each."""
    subject = SUBJECTS[name]
    if subject.environment is not None:
        subject.environment.prepare(sys.stderr)
    with TemporaryDirectory(prefix="scenes-") as place, subject.host(Path(place)) as host:
        run = Run(name, level, grain, 0, 0, (), Path(place))
        python = sys.executable if subject.environment is None else str(peer.python())
        job = json.dumps(job_of(run, subject, host))
        command = [python, "-m", "tests.consistency.scenes", job]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


def run_module(name: str, environment: peer.Peer, *arguments: str) -> int:
    """Run a program beside the packages of a peer; return its exit status."""
    environment.prepare(sys.stderr)
    command = [str(peer.python()), "-m", name, *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def carry_out(run: Run, say: Callable[[str], None] = print) -> Verdict:
    """Run, judge, and leave history, facts and verdict in the folder."""
    subject = SUBJECTS[run.subject]
    if subject.environment is not None:
        subject.environment.prepare(sys.stderr)
    run.folder.mkdir(parents=True, exist_ok=True)
    with subject.host(run.folder) as host:
        creator = start(run, subject, host, create=True)
        version = creator.communicate(timeout=END_S)[0].decode().strip()
        if creator.returncode:
            complaints = (run.folder / "complaints.txt").read_text(encoding="utf-8")
            message = f"{run.subject} cannot create its tables: {complaints[-2000:]}"
            raise RuntimeError(message)
        began = time.monotonic()
        crew = Crew(run, subject, host)
        crew.begin()
        strikes = strike(run, crew, host, crew.until)
        crew.wait()
        host.look()
        reader = start(run, subject, host, final=True)
        is_read = reader.wait(END_S) == 0
        facts = {
            **run._asdict(),
            "folder": str(run.folder),
            "version": version,
            "strikes": strikes,
            "is_read_at_end": is_read,
            "never_ready": crew.never_ready,
            "seconds": round(time.monotonic() - began, 1),
            **host.facts,
        }
    (run.folder / "run.json").write_text(json.dumps(facts, default=str), encoding="utf-8")
    return report(run.folder, say)


def strike(run: Run, crew: Crew, host: Host, until: float) -> Mapping[str, int]:
    """Strike processes at random until the time is over; return how often each fault struck."""
    chance = Random(run.seed)  # noqa: S311 - repeatable on purpose
    strikes: Counter[str] = Counter()
    next_at = now() + chance.uniform(3, 8)
    while now() < until:
        wait(0.2)
        crew.look()
        host.look()
        if not run.faults or now() < next_at or until - now() < max(PAUSE_S) + 1:
            continue
        next_at = now() + chance.uniform(3, 10)
        fault = chance.choice(run.faults)
        role = chance.choice(("client", "client", *host.roles, "broker"))
        if fault == "cut":
            done = host.lose_end(chance.randint(1, 8))
            strikes[done and "cut"] += 1
            continue
        victims = crew.processes() if role == "client" else host.processes(role)
        if victims and hit(chance.choice(victims), fault, chance):
            strikes[f"{fault} {role}"] += 1
    return dict(strikes)


def hit(victim: psutil.Process, fault: str, chance: Random) -> bool:
    """Kill a process, or pause it for a while; return whether it was there."""
    try:
        if fault == "kill":
            victim.kill()
            return True
        victim.send_signal(signal.SIGSTOP)
        wait(chance.uniform(*PAUSE_S))
        victim.send_signal(signal.SIGCONT)
    except psutil.Error:
        return False
    return True


def report(folder: Path, say: Callable[[str], None] = print) -> Verdict:
    """Judge the history of a folder again, and say what it shows."""
    history = read_history(folder)
    facts = history.facts
    allows = SUBJECTS[facts["subject"]].allows
    is_strict = facts["level"] == "serializable"
    verdict = judge(history, facts["level"], allows & UNTOLD_BY_WRITERS if is_strict else allows)
    outcomes = Counter(txn.outcome for txn in history.txns)
    kinds = Counter(type(step).__name__ for txn in history.txns for step in txn.operations)
    say(
        f"{facts['subject']} {facts['version']}, {facts['level']}, {facts['grain']}, seed "
        f"{facts['seed']}, {facts['seconds']} s: {dict(outcomes)}"
    )
    say(f"  operations {dict(kinds)}")
    say(f"  faults {facts['strikes']}; read at the end: {facts['is_read_at_end']}")
    for name, found in (("FORBIDDEN", verdict.forbidden), ("allowed", verdict.allowed)):
        counts = Counter(anomaly.kind for anomaly in found)
        say(f"  {name}: {dict(counts) or 'none'}")
        for kind in counts:
            first = min(
                (each for each in found if each.kind == kind), key=lambda each: len(each.what)
            )
            say(f"    {kind}: {first.what[:400]}")
    (folder / "verdict.json").write_text(
        json.dumps([each._asdict() for each in (*verdict.forbidden, *verdict.allowed)]),
        encoding="utf-8",
    )
    return verdict
