"""Histories over tables whose files have many rows, at both grains of conflict."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.properties.column_mapping import PUBLISH
from ledger.session.receipt import Receipt
from tests.tables.laws.altering import Repartition
from tests.tables.laws.drawing import ID, KEY
from tests.tables.laws.history import KEYS, MAPPING, History, OpenTxn
from tests.tables.laws.model import ModelColumn, TableModel
from tests.tables.laws.row_drawing import row_statement, unique_rows
from tests.tables.laws.statements import Optimize, Statement, Update
from tests.tables.laws.terms import VALUES

GRAINS: Final = ("marks", "rewrite")
ROWS: Final = "lakeledger.rows"
COUNTS: Final = (30, 60, 300)
PARTITIONS: Final = ("boolean", "date", "decimal(7,2)", "timestamp")
"""Types with few values, so that a partition has many rows."""

Pairs = list[tuple[dict[int, Any], dict[int, Any]]]


class RowHistory(History):
    """A history at one grain; `pairs` are the rows that a single UPDATE changed, by position.

    Attributes:
        rows: the grain of its tables.
        properties: further properties of its tables.
        folder: where its tables are.
        committed: called after each commit.
    """

    open_max = 4
    statements_max = 24
    shares = (0.22, 0.42, 0.47, 0.50, 0.64)

    def __init__(
        self,
        ledger: Ledger,
        folder: Path,
        seed: int,
        *,
        rows: str,
        properties: dict[str, str] | None = None,
    ) -> None:
        chance = Random(f"names of {seed}")  # noqa: S311 - a history must come back from its seed
        self.names = ("db.one",) if chance.random() < 0.6 else ("db.one", "two")
        self.rows, self.properties = rows, dict(properties or {})
        self.fresh = count(1_000)
        self.folder = folder
        self.committed: Callable[[], None] = lambda: None
        self.pairs: dict[int, tuple[str, Pairs]] = {}
        super().__init__(ledger, folder, seed)

    @property
    def is_published(self) -> bool:
        """Whether its tables are published as Delta."""
        return PUBLISH in self.properties

    def drawn_table(self) -> tuple[TableModel, dict[str, str]]:
        """Return a table with an id, a key, and often a partition column of few values."""
        kinds = self.rng.sample(list(VALUES), k=self.rng.randint(1, 3))
        by = self.rng.random() < 0.5
        kinds = [self.rng.choice(PARTITIONS), *kinds] if by else kinds
        columns = [("id", "bigint"), ("key", self.rng.choice(KEYS))]
        columns += [(f"c{at}", kind) for at, kind in enumerate(kinds)]
        model = TableModel([ModelColumn(at, *each) for at, each in enumerate(columns, start=1)])
        model.by = [KEY + 1] if by else []
        mapping = {MAPPING: "name"} if self.rng.random() < 0.2 else {}
        return model, {ROWS: self.rows, **mapping, **self.properties}

    def _create(self, name: str, folder: Path) -> None:
        super()._create(name, folder)
        rows = unique_rows(self.rng, self.world[name], self.rng.choice(COUNTS), count())
        for part in (rows[:-8], rows[-8:]):
            self.append(name, part)

    def drawn(self, mine: OpenTxn) -> Statement:
        """Return a statement that mostly means few rows."""
        while not self.may(made := row_statement(self.rng, mine.world, mine.own, self.fresh)):
            pass
        return made

    def may(self, made: Statement) -> bool:
        """Return whether a statement leaves a table that is published fit for Delta's readers."""
        return not (self.is_published and isinstance(made, Repartition))

    def new_rows(self, model: TableModel) -> list[dict[int, Any]]:
        """Return rows for an append, with ids of their own."""
        return unique_rows(self.rng, model, self.rng.randint(1, 3), self.fresh)

    def lost(self, mine: OpenTxn, error: ConflictError) -> None:
        """Count what lost to what."""
        kinds = {type(each).__name__ for each in mine.statements}
        self.outcomes[f"lost by {type(error).__name__}"] += 1
        if kinds == {Optimize.__name__}:
            self.outcomes["optimize lost"] += 1

    def _committed(self, mine: OpenTxn, receipt: Receipt) -> None:
        if len(mine.statements) == 1 and isinstance(mine.statements[0], Update):
            (made,) = mine.statements
            self._note_pairs(made.table, mine, receipt.position)
        super()._committed(mine, receipt)
        self.committed()

    def _note_pairs(self, table: str, mine: OpenTxn, position: int) -> None:
        """Note which rows an UPDATE changed into which, if their ids say so."""
        before, after = mine.before[table].rows, mine.world[table].rows
        gone, came = before.keys() - after.keys(), after.keys() - before.keys()
        old = {before[at].get(ID): before[at] for at in gone}
        new = {after[at].get(ID): after[at] for at in came}
        if old.keys() == new.keys() and len(old) == len(gone) and len(new) == len(came):
            self.pairs[position] = table, [(old[key], new[key]) for key in old]
