"""Programs with a Spark of their own: `python -m tests.spark_sink.catalog.session_programs NAME`.

Each prints what it found as one JSON object.
"""

import gc
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from os import getppid
from pathlib import Path
from socket import socket
from subprocess import PIPE, Popen
from threading import Thread
from typing import Any, Final

import psutil
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.machine.kafka.java import find_java
from ledger.testing import InMemoryLedger
from spark_sink import Lake, attach, foreach_batch
from spark_sink.catalog import compiled
from spark_sink.catalog.session.starting import prepare_environment
from spark_sink.session import ledger_session

Found = Mapping[str, Any]

WARM_ROUNDS: Final = 40
ROUNDS: Final = 200
MERGE: Final = (
    "MERGE INTO ledger.db.t t USING (SELECT {number} AS id, 'z' AS p) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET p = s.p WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, s.p)"
)
# Spark keeps the last so many of each for its pages, also without pages. And a statement makes
# threads until so many of a kind are there: by default 1,024 of each, and 128.
KEPT: Final = {
    f"spark.{name}": "20"
    for name in (
        *("ui.retainedJobs", "ui.retainedStages", "ui.retainedTasks"),
        *("sql.ui.retainedExecutions", "ui.retainedDeadExecutors"),
        *("sql.shuffleExchange.maxThreadThreshold", "sql.resultQueryStage.maxThreadThreshold"),
        "sql.broadcastExchange.maxThreadThreshold",
    )
}
CLUSTER: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}
STILL: Final = 10
"""So many collections in a row free nothing more."""
COLLECTIONS_MAX: Final = 50


def stopped() -> Found:
    """Stop a session, and go on with a new one in the same JVM."""
    with InMemoryLedger() as memory:
        ledger = memory.connect(warehouse="lake")
        lake = attach(ledger_session("first"), ledger)
        lake.spark.sql("CREATE TABLE ledger.db.a AS SELECT 1 AS id")
        before = lake.spark.table("ledger.db.a").count()
        lake.spark.stop()
        spark = ledger_session("second")
        try:
            spark.table("ledger.db.a").count()
            is_unattached = False
        except PySparkException:
            is_unattached = True
        lake = attach(spark, ledger)
        with lake.transaction():
            spark.sql("INSERT INTO ledger.db.a VALUES (2)")
        after = [row.id for row in spark.table("ledger.db.a").orderBy("id").collect()]
        txns = len(ledger.reads().open_txns(9))
        spark.stop()
    return {"before": before, "unattached": is_unattached, "after": after, "txns": txns}


def connect() -> Found:
    """Use the catalog by Spark Connect, its server in this process."""
    prepare_environment(find_java())
    with InMemoryLedger() as memory:
        spark = SparkSession.builder.remote("local[2]").getOrCreate()
        lake = attach(spark, memory.connect(warehouse="lake"))
        spark.sql("CREATE TABLE ledger.db.a AS SELECT 1 AS id")
        spark.sql("CREATE TABLE ledger.db.b (id INT)")
        with lake.transaction():
            spark.sql("INSERT INTO ledger.db.a VALUES (2), (3)")
            spark.sql("INSERT INTO ledger.db.b SELECT max(id) FROM ledger.db.a")
        found: dict[str, Any] = {
            "rows": [row.id for row in spark.table("ledger.db.a").orderBy("id").collect()],
            "conflict": lost(lake),
            "second": second(lake),
            "streamed": streamed(lake),
            "foreach_batch": by_batches(lake),
            "words": words(lake),
        }
        with lake.snapshot():
            held = spark.table("ledger.db.a").count()
            lake.ledger.append("db.a", [{"id": 9}])
            found["held"] = [held, spark.table("ledger.db.a").count()]
        spark.stop()
    return found


def local_cluster() -> Found:
    """Write and read with executors in processes of their own, which get the catalog as a jar."""
    prepare_environment(find_java())
    with InMemoryLedger() as memory:
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        for name, value in CLUSTER.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        lake = attach(spark, memory.connect(warehouse=str(Path("lake").absolute())))
        spark.sql("CREATE TABLE ledger.db.t (id INT, p STRING) PARTITIONED BY (p)")
        spark.sql("INSERT INTO ledger.db.t SELECT int(id), '' FROM range(0, 4, 1, 4)")
        for number in (3, 9):
            spark.sql(MERGE.format(number=number))
        processes = spark.sparkContext.parallelize(range(8), 8).map(lambda _: getppid())
        found = {
            "rows": sorted([row.id, row.p] for row in spark.table("ledger.db.t").collect()),
            "changes": spark.table("ledger.db.t.changes").count(),
            "executors": len(set(processes.collect())),
            "sdk": lake.ledger.scan("db.t").to_arrow().num_rows,
            "words": words(lake),
            **computed(lake),
        }
        spark.stop()
    return found


def standalone() -> Found:
    """Use a master and a worker in processes of their own."""
    prepare_environment(find_java())
    with InMemoryLedger() as memory, cluster() as master:
        builder = SparkSession.builder.master(master).config("spark.executor.memory", "600m")
        spark = builder.config(map=dict(CLUSTER)).getOrCreate()
        lake = attach(spark, memory.connect(warehouse=str(Path("lake").absolute())))
        found = {"words": words(lake), "master": spark.sparkContext.master}
        spark.stop()
    return found


def thrift() -> Found:
    """Use JDBC and a Thrift server, whose sessions got the parser by their settings."""
    prepare_environment(find_java())
    compiled.main()
    port = free_port()
    settings = {
        **CLUSTER,
        "spark.jars": str(compiled.jar_path()),
        "spark.sql.extensions": "lakeledger.LedgerExtensions",
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
        "spark.hadoop.hive.server2.thrift.port": port,
    }
    with InMemoryLedger() as memory:
        spark = SparkSession.builder.master("local[2]").config(map=dict(settings)).getOrCreate()
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to the JVM
        session: Any = spark._jsparkSession  # noqa: SLF001 - as above
        before = session.sessionState().sqlParser().getClass().getSimpleName()
        attach(spark, memory.connect(warehouse="lake"))
        server = jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2
        server.startWithContext(session.sqlContext())
        jvm.java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver")
        connection = jvm.java.sql.DriverManager.getConnection(
            f"jdbc:hive2://127.0.0.1:{port}/", "", ""
        )
        outside: list[int] = []
        statement = connection.createStatement()
        for text in (
            "CREATE TABLE ledger.db.j AS SELECT 1 AS id",
            "BEGIN",
            "UPDATE ledger.db.j SET id = 5",
            "COMMIT",
            "BEGIN ATOMIC DELETE FROM ledger.db.j; INSERT INTO ledger.db.j VALUES (7); END",
            "RESTORE TABLE ledger.db.j TO VERSION AS OF 1",
        ):
            statement.execute(text)
            outside.append(spark.table("ledger.db.j").collect()[0].id)
        connection.close()
        spark.stop()
    return {"parser": before, "outside": outside}


@contextmanager
def cluster() -> Iterator[str]:
    """Run a master with one worker, and yield the address of the master."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    address = ("--host", "127.0.0.1", "--webui-port", "0")
    worker = (master, "--cores", "1", "--memory", "1g", "--work-dir", str(Path("work").absolute()))
    with (
        deployed("master.Master", *address, "--port", port) as first,
        deployed("worker.Worker", *address, *worker) as second,
    ):
        wait_for(first, "Registering worker")
        yield master
        assert second.poll() is None


def free_port() -> str:
    """Return a port of this machine that no program uses now."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@contextmanager
def deployed(role: str, *arguments: str) -> Iterator[Popen[str]]:
    """Run a part of a cluster, and end it."""
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    command += [f"org.apache.spark.deploy.{role}", *arguments]
    with Popen(command, stderr=PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.communicate()


def wait_for(process: Popen[str], said: str) -> None:
    """Wait until a process has written some words; raises AssertionError if it ends before."""
    assert process.stderr is not None
    for line in process.stderr:
        if said in line:
            return
    raise AssertionError(f"the process ended with {process.wait()} before it wrote {said}")


def words(lake: Lake) -> Found:
    """Return what statements in the words of the ledger give: a write, a read and a look."""
    sql = lake.spark.sql
    sql("CREATE TABLE ledger.db.w (id BIGINT, v BIGINT)")
    for first in (0, 10):
        sql(f"INSERT INTO ledger.db.w SELECT id, id FROM range({first}, {first + 10}, 1, 1)")
    sql("BEGIN")
    sql("UPDATE ledger.db.w SET v = 0 WHERE id < 5")
    committed = sql("COMMIT").collect()[0]
    optimized = sql("OPTIMIZE ledger.db.w ZORDER BY (v)").collect()[0]
    return {
        "committed": committed.num_affected_rows,
        "optimized": list(optimized),
        "sum": sql("SELECT sum(v) AS n FROM ledger.db.w").collect()[0].n,
        "history": [row.operation for row in sql("DESCRIBE HISTORY ledger.db.w").collect()],
    }


def computed(lake: Lake) -> Found:
    """Return what executors compute, and the numbers that they got from the driver."""
    twice = "twice INT GENERATED ALWAYS AS (id * 2)"
    lake.spark.sql(f"CREATE TABLE ledger.db.g (id INT, {twice})")
    lake.spark.sql("INSERT INTO ledger.db.g (id) SELECT int(id) FROM range(0, 4, 1, 4)")
    lake.spark.sql("CREATE TABLE ledger.db.n (id BIGINT GENERATED ALWAYS AS IDENTITY, v INT)")
    lake.spark.sql("INSERT INTO ledger.db.n (v) SELECT int(id) FROM range(0, 9000, 1, 6)")
    numbers = [row.id for row in lake.spark.table("ledger.db.n").collect()]
    said = ""
    try:
        lake.spark.sql("INSERT INTO ledger.db.n VALUES (1, 1)")
    except PySparkException as error:
        said = str(error)
    return {
        "generated": sorted(row.twice for row in lake.spark.table("ledger.db.g").collect()),
        "numbers": len(set(numbers)),
        "own": "is an identity column" in said,
    }


def lost(lake: Lake) -> str:
    """Return the error of a txn that loses."""
    try:
        with lake.transaction():
            lake.spark.sql("UPDATE ledger.db.b SET id = 0")
            with lake.ledger.transaction() as other:
                other.update("db.b", {"id": 7})
    except ConflictError as error:
        return type(error).__name__
    return ""


def second(lake: Lake) -> str:
    """Return how a second block is refused, in another thread of the same session."""
    said: list[str] = []

    def look() -> None:
        try:
            with lake.snapshot():
                said.append("")
        except ValueError as error:
            said.append(str(error))

    with lake.transaction():
        thread = Thread(target=look)
        thread.start()
        thread.join()
    return said[0]


def streamed(lake: Lake) -> int:
    """Return how many rows a stream brought into a table."""
    lake.spark.sql("CREATE TABLE ledger.db.s (id BIGINT)")
    lake.spark.range(5).write.json("in")
    source = lake.spark.readStream.schema("id BIGINT").json("in")
    stream = source.writeStream.option("checkpointLocation", "checkpoint")
    stream.trigger(availableNow=True).toTable("ledger.db.s").awaitTermination()
    return lake.spark.table("ledger.db.s").count()


def by_batches(lake: Lake) -> str:
    """Return how foreach_batch is refused."""
    source = lake.spark.readStream.schema("id BIGINT").json("in")
    try:
        stream = source.writeStream.foreachBatch(foreach_batch("db.s"))
        stream = stream.option("checkpointLocation", str(Path("other").absolute()))
        stream.trigger(availableNow=True).start().awaitTermination()
    except Exception as error:  # noqa: BLE001 - its text is the answer
        return str(error)
    return ""


def round_of(lake: Lake, number: int) -> int:
    """Run ten statements, which leave as many rows and files as there were; return how many."""
    spark = lake.spark
    for statement in (
        f"INSERT INTO ledger.db.t VALUES ({number}, 1.5, 'x'), ({number + 1}, 2.5, 'y')",
        f"UPDATE ledger.db.t SET price = price * 2 WHERE id = {number}",
        MERGE.format(number=number),
        "SELECT p, count(*), sum(price) FROM ledger.db.t GROUP BY p",
        "DESCRIBE TABLE EXTENDED ledger.db.t",
        "SHOW TABLES IN ledger.db",
    ):
        spark.sql(statement).collect()
    with lake.transaction():
        spark.sql("INSERT OVERWRITE ledger.db.u SELECT sum(price) FROM ledger.db.t")
        spark.sql(f"DELETE FROM ledger.db.t WHERE id >= {number}")
    with lake.snapshot():
        spark.sql("SELECT * FROM ledger.db.u").collect()
    try:
        spark.sql("SELECT nothing FROM ledger.db.t").collect()
    except PySparkException:
        return 10
    return 9


def many_statements() -> Found:
    """Measure the heap and this process before and after many statements."""
    spark = ledger_session("many", settings=KEPT)
    with Ledger.connect() as ledger:
        lake = attach(spark, ledger)
        spark.sql("CREATE TABLE ledger.db.t (id INT, price DOUBLE, p STRING) PARTITIONED BY (p)")
        spark.sql("CREATE TABLE ledger.db.u (total DOUBLE)")
        for number in range(WARM_ROUNDS):
            round_of(lake, number)
        heap, python = [heap_of(spark)], [memory()]
        count = sum(round_of(lake, number) for number in range(ROUNDS))
        heap.append(heap_of(spark))
        python.append(memory())
        kept = [len(lake.state._txns), len(lake.state._writes)]  # noqa: SLF001 - to find leaks
    spark.stop()
    return {"statements": count, "heap": heap, "python": python, "kept": kept}


def heap_of(spark: SparkSession) -> int:
    """Return how many bytes of the heap are in use once collections find nothing more to free.

    Spark's cleaner removes what a collection found unused, and the next collection frees it.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to the JVM
    runtime = jvm.java.lang.Runtime.getRuntime()
    gc.collect()
    found = [int(runtime.totalMemory())]
    while len(found) <= STILL or (
        len(found) < COLLECTIONS_MAX and min(found[-STILL:]) < min(found[:-STILL])
    ):
        jvm.java.lang.System.gc()
        found.append(int(runtime.totalMemory()) - int(runtime.freeMemory()))
    return min(found)


def memory() -> int:
    """Return how many bytes this process has for itself."""
    gc.collect()
    return int(psutil.Process().memory_full_info().uss)


PROGRAMS: Final[Mapping[str, Callable[[], Found]]] = {
    each.__name__: each
    for each in (stopped, connect, local_cluster, standalone, thrift, many_statements)
}

if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(PROGRAMS[sys.argv[1]]())}\n")
