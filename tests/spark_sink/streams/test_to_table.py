"""`toTable` writes each batch of a stream once, with its offsets in the commit."""

from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from ledger.sdk.streams import streams_in
from tests.spark_sink.streams.river import River, upto

pytestmark = pytest.mark.spark


def flow(river: River, checkpoint: str = "checkpoint", **options: Any) -> None:
    """Run the stream into the table until it has read what there is."""
    writer = river.source().writeStream.trigger(availableNow=True).options(**options)
    place = str(river.folder / checkpoint)
    query = writer.option("checkpointLocation", place).queryName("clicks").toTable("ledger.db.t")
    try:
        query.awaitTermination()
    finally:
        query.stop()


def test_each_batch_once(river: River, log_lines: list[dict[str, object]]) -> None:
    """A batch is one append; one that Spark gives again adds nothing, and leaves no file."""
    river.table()
    river.arrive(3)
    flow(river)
    assert (river.ids(), river.operations(), river.orphans()) == (upto(3), 3, 0)
    (stream,) = streams_in(river.ledger.reads())
    assert (stream.name, stream.batch, stream.application) == ("clicks", 2, stream.query)
    assert [each["end"] for each in stream.offsets] == [{"logOffset": 2}]
    history = river.ledger.reads().versions(river.ledger.table("db.t").table, 9)
    assert {each.operation for each in history[:-1]} == {"STREAMING UPDATE"}
    assert all(each.blind for each in history[:-1])
    river.forget(2)
    river.restart()
    flow(river)
    assert (river.ids(), river.operations(), river.orphans()) == (upto(3), 3, 0)
    skipped = [each for each in log_lines if each["event"] == "batch skipped"]
    assert [(each["version"], each["recorded"]) for each in skipped] == [(2, 2)]


def test_refused(river: River) -> None:
    """Another query under one name, and a checkpoint without its ledger, are refused by name."""
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
