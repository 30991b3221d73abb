"""Laws of dropped and replaced tables: what a vacuum deletes of them, over generated histories.

The law knows which files are needed by what it did: every live file of a table, every file that an
open snapshot shows, and every file that a table had within the retention. A vacuum may delete no
such file, and after the retention it leaves no other one.
"""

import os
from pathlib import Path
from random import Random

import pytest

from ledger.client import Ledger
from ledger.errors import UnknownTableError
from ledger.testing import FixedClock, InMemoryLedger
from ledger.transaction.transaction import Transaction

STEPS = 60
RETENTION_H = 10.0
NAMES = ("db.a", "db.b", "db.c")
ROW = [{"id": 1}]


class DroppedTables:
    """A history that comes back from its seed.

    Attributes:
        ended: by file the hour since which no table needs it, None while one does.
    """

    def __init__(self, memory: InMemoryLedger, folder: Path, seed: int) -> None:
        self.memory = memory
        self.folder = folder
        self.rng = Random(seed)  # noqa: S311 - a history must come back from its seed
        self.ledger: Ledger = memory.connect(warehouse=str(folder / "warehouse"))
        self.snapshots: list[tuple[Transaction, set[str]]] = []
        self.ended: dict[str, float | None] = {}
        self.hour = 0.0
        self.steps: list[str] = []

    def there(self) -> set[str]:
        return {str(each) for each in self.folder.rglob("*.parquet")}

    def live(self) -> set[str]:
        """Return the files that the tables have now."""
        found = set()
        for row in self.ledger.tables():
            place = row.definition.location
            found |= {f"{place}/{path}" for path in self.ledger.read(row.table).paths}
        return found

    def note(self) -> None:
        live = self.live()
        for each in live | self.ended.keys():
            was = self.ended.get(each)
            self.ended[each] = None if each in live else self.hour if was is None else was

    def step(self) -> None:
        verbs = (self.create, self.create, self.append, self.overwrite, self.drop, self.replace)
        verb = self.rng.choice([*verbs, self.rename, self.hold, self.let_go, self.wait, self.clean])
        self.steps.append(verb.__name__)
        verb()
        self.note()

    def name(self) -> str:
        return self.rng.choice([table.name for table in self.ledger.tables()] or [""])

    def create(self) -> None:
        name = self.rng.choice(NAMES)
        if name not in {table.name for table in self.ledger.tables()}:
            shared = self.folder / self.rng.choice(["one", "two", "one/inner"])
            self.ledger.create_table(name, ROW, location="" if self.rng.random() < 0.5 else shared)

    def append(self) -> None:
        if name := self.name():
            self.ledger.append(name, ROW)

    def overwrite(self) -> None:
        if name := self.name():
            with self.ledger.transaction() as txn:
                txn.overwrite(name, ROW)

    def drop(self) -> None:
        if name := self.name():
            self.ledger.drop_table(name)

    def replace(self) -> None:
        """Put another table in the place of one, as CREATE OR REPLACE does."""
        if name := self.name():
            with self.ledger.transaction() as txn:
                txn.drop_table(name)
                txn.create_table(name, [("id", "bigint")])
                txn.insert(name, ROW)

    def rename(self) -> None:
        name, to = self.name(), self.rng.choice(NAMES)
        if name and to not in {table.name for table in self.ledger.tables()}:
            self.ledger.rename_table(name, to)

    def hold(self) -> None:
        """Open a txn, whose snapshot shows the files of now."""
        if len(self.snapshots) < 2:
            self.snapshots.append((self.ledger.begin("read_only"), self.live()))

    def let_go(self) -> None:
        if self.snapshots:
            self.snapshots.pop(self.rng.randrange(len(self.snapshots)))[0].commit()

    def wait(self) -> None:
        """Let hours pass on the clock of the ledger."""
        hours = self.rng.choice([1, 6, 11])
        self.hour += hours
        assert isinstance(self.memory.clock, FixedClock)
        self.memory.clock.advance(hours * 3_600)

    def clean(self, *, every: bool = False) -> None:
        """Clean all tables, or one by its name or id, and check what is left."""
        before, needed = self.there(), self.needed()
        for each in before:
            os.utime(each, (0, 0))
        choice = self.rng.random()
        if every or choice < 0.4:
            self.ledger.vacuum_all(older_than_h=RETENTION_H)
        elif choice < 0.7:
            try:
                self.ledger.vacuum(self.rng.choice(NAMES), older_than_h=RETENTION_H)
            except UnknownTableError:
                return
        else:
            rows = self.ledger.reads().tables(include_dropped=True)
            if rows:
                self.ledger.vacuum(self.rng.choice(rows).table, older_than_h=RETENTION_H)
        left = self.there()
        assert before - left <= before - needed, f"needed files are gone: {self.steps}"
        if every or choice < 0.4:
            assert left == before & needed, f"files are left: {self.steps}"

    def needed(self) -> set[str]:
        held = set().union(*(files for _, files in self.snapshots))
        young = {
            each
            for each, ended in self.ended.items()
            if ended is None or ended > self.hour - RETENTION_H
        }
        return held | young

    def end(self) -> None:
        """Drop everything, let time pass, and clean: no file and no own folder is left."""
        while self.snapshots:
            self.let_go()
        self.clean(every=True)
        for row in self.ledger.tables():
            self.ledger.drop_table(row.table)
        self.note()
        self.hour += 2 * RETENTION_H
        assert isinstance(self.memory.clock, FixedClock)
        self.memory.clock.advance(2 * RETENTION_H * 3_600)
        self.clean(every=True)
        assert self.there() == set()
        own = self.folder / "warehouse" / "main" / "db"
        assert not own.is_dir() or list(own.iterdir()) == []


@pytest.mark.parametrize("seed", range(8))
def test_no_needed_file_is_ever_gone(tmp_path: Path, seed: int) -> None:
    with InMemoryLedger(clock=FixedClock()) as memory:
        history = DroppedTables(memory, tmp_path, seed)
        for _ in range(STEPS):
            history.step()
        history.end()
