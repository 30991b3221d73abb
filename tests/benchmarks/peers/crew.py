"""The closed loop of a peer: sessions in processes and threads, as the ledger's own crews have it.

A program gives a function that opens a session and yields what it calls again and again. All begin
together; the first line told is "begun", the second what they did.
"""

import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Any, Final, TextIO, TypeAlias

START_S: Final = 60.0
STOP_S: Final = 60.0
SAID_MAX: Final = 200
STDOUT: Final = 1
STDERR: Final = 2
SPAWN: Final = multiprocessing.get_context("spawn")

Job = dict[str, Any]
Call = Callable[[int], object]
Session = Callable[[Job], AbstractContextManager[Call]]
Results: TypeAlias = "Queue[tuple[list[float], Counter[str]]]"


def read_job() -> Job:
    """Return the job of this program; from now on only `tell` writes to the benchmark."""
    lines()
    job: Job = json.loads(sys.argv[1])
    return job


def main(session: Session, *, create: Callable[[Job], None]) -> None:
    """Create what the sessions work on, let them work, and tell what they did.

    The job names `processes`, `sessions` in each, `seconds`, and how many calls `warm_up`. A
    session gets it with its own number as `session`.
    """
    job = read_job()
    create(job)
    together, results = SPAWN.Barrier(job["processes"] + 1), SPAWN.Queue()
    jobs = [{**job, "session": each * job["sessions"]} for each in range(job["processes"])]
    workers = [
        SPAWN.Process(target=work, args=(session, numbered, together, results), daemon=True)
        for numbered in jobs
    ]
    for worker in workers:
        worker.start()
    together.wait(START_S)
    tell("begun")
    done = [results.get(timeout=job["seconds"] + STOP_S) for _ in workers]
    errors = sum((each for _, each in done), Counter[str]())
    said = [f"{count} times: {text}" for text, count in errors.most_common(3)]
    print(*said, sep="\n", file=sys.stderr)
    took_ms = [each for took, _ in done for each in took]
    tell({"took_ms": took_ms, "failed": errors.total(), "errors": said})


@cache
def lines() -> TextIO:
    """Return what the benchmark reads; whatever else a library prints goes to standard error."""
    out = os.fdopen(os.dup(STDOUT), "w")
    os.dup2(STDERR, STDOUT)
    return out


def tell(what: object) -> None:
    """Tell the benchmark something, in one line."""
    print(json.dumps(what), file=lines(), flush=True)


def work(session: Session, job: Job, together: Barrier, results: Results) -> None:
    """Be one process: open its sessions, warm up, begin together, and say what all calls took."""
    with ExitStack() as held, ThreadPoolExecutor(job["sessions"]) as threads:
        jobs = [{**job, "session": job["session"] + each} for each in range(job["sessions"])]
        calls = [held.enter_context(session(each)) for each in jobs]
        for call in calls:
            for number in range(job["warm_up"]):
                call(-number - 1)
        together.wait(START_S)
        until_s = time.perf_counter() + job["seconds"]
        done = list(threads.map(loop, calls, [until_s] * len(calls)))
        errors = sum((each for _, each in done), Counter[str]())
        results.put(([each for took, _ in done for each in took], errors))


def loop(call: Call, until_s: float) -> tuple[list[float], Counter[str]]:
    """Call until the time is over; return the milliseconds of each success, and the errors."""
    took_ms: list[float] = []
    errors: Counter[str] = Counter()
    number = 0
    while (began_s := time.perf_counter()) < until_s:
        number += 1
        try:
            call(number)
        except Exception as error:  # noqa: BLE001 - every library has errors of its own
            errors[f"{type(error).__name__}: {error}"[:SAID_MAX]] += 1
        else:
            took_ms.append((time.perf_counter() - began_s) * 1000)
    return took_ms, errors
