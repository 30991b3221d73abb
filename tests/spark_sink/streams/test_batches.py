"""Batches of a stream reach their tables once, all or none, with the offsets in the commit."""

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from ledger.sdk.streams import streams_in
from spark_sink import foreach_batch
from tests.spark_sink.streams.river import River, upto

pytestmark = pytest.mark.spark


def test_each_batch_is_one_append_and_the_stream_is_listed(river: River) -> None:
    river.table()
    river.arrive(2)
    sink = foreach_batch("db.t")
    river.flow(sink)
    assert river.ids() == upto(2)
    assert (river.operations(), river.orphans()) == (2, 0)
    (stream,) = streams_in(river.ledger.reads())
    assert (stream.name, stream.batch, stream.application) == ("clicks", 1, stream.query)
    assert [offset["end"] for offset in stream.offsets] == [{"logOffset": 1}]
    assert sink.receipt is not None
    assert sink.receipt.position == stream.position


def test_small_batches_are_rows_in_the_log_once(river: River) -> None:
    river.table()
    river.ledger.alter_table("db.t", properties={"lakeledger.inline": "on"})
    river.arrive(2)
    river.flow(foreach_batch("db.t"))
    river.forget(1)
    river.arrive()
    river.restart()
    river.flow(foreach_batch("db.t"))
    assert (river.ids(), river.operations(), river.stored()) == (upto(3), 1 + 3, [])
    assert all(file.rows for file in river.ledger.read("db.t").files)


def test_tables_together(river: River, log_lines: list[dict[str, object]]) -> None:
    """SQL and DataFrames of a function are one commit; a batch that comes again is not written."""
    river.table()
    river.table("db.names")
    river.arrive(2)

    def write(frame: DataFrame, _batch: int) -> None:
        frame.writeTo("ledger.db.t").append()
        frame.createOrReplaceTempView("batch")
        frame.sparkSession.sql(
            "MERGE INTO ledger.db.names t USING (SELECT odd, max(id) AS id FROM batch GROUP BY odd)"
            " s ON t.odd = s.odd WHEN MATCHED THEN UPDATE SET id = s.id"
            " WHEN NOT MATCHED THEN INSERT (id, odd) VALUES (s.id, s.odd)"
        )

    sink = foreach_batch(write)
    river.flow(sink)
    applied = sink.receipt
    assert applied is not None
    assert len(applied.tables) == 2
    files = river.stored()
    river.forget(1)
    river.flow(sink)
    assert (river.ids(), river.ids("db.names")) == (upto(2), [6, 7])
    again = sink.receipt
    assert again is not None
    assert (again.txn, again.position, again.tables) == (
        applied.txn,
        applied.position,
        applied.tables,
    )
    assert again.skipped
    assert river.stored() == files
    skipped = [line for line in log_lines if line["event"] == "batch skipped"]
    assert [(each["version"], each["recorded"]) for each in skipped] == [(1, 1)]


def test_a_merge_changes_the_files_that_match(river: River) -> None:
    """The rows of a batch are computed once, so that a MERGE leaves other files as they are."""
    river.table()
    river.arrive()
    river.flow(foreach_batch("db.t"))
    (even,) = [each for each in river.live() if "odd=0" in each]
    river.arrive()
    numbers = []

    def write(frame: DataFrame, batch: int) -> None:
        numbers.append(batch)
        frame.selectExpr("id - 4 AS id", "name", "odd").createOrReplaceTempView("batch")
        frame.sparkSession.sql(
            "MERGE INTO ledger.db.t t USING (SELECT * FROM batch WHERE odd = 1) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET name = s.name"
        )

    river.flow(foreach_batch(write))
    found = river.ledger.scan("db.t").to_arrow().sort_by("id").to_pylist()
    assert [each["name"] for each in found] == ["n0", "n5", "n2", "n7"]
    assert (numbers, even in river.live()) == ([1], True)


def test_an_application_names_its_query(river: River) -> None:
    river.table()
    river.arrive()
    river.flow(foreach_batch("db.t", application="clicks-v1"))
    (stream,) = streams_in(river.ledger.reads())
    assert stream.application == "clicks-v1"
    with pytest.raises(StreamingQueryException) as refused:
        river.flow(foreach_batch("db.t", application="clicks-v1"), "another")
    assert stream.query in str(refused.value)
    assert (river.ids(), river.orphans()) == (upto(1), 0)


@pytest.mark.parametrize(
    ("wanted", "tables"),
    [
        ("id BETWEEN 8 AND 11", ["db.t", "system.streams"]),
        ("id < 4", ["db.t"]),
        ("id > 99", ["system.streams"]),
    ],
)
def test_batches_without_rows(river: River, wanted: str, tables: list[str]) -> None:
    """A batch that writes nothing is recorded: as the first, in the middle, the last and alone."""
    river.table()

    def write(frame: DataFrame, _batch: int) -> None:
        rows = frame.where(wanted)
        if rows.isEmpty():
            return
        rows.writeTo("ledger.db.t").append()

    # A driver that starts for each batch, and one that has several.
    for files in (1, 1, 3):
        river.arrive(files)
        sink = foreach_batch(write)
        river.flow(sink)
        assert sink.receipt is not None
        river.restart()
    kept = river.spark.range(20).where(wanted).collect()
    (stream,) = streams_in(river.ledger.reads())
    assert (stream.batch, river.ids()) == (4, [each.id for each in kept])
    assert [table.name for table in stream.tables] == tables
    assert [offset["end"] for offset in stream.offsets] == [{"logOffset": 4}]
    stored = river.stored()
    river.forget(4)
    again = foreach_batch(write)
    river.flow(again)
    assert again.receipt is not None
    assert again.receipt.skipped
    assert river.stored() == stored


def test_no_checkpoint(river: River) -> None:
    """A query without a checkpoint would write everything again at its next start."""
    river.table()
    river.arrive()
    writer = river.source().writeStream.foreachBatch(foreach_batch("db.t"))
    with pytest.raises(StreamingQueryException, match="must have a checkpointLocation"):
        writer.trigger(availableNow=True).start().awaitTermination()


def test_outside_a_stream_no_number_says_which_batch_it_is(river: River) -> None:
    river.table()
    with pytest.raises(ValueError, match="must be called by a stream"):
        foreach_batch("db.t")(river.spark.range(3), 0)
    with pytest.raises(TypeError, match="the name of a table or a function, got 3"):
        foreach_batch(3)  # type: ignore[arg-type]
