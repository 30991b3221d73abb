"""What the tests of divided tables share: the partitions of files against the rows in them."""

from datetime import datetime
from typing import Any

import pyarrow.parquet as pq

from ledger.client import Ledger
from ledger.core.partitions.transforms import PartitionTransform, transforms_of
from ledger.core.predicates.types import parse_type
from ledger.definitions.partition_texts import PartitionColumn, text_of
from ledger.snapshot.table_snapshot import TableSnapshot


def check_files(ledger: Ledger, name: str) -> int:
    """Compare the partition of each live file with every row in it; return how many files."""
    reads, row = ledger.reads(), ledger.table(name)
    table, files = TableSnapshot(reads, row, reads.position()), ledger.read(name).files
    for file in files:
        written = table.schema_of(file)
        rows = pq.ParquetFile(f"{row.definition.location}/{file.path}").read()
        assert len(file.partition) == len(written.partition_columns)
        for text, value in zip(written.partition_columns, file.partition, strict=True):
            transform = written.transforms.get(text)
            if transform is None:
                assert text not in rows.column_names
                continue
            column = written.by_name[transform.column.lower()]
            if column.name in written.partition_columns:
                continue
            kept = rows[column.physical].to_pylist()
            found = {result_of(transform, each, column.declared) for each in kept}
            assert found == {value}, (file.path, text, value, found)
        folders = [part for part in file.path.split("/")[:-1] if "=" in part]
        assert len(folders) == len(written.partition_columns) - len(written.transforms)
    return len(files)


def result_of(transform: PartitionTransform, value: Any, declared: str) -> str | None:
    """Return what the core makes of one value, in the spelling of the log."""
    kind = parse_type(declared)
    assert kind is not None
    if value is None:
        return None
    plain = value.replace(tzinfo=None) if isinstance(value, datetime) else value
    made = transform.of_value(plain, kind)
    return text_of(made, PartitionColumn(transform.text, transform.result_type(declared)))


def divided_by(ledger: Ledger, name: str) -> list[str]:
    """Return the partition columns of a table, all of which are columns or transforms."""
    definition = ledger.table(name).definition
    names = {column.name for column in definition.columns} | transforms_of(definition).keys()
    assert names >= set(definition.partition_columns)
    return list(definition.partition_columns)
