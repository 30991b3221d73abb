"""Published tables as deltalake, Polars and DuckDB read them, at every version."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.properties.field_ids import renamed
from ledger.testing import InMemoryLedger
from tests.tables.delta_readers import by_deltalake, by_duckdb, by_polars, texts
from tests.tables.delta_spark import by_spark, delta_session
from tests.tables.published_history import PublishedHistory
from tests.tables.published_lake import PUBLISHED, PublishedLake

NESTED = "struct<a:bigint,b:struct<c:string>>"
ROWS = [{"id": 1, "day": 1, "s": {"a": 1, "b": {"c": "x"}}}, {"id": 2, "day": None, "s": None}]


@pytest.fixture
def lake(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> PublishedLake:
    """Return a ledger with a published table, by day, with two rows."""
    made = PublishedLake(memory, ledger, tmp_path)
    columns = [("day", "int"), ("id", "bigint"), ("s", NESTED)]
    place = tmp_path / "t"
    ledger.create_table(
        "t", columns, location=place, partition_columns=["day"], properties=PUBLISHED
    )
    ledger.append("t", ROWS)
    made.note()
    return made


def renaming(definition: TableDefinition, names: Mapping[str, str]) -> TableDefinition:
    columns = [
        column._replace(name=names.get(column.name, column.name)) for column in definition.columns
    ]
    by = [names.get(column, column) for column in definition.partition_columns]
    return definition._replace(columns=columns, partition_columns=by)


def rename(lake: PublishedLake, **names: str) -> None:
    lake.ledger.alter_table("t", lambda before: renaming(before, names))
    lake.note()


def append(lake: PublishedLake, **row: Any) -> None:
    lake.ledger.append("t", [row])
    lake.note()


def test_files_have_their_values_after_renames(lake: PublishedLake) -> None:
    rename(lake, id="number", day="dag")
    append(lake, number=3, dag=7, s={"a": 5, "b": None})
    rename(lake, number="dag", dag="number")
    append(lake, number=8, dag=4, s=None)
    lake.publish()
    assert lake.publisher.stopped == {}
    assert lake.check() == 5
    with pytest.raises(Exception, match="column mapping"):
        by_polars(str(lake.folder / "t"), 5)


def test_the_log_names_a_constraint_as_delta_does_for_writers(lake: PublishedLake) -> None:
    lake.ledger.alter_table("t", properties={"delta.constraints.positive": "id > 0"})
    lake.note()
    append(lake, id=3, day=1)
    lake.publish()
    assert lake.publisher.stopped == {}
    assert lake.check() == 3
    found = DeltaTable(lake.folder / "t")
    assert found.metadata().configuration["delta.constraints.positive"] == "id > 0"
    protocol = found.protocol()
    assert "checkConstraints" in (protocol.writer_features or [])
    assert (protocol.min_reader_version, protocol.reader_features) == (1, None)
    lake.ledger.alter_table("t", unset=["delta.constraints.positive"])
    lake.note()
    append(lake, id=-3, day=1)
    lake.publish()
    assert lake.check() == 5
    protocol = DeltaTable(lake.folder / "t").protocol()
    assert "checkConstraints" not in (protocol.writer_features or [])


def test_renamed_and_replaced_fields_are_shown_to_other_readers(lake: PublishedLake) -> None:
    location = lake.folder / "fields"
    columns = [("id", "bigint"), ("s", "struct<a: int, b: struct<c: int, d: int>>")]
    lake.ledger.create_table("fields", columns, location=location, properties=PUBLISHED)
    row = {"id": 1, "s": {"a": 1, "b": {"c": 2, "d": 3}}}
    lake.ledger.append("fields", [row])
    for kind in ("struct<b: struct<c: int>>", "struct<b: struct<c: int, d: int>, a: int>"):
        lake.ledger.alter_table("fields", columns=[columns[0], ("s", kind)])
    lake.ledger.append("fields", [row])
    definition = lake.ledger.table("fields").definition
    key, struct = definition.columns
    named = renamed(struct, ["b", "c"], "e")._replace(
        type="struct<b: struct<e: int, d: int>, a: int>"
    )
    lake.ledger.alter_table("fields", definition._replace(columns=[key, named]))
    lake.ledger.append("fields", [{"id": 3, "s": {"a": 7, "b": {"e": 8, "d": 9}}}])
    lake.publish()
    assert lake.publisher.stopped == {}
    wanted = [
        {"id": 1, "s": {"b": {"e": 2, "d": None}, "a": None}},
        {"id": 1, "s": {"b": {"e": 2, "d": 3}, "a": 1}},
        {"id": 3, "s": {"b": {"e": 8, "d": 9}, "a": 7}},
    ]
    own = lake.ledger.scan("fields").to_arrow()
    assert shown_in_order(own) == wanted
    version = lake.ledger.table("fields").version
    for read in (by_deltalake, by_duckdb):
        assert shown_in_order(read(str(location), version)) == wanted, read


def shown_in_order(rows: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows.to_pylist()
    return sorted(found, key=lambda each: (each["id"], each["s"]["a"] or 0))


def test_a_new_column_shows_nothing_of_a_dropped_one(lake: PublishedLake) -> None:
    lake.ledger.alter_table("t", columns=[("day", "int"), ("s", NESTED)])
    lake.note()
    append(lake, day=5, s=None)
    lake.ledger.alter_table("t", columns=[("s", NESTED), ("day", "int"), ("id", "string")])
    lake.note()
    append(lake, day=5, s=None, id="text")
    lake.publish()
    assert lake.publisher.stopped == {}
    assert lake.check() == 5


def played(folder: Path, seed: int) -> PublishedHistory:
    """Return the history of a seed, published and compared with all readers at every version."""
    with InMemoryLedger() as memory:
        lake = PublishedHistory(memory, memory.connect(), folder, seed)
        lake.play()
        lake.publish()
    assert lake.publisher.stopped == {}, f"{lake.did}: {lake.publisher.stopped}"
    try:
        lake.check()
    except AssertionError as problem:
        raise AssertionError(f"{problem} after {lake.did}") from problem
    return lake


@pytest.mark.parametrize("seed", range(3))
def test_each_reader_shows_what_the_scan_showed_at_every_version(tmp_path: Path, seed: int) -> None:
    assert played(tmp_path, seed).shown


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 103))
def test_many_histories(tmp_path: Path, seed: int) -> None:
    """The same for a hundred histories."""
    assert played(tmp_path, seed).shown


@pytest.mark.slow
@pytest.mark.spark
def test_histories_by_spark(tmp_path: Path) -> None:
    """delta-spark shows the same at ten versions of five histories, in other folders too."""
    lakes = [played(tmp_path / str(seed), seed) for seed in range(200, 205)]
    with delta_session(tmp_path) as session:
        for lake in lakes:
            for each in list(lake.shown.values())[-10:]:
                found = texts(by_spark(session, each.folder, each.version), each.rows.schema)
                wanted = texts(each.rows, each.rows.schema)
                assert found == wanted, f"version {each.version} of {each.folder}: {lake.did}"
