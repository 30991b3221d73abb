"""`ledger.db.t.changes`: the rows that commits changed, as the SDK finds them."""

from typing import Any

import pytest
from pyspark.errors import SparkRuntimeException

from ledger.errors import ConflictError
from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

CHANGES = "SELECT * FROM ledger.db.t.changes"


@pytest.fixture
def history(lake: Lake) -> Lake:
    """Return a table with versions of each kind, with odd partitions and rows that are equal."""
    done(
        lake,
        "CREATE TABLE ledger.db.t (id INT, p STRING, name STRING, x DOUBLE) PARTITIONED BY (p)",
        "INSERT INTO ledger.db.t VALUES (1, 'x/=% é', 'a', double('NaN')), (1, 'x/=% é', 'a', "
        "double('NaN')), (2, NULL, 'b', 0.0), (3, 'y', NULL, NULL)",
        "UPDATE ledger.db.t SET name = 'c' WHERE id = 2",
        "MERGE INTO ledger.db.t t USING (VALUES (1, 'd'), (9, 'e') s(id, name)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id, name, p) "
        "VALUES (s.id, s.name, 'y')",
        "UPDATE ledger.db.t SET p = 'z' WHERE id = 3",
        "INSERT INTO ledger.db.t VALUES (5, 'y', 'f', 1.5)",
        "CALL ledger.system.optimize('db.t')",
        "DELETE FROM ledger.db.t WHERE id = 9",
        "ALTER TABLE ledger.db.t RENAME COLUMN name TO called",
        "ALTER TABLE ledger.db.t ADD COLUMN name INT",
        "UPDATE ledger.db.t SET name = 7 WHERE p = 'z'",
        "DELETE FROM ledger.db.t WHERE p = 'y'",
        "INSERT OVERWRITE ledger.db.t VALUES (1, 'z', 'g', 2.5, 1)",
    )
    return lake


def by_sdk(lake: Lake, name: str = "db.t") -> list[tuple[Any, ...]]:
    found = lake.ledger.changes(name).rows().read_all().drop(["_position"]).to_pylist()
    return sorted((tuple(each.values())[:-1] for each in found), key=repr)


def test_an_old_version_without_its_files_is_refused_by_name(lake: Lake) -> None:
    done(
        lake,
        "CREATE TABLE ledger.db.t (id INT, p INT) PARTITIONED BY (p)",
        "INSERT INTO ledger.db.t VALUES (1, 1), (2, 1)",
        "UPDATE ledger.db.t SET id = 3 WHERE id = 1",
    )
    (gone,) = lake.ledger.vacuum("db.t", older_than_h=0.0).files
    for query in (CHANGES, "SELECT * FROM ledger.db.t VERSION AS OF 1"):
        said = refusal(lake, query)
        assert said.startswith("[LEDGER_UNREADABLE_TABLE]")
        assert gone.path in said
    assert rows(lake, "SELECT id FROM ledger.db.t") == [(2,), (3,)]


def test_rows_that_a_rewrite_copied_are_left_out(history: Lake) -> None:
    frame = history.spark.table("ledger.db.t.changes")
    assert frame.columns[-3:] == ["_change_type", "_commit_version", "_commit_timestamp"]
    found = rows(history, CHANGES)
    # NaN equals nothing, itself included.
    assert repr(sorted((each[:-1] for each in found), key=repr)) == repr(by_sdk(history))
    times = dict(rows(history, "SELECT version, timestamp FROM ledger.db.t.history"))
    assert {(each[-2], each[-1]) for each in found} <= set(times.items())
    kinds = {(version, kind) for *_, kind, version, _ in found}
    assert {kind for version, kind in kinds if version == 4} == {
        "update_preimage",
        "update_postimage",
    }
    assert all(version != 6 for version, _ in kinds)


def test_a_query_for_some_rows_finds_the_changes_of_all_columns(history: Lake) -> None:
    whole = rows(history, CHANGES)
    for condition in (
        "_change_type = 'insert'",
        "_change_type LIKE 'update%' AND p = 'z'",
        "p IS NULL",
        "p = 'z' AND id = 3",
        "_commit_version BETWEEN 3 AND 4 AND id < 9",
        "called = 'd'",
    ):
        history.spark.createDataFrame(
            whole, history.spark.table("ledger.db.t.changes").schema
        ).createOrReplaceTempView("whole")
        for columns in ("id, _change_type", "_commit_version, p", "count(*)"):
            found = rows(history, f"SELECT {columns} FROM ledger.db.t.changes WHERE {condition}")
            same = rows(history, f"SELECT {columns} FROM whole WHERE {condition}")
            assert (found, len(found) > 0) == (same, True)


def test_options_name_the_first_and_the_last_version_or_time(history: Lake) -> None:
    whole = rows(history, "SELECT id, _commit_version FROM ledger.db.t.changes")

    def between(**options: Any) -> set[int]:
        found = history.spark.read.options(**options).table("ledger.db.t.changes").collect()
        versions = {each["_commit_version"] for each in found}
        assert len(found) == sum(version in versions for _, version in whole)
        return versions

    every = {version for _, version in whole}
    assert between(startingVersion=2, endingVersion=4) == every & {2, 3, 4}
    assert between(startingVersion="latest") == set()
    assert between(endingVersion=1) == {1}
    times = dict(
        rows(history, "SELECT version, CAST(timestamp AS STRING) FROM ledger.db.t.history")
    )
    assert max(between(endingTimestamp=times[5])) >= 5
    assert between(startingTimestamp=times[0], endingTimestamp="2999-01-01 00:00:00Z") == every
    sql = "SELECT * FROM ledger.db.t.changes WITH (`startingVersion` = '5', `endingVersion` = '5')"
    assert {row[-2] for row in rows(history, sql)} == {5}


def test_changes_of_sql(history: Lake) -> None:
    """`CHANGES` of SQL and `spark.read.changes` are the same rows, with bounds that may be out."""
    whole = rows(history, CHANGES)
    sql = "SELECT * FROM ledger.db.t CHANGES FROM VERSION"
    assert repr(rows(history, f"{sql} 0")) == repr(whole)
    for clause, versions in (
        ("2 TO VERSION 4", {2, 3, 4}),
        ("2 EXCLUSIVE TO VERSION 4 INCLUSIVE", {3, 4}),
        ("2 TO VERSION 4 EXCLUSIVE", {2, 3}),
    ):
        found = rows(history, f"{sql} {clause}")
        assert repr(found) == repr([each for each in whole if each[-2] in versions])
    assert "startingVersion" in refusal(history, f"{sql} 'x'")
    assert "at most" in refusal(history, f"{sql} 99")


def test_what_names_no_versions_and_writes_to_changes_are_refused_by_name(history: Lake) -> None:
    for options, word in (
        ({"startingVersion": "x"}, "startingVersion"),
        ({"startingVersion": 99}, "at most"),
        ({"startingVersion": 3, "endingVersion": 2}, "must end"),
        ({"endingTimestamp": "1999-01-01 00:00:00"}, "must end"),
        ({"startingVersion": 3, "startingTimestamp": "2020-01-01"}, "not both"),
    ):
        with pytest.raises(SparkRuntimeException, match=word):
            history.spark.read.options(**options).table("ledger.db.t.changes").collect()
    assert "one version" in refusal(history, f"{CHANGES} VERSION AS OF 1")
    for statement in (
        "INSERT INTO ledger.db.t.changes SELECT * FROM ledger.db.t.changes",
        "DELETE FROM ledger.db.t.changes WHERE id = 1",
    ):
        assert "only read" in refusal(history, statement)


def test_read_in_a_transaction(history: Lake) -> None:
    done(history, "CREATE TABLE ledger.db.sums AS SELECT 0L AS n")
    insert = "INSERT INTO ledger.db.sums SELECT count(*) FROM ledger.db.t.changes"
    before = len(rows(history, CHANGES))
    with (  # noqa: PT012 - the commit at the end is what is refused
        pytest.raises(ConflictError),
        history.transaction(level="serializable"),
    ):
        with history.ledger.transaction() as other:
            other.delete("db.t", "id = 1")
        done(history, insert)
    with history.transaction(level="serializable"):
        with history.ledger.transaction() as other:
            other.insert("db.t", [{"id": 8, "p": "z"}])
        done(history, f"{insert} WITH (`endingVersion` = '12')")
    assert rows(history, "SELECT n FROM ledger.db.sums") == [(0,), (before,)]
