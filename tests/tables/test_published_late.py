"""Tables that are published late: their columns were renamed or dropped before."""

from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.properties.column_mapping import is_mapped, physical_name
from ledger.testing import InMemoryLedger
from projections.delta.log.log_folder import version_file
from tests.tables.published_lake import PUBLISHED, PublishedLake
from tests.tables.test_published_readers import rename

COLUMNS = [("id", "bigint"), ("day", "int"), ("text", "string")]


@pytest.fixture
def lake(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> PublishedLake:
    made = PublishedLake(memory, ledger, tmp_path)
    ledger.create_table("t", COLUMNS, location=tmp_path / "t", partition_columns=["day"])
    ledger.append("t", [{"id": 1, "day": 1, "text": "a"}, {"id": 2, "day": None, "text": "b"}])
    return made


def switch_on(lake: PublishedLake) -> None:
    """Publish the table from now on, and append a row."""
    lake.ledger.alter_table("t", properties=PUBLISHED)
    lake.note()
    columns = [column.name for column in lake.ledger.table("t").definition.columns]
    lake.ledger.append("t", [dict.fromkeys(columns)])
    lake.note()


def check(lake: PublishedLake) -> None:
    """Compare each published version with what readers show."""
    lake.publish()
    assert lake.publisher.stopped == {}
    assert lake.check(("deltalake", "duckdb")) > 0


def test_renamed_before(lake: PublishedLake) -> None:
    """The first published version maps columns to the names in files, the partition's too."""
    rename(lake, id="number", day="dag")
    switch_on(lake)
    names = {
        column.name: physical_name(column) for column in lake.ledger.table("t").definition.columns
    }
    assert names == {"number": "id", "dag": "day", "text": "text"}
    check(lake)


def test_dropped_and_added_again_before(lake: PublishedLake) -> None:
    """A column that has the name of a dropped one shows nothing of its values."""
    lake.ledger.alter_table("t", columns=[COLUMNS[0], COLUMNS[1]])
    lake.ledger.alter_table("t", columns=[COLUMNS[0], COLUMNS[1], ("text", "string")])
    switch_on(lake)
    check(lake)


def test_columns_that_have_their_first_names_again_need_no_mapping(lake: PublishedLake) -> None:
    rename(lake, id="number")
    rename(lake, number="id")
    switch_on(lake)
    assert not is_mapped(lake.ledger.table("t").definition)
    check(lake)


def test_a_txn_that_switches_publication_on_maps_the_columns_too(lake: PublishedLake) -> None:
    rename(lake, id="number")
    with lake.ledger.transaction() as txn:
        txn.alter_table("t", properties=PUBLISHED)
    lake.note()
    check(lake)


def test_files_with_both_names(lake: PublishedLake) -> None:
    rename(lake, id="number")
    lake.ledger.append("t", [{"number": 3, "day": 1, "text": "c"}])
    switch_on(lake)
    lake.publish()
    (stopped,) = lake.publisher.stopped.values()
    assert "OPTIMIZE" in stopped.reason
    lake.shown.clear()
    with lake.ledger.transaction() as txn:
        assert txn.optimize("t").removed >= 2
    lake.note()
    lake.ledger.append("t", [{"number": 5, "day": 1, "text": "c"}])
    lake.note()
    check(lake)
    version = lake.ledger.table("t").version
    log = lake.folder / "t" / "_delta_log"
    assert not (log / version_file(version - 2)).exists()


def test_optimized_before(lake: PublishedLake) -> None:
    """OPTIMIZE writes large files with other names anew, so that none is left."""
    rename(lake, id="number")
    with lake.ledger.transaction() as txn:
        assert txn.optimize("t", target_bytes=1).removed == 2
    with lake.ledger.transaction() as txn:
        assert txn.optimize("t", target_bytes=1).removed == 0
    switch_on(lake)
    assert not is_mapped(lake.ledger.table("t").definition)
    check(lake)


def test_a_log_begins_once_rows_in_the_log_are_in_files(lake: PublishedLake) -> None:
    """Rows that a restore brings back stay in files where the table wants them there."""
    lake.ledger.alter_table("t", properties={"lakeledger.inline": "on"})
    lake.ledger.append("t", [{"id": 3, "day": 1, "text": "c"}])
    assert any(file.rows for file in lake.ledger.scan("t").files)
    held = lake.ledger.table("t").version
    lake.ledger.alter_table("t", unset=["lakeledger.inline"], properties=PUBLISHED)
    lake.publish()
    assert (lake.publisher.stopped, lake.publisher.published()) == ({}, 0)
    assert not list((lake.folder / "t").glob("_delta_log/*"))
    lake.ledger.optimize("t")
    lake.note()
    lake.ledger.restore("t", version=held)
    lake.note()
    assert not any(file.rows for file in lake.ledger.scan("t").files)
    assert sorted(lake.ledger.scan("t").to_arrow()["id"].to_pylist()) == [1, 2, 3]
    check(lake)
