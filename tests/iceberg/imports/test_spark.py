"""Tables that Spark writes, in all formats: the ledger shows the rows that Spark reads."""

import json
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.iceberg.importer import import_iceberg
from tests.iceberg.clients import spark_environment
from tests.iceberg.imports import spark_tables
from tests.iceberg.imports.iceberg_tables import NAME, files_of, version_by_snapshot, versions

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tables, and the rows of their snapshots."""
    spark_environment.need()
    folder = tmp_path_factory.mktemp("lake")
    program = [str(spark_environment.python()), spark_tables.__file__]
    done = subprocess.run(
        [*program, str(spark_environment.jar()), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def plain(value: Any) -> Any:
    """Return a value as Spark's JSON has it: without NULLs, times as texts."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}Z"
    return value


@pytest.mark.parametrize("name", sorted(spark_tables.TABLES))
def test_each_snapshot_has_the_rows_that_spark_reads(ledger: Ledger, lake: Path, name: str) -> None:
    theirs = json.loads((lake / "rows.json").read_text())[name]
    report = import_iceberg(ledger, lake / "db" / name, NAME)

    shown = version_by_snapshot(ledger)
    assert report.versions == len(theirs) == len(shown)
    for snapshot, rows in theirs.items():
        found = ledger.scan(NAME, version=shown[int(snapshot)]).to_arrow()
        ours = [plain(row) for row in found.to_pylist(maps_as_pydicts="strict")]
        wanted = [plain(json.loads(row)) for row in rows]
        assert sorted(map(repr, map(ordered, ours))) == sorted(map(repr, map(ordered, wanted)))
    assert versions(ledger)[-2].operation == "OPTIMIZE"
    vectors = {
        file.deletion_vector.storage
        for version in range(report.version + 1)
        for file in files_of(ledger, version)
        if file.deletion_vector is not None
    }
    assert vectors == {"first": set(), "second": {"i"}, "third": {"p"}}[name]


def ordered(value: Any) -> Any:
    """Return a value whose fields stand in one order."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(each) for each in value] if isinstance(value, list) else value
