"""Statements that change the columns or the partitioning of a table."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from ledger.arrow.types import arrow_type
from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.transaction.transaction import Transaction
from tests.tables.laws.model import NARROW, ModelColumn, TableModel
from tests.tables.laws.statements import Counts, Rows, Statement, World


@dataclass
class Alteration(Statement):
    """A change of a table: within a txn, or at once."""

    makes_files = False

    @abstractmethod
    def arguments(self, world: World) -> dict[str, Any]:
        """Return the arguments of `alter_table`."""

    def run(self, txn: Transaction, world: World) -> Any:
        txn.alter_table(self.table, **self.arguments(world))

    def run_at_once(self, ledger: Ledger, world: World) -> Any:
        """Alter the table in a commit of its own."""
        return ledger.alter_table(self.table, **self.arguments(world))


@dataclass
class AddColumn(Alteration):
    """ALTER TABLE ... ADD COLUMNS."""

    name: str
    type: str

    def arguments(self, world: World) -> dict[str, Any]:
        columns = [(column.name, column.type) for column in world[self.table].columns]
        return {"columns": [*columns, (self.name, self.type)]}

    def apply(self, world: World) -> Counts | None:
        add(world[self.table], self.name, self.type)
        return Counts()

    def fits(self, world: World) -> bool:
        return is_new(self.name, world[self.table])


def is_new(name: str, model: TableModel) -> bool:
    return name.lower() not in {column.name.lower() for column in model.columns}


def add(model: TableModel, name: str, type_: str) -> int:
    """Add a column to a model, and return its id."""
    model.highest += 1
    model.columns = [*model.columns, ModelColumn(model.highest, name, type_)]
    return model.highest


def name_of(id_: int, model: TableModel) -> str:
    """Return the name of a column; fields of nested columns have ids too, which no model knows."""
    return next(column.name for column in model.columns if column.id == id_)


@dataclass
class RenameColumn(Alteration):
    """ALTER TABLE ... RENAME COLUMN."""

    id: int
    name: str

    def change(self, old: str, before: TableDefinition) -> TableDefinition:
        """Return the definition with the new name, also among the partition columns."""
        by = [self.name if column == old else column for column in before.partition_columns]
        columns = [
            column._replace(name=self.name) if column.name == old else column
            for column in before.columns
        ]
        return before._replace(columns=columns, partition_columns=by)

    def arguments(self, world: World) -> dict[str, Any]:
        return {"change": partial(self.change, name_of(self.id, world[self.table]))}

    def apply(self, world: World) -> Counts | None:
        model = world[self.table]
        model.columns = [
            column._replace(name=self.name) if column.id == self.id else column
            for column in model.columns
        ]
        return Counts()

    def fits(self, world: World) -> bool:
        return super().fits(world) and is_new(self.name, world[self.table])

    def ids(self) -> frozenset[Any]:
        return frozenset([self.id])


@dataclass
class DropColumn(Alteration):
    """ALTER TABLE ... DROP COLUMN."""

    id: int
    by_function: bool

    def change(self, name: str, before: TableDefinition) -> TableDefinition:
        return before._replace(columns=[column for column in before.columns if column.name != name])

    def arguments(self, world: World) -> dict[str, Any]:
        if self.by_function:
            return {"change": partial(self.change, name_of(self.id, world[self.table]))}
        kept = [column for column in world[self.table].columns if column.id != self.id]
        return {"columns": [(each.name, each.type) for each in kept]}

    def apply(self, world: World) -> Counts | None:
        model = world[self.table]
        model.columns = [column for column in model.columns if column.id != self.id]
        return Counts()

    def fits(self, world: World) -> bool:
        return super().fits(world) and self.id not in world[self.table].by

    def ids(self) -> frozenset[Any]:
        return frozenset([self.id])


@dataclass
class WidenColumn(Alteration):
    """ALTER TABLE ... ALTER COLUMN ... TYPE."""

    id: int

    def arguments(self, world: World) -> dict[str, Any]:
        columns = [
            (column.name, NARROW[column.type] if column.id == self.id else column.type)
            for column in world[self.table].columns
        ]
        return {"columns": columns}

    def apply(self, world: World) -> Counts | None:
        widen(world[self.table], self.id)
        return Counts()

    def fits(self, world: World) -> bool:
        return world[self.table].types.get(self.id) in NARROW


def widen(model: TableModel, id_: int) -> None:
    """Give a column of a model the wider type."""
    model.columns = [
        column._replace(type=NARROW[column.type]) if column.id == id_ else column
        for column in model.columns
    ]


@dataclass
class Repartition(Alteration):
    """Other partition columns; files of before keep theirs."""

    by: Sequence[int]

    def arguments(self, world: World) -> dict[str, Any]:
        name = {column.id: column.name for column in world[self.table].columns}
        return {"partition_columns": [name[each] for each in self.by]}

    def apply(self, world: World) -> Counts | None:
        world[self.table].by = list(self.by)
        return Counts()

    def ids(self) -> frozenset[Any]:
        return frozenset(self.by)


@dataclass
class Evolve(Statement):
    """INSERT with new columns or wider types; rows have the value of the new one under 0."""

    rows: Rows
    added: tuple[str, str]
    wider: int | None

    def run(self, txn: Transaction, world: World) -> Any:
        model = world[self.table].copy()
        if self.wider is not None:
            widen(model, self.wider)
        columns = [*model.columns, ModelColumn(0, *self.added)]
        fields = [(column.name, arrow_type(column.type)) for column in columns]
        data = [{column.name: row.get(column.id) for column in columns} for row in self.rows]
        table = pa.Table.from_pylist(data, schema=pa.schema(fields))
        return txn.insert(self.table, table, evolve=True)

    def apply(self, world: World) -> Counts | None:
        model = world[self.table]
        if self.wider is not None:
            widen(model, self.wider)
        new = add(model, *self.added)
        rows = [{new if key == 0 else key: each for key, each in row.items()} for row in self.rows]
        return Counts(inserted=model.put(rows))

    def fits(self, world: World) -> bool:
        model = world[self.table]
        is_wide = self.wider is None or (
            model.types.get(self.wider) in NARROW and self.wider not in model.by
        )
        return super().fits(world) and is_wide and is_new(self.added[0], model)

    def ids(self) -> frozenset[Any]:
        return frozenset(key for row in self.rows for key in row) - {0}
