"""`readStream.table` gives what commits added, and `.changes` what they changed, once each."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from ledger.sdk.streams import streams_in
from tests.spark_sink.streams.river import River

pytestmark = pytest.mark.spark

SOURCE = "ledger.db.t"


class Reader:
    """A stream that reads a table, and what its batches had."""

    def __init__(self, river: River, source: str = SOURCE, **options: Any) -> None:
        self.river, self.source, self.options = river, source, options
        self.by_name = False
        self.batches: list[list[tuple[Any, ...]]] = []

    def read(self, checkpoint: str = "reader") -> list[list[tuple[Any, ...]]]:
        """Return the batches with what there is to read, without those that have no rows."""
        self.batches.clear()

        def keep(frame: DataFrame, _: int) -> None:
            self.batches.append(sorted((tuple(each) for each in frame.collect()), key=repr))

        reader = self.river.spark.readStream.options(**self.options)
        stream = reader.changes(self.source) if self.by_name else reader.table(self.source)
        writer = stream.writeStream.foreachBatch(keep).trigger(availableNow=True)
        place = str(self.river.folder / checkpoint)
        query = writer.option("checkpointLocation", place).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return [batch for batch in self.batches if batch]

    def refused(self, word: str, checkpoint: str = "reader") -> str:
        with pytest.raises(StreamingQueryException, match=word) as refused:
            self.read(checkpoint)
        return str(refused.value)


@pytest.fixture
def table(river: River) -> River:
    """Return a river whose table has its partition column first, and two commits of rows."""
    columns = [("odd", "INT"), ("id", "BIGINT"), ("name", "STRING")]
    river.ledger.create_table("db.t", columns, partition_columns=["odd"])
    for n in (0, 2):
        add(river, n, n + 1)
    return river


def add(river: River, *ids: int) -> None:
    with river.ledger.transaction() as txn:
        txn.insert("db.t", [{"odd": n % 2, "id": n, "name": f"n{n}"} for n in ids])


def together(batches: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    return sorted(chain.from_iterable(batches), key=repr)


def drain(frame: DataFrame, _: int) -> None:
    frame.collect()


def row(*ids: int) -> list[tuple[Any, ...]]:
    return sorted(((n % 2, n, f"n{n}") for n in ids), key=repr)


def test_a_stream_begins_with_rows_and_goes_on_with_commits(table: River) -> None:
    reader = Reader(table)
    assert reader.read() == [row(0, 1, 2, 3)]
    assert reader.read() == []
    add(table, 4)
    add(table, 5, 6)
    assert reader.read() == [row(4, 5, 6)]
    limited = Reader(table, maxFilesPerTrigger=2)
    assert together(limited.read("limited")) == row(0, 1, 2, 3, 4, 5, 6)
    add(table, 7)
    add(table, 8, 9)
    add(table, 10)
    assert limited.read("limited") == [row(7), row(8, 9), row(10)]
    table.spark.sql("CALL ledger.system.optimize('db.t')").collect()
    assert reader.read() == [row(7, 8, 9, 10)]


def test_rows_of_the_first_version_come_in_batches_too(table: River) -> None:
    reader = Reader(table, maxBytesPerTrigger=1)
    found = reader.read()
    assert [len(each) for each in found] == [1, 1, 1, 1]
    assert together(found) == row(0, 1, 2, 3)


def test_a_stream_of_some_columns_has_them_by_their_names(table: River) -> None:
    table.spark.sql("INSERT INTO ledger.db.t VALUES (7, 8, 'n8')").collect()
    found: list[tuple[Any, ...]] = []

    def keep(frame: DataFrame, _: int) -> None:
        found.extend(tuple(each) for each in frame.collect())

    stream = table.spark.readStream.table(SOURCE)
    chosen = stream.where("odd > 0").selectExpr("name", "odd", "_file LIKE '%odd=%'")
    writer = chosen.writeStream.foreachBatch(keep).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(table.folder / "some")).start()
    query.awaitTermination()
    assert sorted(found) == [("n1", 1, True), ("n3", 1, True), ("n8", 7, True)]


def test_where_a_stream_begins(table: River) -> None:
    """`startingVersion` and `startingTimestamp` name the first commit; `latest` is the next one."""
    assert Reader(table, startingVersion=2).read("a") == [row(2, 3)]
    assert Reader(table, startingTimestamp="2001-01-01").read("b") == [row(0, 1, 2, 3)]
    last = Reader(table, startingVersion="latest")
    assert last.read("c") == []
    add(table, 4)
    assert last.read("c") == [row(4)]


@pytest.mark.parametrize(
    ("option", "statement", "seen"),
    [
        ("ignoreDeletes", "DELETE FROM ledger.db.t WHERE odd = 0", row(4)),
        ("skipChangeCommits", "UPDATE ledger.db.t SET name = 'x' WHERE id = 1", row(4)),
        (
            "ignoreChanges",
            "UPDATE ledger.db.t SET name = 'x' WHERE id = 1",
            sorted([(1, 1, "x"), *row(4)], key=repr),
        ),
    ],
)
def test_commits_that_take_rows_away(
    table: River, option: str, statement: str, seen: list[Any]
) -> None:
    reader = Reader(table)
    reader.read()
    table.spark.sql(statement).collect()
    add(table, 4)
    assert option in reader.refused("LEDGER_STREAM_CHANGED_ROWS")
    assert reader.refused("version 3")
    reader.options = {option: "true"}
    assert reader.read() == [seen]


def test_a_stream_of_changes_gives_what_the_sdk_gives_commit_by_commit(table: River) -> None:
    reader = Reader(table, "ledger.db.t.changes", maxFilesPerTrigger=1)
    found = reader.read()
    table.spark.sql("UPDATE ledger.db.t SET name = 'x', odd = 5 WHERE id = 1").collect()
    table.spark.sql("DELETE FROM ledger.db.t WHERE id IN (2, 3)").collect()
    found += reader.read()
    same = table.ledger.changes("db.t").rows().read_all().drop(["_position"]).to_pylist()
    assert [each[:-1] for each in together(found)] == sorted(
        (tuple(each.values())[:-1] for each in same), key=repr
    )
    assert [{each[-2] for each in batch} for batch in found] == [{1}, {2}, {3}, {4}]
    named = Reader(table, SOURCE, startingVersion=3)
    named.by_name = True
    assert named.read("named") == [together(found[2:])]


def created_again(river: River) -> None:
    row = river.ledger.table("db.t")
    river.ledger.drop_table("db.t")
    river.ledger.create_table("db.t", row.definition.columns, partition_columns=["odd"])


def replaced_by_renaming(river: River) -> None:
    row = river.ledger.table("db.t")
    river.ledger.rename_table("db.t", "db.u")
    river.ledger.create_table("db.t", row.definition.columns, partition_columns=["odd"])


@pytest.mark.slow
@pytest.mark.parametrize("change", [created_again, replaced_by_renaming])
def test_another_table_under_the_name(table: River, change: Callable[[River], None]) -> None:
    reader = Reader(table)
    reader.read()
    change(table)
    assert "new checkpoint" in reader.refused("LEDGER_STREAM_TABLE_GONE")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ("DROP TABLE ledger.db.t", "TABLE_GONE"),
        ("ALTER TABLE ledger.db.t RENAME TO db.u", "TABLE_GONE"),
        ("ALTER TABLE ledger.db.t ADD COLUMN more INT", "SCHEMA_CHANGED"),
    ],
)
def test_changed_under_a_running_stream(
    spark: SparkSession, table: River, change: str, condition: str
) -> None:
    """The stream ends with an error; after other columns it goes on when it starts again."""
    stream = spark.readStream.table(SOURCE)
    writer = stream.writeStream.foreachBatch(drain)
    place = str(table.folder / "running")
    query = writer.option("checkpointLocation", place).trigger(processingTime="0 seconds").start()
    try:
        query.processAllAvailable()
        spark.sql(change)
        with pytest.raises(StreamingQueryException, match=condition):
            query.awaitTermination(60)
    finally:
        query.stop()
    if condition == "SCHEMA_CHANGED":
        spark.sql("INSERT INTO ledger.db.t VALUES (1, 9, 'n9', 90)")
        assert Reader(table).read("running") == [[(1, 9, "n9", 90)]]


def test_each_batch_once(table: River) -> None:
    """From a table into a table: a batch that Spark gives again adds nothing, and lag is known."""
    table.ledger.create_table("db.sink", [("odd", "INT"), ("id", "BIGINT"), ("name", "STRING")])

    def flow() -> None:
        stream = table.spark.readStream.option("maxFilesPerTrigger", 1).table(SOURCE)
        writer = stream.writeStream.trigger(availableNow=True)
        place = str(table.folder / "flow")
        query = writer.option("checkpointLocation", place).toTable("ledger.db.sink")
        query.awaitTermination()

    flow()
    add(table, 4, 5)
    flow()
    assert table.ids("db.sink") == [0, 1, 2, 3, 4, 5]
    (found,) = streams_in(table.ledger.reads())
    assert found.lag == 0
    add(table, 6)
    assert streams_in(table.ledger.reads())[0].lag == 1
    table.forget(found.batch, checkpoint="flow")
    table.restart()
    flow()
    assert table.ids("db.sink") == [0, 1, 2, 3, 4, 5, 6]
