"""Planning: what a statement makes of the files that it saw, as the footprint of its commit.

A statement sees the files of a table at a position, with the vectors that a follower shows there.
It changes or copies rows only by their numbers in these files.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

from ledger.core.commands import Footprint
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, next_digest, packed
from ledger.core.rows.changes import AddedRows, Marks, Moved, RowChanges
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, pack
from tests.simulation.lake import (
    KEY,
    KEYS,
    PARTITIONS,
    Condition,
    DataFile,
    Lake,
    bitmap,
    partition_of,
)

ROWS_MAX: Final = 5


class SeenFile(NamedTuple):
    """A file as a follower shows it; `dead` are the numbers of its deleted rows."""

    data: DataFile
    vector: str
    dead: frozenset[int]

    @property
    def live(self) -> Sequence[int]:
        """The numbers of the rows that are left."""
        return [at for at in range(len(self.data.rows)) if at not in self.dead]


class View(NamedTuple):
    """The files of a table at a position of the log, which has this chain there."""

    table: int
    position: int
    chain: bytes
    files: Sequence[SeenFile]


class Planned(NamedTuple):
    """A statement to commit: its footprint, and the same in two chunks."""

    name: str
    table: int
    read_at: int
    whole: Footprint
    chunks: Sequence[Footprint]


@dataclass(slots=True)
class NewFile:
    """A file while it is written."""

    path: str
    partition: str
    rows: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Statement:
    """One statement over a view, while it is planned."""

    lake: Lake
    chance: Random
    view: View
    operation: str = "WRITE"
    reads: list[str] = field(default_factory=list)
    read_files: list[str] = field(default_factory=list)
    scanned: list[str] = field(default_factory=list)
    is_by_row: bool = True
    data_change: bool = True
    marks: dict[str, Sequence[int]] = field(default_factory=dict)
    read: dict[str, Sequence[int]] = field(default_factory=dict)
    moved: list[Moved] = field(default_factory=list)
    removed: list[SeenFile] = field(default_factory=list)
    files: list[NewFile] = field(default_factory=list)
    new: dict[str, list[int]] = field(default_factory=dict)

    def file(self, partition: str) -> NewFile:
        """Begin a file."""
        found = NewFile(self.lake.new_path(), partition)
        self.files.append(found)
        return found

    def file_of(self, partition: str) -> NewFile:
        """Return a file of a partition that is written already, or begin one."""
        inside = [each for each in self.files if each.partition == partition]
        is_shared = bool(inside) and self.chance.random() < 0.6
        return self.chance.choice(inside) if is_shared else self.file(partition)

    def insert(self, partition: str, key: int) -> None:
        """Write a new row."""
        row = self.lake.new_row(partition, key)
        self.file_of(partition).rows.append(row)
        self.new.setdefault(partition, []).append(row)

    def copy(self, source: SeenFile, numbers: Sequence[int], target: NewFile) -> None:
        """Copy rows of a file, and say where they are."""
        rows = source.data.rows
        stayed = bitmap(set(range(len(rows))) - set(numbers))
        first = len(target.rows)
        target.rows += [rows[at] for at in numbers]
        self.moved.append(Moved(source.data.path, target.path, first, len(numbers), stayed))

    def scan(self, condition: Condition, *, by_row: bool) -> Sequence[SeenFile]:
        """Read the files that may have rows of a condition."""
        self.reads.append(self.lake.note(condition))
        found = [each for each in self.view.files if condition.partition in in_any(each)]
        (self.scanned if by_row else self.read_files).extend(each.data.path for each in found)
        return found

    def hits(self, file: SeenFile, condition: Condition) -> Sequence[int]:
        """Return the numbers of the live rows of a file that fulfil a condition."""
        rows = file.data.rows
        return [at for at in file.live if self.lake.fulfils(rows[at], condition)]

    def planned(self) -> Planned | None:
        """Return the statement as it is to be committed, None if it writes nothing."""
        if not (self.files or self.marks or self.removed):
            return None
        for each in self.files:
            self.lake.write(each.path, each.partition, each.rows)
        name = self.lake.plan(self.view.position, self.view.chain)
        whole = self.footprint(slice(None), slice(None), name)
        first = self.footprint(slice(0, None, 2), slice(0, 1), "")
        last = self.footprint(slice(1, None, 2), slice(1, None), name)
        last = last._replace(staged=1, digest=next_digest(b"", first))
        return Planned(name, self.view.table, self.view.position, whole, (first, last))

    def footprint(self, some: slice, reads: slice, name: str) -> Footprint:
        """Return what a commit record holds of the chosen files and reads."""
        files, removed = self.files[some], self.removed[some]
        listed = FileList(
            [self.added(each) for each in files],
            [as_removed(each, data_change=self.data_change) for each in removed],
            name,
        )
        new = list(self.new.items())[some]
        said = RowChanges(
            [Marks(path, bitmap(rows)) for path, rows in list(self.marks.items())[some]],
            [Marks(path, bitmap(rows)) for path, rows in list(self.read.items())[some]],
            packed(self.scanned[some]),
            self.moved[some],
            [self.told(partition, rows) for partition, rows in new],
        )
        return EMPTY_FOOTPRINT._replace(
            operation=self.operation,
            reads=self.reads[reads],
            read_files=packed(self.read_files[some]),
            adds=distinct(partition_of(each.partition) for each in files),
            removes=packed(each.data.path for each in removed),
            removes_in=distinct(partition_of(each.data.partition) for each in removed),
            data_change=self.data_change,
            rows_added=sum(len(rows) for _, rows in new),
            files=pack(listed),
            rows=said if self.is_by_row else None,
        )

    def added(self, file: NewFile) -> AddFile:
        """Return a file as the commit adds it."""
        stats = json.dumps({"numRecords": len(file.rows)}, separators=(",", ":"))
        values = (file.partition,)
        return AddFile(file.path, values, len(file.rows) * 100, 0, self.data_change, stats)

    def told(self, partition: str, rows: Sequence[int]) -> AddedRows:
        """Return what the commit tells of its new rows in a partition: values, bounds or none."""
        keys = sorted({self.lake.keys[row] for row in rows})
        text = partition_of(partition)
        values = [partition_of(str(key)) for key in keys]
        match len(rows) % 4:
            case 0:
                return AddedRows(text, (), (), "", "")
            case 1:
                return AddedRows(text, [KEY], (), values[0], values[-1])
            case _:
                return AddedRows(text, [KEY], values, "", "")


def in_any(file: SeenFile) -> tuple[str, str]:
    return "", file.data.partition


def distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def as_removed(file: SeenFile, *, data_change: bool) -> RemoveFile:
    return RemoveFile(file.data.path, (file.data.partition,), data_change, file.vector)


def draw_condition(chance: Random) -> Condition:
    """Return a condition: on keys, on a partition, or on both."""
    keys = frozenset(chance.choices(KEYS, k=chance.choice((1, 1, 2, 3))))
    partition = chance.choice(("", *PARTITIONS))
    return Condition(partition, keys if not partition or chance.random() < 0.8 else frozenset())


Draw = Callable[[Statement], None]
