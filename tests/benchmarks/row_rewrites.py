"""RL4: OPTIMIZE in a loop beside eight writers of single rows, which have nothing in common.

Each writer has a client and rows of its own, and updates, deletes and appends one at a time. So a
statement that is refused was refused because of an OPTIMIZE. A group is the files of a partition,
which OPTIMIZE puts into one; it lands if its file is in the table after the commit.
"""

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from typing import Any, Final

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.machine.kafka.broker import Broker
from ledger.properties.known_properties import MARKS, ROWS
from ledger.transaction.transaction import Transaction
from projections.queries import open_reads
from tests.benchmarks.figure import Figure
from tests.benchmarks.table_rows import Lake, up

LEDGER: Final = "rl4"
TABLE: Final = "db.lines"
WRITERS: Final = 8
PARTITIONS: Final = 8
LINES: Final = 80_000
OPTIMIZE: Final = "OPTIMIZE"
UPDATES_AND_ALL: Final = ("update", "update", "delete", "append")


class Span:
    """How long the writers work."""

    seconds = 300.0


@dataclass
class Writer:
    """One writer: its rows, how many statements committed, and which winners refused others."""

    ledger: Ledger
    number: int
    done: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.live = list(range(self.number, LINES, WRITERS))
        self.updated: Counter[int] = Counter()
        self._new: Iterator[int] = count(LINES + self.number, WRITERS)
        self._draw = random.Random(self.number)  # noqa: S311 - which row it is decides no secret

    def work(self, until_s: float) -> None:
        """Run statements until the time is over."""
        while perf_counter() < until_s:
            what, row = self._draw.choice(UPDATES_AND_ALL), self._draw.choice(self.live)
            if what == "append":
                row = next(self._new)
            try:
                with self.ledger.transaction() as txn:
                    changed(txn, what, row)
            except ConflictError as error:
                self.refused[winner_of(error)] += 1
            else:
                self._note(what, row)

    def _note(self, what: str, row: int) -> None:
        self.done += 1
        if what == "update":
            self.updated[row] += 1
        if what == "append":
            self.live.append(row)
        if what == "delete":
            self.live.remove(row)
            self.updated.pop(row, None)


@dataclass
class Optimizer:
    """The optimizer: how many groups it wrote, and how many of them landed."""

    ledger: Ledger
    groups: int = 0
    landed: int = 0
    commits: int = 0
    refused: int = 0

    def work(self, until_s: float) -> None:
        """Run OPTIMIZE until the time is over."""
        while perf_counter() < until_s:
            made = 0
            try:
                with self.ledger.transaction() as txn:
                    made = txn.optimize(TABLE).added
            except ConflictError:
                self.refused += 1
            else:
                self.commits += made > 0
                self.landed += landed_in(self.ledger, txn) if made else 0
            self.groups += made


def changed(txn: Transaction, what: str, row: int) -> None:
    """Run one statement over one row."""
    where = f"p = {part_of(row)} AND id = {row}"
    if what == "update":
        txn.update(TABLE, {"n": "n + 1"}, where)
    elif what == "delete":
        txn.delete(TABLE, where)
    else:
        txn.insert(TABLE, [line(row)])


def line(number: int) -> dict[str, Any]:
    return {"id": number, "p": part_of(number), "n": 0}


def part_of(number: int) -> int:
    """Return the partition of a row; each writer has rows in all of them."""
    return number // WRITERS % PARTITIONS


def winner_of(error: ConflictError) -> str:
    """Return the operation that came first."""
    return "a change of the table" if error.evidence is None else error.evidence.winner.operation


def landed_in(ledger: Ledger, txn: Transaction) -> int:
    """Return how many files a commit of OPTIMIZE has added to the table."""
    assert txn.receipt is not None
    position = txn.receipt.position
    for commit in ledger.changes(TABLE, position=position - 1):
        return len({file.path for file in commit.added}) if commit.position == position else 0
    return 0


def measure(broker: Broker) -> list[Figure]:
    """Return RL4, and the share of groups that landed."""
    with ExitStack() as held:
        lake = held.enter_context(up(broker, LEDGER))
        lake.ledger.create_table(
            TABLE,
            list(map(line, range(LINES))),
            partition_columns=["p"],
            location=lake.folder / "lines",
            properties={ROWS: MARKS},
        )
        reads = held.enter_context(closing(open_reads(lake.store)))
        clients = [
            held.enter_context(Ledger.connect(broker.bootstrap, LEDGER, reads=reads))
            for _ in range(WRITERS + 1)
        ]
        writers = [Writer(client, number) for number, client in enumerate(clients[:WRITERS])]
        optimizer = Optimizer(clients[WRITERS])
        until_s = perf_counter() + Span.seconds
        with ThreadPoolExecutor(WRITERS + 1) as threads:
            jobs = [threads.submit(writer.work, until_s) for writer in writers]
            for job in (*jobs, threads.submit(optimizer.work, until_s)):
                job.result()
        check(lake, writers)
    return figures(writers, optimizer)


def check(lake: Lake, writers: list[Writer]) -> None:
    """Raise AssertionError if the table does not have what the writers left."""
    rows = lake.ledger.scan(TABLE, columns=["id", "n"]).to_arrow().sort_by("id")
    updated = sum((writer.updated for writer in writers), Counter[int]())
    wanted = sorted((row, updated[row]) for writer in writers for row in writer.live)
    found = list(zip(rows["id"].to_pylist(), rows["n"].to_pylist(), strict=True))
    assert found == wanted, "the rows are not what the writers have committed"


def figures(writers: list[Writer], optimizer: Optimizer) -> list[Figure]:
    refused = sum((writer.refused for writer in writers), Counter[str]())
    done = sum(writer.done for writer in writers)
    what = f"{WRITERS} writers of single rows beside OPTIMIZE in a loop, {Span.seconds:.0f} s"
    others = refused.total() - refused[OPTIMIZE]
    share = 100 * optimizer.landed / max(1, optimizer.groups)
    return [
        Figure(
            "RL4",
            refused[OPTIMIZE],
            "refused statements",
            note=f"of {done + refused.total()}, because of OPTIMIZE; {others} by others; {what}",
        ),
        Figure(
            "RL4-groups",
            round(share, 1),
            "% of groups land",
            note=f"{optimizer.landed} of {optimizer.groups} in {optimizer.commits} commits, and "
            f"{optimizer.refused} refused; {what}",
        ),
    ]
