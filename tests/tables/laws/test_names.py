"""Names of columns that mean two things are never confused, whatever reads or writes the table."""

import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.errors import UnreadableTableError
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger
from tests.tables.laws.altering import Evolve, is_new
from tests.tables.laws.hostile_names import (
    NAMES,
    TABLES,
    Hostile,
    conditions,
    drawn_table,
    parts,
    rows,
    value,
)
from tests.tables.laws.statements import (
    Delete,
    Insert,
    Merge,
    ModelClause,
    Statement,
    Update,
    counted,
)
from tests.tables.laws.terms import Term, column, compared, literal
from tests.tables.published_lake import PUBLISHED, PublishedLake
from tests.tables.row_files import tuples

NAME = "db.t"
CHANGED = ("_change_type", "_commit_version", "_position", "_commit_timestamp")


class NamedTable:
    """A table of a ledger beside its model."""

    def __init__(
        self, ledger: Ledger, folder: Path, drawn: Hostile, rng: Random, *, published: bool
    ) -> None:
        self.ledger, self.folder, self.rng, self.published = ledger, folder, rng, published
        self.model = drawn.model()
        self.steps = [f"{drawn.pairs} by {drawn.partition_columns}"]
        ledger.create_table(
            NAME,
            drawn.pairs,
            partition_columns=drawn.partition_columns,
            location=folder / "t",
            properties=PUBLISHED if published else {},
        )

    def do(self, made: Statement) -> None:
        self.steps.append(repr(made))
        world = {NAME: self.model}
        with self.ledger.transaction() as txn:
            made.run(txn, world)
        made.apply(world)

    def insert(self) -> None:
        made = rows(self.rng, self.model, self.rng.randint(1, 3))
        self.do(Insert(NAME, made, self.rng.choice(["dicts", "columns", "arrow"])))

    def import_file(self) -> None:
        """Add a file of another writer, without ids of columns."""
        (row,) = rows(self.rng, self.model, 1)
        inside = [each for each in self.model.columns if each.id not in self.model.by]
        schema = self.ledger.scan(NAME, columns=[each.name for each in inside]).to_arrow().schema
        data = [{each.name: row[each.id] for each in inside}]
        place = f"other-{len(self.steps)}.parquet"
        pq.write_table(pa.Table.from_pylist(data, pa.schema(schema)), self.folder / "t" / place)
        keys = {each.name: row[each.id] for each in self.model.columns}
        by = [keys[each] for each in self.ledger.table(NAME).definition.partition_columns]
        values = tuple(None if each is None else str(each) for each in by)
        self.ledger.append(NAME, [AddFile(place, values)])
        self.model.put([row])

    def condition(self) -> Term:
        return self.rng.choice(list(conditions(self.rng, self.model)))

    def update(self) -> None:
        """Set a column, by a constant and by another column."""
        each = self.rng.choice(self.model.columns)
        terms = [term for term, type_, _ in parts(self.model) if type_ == each.type]
        set_: Any = value(self.rng, each)
        if terms and self.rng.random() < 0.6:
            set_ = self.rng.choice(terms)
        elif isinstance(set_, str):
            set_ = literal(set_)
        self.do(Update(NAME, {each.id: set_}, self.condition()))

    def merge(self) -> None:
        """Merge rows by a column or a field, which the rows have once each."""
        term, *_ = self.rng.choice(list(parts(self.model)))
        source: dict[Any, dict[int, Any]] = {}
        for row in rows(self.rng, self.model, 4):
            source.setdefault(term.value(row), row)
        here = list(parts(self.model, lambda id_: ("target", id_)))
        there = list(parts(self.model, lambda id_: ("source", id_)))
        at = [str(part) for part, *_ in parts(self.model)].index(str(term))
        on = compared("=", here[at][0], there[at][0])
        clauses = [
            ModelClause("matched", "update", None, None),
            ModelClause("not_matched", "insert", None, None),
        ]
        if self.rng.random() < 0.5:
            sets = {each.id: column(("source", each.id)) for each in self.model.columns}
            some = self.rng.sample(sorted(sets), k=self.rng.randint(1, len(sets)))
            clauses[0] = ModelClause("matched", "update", {key: sets[key] for key in some}, None)
        self.do(Merge(NAME, list(source.values()), on, clauses, "arrow"))

    def delete(self) -> None:
        self.do(Delete(NAME, self.condition()))

    def new_name(self) -> str:
        while True:
            name = self.rng.choice(NAMES)
            if is_new(name, self.model):
                return name

    def evolve(self) -> None:
        """Insert rows with a column more."""
        made = rows(self.rng, self.model, 2)
        self.do(Evolve(NAME, [row | {0: 7} for row in made], (self.new_name(), "int"), None))

    def rename(self) -> None:
        """Rename a column."""
        each = self.rng.choice(self.model.columns)
        new = self.new_name()
        self.steps.append(f"rename {each.name} to {new}")

        def change(before: TableDefinition) -> TableDefinition:
            columns = [
                found._replace(name=new) if found.name == each.name else found
                for found in before.columns
            ]
            by = [new if name == each.name else name for name in before.partition_columns]
            return before._replace(columns=columns, partition_columns=by)

        self.ledger.alter_table(NAME, change)
        renamed = each._replace(name=new)
        self.model.columns = [renamed if found == each else found for found in self.model.columns]

    def drop(self) -> None:
        """Drop a column, and make another one of its name."""
        free = [each for each in self.model.columns if each.id not in self.model.by]
        if len(free) < 2:
            return
        each = self.rng.choice(free)
        self.steps.append(f"drop {each.name}")
        kept = [found for found in self.model.columns if found != each]
        pairs = [(found.name, found.type) for found in kept]
        self.ledger.alter_table(NAME, columns=pairs)
        self.ledger.alter_table(NAME, columns=[*pairs, (each.name, "int")])
        self.model.highest += 1
        again = each._replace(id=self.model.highest, type="int")
        self.model.columns = [*kept, again]
        for row in self.model.rows.values():
            row.pop(each.id, None)

    def check(self, *, is_last: bool = False) -> None:
        """Compare a scan, conditions on each column, SQL, and the changes with the model."""
        whole = self.ledger.scan(NAME).to_arrow()
        assert whole.column_names == [each.name for each in self.model.columns]
        assert counted(whole) == self.model.counted()
        found = list(conditions(self.rng, self.model))
        several = found if is_last else self.rng.sample(found, k=min(len(found), 4))
        for where in several:
            text = where.text(self.model.names)
            scanned = self.ledger.scan(NAME, text).to_arrow()
            assert counted(scanned) == self.model.counted(where), text
        self.check_sql(self.rng.choice(several))

    def check_sql(self, where: Term) -> None:
        """Compare the answers of queries."""
        names = {key: f"`u u`.{name}" for key, name in self.model.names.items()}
        query = in_duckdb(f"FROM {NAME} AS `u u` WHERE {where.text(names)}")
        assert counted(self.ledger.sql(query).to_arrow()) == self.model.counted(where), query

    def check_changes(self) -> None:
        """What the changes add less what they take away is what there is.

        A table with a column that changes have too is refused by name.
        """
        taken = {each.name.lower() for each in self.model.columns} & set(CHANGED)
        if taken:
            with pytest.raises(UnreadableTableError, match=f"{min(taken)}.*rename the column"):
                list(self.ledger.changes(NAME).rows())
            return
        net: Counter[Any] = Counter()
        for commit in self.ledger.changes(NAME):
            table = commit.rows()
            kept = table.select(table.column_names[: -len(CHANGED)])
            for row, kind in zip(tuples(kept), table["_change_type"].to_pylist(), strict=True):
                net[row] += 1 if kind in {"insert", "update_postimage"} else -1
        assert +net == self.model.counted()
        assert not -net


def in_duckdb(sql: str) -> str:
    """Return a query in DuckDB's SQL."""
    names = re.sub(
        r"`((?:[^`]|``)*)`",
        lambda found: '"' + found[1].replace("``", "`").replace('"', '""') + '"',
        sql,
    )
    return names.replace("<=>", "IS NOT DISTINCT FROM")


def play(memory: InMemoryLedger, ledger: Ledger, folder: Path, drawn: Hostile, seed: int) -> None:
    """Go through all statements with a table, which is published or not."""
    is_published = seed % 2 == 1
    rng = Random(seed)  # noqa: S311 - a table must come back from its seed
    table = NamedTable(ledger, folder, drawn, rng, published=is_published)
    lake = PublishedLake(memory, ledger, folder)
    files = [table.insert] if is_published else [table.insert, table.import_file]
    try:
        for step in (
            *(*files, table.insert, table.update, table.merge, table.check_changes, table.delete),
            *(table.rename, *files, table.evolve, table.drop, table.insert, table.update),
            *(table.merge, table.delete, table.check_changes),
        ):
            step()
            table.check()
            lake.note()
        table.check(is_last=True)
        lake.publish()
        assert (lake.check(["deltalake", "duckdb"]) > 0) == is_published
    except BaseException as error:
        error.add_note("\n  ".join(table.steps))
        raise


SHORT = (0, 5, 7)


@pytest.mark.parametrize(
    "at",
    [pytest.param(at, marks=() if at in SHORT else pytest.mark.slow) for at in range(len(TABLES))],
)
def test_names(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path, at: int) -> None:
    """Rows, conditions, SQL, changes and the published log are those of the model."""
    play(memory, ledger, tmp_path, TABLES[at], at)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_drawn_names(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path, seed: int) -> None:
    """The same for tables that are drawn."""
    play(memory, ledger, tmp_path, drawn_table(Random(seed)), seed)  # noqa: S311


REFUSED = ["", "a\tb", "a\nb", "a\0b"]


@pytest.mark.parametrize("name", REFUSED)
def test_refused_names(ledger: Ledger, tmp_path: Path, name: str) -> None:
    """A name that no table can have is refused by name, and nothing is left."""
    with pytest.raises(ValueError, match="the name of a column must not"):
        ledger.create_table(NAME, [("n", "int"), (name, "int")], location=tmp_path / "t")
    assert ledger.tables() == []
    assert not (tmp_path / "t").exists()
