"""Iceberg's readers as users have them, over a metadata file."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest.scan_planning import PlanCompleted
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask, StaticTable

Reader = Callable[[str, int | None], pa.Table]


def by_pyiceberg(metadata: str, snapshot: int | None) -> pa.Table:
    """Return the rows of a snapshot as pyiceberg reads them, with the columns of its time."""
    table = StaticTable.from_metadata(metadata)
    return table.scan(snapshot_id=snapshot).to_arrow()


def by_duckdb(metadata: str, snapshot: int | None) -> pa.Table:
    """Return the rows of a snapshot as DuckDB reads them."""
    chosen = "" if snapshot is None else f", snapshot_from_id = {snapshot}"
    found = with_iceberg().execute(f"SELECT * FROM iceberg_scan('{metadata}'{chosen})")  # noqa: S608 - a path of the test
    return found.to_arrow_table()


@cache
def with_iceberg() -> duckdb.DuckDBPyConnection:
    """Return DuckDB with its Iceberg extension, which packages bring."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("duckdb_extension_avro", "duckdb_extension_iceberg"):
        package = pytest.importorskip(name, reason="DuckDB's Iceberg is not here")
        found = next(Path(package.__file__).parent.rglob("*.duckdb_extension"))
        connection.execute(f"LOAD '{found}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def rows_of(table: pa.Table) -> list[str]:
    """Return rows as texts in order, whatever type their reader gives to text and lists."""
    return sorted(repr(plain(each)) for each in table.to_pylist())


def plain(value: Any) -> Any:
    """Return a value in the form that all readers have alike; maps are pairs in order."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in sorted(value.items())}
    if isinstance(value, list) and value and all(isinstance(each, tuple) for each in value):
        return {"map": sorted(repr((plain(key), plain(each))) for key, each in value)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def by_plan(metadata: str, plan: Mapping[str, Any], snapshot: int) -> pa.Table:
    """Return the rows of a snapshot as pyiceberg reads them by a plan of the server."""
    table = StaticTable.from_metadata(metadata)
    scan = table.scan(snapshot_id=snapshot)
    found = PlanCompleted.model_validate_json(json.dumps(plan))
    tasks = [
        FileScanTask.from_rest_response(task, found.delete_files) for task in found.file_scan_tasks
    ]
    arrow = ArrowScan(table.metadata, table.io, scan.projection(), AlwaysTrue(), True)  # noqa: FBT003
    return arrow.to_table(tasks)


def can_take(plan: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """Return whether pyiceberg 0.12 can read by a plan.

    It takes no NULL in a partition, and no value of a column that is a text in JSON alone.
    """
    kinds = {
        field["id"]: field["type"] for schema in metadata["schemas"] for field in schema["fields"]
    }
    divided = {
        kinds[field["source-id"]]
        for spec in metadata["partition-specs"]
        for field in spec["fields"]
        if field["transform"] == "identity"
    }
    tuples = [task["data-file"]["partition"] for task in plan["file-scan-tasks"]]
    return all(None not in each for each in tuples) and divided <= {"string", "int", "boolean"}
