"""Columns of which the log says no values."""

import json
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.core.commands import Column, Property, TableDefinition
from ledger.iceberg.manifests.rows import ManifestEntry
from ledger.iceberg.statistics import stats_of
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.properties.column_lists import SKIPPED

COLUMNS = [("id", "bigint"), ("mail", "string"), ("who", "struct<mail: string, age: int>")]
ROWS = [{"id": 1, "mail": "ada@sea", "who": {"mail": "eve@sea", "age": 36}}]
PROPERTIES = {
    SKIPPED: "MAIL, who",
    "lakeledger.rows": "marks",
    "lakeledger.conflictColumns": "mail, id",
}


def test_the_log_has_no_value_of_a_skipped_column(
    ledger: Ledger, log: MemoryLog, tmp_path: Path
) -> None:
    ledger.create_table("t", COLUMNS, location=tmp_path / "t", properties=PROPERTIES)
    ledger.append("t", ROWS)
    ledger.merge("t", ROWS, "target.id = source.id", when_matched_update=True)
    for file in ledger.read("t").files:
        found = json.loads(file.stats)
        assert found["minValues"].keys() == found["maxValues"].keys() == {"id"}
        assert found["nullCount"] == {"id": 0}
    assert b"@sea" not in b"".join(each.value for each in log.topics[Topic.EVENTS].records)


def test_a_skipped_column_keeps_its_place_in_the_list_by_its_new_name(ledger: Ledger) -> None:
    ledger.create_table("t", COLUMNS, properties={SKIPPED: "mail"})
    before = ledger.table("t").definition
    columns = [
        each._replace(name="post") if each.name == "mail" else each for each in before.columns
    ]
    ledger.alter_table("t", before._replace(columns=columns))
    assert dict(ledger.table("t").definition.properties)[SKIPPED] == "post"


def test_an_unknown_column_is_refused(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="must name its columns"):
        ledger.create_table("t", COLUMNS, properties={SKIPPED: "post"})


@pytest.mark.parametrize("by", ["mail", "truncate(3, mail)"])
def test_a_partition_column_is_refused(ledger: Ledger, by: str) -> None:
    with pytest.raises(ValueError, match="must not name partition columns, got mail"):
        ledger.create_table("t", COLUMNS, partition_columns=[by], properties={SKIPPED: "mail"})


def test_the_bounds_of_another_program_are_left_out_too() -> None:
    columns = [
        Column("id", "bigint", nullable=True, id=1),
        Column("mail", "string", nullable=True, id=2),
    ]
    definition = TableDefinition("managed", "listed", "", columns, (), [Property(SKIPPED, "MAIL")])
    bounds = {1: (7).to_bytes(8, "little"), 2: b"ada@sea"}
    entry = ManifestEntry(1, 1, 1, 1, "a.parquet", 1, 9, lower_bounds=bounds, upper_bounds=bounds)
    assert json.loads(stats_of(entry, definition))["minValues"] == {"id": 7}
