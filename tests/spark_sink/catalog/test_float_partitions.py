"""Partitions of FLOAT and DOUBLE: NaN is NaN and -0.0 is 0.0 in all verbs, as in Spark's own."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pytest

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, rows

pytestmark = pytest.mark.spark

VALUES: Final = (math.nan, 0.0, -0.0, math.inf, -math.inf, 1.5, None)
TYPES: Final = {"DOUBLE": pa.float64(), "FLOAT": pa.float32()}
T: Final = "ledger.db.t"
NEW: Final = 99
MERGE: Final = (
    f"MERGE INTO {T} t USING new n ON t.d <=> n.d "
    f"WHEN MATCHED THEN UPDATE SET id = {NEW} WHEN NOT MATCHED THEN INSERT *"
)


def literal(kind: str, value: float | None) -> str:
    """Return a value as SQL that Spark and the SDK read."""
    return "NULL" if value is None else f"CAST('{value!r}' AS {kind})"


Verb = Callable[[Lake, str, pa.Table], Any]


def overwritten(lake: Lake, **options: str) -> None:
    writer = lake.spark.table("new").write.mode("overwrite").options(**options)
    writer.insertInto(T)


def by_sdk(lake: Lake, verb: str, *given: Any) -> None:
    lake.ledger.run(lambda txn: getattr(txn, verb)("db.t", *given))


# How each verb changes the rows of a partition: gone, replaced by one row, or changed.
VERBS: Final[Mapping[str, tuple[str, Verb]]] = {
    "delete": ("gone", lambda lake, where, _: done(lake, f"DELETE FROM {T} WHERE {where}")),
    "update": (
        "changed",
        lambda lake, where, _: done(lake, f"UPDATE {T} SET id = {NEW} WHERE {where}"),
    ),
    "merge": ("merged", lambda lake, _, __: done(lake, MERGE)),
    "dynamic": (
        "replaced",
        lambda lake, _, __: lake.spark.table("new").writeTo(T).overwritePartitions(),
    ),
    "option": ("replaced", lambda lake, _, __: overwritten(lake, partitionOverwriteMode="dynamic")),
    "replaceWhere": ("replaced", lambda lake, where, _: overwritten(lake, replaceWhere=where)),
    "SDK delete": ("gone", lambda lake, where, _: by_sdk(lake, "delete", where)),
    "SDK update": ("changed", lambda lake, where, _: by_sdk(lake, "update", {"id": "99"}, where)),
    "SDK overwrite": ("replaced", lambda lake, where, new: by_sdk(lake, "overwrite", new, where)),
}


def after(way: str, hit: list[int]) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the ids that are left, and the changes of a verb; a MERGE tells no updates."""
    kept = [each for each in range(len(VALUES)) if each not in hit]
    gone = "update_preimage" if way == "changed" else "delete"
    come = "update_postimage" if way == "changed" else "insert"
    count = {"gone": 0, "replaced": 1}.get(way, len(hit))
    changes = [(each, gone) for each in hit] + [(NEW, come)] * count
    return sorted([*kept, *[NEW] * count]), sorted(changes)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_changes_the_rows_that_spark_finds(lake: Lake, kind: str, verb: str) -> None:
    spark, schema = lake.spark, pa.schema([("id", pa.int32()), ("d", TYPES[kind])])
    given = pa.table([list(range(len(VALUES))), list(VALUES)], schema=schema)
    way, work = VERBS[verb]
    frame = spark.createDataFrame(list(enumerate(VALUES)), f"id INT, d {kind}")
    frame.createOrReplaceTempView("plain")
    for value in (math.nan, -0.0, math.inf, None):
        where = f"d <=> {literal(kind, value)}"
        hit = [each for (each,) in rows(lake, f"SELECT id FROM plain WHERE {where}")]
        spark.createDataFrame([(NEW, value)], f"id INT, d {kind}").createOrReplaceTempView("new")
        done(
            lake,
            f"DROP TABLE IF EXISTS {T}",
            f"CREATE TABLE {T} (id INT, d {kind}) PARTITIONED BY (d)",
        )
        lake.ledger.append("db.t", given)
        work(lake, where, pa.table([[NEW], [value]], schema=schema))
        left, changes = after(way, hit)
        assert sorted(each for (each,) in rows(lake, f"SELECT id FROM {T}")) == left
        assert sorted(lake.ledger.scan("db.t").to_arrow()["id"].to_pylist()) == left
        query = f"SELECT id, _change_type FROM {T}.changes WHERE _commit_version = 2"
        assert sorted(rows(lake, query)) == changes, value


@pytest.mark.parametrize("kind", TYPES)
def test_a_condition_finds_the_same_rows_everywhere(lake: Lake, kind: str) -> None:
    frame = lake.spark.createDataFrame(list(enumerate(VALUES)), f"id INT, d {kind}")
    frame.createOrReplaceTempView("plain")
    done(lake, f"CREATE TABLE {T} (id INT, d {kind}) PARTITIONED BY (d)")
    frame.writeTo(T).append()
    for value in VALUES:
        for op in ("=", "<=>", "<", ">="):
            where = f"d {op} {literal(kind, value)}"
            wanted = rows(lake, f"SELECT id FROM plain WHERE {where}")
            assert rows(lake, f"SELECT id FROM {T} WHERE {where}") == wanted, where
            found = lake.ledger.scan("db.t", where).to_arrow()["id"].to_pylist()
            assert sorted(found) == [each for (each,) in wanted], where
