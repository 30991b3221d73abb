"""Clients: one process with some sessions that ask for txns and note what came of each.

    python -m tests.consistency.client JOB

The job is JSON: the module of the subject, seed, number and life of the client, seconds, and what
the subject needs. Nothing of the ledger is imported here, so a peer's environment runs it too.
"""

import faulthandler
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.consistency.history import NEVER, Pen, Result, Txn
from tests.consistency.operations import READS, TABLES, Feed, Operation, Read
from tests.consistency.subjects.port import Job, RefusedError, Session, skipped
from tests.consistency.workload import SEVERAL_TABLES, TRANSACTIONS, Plan, Workload

SAID_MAX: Final = 240
REST_S: Final = 0.3
FINAL: Final = "final"
FED: Final = ("stock", "bank", "keyed")
TRIES: Final = 30


def main() -> int:
    """Run what the job says: the sessions of a client, or the reads at the end."""
    faulthandler.register(signal.SIGUSR1)
    job: Job = json.loads(sys.argv[1])
    subject = import_module(f"tests.consistency.subjects.{job['module']}")
    if job.get("create"):
        subject.create(job)
        print(json.dumps(facts_of(subject)), flush=True)
        return 0
    if job.get("final"):
        os._exit(read_end(subject, job))  # As below: the history is written and closed.
    with shared(subject, job) as context:
        (Path(job["folder"]) / f"ready-{job['client']}").touch()
        context["until"] = job.get("until") or now() + job["seconds"]
        threads = [
            threading.Thread(target=work, args=(subject, {**job, **context}, lane), daemon=True)
            for lane in range(job.get("threads", 1))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(job["seconds"] + TRIES)
    os._exit(0)  # A library's own threads may hang; the history is written.


def facts_of(subject: Any) -> Mapping[str, Any]:
    """Return what a run notes of its subject."""
    return {
        "version": subject.version(),
        "lacks": sorted(subject.LACKS),
        "untried": sorted(subject.UNTRIED),
    }


@contextmanager
def shared(subject: Any, job: Job) -> Iterator[dict[str, Any]]:
    """Yield what the threads of one process have in common, for subjects that need it."""
    if hasattr(subject, "shared"):
        with subject.shared(job) as context:
            yield {"shared": context}
    else:
        yield {}


def work(subject: Any, job: Job, lane: int) -> None:
    """Ask for txns until the time is over; open another session where one broke."""
    number = job["client"] + lane
    workload = Workload(job["seed"], number, job["life"], skipped(subject))
    until = job["until"]
    path = Path(job["folder"]) / f"session-{number}-{job['life']}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        lives = count()
        while now() < until:
            name = f"c{number}.{job['life']}.{next(lives)}"
            try:
                with subject.session(job) as session:
                    caller = Caller(subject, job, session, Pen(file), name=name, workload=workload)
                    while now() < until and caller.is_whole:
                        caller.ask(workload.next())
            except Exception as error:  # noqa: BLE001 - a system that is away is asked again
                complain(f"{name}: {type(error).__name__}: {error}")
                threading.Event().wait(REST_S)


def complain(text: str) -> None:
    print(text[:SAID_MAX], file=sys.stderr, flush=True)


class Caller:
    """Asks for txns in one session, and notes them; `is_whole` until its state is unknown."""

    def __init__(
        self, subject: Any, job: Job, session: Session, pen: Pen, *, name: str, workload: Workload
    ) -> None:
        self.is_whole = True
        self._subject, self._job, self._session = subject, job, session
        self._name, self._pen, self._workload = name, pen, workload
        self._numbers = count(job.get("first", 0))
        self._tokens = Path(job["folder"]) / "tokens"

    def ask(self, plan: Plan) -> Txn:
        """Carry out a txn and note what came of it."""
        after = self._wait_for_token() if self._workload.waits_for_token else ""
        is_read = all(isinstance(operation, READS) for operation in plan.operations)
        txn = Txn(
            f"{self._name}.{next(self._numbers)}",
            self._name,
            tuple(plan.operations),
            begun=now(),
            after=after,
            is_fresh=plan.is_txn or not (is_read and self._subject.STALE_READS),
        )
        self._pen.begin(txn)
        results: list[Result] = []
        steps = self._in_txn if plan.is_txn else self._alone
        outcome, error = steps(plan, results)
        done = replace(
            txn,
            operations=txn.operations[: len(results)] if outcome == "committed" else txn.operations,
            results=results,
            outcome=outcome,
            ended=now() if outcome != "unknown" else NEVER,
            place=self._session.place if outcome == "committed" else 0,
            read_from=self._session.read_from if plan.is_txn else 0,
            error=error,
        )
        self._pen.end(done)
        self._note(done)
        return done

    def _alone(self, plan: Plan, results: list[Result]) -> tuple[Any, str]:
        [operation] = plan.operations
        return self._step(lambda: results.append(self._session.alone(operation)), operation)

    def _step(self, call: Callable[[], object], operation: Operation | None) -> tuple[Any, str]:
        """Make a call after which the txn has an outcome; a read that failed changed nothing."""
        try:
            call()
        except RefusedError as error:
            return "aborted", str(error)[:SAID_MAX]
        except Exception as error:  # noqa: BLE001 - whatever it is, the outcome is not known
            self.is_whole = False
            said = f"{type(error).__name__}: {error}"[:SAID_MAX]
            return ("aborted" if isinstance(operation, READS) else "unknown"), said
        return "committed", ""

    def _in_txn(self, plan: Plan, results: list[Result]) -> tuple[Any, str]:
        try:
            self._session.begin()
            for operation in plan.operations:
                results.append(self._session.do(operation))
                if plan.is_guarded and results[0]:
                    break
        except Exception as error:  # noqa: BLE001 - nothing was committed
            self.is_whole = isinstance(error, RefusedError)
            with suppress(Exception):
                self._session.abort()
            return "aborted", f"{type(error).__name__}: {error}"[:SAID_MAX]
        return self._step(self._session.commit, None)

    def _note(self, txn: Txn) -> None:
        """Leave the place of a commit for later reads, and its token for others."""
        if txn.outcome != "committed" or not txn.place:
            return
        for table in {operation.table for operation in txn.operations}:
            self._workload.note_place(table, txn.place)
        if self._session.token:
            self._tokens.mkdir(exist_ok=True)
            made = self._tokens / f".{self._name}"
            made.write_text(f"{txn.id} {self._session.token}", encoding="utf-8")
            made.rename(self._tokens / self._name.split(".")[0])

    def _wait_for_token(self) -> str:
        """Wait for the token of some client; return the txn that it is of, "" for none."""
        found = sorted(self._tokens.glob("c*"))
        if not found:
            return ""
        txn, token = random.choice(found).read_text(encoding="utf-8").split(" ", 1)  # noqa: S311
        try:
            self._session.wait_for(token)
        except Exception:  # noqa: BLE001 - the reader is behind, or away: nothing is promised
            return ""
        return txn


def now() -> float:
    return time.monotonic_ns() / 1e9


def read_end(subject: Any, job: Job) -> int:
    """Read every table once all others have ended; tried again while the system comes back."""
    lacks = skipped(subject)
    reads = [Read(table) for table in TABLES]
    plans = [Plan((read,), is_txn=TRANSACTIONS not in lacks) for read in reads]
    if not lacks & {TRANSACTIONS, SEVERAL_TABLES}:
        plans = [Plan(tuple(reads), is_txn=True)]
    feeds: list[Plan] = []
    if "Feed" not in lacks:
        feeds = [Plan((Feed(table),), is_txn=False) for table in FED]
    path = Path(job["folder"]) / "session-final.jsonl"
    with path.open("w", encoding="utf-8") as file, shared(subject, job) as context:
        for plan in [*plans, *feeds]:
            for _ in range(TRIES):
                try:
                    lines = sum(1 for _ in path.open(encoding="utf-8"))
                    made = {**job, **context, "first": lines}
                    with subject.session(made) as session:
                        pen, workload = Pen(file), Workload(0, 0, 0, frozenset({"tokens"}))
                        caller = Caller(subject, made, session, pen, name=FINAL, workload=workload)
                        if caller.ask(plan).outcome == "committed":
                            break
                except Exception as error:  # noqa: BLE001 - it may still be coming back
                    complain(f"{FINAL}: {type(error).__name__}: {error}")
                threading.Event().wait(REST_S)
            else:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
