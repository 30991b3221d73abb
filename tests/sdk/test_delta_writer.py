"""Tables that another engine writes while they are imported: both list the same files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.delta.report import ImportReport
from tests.sdk.delta_tables import NAME

deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")


def rows(*days: int) -> pa.Table:
    return pa.table({"day": pa.array(days, pa.int32()), "tail": [f"N{day}" for day in days]})


def written(path: Path) -> Any:
    """Write a table of nine versions, and return it."""
    deltalake.write_deltalake(path, rows(1, 2, 3), partition_by=["day"])
    deltalake.write_deltalake(path, rows(1, 2), mode="append")
    table = deltalake.DeltaTable(path)
    table.delete("day = 2")
    table.update(predicate="day = 1", updates={"tail": "'N0'"})
    table.optimize.compact()
    table.create_checkpoint()
    table.alter.set_table_properties({"delta.isolationLevel": "writeSerializable"})
    application = deltalake.CommitProperties(app_transactions=[deltalake.Transaction("etl", 7)])
    deltalake.write_deltalake(path, rows(4), mode="append", commit_properties=application)
    deltalake.write_deltalake(path, rows(5), mode="overwrite")
    table.update_incremental()
    table.restore(5)
    return deltalake.DeltaTable(path)


def live(path: Path, version: int) -> list[str]:
    table = deltalake.DeltaTable(path, version=version)
    return sorted(pa.table(table.get_add_actions())["path"].to_pylist())


def listed(ledger: Ledger, found: ImportReport, version: int) -> list[str]:
    version -= found.delta_version - found.version
    return sorted(file.path for file in ledger.reads().files(found.table, version=version))


def without_start(path: Path) -> int:
    """Remove every version before the checkpoint; return its version."""
    checkpoint = next(path.rglob("*.checkpoint.parquet"))
    version = int(checkpoint.name.partition(".")[0])
    for gone in range(version):
        (path / "_delta_log" / f"{gone:020}.json").unlink()
    return version


@pytest.mark.parametrize("first_of", [lambda _: 0, without_start], ids=["whole", "vacuumed"])
def test_same_files(ledger: Ledger, tmp_path: Path, first_of: Callable[[Path], int]) -> None:
    """The ledger lists what the engine lists, at every version there is."""
    newest = written(tmp_path)
    versions = range(first_of(tmp_path), newest.version() + 1)

    found = import_delta(ledger, tmp_path, NAME)

    assert (found.delta_version, found.disagreed) == (newest.version(), ())
    assert [listed(ledger, found, version) for version in versions] == [
        live(tmp_path, version) for version in versions
    ]
    assert newest.transaction_version("etl") == 7
    assert {app.app: app.version for app in ledger.reads().apps(found.table)}["etl"] == 7
    assert list(ledger.reads().anomalies(None, 10)) == []
