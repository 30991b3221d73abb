"""SQL on tables with `lakeledger.rows` = marks: they show what their twins show."""

from collections.abc import Sequence
from random import Random
from typing import Final

import pytest

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

MARKED: Final = "ledger.db.marked"
TWINS: Final = {"ledger.db.twin": "", MARKED: "TBLPROPERTIES ('lakeledger.rows' = 'marks')"}
COLUMNS: Final = "`i.d` INT, `v``w` INT, `it's` STRING, `_file` CHAR(4), `_row` BIGINT"
PARTITIONS: Final = ("", "PARTITIONED BY (`it's`)", "PARTITIONED BY (`_row`, `it's`)")
ROWS: Final = 400
STATEMENTS: Final = 9


def twins(lake: Lake, *statements: str) -> None:
    """Run statements on both tables, each in a commit to both."""
    for statement in statements:
        with lake.transaction():
            both(lake, statement)


def both(lake: Lake, *statements: str) -> None:
    for table in TWINS:
        done(lake, *(statement.format(t=table) for statement in statements))


def create(lake: Lake, partition: str = "") -> None:
    """Make both tables, with files of many rows and odd values of partitions."""
    for table, properties in TWINS.items():
        done(lake, f"CREATE TABLE {table} ({COLUMNS}) {partition} {properties}")
    twins(
        lake,
        "INSERT INTO {t} SELECT id, IF(id % 9 = 0, NULL, id % 5), "
        "element_at(array('x', 'y/1 %', NULL, '', 'é='), int(id % 5) + 1), 'f', id % 2 "
        f"FROM range(0, {ROWS}, 1, 2)",
    )


def same(lake: Lake) -> None:
    """Compare the rows of both tables in Spark and the SDK, and what their commits changed."""
    by_sdk = [lake.ledger.scan(table.removeprefix("ledger.")).to_arrow() for table in TWINS]
    found = [sorted(each.to_pylist(), key=repr) for each in by_sdk]
    assert found[0] == found[1]
    found = [rows(lake, f"SELECT * FROM {table}") for table in TWINS]
    assert found[0] == found[1]
    found = [rows(lake, changes(table)) for table in TWINS]
    assert found[0] == found[1]


def changes(table: str) -> str:
    """Return the query of changed rows, as rows that went and rows that came at some time.

    A statement that changes no row may write files again: then a version of one table has its name.
    """
    gone = "_change_type IN ('delete', 'update_preimage')"
    return f"SELECT * EXCEPT (_change_type, _commit_version), {gone} FROM {table}.changes"


def versions(lake: Lake) -> list[int]:
    return [lake.ledger.table(table.removeprefix("ledger.")).version for table in TWINS]


def files(lake: Lake) -> dict[str, int]:
    """Return the files of the marked table, with how many of their rows are deleted."""
    return {
        file.path: 0 if file.deletion_vector is None else file.deletion_vector.cardinality
        for file in lake.ledger.read("db.marked")
    }


def last(lake: Lake) -> Sequence[int]:
    (row,) = lake.spark.sql("CALL ledger.system.last_statement()").collect()
    return [row.num_inserted_rows, row.num_updated_rows, row.num_deleted_rows]


def statement(random: Random) -> str:
    """Return a statement that hits few rows of a file, or many."""
    some = random.sample(range(ROWS + 20), 4)
    source = ", ".join(f"({each}, {random.choice([0, 1, 'NULL'])})" for each in some)
    condition = random.choice(
        [
            f"`i.d` IN ({', '.join(map(str, some[:3]))})",
            f"`i.d` BETWEEN {some[0]} AND {some[0] + 5} AND `v``w` > 1",
            f"`it's` IS NULL AND `i.d` < {some[0] % 40}",
            f"EXISTS (SELECT 1 FROM {{t}} o WHERE o.`i.d` = t.`i.d` + 1 AND o.`i.d` = {some[1]})",
            f"`i.d` % 3 = {some[2] % 3} AND `_file` = 'f'",
        ]
    )
    changed = random.choice(
        ["`it's` = 'z'", "`it's` = ''", "`v``w` = t.`v``w` + 1, `_file` = 'ab'"]
    )
    matched = random.choice(["UPDATE SET `v``w` = s.v", "DELETE", f"UPDATE SET {changed}"])
    by_values = (
        f"MERGE INTO {{t}} t USING (SELECT * FROM VALUES {source} AS s(id, v)) s "
        f"ON t.`i.d` = s.id WHEN MATCHED AND s.v = 1 THEN {matched} "
        "WHEN MATCHED THEN UPDATE SET `_row` = 7 "
        "WHEN NOT MATCHED THEN INSERT (`i.d`, `it's`) VALUES (s.id, 'n') "
        f"WHEN NOT MATCHED BY SOURCE AND t.`i.d` = {some[0] + 1} THEN UPDATE SET {changed}"
    )
    by_itself = (
        "MERGE INTO {t} t USING (SELECT * FROM {t} WHERE `i.d` < 9) s "
        f"ON t.`i.d` = s.`i.d` WHEN MATCHED THEN {matched.replace('s.v', 's.`v``w`')}"
    )
    delete = f"DELETE FROM {{t}} t WHERE {condition}"
    update = f"UPDATE {{t}} t SET {changed} WHERE {condition}"
    return random.choice([delete, update, by_values, by_itself])


@pytest.mark.parametrize("seed", range(2))
def test_histories_of_twins(lake: Lake, seed: int) -> None:
    random = Random(seed)
    create(lake, PARTITIONS[seed % len(PARTITIONS)])
    said, then, marked = [], [], 0
    for _ in range(STATEMENTS):
        some = [statement(random) for _ in range(random.choice([1, 1, 3]))]
        said += some
        with lake.transaction():
            both(lake, *some)
        then.append(versions(lake))
        marked += any(files(lake).values())
    assert marked > 2, said
    same(lake)
    for pair in then:
        found = [
            rows(lake, f"SELECT * FROM {table} VERSION AS OF {version}")
            for table, version in zip(TWINS, pair, strict=True)
        ]
        assert found[0] == found[1], (pair, said)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 102))
def test_many_histories_of_twins(lake: Lake, seed: int) -> None:
    test_histories_of_twins(lake, seed)


def test_files_stay_while_few_of_their_rows_change(lake: Lake) -> None:
    create(lake, PARTITIONS[1])
    before = set(files(lake))
    twins(
        lake, "DELETE FROM {t} WHERE `i.d` IN (3, 4)", "UPDATE {t} SET `v``w` = 9 WHERE `i.d` = 8"
    )
    assert last(lake) == [0, 1, 0]
    twins(
        lake,
        "MERGE INTO {t} t USING (VALUES (13), (900) s(id)) s ON t.`i.d` = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (`i.d`) VALUES (s.id)",
    )
    assert last(lake) == [1, 0, 1]
    kinds = "SELECT `i.d`, _change_type, _commit_version FROM {}.changes WHERE _commit_version > 1"
    found = [rows(lake, kinds.format(table)) for table in TWINS]
    assert found[0] == found[1]
    assert [each[1] for each in found[1]].count("update_preimage") == 1
    after = files(lake)
    assert before < set(after)
    assert len(after) == len(before) + 2
    assert sum(after.values()) == 4
    twins(lake, "DELETE FROM {t} WHERE `i.d` > 150", "UPDATE {t} SET `v``w` = 1 WHERE `_row` = 1")
    assert before <= set(files(lake))
    same(lake)


def test_rows_that_a_transaction_wrote_and_marked_itself(lake: Lake) -> None:
    create(lake)
    before = files(lake)
    with lake.transaction():
        both(
            lake,
            "INSERT INTO {t} (`i.d`) SELECT id FROM range(1000, 1100)",
            "UPDATE {t} SET `v``w` = 5 WHERE `i.d` IN (1, 2, 1001)",
            "DELETE FROM {t} WHERE `i.d` IN (2, 3, 1001, 1002)",
        )
    found = files(lake)
    assert sorted(found.pop(path) for path in before) == [0, 3]
    assert set(found.values()) == {0}
    same(lake)


def test_a_row_that_matches_twice(lake: Lake) -> None:
    """Spark refuses to update it twice; a lone DELETE takes it once."""
    create(lake)
    merge = (
        "MERGE INTO {t} t USING (VALUES (5), (5), (6) s(id)) s ON t.`i.d` = s.id WHEN MATCHED THEN "
    )
    said = refusal(lake, f"{merge.format(t=MARKED)} UPDATE SET `v``w` = 1")
    assert "MERGE_CARDINALITY_VIOLATION" in said
    twins(lake, f"{merge} DELETE")
    assert last(lake) == [0, 0, 2]
    assert sum(files(lake).values()) == 2
    same(lake)


def test_columns_that_were_renamed_added_and_dropped(lake: Lake) -> None:
    """Files from before a change are written anew, later ones are marked."""
    create(lake, PARTITIONS[1])
    twins(
        lake,
        "ALTER TABLE {t} RENAME COLUMN `v``w` TO v",
        "ALTER TABLE {t} ADD COLUMN `v``w` STRING DEFAULT 'new'",
        "ALTER TABLE {t} DROP COLUMN `_row`",
        f"INSERT INTO {{t}} (`i.d`, v) SELECT id, 3 FROM range({ROWS}, {ROWS + 100}, 1, 1)",
        f"UPDATE {{t}} SET v = v + 1, `v``w` = 'set' WHERE `i.d` IN (7, {ROWS + 7})",
        f"DELETE FROM {{t}} WHERE `v``w` = 'new' AND `i.d` IN (11, {ROWS + 11})",
    )
    assert list(filter(None, files(lake).values())) == [2]
    assert rows(lake, f"SELECT _row FROM {MARKED} WHERE `i.d` = {ROWS + 12}") == [(12,)]
    same(lake)


@pytest.mark.parametrize("name", ["__row_id", "__original_row_id__file", "__Original_row_id__row"])
def test_names_that_spark_needs_itself(lake: Lake, name: str) -> None:
    done(lake, f"CREATE TABLE {MARKED} ({name} INT, v INT) {TWINS[MARKED]}")
    done(lake, f"INSERT INTO {MARKED} VALUES (1, 1)")
    said = refusal(lake, f"UPDATE {MARKED} SET v = 2 WHERE v = 1")
    assert f"column {name} has a name that Spark needs" in said
    done(lake, f"ALTER TABLE {MARKED} RENAME COLUMN {name} TO w")
    done(lake, f"UPDATE {MARKED} SET v = 2 WHERE v = 1")
    assert rows(lake, f"SELECT * FROM {MARKED}") == [(1, 2)]


def test_the_place_of_a_row_may_be_asked_for(lake: Lake) -> None:
    create(lake)
    done(lake, f"DELETE FROM {MARKED} WHERE __row < 3 AND __file LIKE '%.parquet'")
    found = rows(lake, f"SELECT `i.d`, __row FROM {MARKED} WHERE __row = 3")
    assert found == [(ROWS // 2 + 3, 3), (3, 3)]
    assert "_row" in refusal(lake, "SELECT _row FROM (SELECT 1)")
