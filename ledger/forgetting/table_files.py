"""The files beside a table's data that say values: a published Delta log, and Iceberg's metadata.

Both are read as their readers read them: JSON, Parquet, and Avro with the bounds of each file.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import Final

import pyarrow.parquet as pq

from ledger.core.commands import TableDefinition
from ledger.files.storage import storage_at
from ledger.forgetting.own_values import OwnValues
from ledger.iceberg.limits import IcebergFormatError
from ledger.iceberg.manifests import read_manifest, read_manifest_list
from ledger.iceberg.statistics import stats_of

DELTA: Final = "_delta_log"
ICEBERG: Final = "metadata"


def held_files(values: OwnValues, definition: TableDefinition, folder: str) -> Iterator[str]:
    """Yield the files of a folder of a table that have one of the values."""
    storage = storage_at(definition.location)
    for file in sorted(storage.list(folder)):
        with storage.open(file.path) as stream:
            data = bytes(stream.read())
        if has_value(values, definition, file.path, data):
            yield file.path


def has_value(values: OwnValues, definition: TableDefinition, path: str, data: bytes) -> bool:
    """Return whether the content of a file has one of the values; what is odd is read as text."""
    if path.endswith(".parquet"):
        return values.in_json(pq.read_table(BytesIO(data)).to_pylist())
    if path.endswith(".avro"):
        try:
            return in_manifest(values, definition, data)
        except IcebergFormatError:
            return in_list(values, data)
    return any(map(values.in_json, data.decode(errors="ignore").splitlines()))


def in_manifest(values: OwnValues, definition: TableDefinition, data: bytes) -> bool:
    """Return whether a manifest has one; raises IcebergFormatError for other bytes."""
    return any(
        values.in_file(entry.path, stats_of(entry, definition._replace(properties=())))
        or values.in_values(
            [None if each is None else str(each) for each in entry.partition.values()]
        )
        for entry in read_manifest(data).entries
    )


def in_list(values: OwnValues, data: bytes) -> bool:
    """Return whether a list of manifests has one among the bounds of partitions."""
    try:
        found = read_manifest_list(data)
    except IcebergFormatError:
        return values.in_text(data.decode(errors="ignore"))
    bounds = (
        bound
        for each in found
        for field in each.partitions or ()
        for bound in (field.lower_bound, field.upper_bound)
    )
    return any(bound and values.in_text(bound.decode(errors="ignore")) for bound in bounds)


def published_version(location: str) -> int:
    """Return the newest version in the Delta log of a location, -1 without one."""
    names = (file.path.rpartition("/")[2] for file in storage_at(location).list(DELTA))
    stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return max((int(stem) for stem in stems if stem.isdigit()), default=-1)
