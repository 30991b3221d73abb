"""Columns of which the log says no values."""

import json
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.predicates.tree import And, InZone, Unknown, connected, of_wire
from ledger.errors import ConflictError
from ledger.expressions.parse import parse
from ledger.iceberg.manifests.rows import ManifestEntry
from ledger.iceberg.statistics import stats_of
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.properties.column_lists import SKIPPED
from ledger.work.recorded_conditions import parts_in, recorded
from tests.forgetting.every_byte import Planted, is_in_log

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


@pytest.mark.parametrize("grain", ["marks", "rewrite"])
@pytest.mark.parametrize("key", ["", "mail", "id, mail"])
def test_no_condition_brings_a_value_of_a_skipped_column_into_the_log(
    ledger: Ledger, log: MemoryLog, tmp_path: Path, grain: str, key: str
) -> None:
    own = {**PROPERTIES, "lakeledger.rows": grain}
    own |= {"lakeledger.key": key, "lakeledger.unique": "true"} if key else {}
    ledger.create_table("t", COLUMNS, location=tmp_path / "t", properties=own)
    ledger.append("t", ROWS)
    ledger.append("t", [{"id": n, "mail": f"{n}@sea"} for n in range(2_000, 3_100)])
    ledger.update("t", {"mail": "'bea@sea'"}, "id = 1 AND mail = 'ada@sea'")
    ledger.merge("t", ROWS, "target.mail = source.mail", when_not_matched_insert=True)
    first, other = ledger.begin(), ledger.begin()
    for txn in (first, other):
        assert txn.scan("t", "mail LIKE '%a@sea' OR id = 9").count() == 2
        txn.delete("t", "mail IN ('ada@sea', 'eve@sea')")
    first.commit()
    with pytest.raises(ConflictError):
        other.commit()
    assert not is_in_log(log, Planted(["@sea"], []))


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("id = 7", "id = 7"),
        ("MAIL = 'a'", "TRUE"),
        ("id = 7 AND (land = 'DE' AND mail = 'a')", "id = 7 AND land = 'DE'"),
        ("id = 7 OR mail = 'a'", "TRUE"),
        ("NOT (mail = 'a') AND id IN (1, 2)", "id IN (1, 2)"),
        ("length(mail) > id AND id > 0", "id > 0"),
    ],
)
@pytest.mark.parametrize("zone", ["", "Asia/Tokyo"])
def test_the_parts_of_a_condition_that_name_no_skipped_column_are_recorded(
    where: str, kept: str, zone: str
) -> None:
    columns = [
        Column(name, "string", nullable=True, id=at)
        for at, name in enumerate(("id", "land", "mail"))
    ]
    definition = TableDefinition("managed", "listed", "", columns, (), [Property(SKIPPED, "mail")])
    found = of_wire(recorded(parse(where).in_zone(zone).to_wire(), definition))
    expected = parse(kept).in_zone(zone)
    inner = [part.value if isinstance(part, InZone) else part for part in parts_in(found)]
    assert connected(And, inner) == connected(And, parts_in(parse(kept)))
    assert found.zones() == expected.zones()


def test_a_part_that_may_read_any_column_is_not_recorded() -> None:
    definition = TableDefinition("managed", "listed", "", (), (), [Property(SKIPPED, "mail")])
    both = And((parse("id = 7"), Unknown("f(mail) = 'a'"))).to_wire()
    assert of_wire(recorded(both, definition)) == of_wire(parse("id = 7").to_wire())


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
