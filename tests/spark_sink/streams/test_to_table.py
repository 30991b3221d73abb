"""`toTable` writes each batch of a stream once, with its offsets in the commit."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.sdk.streams import streams_in
from tests.spark_sink.streams.river import River, upto

pytestmark = pytest.mark.spark


def flow(
    river: River,
    checkpoint: str = "checkpoint",
    change: Sequence[str] = ("*",),
    wanted: str = "true",
    **options: Any,
) -> None:
    """Run the stream into the table until it has read what there is."""
    source = river.source().where(wanted).selectExpr(*change)
    writer = source.writeStream.trigger(availableNow=True).options(**options)
    place = str(river.folder / checkpoint)
    query = writer.option("checkpointLocation", place).queryName("clicks").toTable("ledger.db.t")
    try:
        query.awaitTermination()
    finally:
        query.stop()


def test_a_batch_is_one_append(river: River, log_lines: list[dict[str, object]]) -> None:
    river.table()
    river.arrive(3)
    flow(river)
    assert (river.ids(), river.operations(), river.orphans()) == (upto(3), 3, 0)
    (stream,) = streams_in(river.ledger.reads())
    assert (stream.name, stream.batch, stream.application) == ("clicks", 2, stream.query)
    assert [offset["end"] for offset in stream.offsets] == [{"logOffset": 2}]
    history = river.ledger.reads().versions(river.ledger.table("db.t").table, 9)
    assert {each.operation for each in history[:-1]} == {"STREAMING UPDATE"}
    assert all(each.blind for each in history[:-1])
    river.forget(2)
    river.restart()
    flow(river)
    assert (river.ids(), river.operations(), river.orphans()) == (upto(3), 3, 0)
    skipped = [line for line in log_lines if line["event"] == "batch skipped"]
    assert [(each["version"], each["recorded"]) for each in skipped] == [(2, 2)]


def test_batches_without_rows_are_recorded_over_restarts(river: River) -> None:
    river.table()
    for files in (1, 3, 1):
        river.arrive(files)
        flow(river, wanted="id BETWEEN 4 AND 7 OR id BETWEEN 12 AND 15")
        river.restart()
    (stream,) = streams_in(river.ledger.reads())
    assert (stream.batch, [table.name for table in stream.tables]) == (4, ["db.t"])
    assert river.ids() == [4, 5, 6, 7, 12, 13, 14, 15]


def test_another_query_under_one_name_is_refused(river: River) -> None:
    river.table()
    river.arrive()
    flow(river, application="mine")
    (stream,) = streams_in(river.ledger.reads())
    assert stream.application == "mine"
    with pytest.raises(StreamingQueryException) as refused:
        flow(river, "another", application="mine")
    assert stream.query in str(refused.value)
    assert river.ledger.reads().open_txns(9) == []
    river.arrive()
    with pytest.raises(StreamingQueryException, match="from_batch=1"):
        flow(river)
    assert (river.ids(), river.orphans()) == (upto(1), 0)
    flow(river, from_batch=1)
    assert (river.ids(), river.orphans()) == (upto(2), 0)


def test_a_batch_with_a_failed_task_leaves_no_file_and_no_open_txn(river: River) -> None:
    river.table()
    river.arrive(2)
    bad = "CASE WHEN id = 7 THEN raise_error('bad row') ELSE id END"
    with pytest.raises(StreamingQueryException, match="bad row"):
        flow(river, change=[f"CAST({bad} AS BIGINT) AS id", "name", "odd"])
    assert (river.ids(), river.orphans()) == (upto(1), 0)
    assert river.ledger.reads().open_txns(9) == []
    river.restart()
    flow(river)
    assert (river.ids(), river.operations(), river.orphans()) == (upto(2), 2, 0)
    assert river.swept() == 0


def test_lost_answer_of_the_commit(river: River, log: LossyLog) -> None:
    river.table()
    river.arrive()
    flow(river)
    river.arrive()
    for losses in range(1, 5):
        log.unacknowledged[Topic.COMMANDS] = losses
        with suppress(StreamingQueryException):
            flow(river)
        log.unacknowledged.clear()
    river.restart()
    flow(river)
    assert (river.ids(), river.operations()) == (upto(2), 2)
    assert (river.orphans(), river.swept()) == (0, 0)


def test_small_batches_are_rows_in_the_log_once(river: River, log: LossyLog) -> None:
    """Also over restarts, over a batch that Spark gives again, and over lost answers."""
    river.table()
    river.ledger.alter_table("db.t", properties={"lakeledger.inline": "on"})
    river.arrive(2)
    flow(river)
    river.forget(1)
    river.restart()
    flow(river)
    assert (river.ids(), river.operations()) == (upto(2), 1 + 2)
    river.arrive()
    for losses in range(1, 5):
        log.unacknowledged[Topic.COMMANDS] = losses
        with suppress(StreamingQueryException):
            flow(river)
        log.unacknowledged.clear()
    river.restart()
    flow(river)
    assert (river.ids(), river.operations(), river.stored()) == (upto(3), 1 + 3, [])
    assert all(file.rows for file in river.ledger.read("db.t").files)
