"""Random histories of a table, by statements that users give."""

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

from ledger import Ledger
from ledger.core.commands import Column
from ledger.definitions.definitions import ColumnLike
from ledger.reads.port import TableRow

NAME: Final = "db.t"
COLUMNS: Final = [
    ("id", "BIGINT"),
    ("part", "STRING"),
    ("at", "TIMESTAMP"),
    ("day", "DATE"),
    ("price", "DECIMAL(10,2)"),
    ("num", "INT"),
    ("plain", "TIMESTAMP_NTZ"),
    ("ok", "BOOLEAN"),
    ("raw", "BINARY"),
    ("half", "DOUBLE"),
    ("who", "STRUCT<name: STRING, tags: ARRAY<STRING>, deep: STRUCT<x: INT>>"),
    ("props", "MAP<STRING, INT>"),
]
PARTITIONS: Final[tuple[list[str], ...]] = (
    [],
    ["part"],
    ["day", "num"],
    ["days(at)"],
    ["bucket(4, id)", "part"],
    ["truncate(1, part)", "months(day)"],
    ["years(at)", "hours(plain)"],
    ["price"],
    ["truncate(10, num)", "ok"],
)
DAY: Final = dt.date(2025, 12, 30)
TEXTS: Final = ("a", "b c", "ü/=%20", "x'y", None)


class RandomTable:
    """A table that changes by chance; `play` makes one change and returns what it was."""

    def __init__(self, ledger: Ledger, folder: Path, seed: int, *, form: str) -> None:
        random = Random(seed)  # noqa: S311 - a history must come back from its seed
        self.ledger, self.random, self.name = ledger, random, NAME
        self._next = 1
        self._spare = 0
        grain = random.choice(("marks", "rewrite"))
        properties = {"lakeledger.rows": grain, "iceberg.format-version": form}
        ledger.create_table(
            NAME,
            COLUMNS,
            location=str(folder),
            partition_columns=random.choice(PARTITIONS),
            properties=properties,
        )

    @property
    def row(self) -> TableRow:
        """The table as it is now."""
        return self.ledger.table(self.name)

    def play(self) -> str:
        """Make a change, and return its name."""
        chosen = self.random.choice(tuple(self._changes))
        self._changes[chosen](self)
        return chosen

    def append(self) -> None:
        rows = [self._made() for _ in range(self.random.randint(1, 6))]
        self.ledger.append(self.name, rows)

    def delete(self) -> None:
        if "id" in self._names():
            self.ledger.delete(self.name, f"id % 5 = {self.random.randint(0, 4)}")

    def update(self) -> None:
        if {"id", "num"} <= self._names():
            where = f"id % 7 = {self.random.randint(0, 6)}"
            self.ledger.update(self.name, {"num": "num + 1"}, where)

    def optimize(self) -> None:
        self.ledger.optimize(self.name)

    def restore(self) -> None:
        version = self.row.version
        self.ledger.restore(self.name, version=self.random.randint(max(0, version - 3), version))

    def overwrite(self) -> None:
        self.ledger.overwrite(self.name, [self._made() for _ in range(3)])

    def add_column(self) -> None:
        self._spare += 1
        columns: list[ColumnLike] = [*self._columns(), (f"new{self._spare}", "STRING")]
        self.ledger.alter_table(self.name, columns=columns)

    def rename_column(self) -> None:
        self._spare += 1
        columns = self._columns()
        at = self.random.randrange(len(columns))
        if columns[at].name in ("id", "num") or self._divides(columns[at].name):
            return
        columns[at] = columns[at]._replace(name=f"other{self._spare}")
        self.ledger.alter_table(self.name, columns=columns)

    def drop_column(self) -> None:
        columns = self._columns()
        at = self.random.randrange(len(columns))
        if len(columns) < 4 or self._divides(columns[at].name):
            return
        self.ledger.alter_table(self.name, columns=[*columns[:at], *columns[at + 1 :]])

    def repartition(self) -> None:
        wanted = self.random.choice(PARTITIONS)
        names = self._names()
        if all(any(name in text for name in names) for text in wanted):
            known = [each for each in wanted if self._sources(each) <= names]
            self.ledger.alter_table(self.name, partition_columns=known)

    def note(self) -> None:
        self._spare += 1
        self.ledger.alter_table(self.name, properties={"owner": f"bob {self._spare}"})

    def rename_table(self) -> None:
        self._spare += 1
        self.ledger.rename_table(self.name, f"db.t{self._spare}")
        self.name = f"db.t{self._spare}"

    def _columns(self) -> list[Column]:
        return list(self.row.definition.columns)

    def _names(self) -> set[str]:
        return {each.name for each in self._columns()}

    @staticmethod
    def _sources(text: str) -> set[str]:
        return {text.rpartition("(")[2].rstrip(")").rpartition(", ")[2]}

    def _divides(self, name: str) -> bool:
        by = self.row.definition.partition_columns
        return any(name in self._sources(each) for each in by)

    def _made(self) -> dict[str, Any]:
        self._next += 1
        number, random = self._next, self.random
        moment = dt.datetime(2025, 12, 31, 22, 30, tzinfo=dt.UTC) + dt.timedelta(
            minutes=random.randint(0, 300), microseconds=number
        )
        full: Mapping[str, Any] = {
            "id": number,
            "part": random.choice(TEXTS),
            "at": moment,
            "day": DAY + dt.timedelta(days=random.randint(0, 3)),
            "price": Decimal(random.randint(-500, 500)) / 100,
            "num": random.choice((None, -15, 7, 2_000_000_000)),
            "plain": moment.replace(tzinfo=None),
            "ok": random.choice((True, False, None)),
            "raw": random.choice((b"", b"\xff\0", None)),
            "half": random.choice((0.5, -1e300, None)),
            "who": random.choice((None, {"name": "n", "tags": ["x", None], "deep": {"x": number}})),
            "props": random.choice((None, [("k", 1), ("l", None)])),
        }
        known = self._names()
        made = {name: each for name, each in full.items() if name in known}
        made |= {name: f"v{number}" for name in known if name.startswith("new")}
        return made

    _changes: Final[Mapping[str, Callable[["RandomTable"], None]]] = {
        "append": append,
        "append again": append,
        "append more": append,
        "delete": delete,
        "delete again": delete,
        "update": update,
        "update again": update,
        "optimize": optimize,
        "restore": restore,
        "overwrite": overwrite,
        "add column": add_column,
        "rename column": rename_column,
        "drop column": drop_column,
        "repartition": repartition,
        "note": note,
        "rename": rename_table,
    }
