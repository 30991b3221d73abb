"""A ledger whose tables are published, and what every other reader shows of them."""

from collections.abc import Collection
from pathlib import Path
from threading import Event as Signal
from typing import Final, NamedTuple

import pyarrow as pa

from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.log.port import Log
from ledger.sdk.column_mapping import PUBLISH, is_mapped, is_published, physical_name
from ledger.testing import InMemoryLedger
from projections.delta.publisher import DeltaPublisher
from projections.delta.table_state import folder_of
from tests.tables.delta_readers import READERS, partitions, texts

PUBLISHED: Final = {PUBLISH: "delta"}


class Shown(NamedTuple):
    """What a scan shows of a version of a table, and the folder of its log."""

    folder: str
    version: int
    schema: pa.Schema
    rows: list[str]
    files: list[tuple[str, ...]]
    passed_over: frozenset[str]


def passed_over(definition: TableDefinition) -> frozenset[str]:
    """Return the readers that cannot read a table rightly.

    Polars refuses column mapping by name, and misses files with absolute paths. DuckDB 1.5.5 shows
    NULL in a partition column that comes after a renamed column of the files.
    """
    found, by, is_renamed = set(), set(definition.partition_columns), False
    if is_mapped(definition) or folder_of(definition) != definition.location:
        found.add("polars")
    for each in definition.columns if is_mapped(definition) else ():
        if each.name in by and is_renamed:
            found.add("duckdb")
        is_renamed = is_renamed or (each.name not in by and physical_name(each) != each.name)
    return frozenset(found)


def publish(log: Log) -> DeltaPublisher:
    """Return a publisher that has published up to the end of a log."""
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
            schema = scan.to_arrow().schema
            files = sorted((each.path, *map(repr, each.partition)) for each in scan.files)
            rows = texts(scan.to_arrow(), schema)
            self.shown[folder, row.version] = Shown(
                folder, row.version, schema, rows, files, passed_over(row.definition)
            )

    def check(self, readers: Collection[str] = tuple(READERS)) -> int:
        """Compare every noted version with what the readers show; return how many there are."""
        for each in self.shown.values():
            for name in readers:
                if name in each.passed_over:
                    continue
                found = READERS[name](each.folder, each.version)
                assert texts(found, each.schema) == each.rows, (
                    f"{name} {each[:2]}: {texts(found, each.schema)} instead of {each.rows}"
                )
            assert len(partitions(each.folder, each.version)) == len(each.files)
        return len(self.shown)
