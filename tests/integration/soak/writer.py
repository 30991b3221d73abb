"""A writer: a process that changes tables in every way there is, until it is told to end.

What it wants it chooses by chance, and other writers want the same tables: most of what can be
refused is refused now and then, and that is no error here. What is left open when it is killed, the
ledger ends.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from threading import Event as Signal
from typing import Final, NoReturn

from ledger.client import Ledger
from ledger.definitions.definitions import TableChanges, TableOptions
from ledger.errors import RefusedError
from ledger.machine.process import role_process, set_up_logging
from ledger.reads.metadata import OBJECT_PREFIX
from ledger.reads.port import TableRow
from ledger.transaction.transaction import Transaction
from projections.queries import open_reads

OBJECTS: Final = ("partition:day=1", "stats:delay")
COLUMNS: Final = (("id", "bigint"), ("delay", "double"))
KINDS: Final[Mapping[str, TableOptions]] = {
    **{f"db.listed_{number}": {} for number in range(8)},
    **{f"db.folders_{number}": {"layout": "directories"} for number in range(3)},
    **{f"db.outside_{number}": {"kind": "external"} for number in range(3)},
}
"""The tables there should be, each under its name or under another one that it was given."""
ALIAS: Final = "_moved"
UNSET_SHARE: Final = 0.1
LEFT_OPEN_S: Final = 5.0
FORGOTTEN_AT_ONCE: Final = 50


class NothingWantedError(Exception):
    """There is no table of the kind that a change is for."""


class Lane:
    """One line of work: change after change, each chosen by chance."""

    def __init__(self, ledger: Ledger, name: str, chance: Random) -> None:
        self._ledger = ledger
        self._name = name
        self._chance = chance
        self._numbers = count(1)
        self._weights: Mapping[Callable[[], object], int] = {
            self.alter: 8,
            self.alter_in_txn: 12,
            self.alter_two: 8,
            self.insert_two: 12,
            self.give_up: 6,
            self.leave: 2,
            self.hold: 1,
            self.rename: 3,
            self.rename_in_txn: 3,
            self.make_anew: 1,
            self.make_anew_in_txn: 1,
            self.alter_outside: 6,
            self.forget: 2,
        }

    def run(self, stop: Signal, pause_s: float) -> None:
        """Change something, and again after a pause, until `stop` is set."""
        choices = list(self._weights)
        while not stop.wait(pause_s):
            (change,) = self._chance.choices(choices, list(self._weights.values()))
            try:
                self.create_missing()
                change()
            except (RefusedError, NothingWantedError):
                continue

    def create_missing(self) -> None:
        """Create one of the tables that should be there and are not."""
        names = {row.name.removesuffix(ALIAS) for row in self._ledger.tables()}
        missing = [name for name in KINDS if name not in names]
        if missing:
            self.create(self._chance.choice(missing))

    def create(self, name: str, txn: Transaction | None = None) -> None:
        """Create a table, in a txn or at once."""
        word = self.word()
        objects = {OBJECT_PREFIX + each: word for each in OBJECTS}
        options: TableOptions = {**KINDS[name], "location": word, "properties": objects}
        (txn or self._ledger).create_table(name, COLUMNS, **options)

    def alter(self) -> None:
        """Alter a table by a commit of its own."""
        self._ledger.alter_table(self.managed(), **self.change())

    def alter_outside(self) -> None:
        """Alter an external table: at once, for everybody."""
        self._ledger.alter_table(self.external(), **self.change())

    def alter_in_txn(self) -> None:
        """Alter a table, perhaps several times, and insert into it."""
        table = self.managed()
        with self._ledger.transaction() as txn:
            for _ in range(self._chance.randint(1, 3)):
                txn.alter_table(table, **self.change())
            txn.wrote(table, "insert")

    def alter_two(self) -> None:
        with self._ledger.transaction() as txn:
            for table in self.two():
                txn.alter_table(table, **self.change())

    def insert_two(self) -> None:
        """Insert into two tables in one txn."""
        with self._ledger.transaction() as txn:
            tables = self.two()
            txn.write_ids(tables)
            for table in tables:
                txn.wrote(table, "insert")

    def give_up(self) -> None:
        """Alter tables and abort."""
        txn = self._ledger.begin()
        try:
            for table in self.two():
                txn.alter_table(table, **self.change())
        finally:
            txn.abort("no longer wanted", self._chance.choice([None, ()]))

    def leave(self) -> None:
        """Alter a table and leave the txn to its deadline."""
        self._ledger.begin(deadline_s=LEFT_OPEN_S).alter_table(self.managed(), **self.change())

    def hold(self) -> None:
        """Hold what can be seen now for a while."""
        self._ledger.begin("read_only", deadline_s=LEFT_OPEN_S)

    def rename(self) -> None:
        """Give a table its other name at once."""
        table = self.any_table()
        self._ledger.rename_table(table, other_name(table))

    def rename_in_txn(self) -> None:
        """Give a table its other name, and another definition with it."""
        table = self.managed()
        with self._ledger.transaction() as txn:
            txn.rename_table(table, other_name(table))
            txn.alter_table(table.table, **self.change())

    def make_anew(self) -> None:
        """Drop a table and create another one of its name, both at once."""
        table = self.any_table()
        self._ledger.drop_table(table)
        self.create(table.name.removesuffix(ALIAS))

    def make_anew_in_txn(self) -> None:
        """Drop a table and create another one of its name, in one txn."""
        table = self.managed()
        with self._ledger.transaction() as txn:
            txn.drop_table(table)
            self.create(table.name.removesuffix(ALIAS), txn)

    def forget(self) -> None:
        """Let aborted txns be forgotten: nothing here writes files."""
        aborted = self._ledger.reads().aborted_txns(FORGOTTEN_AT_ONCE)
        if aborted:
            self._ledger.forget_aborted([each.txn for each in aborted])

    def change(self) -> TableChanges:
        """Return a change that tells the table from what it ever was."""
        word = self.word()
        if self._chance.random() < UNSET_SHARE:
            return {"location": word, "unset": [OBJECT_PREFIX + self._chance.choice(OBJECTS)]}
        objects = {OBJECT_PREFIX + name: word for name in OBJECTS if self._chance.random() < 0.5}
        return {"location": word, "properties": objects}

    def word(self) -> str:
        """Return a location that no table had before."""
        return f"file:///lake/{self._name}/{next(self._numbers)}"

    def managed(self) -> TableRow:
        return self.chosen(1, "managed")[0]

    def external(self) -> TableRow:
        return self.chosen(1, "external")[0]

    def any_table(self) -> TableRow:
        return self.chosen(1, "managed", "external")[0]

    def two(self) -> Sequence[TableRow]:
        return self.chosen(2, "managed")

    def chosen(self, number: int, *kinds: str) -> Sequence[TableRow]:
        """Return some tables of these kinds; raises NothingWantedError if there are not so many."""
        rows = [row for row in self._ledger.tables() if row.definition.kind in kinds]
        if len(rows) < number:
            raise NothingWantedError
        return self._chance.sample(rows, number)


def other_name(table: TableRow) -> str:
    name = table.name
    return name.removesuffix(ALIAS) if name.endswith(ALIAS) else name + ALIAS


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Write until the parent is gone or says so; ends as a role does."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.soak.writer")
    for name in ("bootstrap", "ledger", "name"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--store", type=Path, required=True, help="the rows it reads")
    parser.add_argument("--lanes", type=int, default=2, help="lines of work")
    parser.add_argument("--pause-s", type=float, default=0.05, help="between two changes of a lane")
    options = parser.parse_args(arguments)
    set_up_logging()

    def run(stop: Signal) -> None:
        where = options.bootstrap, options.ledger
        with (
            closing(open_reads(options.store)) as reads,
            Ledger.connect(*where, reads=reads, application=options.name) as ledger,
            ThreadPoolExecutor(options.lanes) as pool,
        ):
            # A writer that was killed does not do the same again: its chance has another seed.
            first = ledger.token.position + reads.position()
            lanes = [
                Lane(ledger, f"{options.name}/{first}/{lane}", Random(f"{first} {lane}"))  # noqa: S311
                for lane in range(options.lanes)
            ]
            work = [pool.submit(lane.run, stop, options.pause_s) for lane in lanes]
            for each in work:
                each.result()

    sys.exit(role_process(options.name, run, with_parent=True))


if __name__ == "__main__":
    main()
