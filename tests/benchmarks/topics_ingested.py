"""IN1 and IN2: topics into tables, against Spark Structured Streaming, and how fresh rows are.

Both sides read the same topics from their start into tables of one ledger, on the same cores, one
after the other. A rate is measured from the first readable row on, so no start counts.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from threading import Event as Signal
from time import perf_counter
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ledger.machine.kafka.broker import Broker
from spark_sink import attach, foreach_batch
from spark_sink.session import ledger_session
from tests.benchmarks.figure import Figure, percentile
from tests.benchmarks.table_rows import Lake, up
from tests.integration.ingested import soaked

TOPICS: Final = ("a", "b", "c")
PARTITIONS: Final = 3
RECORDS: Final = 200_000
COLUMNS: Final = (("id", "BIGINT"), ("name", "STRING"), ("price", "DOUBLE"))
SCHEMA: Final = "id BIGINT, name STRING, price DOUBLE"
PROCESSES: Final = 2
LOOK_S: Final = 0.1
PATIENCE_S: Final = 600.0
RATE: Final = 1_000
MINUTES: Final = 1.0
NEVER_S: Final = 1e9


def measure_rate(broker: Broker) -> list[Figure]:
    """Return IN1: rows a second of a backlog in three topics into three tables."""
    with up(broker, "in1") as lake:
        fill(broker)
        ours = rate_of(lake, "ours", lambda: ingesting(broker, lake))
        spark = rate_of(lake, "spark", lambda: streaming(broker, lake))
    what = f"{RECORDS} records of each of {len(TOPICS)} topics, against Spark Structured Streaming"
    return [Figure("IN1", round(ours), "rows/s", round(spark), float(f"{ours / spark:.3g}"), what)]


def measure_freshness(_: Broker) -> list[Figure]:
    """Return IN2: from a record's production to its row in another process."""
    options = argparse.Namespace(minutes=MINUTES, rate=RATE, topics=3, every_s=NEVER_S)
    with tempfile.TemporaryDirectory() as folder, Broker.start(Path(folder) / "kafka") as broker:
        found = soaked(broker, Path(folder), options)
    assert found.differences == ()
    what = f"{RATE} records a second in {options.topics} topics, one of them merged"
    shares = {"IN2": 0.5, "IN2-p99": 0.99}
    return [
        Figure(name, round(percentile(found.fresh_ms, share)), "ms", note=what)
        for name, share in shares.items()
    ]


def fill(broker: Broker) -> None:
    """Make the topics, and produce all records."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    made = admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in TOPICS])
    for answer in made.values():
        answer.result()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 50})
    for number in range(RECORDS):
        value = json.dumps({"id": number, "name": f"name {number}", "price": number / 4})
        for topic in TOPICS:
            producer.produce(topic, value, str(number))
        if number % 1_000 == 0:
            producer.flush()
    assert producer.flush(PATIENCE_S) == 0


def rate_of(lake: Lake, side: str, run: Callable[[], Any]) -> float:
    """Return the rows a second of one side, between its first rows and its last."""
    for topic in TOPICS:
        name = f"{side}.{topic}"
        lake.ledger.create_table(name, COLUMNS, location=lake.folder / side / topic)

    def count() -> int:
        return sum(lake.ledger.scan(f"{side}.{topic}").count() for topic in TOPICS)

    with run():
        began, first_s = wait_for(count, 1)
        found, last_s = wait_for(count, RECORDS * len(TOPICS))
    assert found == RECORDS * len(TOPICS)
    return (found - began) / (last_s - first_s)


def wait_for(count: Callable[[], int], rows: int) -> tuple[int, float]:
    """Return how many rows there are once there are enough, and the time."""
    until_s = perf_counter() + PATIENCE_S
    while (found := count()) < rows:
        if perf_counter() > until_s:
            raise TimeoutError(f"{found} of {rows} rows came")
        Signal().wait(LOOK_S)
    return found, perf_counter()


@contextmanager
def ingesting(broker: Broker, lake: Lake) -> Iterator[None]:
    """Run the processes of an ingest."""
    tables = [f'[[topics]]\ntopic = "{topic}"\ntable = "ours.{topic}"' for topic in TOPICS]
    mapping = lake.folder / "mapping.toml"
    mapping.write_text("\n".join(['name = "in1"', *tables]))
    where = ("--bootstrap", broker.bootstrap, "--ledger", "in1", "--store", str(lake.store))
    command = [sys.executable, "-m", "ledger", "serve", "ingest", str(mapping), *where, "--no-http"]
    processes: Sequence[Popen[bytes]] = [Popen(command) for _ in range(PROCESSES)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def streaming(broker: Broker, lake: Lake) -> Iterator[None]:
    """Run a streaming query over the same topics, into three tables by one txn a batch."""
    from pyspark.sql.functions import col, from_json  # noqa: PLC0415 - loads Spark

    def write(frame: Any, _number: int) -> None:
        for topic in TOPICS:
            rows = frame.where(col("topic") == topic).select("row.*")
            rows.writeTo(f"ledger.spark.{topic}").append()

    spark = ledger_session("in1", settings={"spark.local.dir": str(lake.folder / "scratch")})
    try:
        attach(spark, lake.ledger)
        options = {
            "kafka.bootstrap.servers": broker.bootstrap,
            "subscribe": ",".join(TOPICS),
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": "60000",
        }
        source = spark.readStream.format("kafka").options(**options).load()
        read = from_json(col("value").cast("string"), SCHEMA).alias("row")
        stream = source.select("topic", read).writeStream.foreachBatch(foreach_batch(write))
        query = stream.option("checkpointLocation", str(lake.folder / "checkpoint")).start()
        yield
        query.stop()
    finally:
        spark.stop()
