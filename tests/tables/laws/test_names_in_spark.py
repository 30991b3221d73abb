"""Names of columns that mean two things are never confused by statements of Spark SQL."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ledger.testing import InMemoryLedger
from spark_sink import Lake, attach
from tests.spark_sink.conftest import spark
from tests.tables.laws.hostile_names import TABLES, Hostile, conditions, drawn_table, fields_of
from tests.tables.laws.model import TableModel, quoted
from tests.tables.laws.statements import Delete, Insert, Merge, Statement, Update, counted
from tests.tables.laws.terms import Term, spelled
from tests.tables.laws.test_names import NAME, NamedTable

__all__ = ["spark"]

TABLE = f"ledger.{NAME}"
SEEDS = range(6)
# Java takes them for one letter, and so for one name.
ALIKE = {"\u0130", "\u0131"}
# Spark puts its own values into such columns.
OF_SPARK = {"__row_operation", "__row_from_source", "__row_from_target", "__row_id"}


class SparkTable(NamedTable):
    """A table whose statements are those of Spark SQL."""

    def __init__(self, lake: Lake, folder: Path, drawn: Hostile, rng: Random) -> None:
        super().__init__(lake.ledger, folder, drawn, rng, published=False)
        self.spark = lake.spark

    def do(self, made: Statement) -> None:
        self.sql(sql_of(made, self.model))
        made.apply({NAME: self.model})

    def sql(self, statement: str) -> Any:
        self.steps.append(statement)
        return self.spark.sql(statement).toArrow()

    def rename(self) -> None:
        free = [column for column in self.model.columns if column.id not in self.model.by]
        each, new = self.rng.choice(free), self.new_name()
        self.sql(f"ALTER TABLE {TABLE} RENAME COLUMN {quoted(each.name)} TO {quoted(new)}")
        renamed = each._replace(name=new)
        self.model.columns = [renamed if found == each else found for found in self.model.columns]

    def drop(self) -> None:
        """Drop a column, and add another one of its name."""
        free = [column for column in self.model.columns if column.id not in self.model.by]
        if len(free) < 2:
            return
        each = self.rng.choice(free)
        self.sql(f"ALTER TABLE {TABLE} DROP COLUMN {quoted(each.name)}")
        self.sql(f"ALTER TABLE {TABLE} ADD COLUMN {quoted(each.name)} INT")
        self.model.highest += 1
        kept = [found for found in self.model.columns if found != each]
        self.model.columns = [*kept, each._replace(id=self.model.highest, type="int")]
        for row in self.model.rows.values():
            row.pop(each.id, None)

    def check(self, *, is_last: bool = False) -> None:
        """Compare the rows, and those of conditions, as Spark and a scan find them."""
        whole = self.sql(f"TABLE {TABLE}")
        assert whole.column_names == [column.name for column in self.model.columns]
        assert counted(whole) == self.model.counted()
        found = list(conditions(self.rng, self.model))
        for where in found if is_last else self.rng.sample(found, k=min(len(found), 2)):
            text = where.text(self.model.names)
            shown = self.sql(f"SELECT * FROM {TABLE} WHERE {text}")  # noqa: S608
            assert counted(shown) == self.model.counted(where), text
            assert counted(self.ledger.scan(NAME, text).to_arrow()) == counted(shown), text


def sql_of(made: Statement, model: TableModel) -> str:
    match made:
        case Insert():
            return f"INSERT INTO {TABLE} {relation(made.rows, model)}"
        case Delete(where=where):
            return f"DELETE FROM {TABLE} WHERE {where.text(model.names) if where else 'TRUE'}"  # noqa: S608
        case Update(where=where):
            sets = ", ".join(
                f"{model.names[key]} = {sent(each, model.types[key], model.names)}"
                for key, each in made.sets.items()
            )
            end = where.text(model.names) if where else "TRUE"
            return f"UPDATE {TABLE} SET {sets} WHERE {end}"  # noqa: S608
        case Merge():
            return merge_of(made, model)
    raise AssertionError(made)


def merge_of(made: Merge, model: TableModel) -> str:
    """Return a MERGE as Spark SQL has it."""
    names = {
        (side, key): f"{side}.{name}"
        for side in ("target", "source")
        for key, name in model.names.items()
    }
    lines = [
        f"MERGE INTO {TABLE} AS target USING ({relation(made.source, model)}) AS source",
        f"ON {made.on.text(names)}",
    ]
    for clause in made.clauses:
        if clause.kind == "not_matched":
            lines.append("WHEN NOT MATCHED THEN INSERT *")
        elif clause.sets is None:
            lines.append("WHEN MATCHED THEN UPDATE SET *")
        else:
            sets = [
                f"target.{model.names[key]} = {value.text(names)}"
                for key, value in clause.sets.items()
            ]
            lines.append(f"WHEN MATCHED THEN UPDATE SET {', '.join(sets)}")
    return " ".join(lines)


def relation(rows: Any, model: TableModel) -> str:
    """Return rows as a query."""
    return " UNION ALL ".join(
        "SELECT "
        + ", ".join(
            f"{valued(row.get(column.id), column.type)} AS {quoted(column.name)}"
            for column in model.columns
        )
        for row in rows
    )


def sent(value: Any, type_: str, names: Any) -> str:
    return value.text(names) if isinstance(value, Term) else valued(value, type_)


def valued(value: Any, type_: str) -> str:
    """Return a value as a literal of its type."""
    if value is None:
        found = "NULL"
    elif names := fields_of(type_):
        pairs = (f"{spelled(name)}, {value[name]}" for name in names)
        found = f"named_struct({', '.join(pairs)})"
    elif type_.startswith("array"):
        found = f"array({', '.join(map(str, value))})"
    elif type_.startswith("map"):
        found = f"map({', '.join(f'{spelled(key)}, {each}' for key, each in value)})"
    else:
        found = spelled(value)
    return f"CAST({found} AS {type_})"


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("at", range(len(TABLES) + len(SEEDS)))
def test_names_in_spark(spark: SparkSession, tmp_path: Path, at: int) -> None:
    """INSERT, UPDATE, DELETE, MERGE, ALTER and conditions have the rows of the model."""
    rng = Random(at)  # noqa: S311 - a table must come back from its seed
    drawn = TABLES[at] if at < len(TABLES) else drawn_table(rng)
    with InMemoryLedger() as memory:
        lake = attach(spark, memory.connect(application="spark", warehouse=str(tmp_path)))
        table = SparkTable(lake, tmp_path, drawn, rng)
        if {column.name for column in table.model.columns} >= ALIKE:
            with pytest.raises(Exception, match="whose names Spark takes for one"):
                table.insert()
            return
        play(table)


def play(table: SparkTable) -> None:
    """Go through the statements."""
    try:
        if OF_SPARK & {column.name.lower() for column in table.model.columns}:
            table.insert()
            table.check()
            with pytest.raises(Exception, match="a name that Spark needs for itself"):
                table.update()
            with pytest.raises(Exception, match="a name that Spark needs for itself"):
                table.merge()
            return
        for step in (
            *(table.insert, table.insert, table.update, table.merge, table.delete),
            *(table.insert, table.rename, table.drop, table.insert, table.merge, table.update),
        ):
            step()
            table.check()
        table.check(is_last=True)
        table.check_changes()
    except BaseException as error:
        error.add_note("\n  ".join(table.steps))
        raise
