"""One run: a subject on its host, clients, faults, the reads at the end, the verdict."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import psutil

from tests.benchmarks import peer
from tests.consistency.client import now
from tests.consistency.history import read_history
from tests.consistency.hosts import Host, wait
from tests.consistency.judge.anomalies import Level, Verdict
from tests.consistency.judge.judging import judge
from tests.consistency.published import note_published
from tests.consistency.strikes import CLIENT, strike
from tests.consistency.systems import SUBJECTS, UNTOLD_BY_WRITERS, Subject

ROOT: Final = Path(__file__).parents[2]
END_S: Final = 240.0
READY_S: Final = 120.0
LANES: Final = 10


class Run(NamedTuple):
    """What to run: subject, level, grain, seed, for how long, with which faults."""

    subject: str
    level: Level
    grain: str
    seed: int
    seconds: float
    faults: Sequence[str]
    folder: Path

    @property
    def name(self) -> str:
        """What tells a run from others of its seed."""
        return f"{self.subject}-{self.level}-{self.grain}"


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

    def processes(self, role: str) -> Sequence[psutil.Process]:
        """Return the processes of a role that run now."""
        if role != CLIENT:
            return self._host.processes(role)
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
            env=environment(host),
            stdout=subprocess.PIPE if "create" in more else subprocess.DEVNULL,
            stderr=said,
        )


def environment(host: Host) -> Mapping[str, str]:
    return {**os.environ, **host.environ, "PYTHONWARNINGS": "ignore"}


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
        return subprocess.run(command, cwd=ROOT, env=environment(host), check=False).returncode


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
        about = created(run, subject, host)
        crew = Crew(run, subject, host)
        crew.begin()
        began = time.monotonic()
        strikes = strike(f"{run.seed}/{run.name}", run.faults, host, crew)
        crew.wait()
        seconds = time.monotonic() - began
        host.look()
        is_read = read_end(run, subject, host)
        facts = {
            **run._asdict(),
            "folder": str(run.folder),
            **about,
            "commit": commit(),
            "strikes": strikes,
            "is_read_at_end": is_read,
            "never_ready": crew.never_ready,
            "seconds": round(seconds, 1),
            **host.facts,
        }
    (run.folder / "run.json").write_text(json.dumps(facts, default=str), encoding="utf-8")
    return report(run.folder, say)


def read_end(run: Run, subject: Subject, host: Host) -> bool:
    """Read all that there is once the clients have ended; return whether every read came."""
    reader = start(run, subject, host, final=True)
    try:
        is_read = reader.wait(END_S) == 0
    except subprocess.TimeoutExpired:
        is_read = False
    finally:
        reader.kill()
        reader.wait()
    job = job_of(run, subject, host)
    return is_read and ("published" not in job or note_published(job))


def created(run: Run, subject: Subject, host: Host) -> Mapping[str, Any]:
    """Make the tables of a subject; return its version and what it is not asked for."""
    creator = start(run, subject, host, create=True)
    try:
        said = creator.communicate(timeout=END_S)[0].decode().splitlines()
    finally:
        creator.kill()
    if creator.returncode:
        complaints = (run.folder / "complaints.txt").read_text(encoding="utf-8")
        message = f"{run.subject} cannot create its tables: {complaints[-2000:]}"
        raise RuntimeError(message)
    about: Mapping[str, Any] = json.loads(said[-1])
    return about


def commit() -> str:
    """Return the commit of this repository, "" outside of a repository."""
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


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
    left = {name: [each._asdict() for each in found] for name, found in verdict._asdict().items()}
    (folder / "verdict.json").write_text(json.dumps(left), encoding="utf-8")
    return verdict
