"""Scenes: the smallest histories, step by step, so that each run of one is the same.

    python -m tests.consistency scenes SUBJECT [--level LEVEL] [--grain GRAIN]

Two or three sessions take turns as the scene says. What came of it is a history, and the judge says
what it shows.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib import import_module
from itertools import count
from typing import Any, Final

from tests.consistency.client import SAID_MAX, shared
from tests.consistency.history import History, Result, Txn
from tests.consistency.judge.judging import anomalies
from tests.consistency.operations import (
    BAG,
    CLAIMS,
    KEYED,
    REGISTERS,
    STOCK,
    Append,
    Claim,
    Compact,
    Delete,
    Insert,
    Operation,
    Read,
    Upsert,
    Write,
)
from tests.consistency.subjects.port import Job, RefusedError, Session, skipped
from tests.consistency.workload import SEVERAL_TABLES, TRANSACTIONS

A, B = "lists_a", "lists_b"
BEGIN: Final = "begin"
COMMIT: Final = "commit"
Step = tuple[int, Operation | str]


def side_by_side(one: Sequence[Operation], other: Sequence[Operation]) -> Sequence[Step]:
    """Return two txns that both begin, then do all they do, then commit in order."""
    return (
        (1, BEGIN),
        (2, BEGIN),
        *((1, step) for step in one),
        *((2, step) for step in other),
        (1, COMMIT),
        (2, COMMIT),
    )


SCENES: Final[Mapping[str, Sequence[Step]]] = {
    "write skew over two tables": (
        *side_by_side([Read(A, 1), Append(B, 1, 11)], [Read(B, 1), Append(A, 1, 21)]),
        (3, Read(A, 1)),
        (3, Read(B, 1)),
    ),
    "write skew in one table": (
        *side_by_side([Read(A, 2), Append(A, 3, 12)], [Read(A, 3), Append(A, 2, 22)]),
        (3, Read(A, 2)),
        (3, Read(A, 3)),
    ),
    "two changes of one row": (
        *side_by_side([Append(A, 4, 13)], [Append(A, 4, 23)]),
        (3, Read(A, 4)),
    ),
    "two changes of different rows of one file": (
        *side_by_side([Append(A, 5, 14)], [Append(A, 6, 24)]),
        (3, Read(A, 5)),
        (3, Read(A, 6)),
    ),
    "a register that both read and replace": (
        *side_by_side(
            [Read(REGISTERS, 1), Write(REGISTERS, 1, 15)],
            [Read(REGISTERS, 1), Write(REGISTERS, 1, 25)],
        ),
        (3, Read(REGISTERS, 1)),
    ),
    "two MERGE that insert one key": (
        *side_by_side([Claim(CLAIMS, 7, 16)], [Claim(CLAIMS, 7, 26)]),
        (3, Read(CLAIMS, 7)),
    ),
    "two MERGE that insert or append": (
        *side_by_side([Upsert(KEYED, 7, 17)], [Upsert(KEYED, 7, 27)]),
        (3, Read(KEYED, 7)),
    ),
    "two that look for a key and insert it": (
        *side_by_side(
            [Read(CLAIMS, 8), Insert(CLAIMS, 8, 18)], [Read(CLAIMS, 8), Insert(CLAIMS, 8, 28)]
        ),
        (3, Read(CLAIMS, 8)),
    ),
    "two that delete nothing and insert one key": (
        *side_by_side(
            [Delete(STOCK, 42), Insert(STOCK, 42, 19)], [Delete(STOCK, 42), Insert(STOCK, 42, 29)]
        ),
        (3, Read(STOCK, 42)),
    ),
    "a blind insert between a read and its txn's commit": (
        (1, BEGIN),
        (1, Read(BAG, 1)),
        (1, Insert(BAG, 2, 31)),
        (2, Insert(BAG, 1, 32)),
        (3, BEGIN),
        (3, Read(BAG, 1)),
        (3, Read(BAG, 2)),
        (3, COMMIT),
        (1, COMMIT),
        (2, Read(BAG, 2)),
    ),
    "a delete beside a compaction": (
        (3, Insert(STOCK, 50, 33)),
        (3, Insert(STOCK, 51, 34)),
        *side_by_side([Delete(STOCK, 50)], [Compact(STOCK)]),
        (3, Read(STOCK, 50)),
        (3, Read(STOCK, 51)),
    ),
    "half of a txn over two tables": (
        (1, BEGIN),
        (1, Append(A, 9, 35)),
        (2, BEGIN),
        (2, Read(A, 9)),
        (1, Append(B, 9, 36)),
        (1, COMMIT),
        (2, Read(B, 9)),
        (2, COMMIT),
        (3, Read(A, 9)),
        (3, Read(B, 9)),
    ),
}


class Player:
    """Plays the part of one session, and notes its txns."""

    def __init__(self, session: Session, name: str, clock: "count[int]") -> None:
        self.txns: list[Txn] = []
        self._session, self._name, self._clock = session, name, clock
        self._open: list[Operation] | None = None
        self._results: list[Result] = []
        self._begun = 0
        self._lost = ""

    def take(self, step: Operation | str) -> None:
        """Take one step; a txn that was refused takes no further ones."""
        if step == BEGIN:
            self._open, self._results, self._begun, self._lost = [], [], next(self._clock), ""
            self._try(self._session.begin)
        elif step == COMMIT:
            if not self._lost:
                self._try(self._session.commit)
            if self._lost:
                with suppress(Exception):
                    self._session.abort()
            self._note(self._open or [])
            self._open = None
        elif self._open is None:
            self._results, self._begun, self._lost = [], next(self._clock), ""
            self._try(lambda: self._results.append(self._session.alone(step)))  # type: ignore[arg-type]
            self._note([step])  # type: ignore[list-item]
        elif not self._lost:
            self._open.append(step)  # type: ignore[arg-type]
            self._try(lambda: self._results.append(self._session.do(step)))  # type: ignore[arg-type]

    def _try(self, call: Any) -> None:
        try:
            call()
        except RefusedError as error:
            self._lost = str(error)[:SAID_MAX] or "refused"

    def _note(self, operations: Sequence[Operation]) -> None:
        outcome: Any = "aborted" if self._lost else "committed"
        txn = Txn(f"{self._name}.{len(self.txns) + 1}", self._name, operations, self._results)
        done = replace(txn, outcome=outcome, error=self._lost)
        self.txns.append(replace(done, begun=self._begun, ended=next(self._clock)))


def play(subject: Any, job: Job, steps: Sequence[Step]) -> History:
    """Play a scene and return its history."""
    clock = count(1)
    with ExitStack() as held:
        players = {
            number: Player(held.enter_context(subject.session(job)), f"t{number}", clock)
            for number in sorted({number for number, _ in steps})
        }
        for number, step in steps:
            players[number].take(step)
    txns = [txn for player in players.values() for txn in player.txns]
    return History(sorted(txns, key=lambda txn: txn.begun))


def told(name: str, history: History) -> str:
    """Return a scene as text: the outcomes, what the last reads saw, and what the judge says."""
    writers = [txn for txn in history.txns if len(txn.operations) > 1 or txn.results[-1:] == [None]]
    outcomes = ", ".join(f"{txn.id} {txn.outcome}" for txn in writers)
    rows = [
        f"{step.table}[{step.key}]={[tuple(row) for row in rows or ()]}"
        for txn in history.txns[-2:]
        for step, rows in zip(txn.operations, txn.results, strict=False)
        if isinstance(step, Read)
    ]
    kinds = sorted({anomaly.kind for anomaly in anomalies(history)})
    said = "".join(
        f"\n    {txn.id}: {' '.join(txn.error.split())[:160]}" for txn in history.txns if txn.error
    )
    return f"{name}\n    {outcomes}; {'; '.join(rows)}\n    shows {kinds or 'nothing'}{said}"


def main() -> int:
    """Play every scene that the subject can, as the job in the argument says."""
    job = json.loads(sys.argv[1])
    subject = import_module(f"tests.consistency.subjects.{job['module']}")
    subject.create(job)
    print(subject.version())
    lacks = skipped(subject)
    with shared(subject, job) as context:
        for name, steps in SCENES.items():
            needs = {type(step).__name__ for _, step in steps} | {TRANSACTIONS}
            if len({step.table for _, step in steps if not isinstance(step, str)}) > 1:
                needs.add(SEVERAL_TABLES)
            if missing := needs & lacks:
                print(f"{name}\n    skipped for want of {', '.join(sorted(missing))}")
                continue
            print(told(name, play(subject, {**job, **context}, steps)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
