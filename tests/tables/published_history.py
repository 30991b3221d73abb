"""Histories of published tables: statements, changes of tables, aborts and imports, from a seed."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from ledger.arrow.types import arrow_type
from ledger.client import Ledger
from ledger.core.commands import Column, TableDefinition
from ledger.delta.importer import import_delta
from ledger.properties.column_mapping import PUBLISH
from ledger.reads.port import TableRow
from ledger.testing import InMemoryLedger
from projections.delta.actions.metadata_action import FOLDER
from tests.tables.published_lake import PUBLISHED, PublishedLake

COLUMNS: Final = [
    ("day", "int"),
    ("id", "bigint"),
    ("text", "string"),
    ("amount", "int"),
    ("s", "struct<a:bigint,b:string>"),
]
KINDS: Final = ["int", "bigint", "string", "double", "date", "timestamp_ntz", "decimal(10,2)"]
TEXTS: Final = ["a b", "", "x/=%'é", "ü\n", None, "pen"]
NAMES: Final = ["extra", "a b", "Über", "x.y", "p=q", "back`tick", "order"]
STEPS: Final = 12


class PublishedHistory(PublishedLake):
    """A ledger with two published tables that goes through random steps.

    `did` names the steps, for the message of a failure.
    """

    def __init__(self, memory: InMemoryLedger, ledger: Ledger, folder: Path, seed: int) -> None:
        super().__init__(memory, ledger, folder)
        self.rng = Random(seed)  # noqa: S311 - a history must come back from its seed
        self.did: list[str] = []
        self._made = 0
        self.create("a", ["day"])
        if self.rng.random() < 0.4:
            self.bring("b")
        else:
            self.create("b", self.rng.choice([[], ["text"], ["day", "text"]]))
        self.note()

    def play(self, steps: int = STEPS) -> None:
        for _ in range(steps):
            step = self.rng.choice(STEPS_OF)
            name = self.rng.choice([row.name for row in self.ledger.tables()])
            self.did.append(f"{step.__name__} {name}")
            step(self, self.ledger.table(name))
            self.note()

    def place(self, name: str) -> Path:
        """Return a folder for a new table."""
        self._made += 1
        return self.folder / f"{name}-{self._made}"

    def create(self, name: str, by: Sequence[str]) -> None:
        """Create a table with some rows."""
        self.did.append(f"create {name} by {by}")
        row = self.ledger.create_table(
            name, COLUMNS, partition_columns=by, location=self.place(name), properties=PUBLISHED
        )
        self.ledger.append(row, self.rows(row))

    def bring(self, name: str) -> None:
        """Import a Delta table of another writer, and publish it into a folder beside its data."""
        self.did.append(f"import {name}")
        place = self.place(f"of {name}")
        schema = pa.schema([pa.field(each, arrow_type(kind)) for each, kind in COLUMNS])
        for _ in range(3):
            made = [self.value(each) for each in [COLUMNS] * 4]
            write_deltalake(
                place, pa.Table.from_pylist(made, schema), mode="append", partition_by=["day"]
            )
        DeltaTable(place).delete("id = 1")
        import_delta(self.ledger, place, name)
        self.ledger.alter_table(name, properties={**PUBLISHED, FOLDER: str(self.place("log"))})

    def value(self, columns: Sequence[tuple[str, str]]) -> dict[str, Any]:
        return {name: self.drawn(kind) for name, kind in columns}

    def drawn(self, kind: str) -> Any:
        """Return a value of a type, sometimes NULL."""
        rng = self.rng
        if rng.random() < 0.15:
            return None
        if kind.startswith("struct"):
            return {"a": rng.randint(0, 9), "b": rng.choice(TEXTS)}
        day = date(2024, 1, rng.randint(1, 28))
        drawn: dict[str, Callable[[], Any]] = {
            "string": lambda: rng.choice(TEXTS),
            "double": lambda: rng.choice([1.5, float("nan"), float("inf"), -0.0, 3.0]),
            "date": lambda: day,
            "timestamp_ntz": lambda: pa.scalar(day, pa.date32()).cast(pa.timestamp("us")).as_py(),
            "decimal(10,2)": lambda: (
                pa.scalar(rng.randint(0, 99)).cast(pa.decimal128(21, 2)).as_py()
            ),
        }
        return drawn.get(kind, lambda: rng.randint(0, 5))()

    def rows(self, row: TableRow, count: int = 4) -> list[dict[str, Any]]:
        columns = [
            (column.name, column.type) for column in self.ledger.table(row.name).definition.columns
        ]
        return [self.value(columns) for _ in range(count)]

    def data_columns(self, row: TableRow) -> list[Column]:
        """Return the columns that no partition depends on, without the key."""
        return [
            column
            for column in row.definition.columns
            if column.name not in row.definition.partition_columns
        ]


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def condition(lake: PublishedHistory, row: TableRow) -> str:
    kinds = {column.name: column.type for column in row.definition.columns}
    name = lake.rng.choice([name for name, kind in kinds.items() if not kind.startswith("struct")])
    draw = lake.rng.choice(["IS NULL", "IS NOT NULL", "low"])
    if draw == "low" and kinds[name] in {"int", "bigint"}:
        return f"{quoted(name)} <= {lake.rng.randint(0, 4)}"
    return f"{quoted(name)} {'IS NULL' if draw == 'low' else draw}"


def insert(lake: PublishedHistory, row: TableRow) -> None:
    lake.ledger.append(row, lake.rows(row))


def insert_and_evolve(lake: PublishedHistory, row: TableRow) -> None:
    """INSERT with a new column, and a wider one."""
    known = {column.name.lower() for column in row.definition.columns}
    name = lake.rng.choice([each for each in NAMES if each.lower() not in known] or ["fresh"])
    kind = lake.rng.choice(KINDS)
    columns = [(column.name, column.type) for column in row.definition.columns]
    if name.lower() not in known:
        columns.append((name, kind))
    schema = pa.schema([pa.field(each, arrow_type(kind)) for each, kind in columns])
    rows = pa.Table.from_pylist([lake.value(columns) for _ in range(3)], schema)
    lake.ledger.append(row, rows, evolve=True)


def delete(lake: PublishedHistory, row: TableRow) -> None:
    with lake.ledger.transaction() as txn:
        txn.delete(row, condition(lake, row))


def update(lake: PublishedHistory, row: TableRow) -> None:
    column = lake.rng.choice(row.definition.columns)
    with lake.ledger.transaction() as txn:
        txn.update(row, {column.name: None}, condition(lake, row))


def overwrite(lake: PublishedHistory, row: TableRow) -> None:
    with lake.ledger.transaction() as txn:
        txn.overwrite(row, lake.rows(row))


def merge(lake: PublishedHistory, row: TableRow) -> None:
    key = next((column for column in row.definition.columns if column.type == "bigint"), None)
    if key is None:
        return
    source = {repr(each[key.name]): each for each in lake.rows(row)}
    with lake.ledger.transaction() as txn:
        txn.merge(
            row,
            list(source.values()),
            f"target.{quoted(key.name)} = source.{quoted(key.name)}",
            when_matched_update=True,
            when_not_matched_insert=True,
        )


def optimize(lake: PublishedHistory, row: TableRow) -> None:
    with lake.ledger.transaction() as txn:
        txn.optimize(row)


def abort(lake: PublishedHistory, row: TableRow) -> None:
    txn = lake.ledger.begin()
    txn.insert(row, lake.rows(row))
    txn.delete(row, condition(lake, row))
    txn.abort()


def several(lake: PublishedHistory, row: TableRow) -> None:
    """A txn over all tables, with progress and a domain."""
    with lake.ledger.transaction() as txn:
        for table in lake.ledger.tables():
            txn.insert(table, lake.rows(table))
        txn.delete(row, condition(lake, row))
        txn.set_domain(row, "acme.notes", '{"n": 1}')


def nothing(lake: PublishedHistory, row: TableRow) -> None:
    """A commit without files."""
    with lake.ledger.transaction() as txn:
        txn.set_domain(row, f"acme.{lake.rng.randint(0, 3)}", lake.rng.choice(["{}", "[]"]))


def add_column(lake: PublishedHistory, row: TableRow) -> None:
    known = {each.name.lower() for each in row.definition.columns}
    names = [each for each in (*NAMES, "id", "text", "amount") if each.lower() not in known]
    if names:
        column = lake.rng.choice(names), lake.rng.choice(KINDS)
        lake.ledger.alter_table(row, columns=[*row.definition.columns, column])


def drop_column(lake: PublishedHistory, row: TableRow) -> None:
    inside = lake.data_columns(row)
    if len(inside) > 1:
        gone = lake.rng.choice(inside)
        lake.ledger.alter_table(
            row, columns=[column for column in row.definition.columns if column != gone]
        )


def rename_column(lake: PublishedHistory, row: TableRow) -> None:
    """ALTER TABLE ... RENAME COLUMN."""
    known = {column.name.lower() for column in row.definition.columns}
    names = [each for each in (*NAMES, "day", "id", "text") if each.lower() not in known]
    if not names:
        return
    old, new = lake.rng.choice(row.definition.columns).name, lake.rng.choice(names)

    def change(before: TableDefinition) -> TableDefinition:
        columns = [
            column._replace(name=new) if column.name == old else column for column in before.columns
        ]
        by = [new if column == old else column for column in before.partition_columns]
        return before._replace(columns=columns, partition_columns=by)

    lake.ledger.alter_table(row, change)


def repartition(lake: PublishedHistory, row: TableRow) -> None:
    """A table is partitioned otherwise, and its rows written anew."""
    plain = [column.name for column in row.definition.columns if column.type in {"int", "string"}]
    by = lake.rng.sample(plain, min(len(plain), lake.rng.randint(0, 2)))
    with lake.ledger.transaction() as txn:
        txn.alter_table(row, partition_columns=by)
        txn.overwrite(row, lake.rows(row))


def rename_table(lake: PublishedHistory, row: TableRow) -> None:
    lake.ledger.rename_table(row, f"{row.name}x")


def make_again(lake: PublishedHistory, row: TableRow) -> None:
    """A table is dropped, and one of its name made."""
    lake.ledger.drop_table(row)
    lake.create(row.name, lake.rng.choice([[], ["day"]]))


def publish_or_not(lake: PublishedHistory, row: TableRow) -> None:
    """A table is no longer published, and later published again elsewhere."""
    if any(each.key == PUBLISH for each in row.definition.properties):
        lake.ledger.alter_table(row, unset=[PUBLISH])
    lake.ledger.append(row, lake.rows(row))
    folder = str(lake.place("an other"))
    lake.ledger.alter_table(row, properties={**PUBLISHED, FOLDER: folder})


STEPS_OF: Final = [
    *(insert, insert, insert, insert_and_evolve, delete, delete, update, overwrite, merge),
    *(optimize, abort, several, nothing, add_column, drop_column, rename_column, repartition),
    *(rename_table, make_again, publish_or_not),
]
