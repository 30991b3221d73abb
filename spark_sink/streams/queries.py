"""The query that runs a batch: its id, and how far the batch reads its sources.

Spark gives a function for batches their number alone. The rest is known in the JVM, by the query
that runs in this thread.
"""

from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ledger.errors import SettingsError
from ledger.sdk.streams import SourceOffset
from spark_sink.catalog.session.shared_txns import context_of_thread
from spark_sink.catalog.write.stream_offsets import check_kept, value_of

QUERY: Final = "sql.streaming.queryId"


class RunningQuery(NamedTuple):
    """A query of Structured Streaming, and the offsets at which one of its batches ends."""

    id: str
    name: str
    sources: tuple[SourceOffset, ...]


def running_query(spark: SparkSession, batch: int) -> RunningQuery:
    """Return the query that runs a batch in this thread.

    Raises ValueError outside a stream, and for a query whose checkpoint is not kept; SettingsError
    for a driver in another process.
    """
    context = context_of_thread(spark)
    if context is None:
        raise SettingsError(
            "foreach_batch must run in the process of Spark's driver, and this is a Connect session"
        )
    number = context.getLocalProperty(QUERY)
    if number is None:
        raise ValueError(
            "foreach_batch must be called by a stream: df.writeStream.foreachBatch("
            "foreach_batch(...)).start()"
        )
    jvm: Any = context._jvm  # noqa: SLF001 - PySpark has no public way to the running query
    shared = spark._jsparkSession.sharedState()  # noqa: SLF001 - as above
    query = shared.activeStreamingQueries().get(jvm.java.util.UUID.fromString(number))
    check_kept(str(number), str(query.resolvedCheckpointRoot()))
    return RunningQuery(str(number), str(query.name() or ""), offsets_of(jvm, query, batch))


def offsets_of(jvm: Any, query: Any, batch: int) -> tuple[SourceOffset, ...]:
    """Return the offsets at which a batch ends, source by source."""
    as_list = jvm.scala.jdk.javaapi.CollectionConverters.asJava
    planned = query.offsetLog().get(batch)
    ends = list(as_list(planned.get().offsets())) if planned.isDefined() else []
    sources = list(as_list(query.sources()))
    if len(sources) != len(ends):
        return tuple(SourceOffset("", end_of(each)) for each in ends)
    return tuple(
        SourceOffset(str(source.toString()), end_of(end), latest_of(source))
        for source, end in zip(sources, ends, strict=True)
    )


def end_of(offset: Any) -> Any:
    """Return an offset of Spark, given as an option, as a value; None for a source without one."""
    return value_of(str(offset.get().json())) if offset.isDefined() else None


def latest_of(source: Any) -> Any:
    """Return where a source ends now, None if it does not say that."""
    try:
        found = source.reportLatestOffset()
    except Py4JError:
        return None
    return None if found is None else value_of(str(found.json()))
