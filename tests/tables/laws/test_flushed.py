"""Rows in the log, and flushes beside statements, show what files alone would show.

The same random histories are played as without rows in the log. Now and then a flusher begins,
commits later, commits beside another one, or is killed once it has written its file.
"""

from collections import Counter
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.core.conflicts.operations import FLUSH
from ledger.errors import ConflictError
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.tables.laws.history import History, OpenTxn, Seen, replayable
from tests.tables.laws.model import TableModel
from tests.tables.laws.test_histories import check_changes, check_conditions, check_scan, check_sql

SEEDS = range(6)
MANY = range(100, 400)
FILES_MAX = 10_000


class FlushedHistory(History):
    """A history of tables with rows in the log, and flushes of them.

    A flusher that is killed is a txn that another client left open.
    """

    def __init__(self, ledger: Ledger, other: Ledger, folder: Path, seed: int) -> None:
        self.other = other
        self.flushing: list[Transaction] = []
        self.grains: list[str] = []
        super().__init__(ledger, folder, seed)

    def drawn_table(self) -> tuple[TableModel, dict[str, str]]:
        model, properties = super().drawn_table()
        grain = self.rng.choice(["marks", "rewrite"])
        self.grains.append(grain)
        return model, {**properties, "lakeledger.inline": "on", "lakeledger.rows": grain}

    def _step(self, *, may_run: bool = True) -> None:
        if self.rng.random() < 0.25:
            self._flush()
        super()._step(may_run=may_run)

    def _flush(self) -> None:
        draw = self.rng.random()
        if draw < 0.5 or not self.flushing:
            table, txn = self.rng.choice(list(self.world)), self.other.begin()
            self.steps.append(f"{txn.id}: flush {table}")
            self.outcomes["blocks"] += txn.flush(table).removed
            self.flushing.append(txn)
            return
        txn = self.flushing.pop(self.rng.randrange(len(self.flushing)))
        if draw < 0.6:
            self.steps.append(f"{txn.id} is killed")
            self.outcomes["killed"] += 1
            return
        self.end_flush(txn)

    def lost(self, mine: OpenTxn, error: ConflictError) -> None:
        """Assert that no statement loses to a flush where rows are the grain."""
        evidence = error.evidence
        if evidence is None or evidence.winner.operation != FLUSH:
            return
        self.outcomes["lost to a flush"] += 1
        grain = self.grains[list(self.numbers).index(evidence.table)]
        assert grain == "rewrite", f"{mine.txn.id} lost to a flush: {evidence}"

    def end_flush(self, txn: Transaction) -> None:
        """Commit a flush: it changes no row, whatever came between."""
        try:
            receipt = txn.commit()
        except ConflictError as error:
            self.steps.append(f"{txn.id} loses: {type(error).__name__}")
            self.outcomes["lost flush"] += 1
            return
        self.steps.append(f"{txn.id} commits")
        self.outcomes["flushed"] += 1
        for number, version in receipt.versions.items():
            name = self.numbers[number]
            self.versions[name][version] = Seen(receipt.position, self.world[name])


def check_flushed(history: FlushedHistory) -> None:
    """Assert that scans at each version and the changes are as the model has them."""
    ledger = history.ledger
    for name, versions in history.versions.items():
        for version, seen in versions.items():
            check_scan(ledger, name, seen.model, version=version)
        check_conditions(history.rng, ledger, name, history.world[name])
        check_changes(ledger, name, history)
        check_feed(ledger, name)
    check_sql(history)
    for name, model in history.world.items():
        ledger.run(lambda txn, name=name: txn.flush(name))  # type: ignore[misc]
        assert not any(file.rows for file in ledger.read(name))
        assert ledger.reads().blocks(ledger.table(name).table) == []
        ledger.vacuum(name, older_than_h=0.0)
        check_scan(ledger, name, model)


def check_feed(ledger: Ledger, name: str) -> None:
    """Assert that flushes say of themselves that they change no row."""
    reads, table = ledger.reads(), ledger.table(name).table
    flushes = [row.version for row in ledger.history(name) if row.operation == FLUSH]
    for version in flushes:
        changes = reads.file_changes(table, version, version, FILES_MAX)
        assert not any(change.data_change for change in changes), version


def play(folder: Path, seed: int) -> Counter[str]:
    with InMemoryLedger() as memory:
        history = FlushedHistory(memory.connect(), memory.connect(), folder, seed)
        with replayable(seed, history):
            history.play()
            for txn in history.flushing:
                history.end_flush(txn)
            check_flushed(history)
    return history.outcomes


@pytest.mark.parametrize("seed", SEEDS)
def test_flushes_beside_statements(tmp_path: Path, seed: int) -> None:
    play(tmp_path, seed)


@pytest.mark.slow
def test_many_flushes_beside_statements(tmp_path: Path) -> None:
    """The same for many histories, in which all that can happen to a flush happens."""
    total: Counter[str] = Counter()
    for seed in MANY:
        total += play(tmp_path / str(seed), seed)
    assert (
        min(total[kind] for kind in ("blocks", "killed", "lost flush", "flushed")) > len(MANY) / 9
    )
