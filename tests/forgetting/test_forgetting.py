"""Forgotten rows leave all files, and the report names what still knows their values."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from ledger.client import Ledger
from ledger.errors import FilesUnknownError
from ledger.expressions.parse import parse
from ledger.forgetting.forgetting import ForgottenRows, forget, look
from ledger.forgetting.held_places import HeldPlace, Surroundings, ranges
from ledger.forgetting.held_rows import HeldRows
from ledger.forgetting.traces import traces
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic, records_between
from ledger.properties.column_lists import SKIPPED
from tests.forgetting.every_byte import Planted, decoded_event

NAME: Final = "people"
COLUMNS: Final = [("id", "bigint"), ("name", "string"), ("land", "string")]
PERSON: Final = {"id": 987654321, "name": "planted Pauline", "land": "DE"}
OTHERS: Final = [{"id": n, "name": f"other {n}", "land": "DE"} for n in range(100, 140)]
WHERE: Final = "id = 987654321"
MARKS: Final = {"lakeledger.rows": "marks"}


def people(ledger: Ledger, tmp_path: Path, **properties: str) -> None:
    ledger.create_table(NAME, COLUMNS, location=tmp_path / NAME, properties=properties)
    ledger.append(NAME, [PERSON, *OTHERS])


def looked(ledger: Ledger, where: str = WHERE, before: HeldRows | None = None) -> HeldRows:
    values = None if before is None else before.values
    return look(ledger.reads(), ledger.table(NAME), parse(where), values)


def forgotten(ledger: Ledger, held: HeldRows, where: str = WHERE, **options: Any) -> ForgottenRows:
    return forget(ledger, ledger.table(NAME), parse(where), held, **options)


def reported(ledger: Ledger, log: MemoryLog, held: HeldRows) -> dict[str, str]:
    around = Surroundings(log, ledger.name)
    found = traces(ledger.reads(), ledger.table(NAME), held, around)
    return {each.place: each.where for each in found}


def ids_stored(tmp_path: Path) -> set[int]:
    """Return the ids of all rows in all files, deleted ones too."""
    paths: Iterable[Path] = (tmp_path / NAME).rglob("*.parquet")
    return {number for path in paths for number in pq.read_table(path)["id"].to_pylist()}


@pytest.mark.parametrize("properties", [{}, MARKS])
def test_rows_leave_the_files_of_all_versions(
    ledger: Ledger, tmp_path: Path, properties: dict[str, str]
) -> None:
    people(ledger, tmp_path, **properties)
    ledger.update(NAME, {"land": "'FR'"}, "id = 987654321 OR id = 101")
    ledger.delete(NAME, "id = 102")
    held = looked(ledger)
    assert sum(file.shown for file in held.files) == 1
    assert len(held.files) > 1
    done = forgotten(ledger, held)
    assert (done.rows, len(done.files)) == (1, len(held.files))
    assert ids_stored(tmp_path).isdisjoint({PERSON["id"]})
    ids = {row["id"] for row in ledger.scan(NAME).to_arrow().to_pylist()}
    assert ids == {row["id"] for row in OTHERS} - {102}
    assert looked(ledger).files == []


def test_a_row_that_is_only_marked_leaves_the_live_file(ledger: Ledger, tmp_path: Path) -> None:
    people(ledger, tmp_path, **MARKS)
    ledger.delete(NAME, WHERE)
    assert PERSON["id"] in ids_stored(tmp_path)
    held = looked(ledger)
    assert [(file.is_live, file.rows, file.shown) for file in held.files] == [(True, 1, 0)]
    assert forgotten(ledger, held).rows == 0
    assert PERSON["id"] not in ids_stored(tmp_path)


def test_the_log_gets_no_value_from_the_work_itself(
    ledger: Ledger, log: MemoryLog, tmp_path: Path
) -> None:
    people(ledger, tmp_path, **{SKIPPED: "id, name"})
    held = looked(ledger)
    done = forgotten(ledger, held, reason="asked for")
    version = ledger.history(NAME)[0]
    assert version.version == done.version
    assert json.loads(version.info)["forgotten"] == {"files": [], "reason": "asked for"}
    assert reported(ledger, log, looked(ledger, before=held)) == {}


def test_a_report_names_the_events_with_values_and_no_others(
    ledger: Ledger, log: MemoryLog, tmp_path: Path
) -> None:
    people(ledger, tmp_path)
    added = ledger.history(NAME)[0].position
    deleted = ledger.delete(NAME, "name = 'planted Pauline'").position
    ledger.append(NAME, [{"id": 7, "name": "later", "land": "DE"}])
    held = looked(ledger)
    forgotten(ledger, held)
    found = reported(ledger, log, looked(ledger, before=held))
    assert found["topic events"] == f"positions {added}, {deleted}"
    assert found["topic commands"].startswith("offsets ")
    assert found.keys() <= {"topic events", "topic commands", "topic checkpoints"}


def test_a_later_report_knows_the_files_that_are_gone(
    ledger: Ledger, log: MemoryLog, tmp_path: Path
) -> None:
    people(ledger, tmp_path)
    forgotten(ledger, looked(ledger, "name LIKE 'planted%'"), "name LIKE 'planted%'")
    held = looked(ledger, "name LIKE 'planted%'")
    assert held.files == []
    assert "topic events" in reported(ledger, log, held)


def test_files_stay_while_an_open_txn_needs_them(
    ledger: Ledger, log: MemoryLog, tmp_path: Path
) -> None:
    people(ledger, tmp_path)
    held = looked(ledger)
    with ledger.transaction() as txn:
        assert txn.scan(NAME).count() == len(OTHERS) + 1
        assert forgotten(ledger, held).files == []
        held = looked(ledger, before=held)
        around = Surroundings(log, ledger.name)
        rows = list(traces(ledger.reads(), ledger.table(NAME), held, around))
        (file,) = (each for each in rows if each.place == "data file")
        assert isinstance(file, HeldPlace)
        assert f"open txn {txn.id} " in file.until
    assert len(forgotten(ledger, looked(ledger)).files) == 1


def test_values_that_other_rows_have_do_not_count(ledger: Ledger, tmp_path: Path) -> None:
    people(ledger, tmp_path)
    values = looked(ledger).values
    assert not values.in_values(["DE"], ["land"])
    assert values.in_values(["planted Pauline"], ["name"])
    assert values.in_json('{"minValues":{"id":987654321}}')
    assert not values.in_json('{"minValues":{"id":100},"numRecords":987654321}')
    assert values.in_text("name=planted%20Pauline/part.parquet")
    assert not values.in_text("explanted Paulines")


@pytest.mark.parametrize(("by", "where"), [("name", "name = 'planted Pauline'"), ("id", WHERE)])
def test_values_of_partitions_are_found_in_the_log(
    ledger: Ledger, log: MemoryLog, tmp_path: Path, by: str, where: str
) -> None:
    rows = [PERSON, *OTHERS[:3]]
    ledger.create_table(
        NAME,
        COLUMNS,
        location=tmp_path / NAME,
        partition_columns=[by],
        properties={SKIPPED: "land"},
    )
    ledger.append(NAME, rows)
    added = ledger.history(NAME)[0].position
    held = looked(ledger, where)
    done = forgotten(ledger, held, where)
    assert (done.rows, len(done.files)) == (1, 1)
    removed = ledger.history(NAME)[0].position
    found = reported(ledger, log, looked(ledger, where, before=held))
    assert found["topic events"] == f"positions {added}, {removed}"


def test_a_table_whose_files_are_not_listed_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    ledger.create_table(NAME, COLUMNS, location=tmp_path / NAME, layout="directories")
    with pytest.raises(FilesUnknownError):
        looked(ledger)


@pytest.mark.parametrize("properties", [{}, MARKS])
def test_rows_in_the_log_leave_readers_and_are_reported(
    ledger: Ledger, log: MemoryLog, tmp_path: Path, properties: dict[str, str]
) -> None:
    """No file is there to delete: what has the block is named, with whole rows."""
    ledger.create_table(
        NAME, COLUMNS, location=tmp_path / NAME, properties={"lakeledger.inline": "on"} | properties
    )
    ledger.append(NAME, [PERSON, *OTHERS])
    added = ledger.history(NAME)[0].position
    ledger.update(NAME, {"land": "'FR'"}, "id = 101")
    ledger.append(NAME, OTHERS[:2])
    assert all(file.rows for file in ledger.scan(NAME).files)
    held = looked(ledger)
    assert reported(ledger, log, held)["rows in the log"].startswith("rows:")
    done = forgotten(ledger, held)
    assert (done.rows, done.files) == (1, [])
    assert ledger.scan(NAME, WHERE).count() == 0
    held = looked(ledger, before=held)
    assert not any(file.is_live for file in held.files)
    around = Surroundings(log, ledger.name)
    found = {each.place: each for each in traces(ledger.reads(), ledger.table(NAME), held, around)}
    assert found.keys() <= {"topic events", "topic commands", "topic checkpoints"}
    assert found["topic events"].holds == "rows"
    assert found["topic events"].where.startswith(f"positions {added}")
    assert found["topic commands"].holds == "rows"
    planted = Planted(["planted Pauline"], [])
    records = records_between(log, Topic.EVENTS, *log.ends(Topic.EVENTS))
    events = [decoded_event(each.value) for each in records]
    holding = {position for position, said in events if planted.within(*said)}
    assert found["topic events"].where == f"positions {ranges(holding)}"
