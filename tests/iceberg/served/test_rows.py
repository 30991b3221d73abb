"""Iceberg's readers read the rows that the ledger's own scan returns, at every listed snapshot."""

from pathlib import Path

import pytest

from ledger.testing import InMemoryLedger
from projections.iceberg.served.tables import ServedTables
from tests.iceberg.served.histories import RandomTable
from tests.iceberg.served.readers import by_duckdb, by_plan, by_pyiceberg, can_take, rows_of

STEPS = 14


@pytest.mark.parametrize("form", ["2", "3"])
@pytest.mark.parametrize("seed", range(6))
def test_readers_agree_with_the_ledger(seed: int, form: str, tmp_path: Path) -> None:
    """Whatever happened to a table, its snapshots have the rows of their versions."""
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        table = RandomTable(ledger, tmp_path / "t", seed, form=form)
        tables = ServedTables(lambda: memory.reads, memory.reads.identity().ledger)
        for _ in range(STEPS):
            done = table.play()
            served = tables.table(table.row)
            metadata = served.metadata_location
            newest = served.current_snapshot_id
            assert (newest is None) is not bool(served.snapshots)
            if newest is None:
                continue

            wanted = rows_of(ledger.scan(table.name).to_arrow())
            assert wanted == rows_of(by_pyiceberg(metadata, None)), done
            assert wanted == rows_of(by_duckdb(metadata, None)), done
        for snapshot in served.snapshots:
            version = served.version_of(snapshot)
            made = next(
                each for each in served.metadata()["snapshots"] if each["snapshot-id"] == snapshot
            )
            first = int(made["summary"]["lakeledger.version"])
            assert version is not None
            assert version >= first
            then = ledger.scan(table.name, version=first).to_arrow()

            assert rows_of(then) == rows_of(by_pyiceberg(metadata, snapshot))
            assert then.num_rows == by_duckdb(metadata, snapshot).num_rows
            plan = served.plan({"snapshot-id": snapshot})
            if can_take(plan, served.metadata()):
                assert rows_of(then) == rows_of(by_plan(metadata, plan, snapshot))
