"""The Spark session of a ledger: local, quiet, with the pinned jars of the Kafka source.

The start resolves no dependencies: the jars are in the cache folder and are given by path, because
a failed resolution looks in Python like a JVM that did not start. They are apart from the broker's
jars, which have another version of the Kafka client.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from ledger.errors import LedgerError, LogUnavailableError
from ledger.machine.kafka.jars import SPARK, jar_paths
from ledger.machine.kafka.java import Java, find_java
from spark_sink.catalog.session.starting import (
    IN_ONE_PROCESS,
    LOOPBACK,
    prepare_environment,
    started,
)

# Local checkpoints only: this manager renames without a check, which breaks on an object store.
LOCAL_CHECKPOINTS: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
# The pause of a query without new records, which then sends two requests to the broker. A warm,
# idle query took 9 % of a core with 10 ms, Spark's default, and 4 % with 20 ms and 30 ms (load 8 to
# 9). New records are seen 5 ms later on average.
LOOK_AGAIN: Final = "20ms"
# Spark lists more than 32 files by a job, with one task for each file: planning a read of 1,500
# files took 12 s in two threads, and 0.6 s with eight tasks (load 3).
LOOKING_TASKS: Final = "8"
SETTINGS: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.streaming.stateless.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": LOOKING_TASKS,
    "spark.sql.streaming.checkpointFileManagerClass": LOCAL_CHECKPOINTS,
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.pollingDelay": LOOK_AGAIN,
}

# Spark draws a secret for a session in one process: no other process may use its driver's ports.
SECRET: Final[Mapping[str, str]] = {"spark.authenticate": "true"}


def ledger_session(
    application: str,
    *,
    master: str = "local[2]",
    settings: Mapping[str, str] | None = None,
    java: Java | None = None,
) -> SparkSession:
    """Return a Spark session on this machine that can read the topics of a ledger.

    `settings` are Spark's own and win over `SETTINGS`. An existing handler of Ctrl-C stays; without
    one, Ctrl-C cancels Spark's jobs. Raises SettingsError without a Java 17 or newer, JarsError
    while the jars are not fetched.
    """
    runtime = java or find_java()
    prepare_environment(runtime)
    jars = ",".join(str(path) for path in jar_paths(SPARK))
    with as_file(files("spark_sink") / "log4j2.properties") as logging:
        options = {
            **SETTINGS,
            **(SECRET if IN_ONE_PROCESS.fullmatch(master) else {}),
            "spark.jars": jars,
            "spark.driver.extraJavaOptions": java_options(runtime, logging),
            **(settings or {}),
        }
        builder = SparkSession.builder.master(master).appName(application)
        return started(builder.config(map=dict(options)))


@contextmanager
def needing_jvm(spark: SparkSession) -> Iterator[None]:
    """Raise LogUnavailableError for any error because the JVM of a session has ended.

    A call to a dead JVM raises one of many errors, of the connection or of Py4J.
    """
    try:
        yield
    except LedgerError:
        raise
    except Exception as error:
        if answers(spark):
            raise
        raise LogUnavailableError(
            f"Spark's JVM has ended, killed or without memory ({error}). The rows so far are in "
            "the store: start this again, and it goes on from there"
        ) from error


def answers(spark: SparkSession) -> bool:
    """Return whether the JVM of a session answers."""
    try:
        return bool(spark.version)
    except Exception:  # noqa: BLE001 - any error means that there was no answer
        return False


def java_options(java: Java, logging: Path) -> str:
    """Return the flags of the driver's JVM.

    The deep stack is for Spark's own error path, whose pattern matching overflows the default one
    when a query is stopped inside a Python batch. Without memory the JVM exits: otherwise only the
    thread that needed memory would end, and a caller that waits for it would wait for ever.
    """
    flags = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xss4m", "-XX:+ExitOnOutOfMemoryError")
    return " ".join((f"-Dlog4j2.configurationFile={logging}", *flags, *java.flags))
