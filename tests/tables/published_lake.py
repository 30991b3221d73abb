"""A ledger whose tables are published, and what every other reader shows of them."""

from collections.abc import Collection, Mapping
from pathlib import Path
from threading import Event as Signal
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.log.port import Log
from ledger.properties.column_mapping import PUBLISH, is_mapped, is_published, physical_name
from ledger.testing import InMemoryLedger
from projections.delta.publisher import DeltaPublisher
from projections.delta.table_state import folder_of
from tests.tables.delta_readers import READERS, partitions, texts

PUBLISHED: Final = {PUBLISH: "delta"}


TEXT_FORMS: Final[Mapping[str, Mapping[pa.DataType, pa.DataType]]] = {
    "deltalake": {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()},
    "polars": {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()},
}


MISPLACED: Final = "Failed to cast value"


class Shown(NamedTuple):
    """What a scan shows of a version of a table, and the folder of its log."""

    folder: str
    version: int
    rows: pa.Table
    files: list[tuple[str, ...]]
    refusals: Mapping[str, str]
    faults: Mapping[str, frozenset[str]]


def refusals(definition: TableDefinition) -> Mapping[str, str]:
    """Return the readers that refuse a table, with what their error says.

    Polars 2.1 refuses column mapping by name, and does not find files with absolute paths.
    """
    if is_mapped(definition):
        return {"polars": "column ?[mM]apping"}
    return {"polars": "No such file"} if folder_of(definition) != definition.location else {}


def faults(definition: TableDefinition) -> Mapping[str, frozenset[str]]:
    """Return the columns that readers show wrongly.

    DuckDB 1.5.5 shows NULL in a partition column that comes after a renamed column of the files.
    It may give the value of one of two such columns to another column, and fail to cast it.
    """
    found, by, is_renamed = set(), set(definition.partition_columns), False
    for each in definition.columns if is_mapped(definition) else ():
        if each.name in by and is_renamed:
            found.add(each.name)
        is_renamed = is_renamed or (each.name not in by and physical_name(each) != each.name)
    return {"duckdb": frozenset(found)}


def publish(log: Log) -> DeltaPublisher:
    publisher, stop = DeltaPublisher(log), Signal()
    publisher.run(stop, stop.set)
    return publisher


class PublishedLake:
    """A ledger in memory, its publisher, and what scans showed of each published version."""

    def __init__(self, memory: InMemoryLedger, ledger: Ledger, folder: Path) -> None:
        self.memory, self.ledger, self.folder = memory, ledger, folder
        self.publisher = DeltaPublisher(memory.log)
        self.shown: dict[tuple[str, int], Shown] = {}

    def publish(self) -> None:
        """Publish up to the end of the log by a new publisher."""
        self.publisher = publish(self.memory.log)

    def note(self) -> None:
        """Note what scans show of the newest version of each published table."""
        for row in self.ledger.tables():
            if not is_published(row.definition):
                continue
            folder = folder_of(row.definition)
            scan = self.ledger.scan(row)
            files = sorted((file.path, *map(repr, file.partition)) for file in scan.files)
            definition = row.definition
            self.shown[folder, row.version] = Shown(
                *(folder, row.version, scan.to_arrow(), files),
                *(refusals(definition), faults(definition)),
            )

    def check(self, readers: Collection[str] = tuple(READERS)) -> int:
        """Compare every noted version with what the readers show; return how many there are."""
        for each in self.shown.values():
            for name in readers:
                self.compare(name, each)
            assert len(partitions(each.folder, each.version)) == len(each.files)
        return len(self.shown)

    def compare(self, name: str, shown: Shown) -> None:
        """Compare what one reader shows of a version: rows, names, types, and what may be NULL."""
        if name in shown.refusals and shown.files:
            with pytest.raises(Exception, match=shown.refusals[name]):
                READERS[name](shown.folder, shown.version)
            return
        if name in shown.refusals:
            return
        wrong = shown.faults.get(name, frozenset())
        wanted = shown.rows
        try:
            found = READERS[name](shown.folder, shown.version)
        except duckdb.InvalidInputException as problem:
            if not wrong or MISPLACED not in str(problem):
                raise
            return
        kept = [each for each in wanted.schema.names if each not in wrong]
        assert found.schema.names == wanted.schema.names
        found, wanted = found.select(kept), wanted.select(kept)
        assert described(found.schema) == described(wanted.schema, name), f"{name} {shown[:2]}"
        assert texts(found, wanted.schema) == texts(wanted, wanted.schema), f"{name} {shown[:2]}"


def described(schema: pa.Schema, reader: str = "") -> list[tuple[str, str, bool]]:
    """Return the columns of a schema as a reader has them, by default as they are."""
    return [(each.name, str(in_reader(each.type, reader)), each.nullable) for each in schema]


def in_reader(kind: pa.DataType, reader: str) -> pa.DataType:
    """Return the type in which a reader has the values of another: texts have forms of their own.

    deltalake 1.6.3 has views of texts and bytes, Polars 2.1 large ones, DuckDB 1.5.5 plain ones.
    """
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(in_reader(each.type, reader)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(in_reader(kind.value_type, reader))
    return TEXT_FORMS.get(reader, {}).get(kind, kind)
