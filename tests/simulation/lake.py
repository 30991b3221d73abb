"""The lake: the data files of tables with marks, as lists of row ids.

A data file never changes, and a row id names one row for ever, whichever files it is copied to. The
lake is what all writers and the model share. It says nothing about what is committed.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.conflicts.footprints import path_hash
from ledger.core.partitions.names import partition_text
from ledger.core.rows.bitmaps import bytes_of, empty, rows_in
from ledger.core.rows.changes import ToldColumn

PARTITIONS: Final = ("1", "2")
KEYS: Final = range(12)
KEY: Final = ToldColumn("k", "int")
BY_ROW: Final = Property("lakeledger.rows", "marks")
LEVEL: Final = "delta.isolationLevel"
LEVELS: Final = ("WriteSerializable", "WriteSerializable", "Serializable", "SnapshotIsolation")


class DataFile(NamedTuple):
    """A data file: the ids of its rows, in their order, and the value of its partition."""

    path: str
    partition: str
    rows: Sequence[int]


class Condition(NamedTuple):
    """A condition on rows: a partition ("" = any) and some keys (none = any)."""

    partition: str
    keys: frozenset[int]

    def holds(self, partition: str, key: int) -> bool:
        """Tell whether a row fulfils it."""
        return self.partition in {"", partition} and (not self.keys or key in self.keys)

    def wire(self) -> str:
        """Return the form that a footprint has for it."""
        parts: list[Any] = []
        if self.partition:
            parts.append(["=", ["col", "p"], ["lit", self.partition, "string"]])
        if self.keys:
            keys = [["lit", str(key), "int"] for key in sorted(self.keys)]
            column = ["col", KEY.name]
            parts.append(["in", column, keys] if len(keys) > 1 else ["=", column, *keys])
        if not parts:
            return '["lit","true","boolean"]'
        return json.dumps(parts[0] if len(parts) == 1 else ["and", *parts], separators=(",", ":"))


class Plan(NamedTuple):
    """Where a plan was made: a position, and the chain that the log had there."""

    position: int
    chain: bytes


@dataclass(slots=True)
class Lake:
    """All data files of a run, the rows in them, and what was planned from which log.

    `keys` and `partitions` are by row id, `paths` by hash. `asked` are the plans that a command
    commits, by its session and number. `tables` are the tables with marks.
    """

    files: dict[str, DataFile] = field(default_factory=dict)
    paths: dict[bytes, str] = field(default_factory=dict)
    keys: dict[int, int] = field(default_factory=dict)
    partitions: dict[int, str] = field(default_factory=dict)
    conditions: dict[str, Condition] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    asked: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    tables: list[int] = field(default_factory=list)

    def new_path(self) -> str:
        """Return a path that no file has."""
        path = f"{len(self.paths)}.parquet"
        self.paths[path_hash(path)] = path
        return path

    def new_row(self, partition: str, key: int) -> int:
        """Return the id of a new row."""
        row = len(self.keys) + 1
        self.keys[row], self.partitions[row] = key, partition
        return row

    def write(self, path: str, partition: str, rows: Sequence[int]) -> DataFile:
        """Keep a new file with its rows in their order, so that it can be read and rewritten."""
        self.files[path] = DataFile(path, partition, tuple(rows))
        return self.files[path]

    def note(self, condition: Condition) -> str:
        """Return the wire form of a condition, which the model finds it by."""
        text = condition.wire()
        self.conditions[text] = condition
        return text

    def plan(self, position: int, chain: bytes) -> str:
        """Return the name of a plan made at a position."""
        name = f'{{"plan":{len(self.plans)}}}'
        self.plans[name] = Plan(position, chain)
        return name

    def fulfils(self, row: int, condition: Condition) -> bool:
        """Tell whether a row fulfils a condition."""
        return condition.holds(self.partitions[row], self.keys[row])


def marked_table(level: str) -> TableDefinition:
    """Return a definition whose grain is the row, judged at a level."""
    columns = [Column(*KEY, nullable=True, id=1), Column("p", "string", nullable=True, id=2)]
    said = [Property(LEVEL, level), BY_ROW]
    return TableDefinition("managed", "listed", "file:///lake/m", columns, ["p"], said)


def bitmap(numbers: Iterable[int]) -> bytes:
    """Return row numbers as a footprint has them."""
    found = empty()
    found.update(numbers)
    return bytes_of(found)


def numbers_in(data: bytes) -> list[int]:
    """Return the row numbers of a bitmap."""
    return list(rows_in(data))


def partition_of(value: str) -> str:
    """Return the text of a partition."""
    return partition_text((value,))
