"""T1 to T5: the catalog of Spark against plain Parquet and delta-spark, in one session.

A whole ledger of this machine is up. The session has both catalogs, and both sides take turns. The
jars of delta-spark come through Spark's own resolver.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from ledger.machine.kafka.broker import Broker
from ledger.machine.kafka.java import find_java
from spark_sink import attach
from spark_sink.catalog.session.starting import prepare_environment
from tests.benchmarks.closed_loop import warm_broker
from tests.benchmarks.figure import Figure, SkippedError, against
from tests.benchmarks.table_rows import Lake, ms, up

PACKAGE: Final = "io.delta:delta-spark_4.2_2.13:4.4.0"
SETTINGS: Final = {
    "spark.jars.packages": PACKAGE,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # What delta-spark's own tests set for small tables; its default is 50 tasks for each log.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
ROUNDS: Final = 3
FILES: Final = 1_000
ROWS: Final = 10_000_000
LARGE: Final = 2_000_000
ONES: Final = 15
PARTITIONS: Final = 12
CHANGED: Final = 1_000_000
APPENDERS: Final = 8
APPENDS: Final = 4
COLUMNS: Final = "id BIGINT, p INT, price DOUBLE, name STRING"

Call = Callable[[], object]
Run = Callable[[str, int], None]


class Properties(NamedTuple):
    """What the tables of both sides are created with."""

    ours: str
    delta: str


class Share(NamedTuple):
    """The rows that a call changes: `where` says them of a table `t`, `on` by a source `s`.

    They are among the `first` ids.
    """

    what: str
    first: int
    where: Callable[[int], str]
    on: str
    calls: int


FIRST: Final = CHANGED // 100 * PARTITIONS
WITHOUT: Final = Properties("", "")
VECTORS: Final = Properties(
    "TBLPROPERTIES ('lakeledger.rows' = 'marks')",
    "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
)
IN_ONE: Final = Share(
    "in one", FIRST, lambda _: f"t.p = 3 AND t.id < {FIRST}", "t.p = 3 AND t.id = s.id", 3
)
# Other rows in each call, of all partitions. They lie in the first files, few enough for marks.
SPREAD: Final = Share(
    "in all", CHANGED, lambda number: f"t.id % 101 = {number}", "t.p = s.p AND t.id = s.id", 2
)


class Sides(NamedTuple):
    """A session with both catalogs, and a folder."""

    spark: SparkSession
    folder: Path

    def sql(self, statement: str) -> None:
        """Run a statement."""
        self.spark.sql(statement).collect()

    def rows(self, count: int, first: int = 0) -> DataFrame:
        """Return rows with their partition."""
        return self.spark.range(first, first + count).selectExpr(
            "id",
            f"CAST(id % {PARTITIONS} AS INT) AS p",
            "id * 0.25D AS price",
            "concat('name ', id % 1000) AS name",
        )


@contextmanager
def sides(lake: Lake) -> Iterator[Sides]:
    """Run the session; raises SkippedError if the jars cannot be fetched."""
    prepare_environment(find_java())
    builder = SparkSession.builder.master("local[2]").appName("benchmarks")
    settings = {**SETTINGS, "spark.sql.warehouse.dir": str(lake.folder / "delta")}
    try:
        spark = builder.config(map=dict(settings)).getOrCreate()
    except Exception as error:
        raise SkippedError(f"the jars of {PACKAGE} cannot be fetched: {error}") from error
    try:
        attach(spark, lake.ledger)
        yield Sides(spark, lake.folder)
    finally:
        spark.stop()


def measure(broker: Broker) -> list[Figure]:
    """Return T1 to T5."""
    warm_broker(broker)
    with up(broker, "t1") as lake, sides(lake) as both:
        return [
            read_many_files(both),
            write_many_rows(both),
            insert_one_row(both),
            *change_one_percent(both),
            append_together(both),
        ]


def read_many_files(both: Sides) -> Figure:
    """Return T1."""
    rows = both.rows(ROWS).repartition(FILES)
    place = both.folder / "many"
    both.sql(f"CREATE TABLE ledger.b.many ({COLUMNS}) LOCATION '{place}'")
    rows.writeTo("ledger.b.many").append()

    def total(frame: DataFrame) -> None:
        found = frame.selectExpr("count(*)", "sum(price)", "max(name)").collect()[0]
        assert found[0] == ROWS, found

    found = rounds(
        lambda: total(both.spark.table("ledger.b.many")),
        lambda: total(both.spark.read.parquet(str(place))),
        calls=1,
    )
    note = f"a sum over {ROWS} rows in {FILES} files, against spark.read.parquet of the same files"
    return against("T1", "rows/s", [(ROWS / a * 1000, ROWS / b * 1000) for a, b in found], note)


def write_many_rows(both: Sides) -> Figure:
    """Return T2."""
    rows, numbers = both.rows(LARGE), count()
    both.sql(f"CREATE TABLE ledger.b.large ({COLUMNS}) LOCATION '{both.folder / 'large'}'")

    def plain() -> None:
        rows.write.parquet(str(both.folder / f"plain-{next(numbers)}"))

    found = rounds(lambda: rows.writeTo("ledger.b.large").append(), plain, calls=1)
    for each in both.folder.glob("plain-*"):
        shutil.rmtree(each)
    note = f"INSERT of {LARGE} rows, against df.write.parquet"
    return against("T2", "rows/s", [(LARGE / a * 1000, LARGE / b * 1000) for a, b in found], note)


def insert_one_row(both: Sides) -> Figure:
    """Return T3."""
    numbers = count()
    tables = ("ledger.b.one", "one")
    create(both, tables, "")

    def insert(table: str) -> Call:
        return lambda: both.sql(f"INSERT INTO {table} VALUES ({next(numbers)}, 1, 1.5, 'x')")

    found = rounds(*map(insert, tables), calls=ONES)
    return against("T3", "ms p50", found, "INSERT of one row, against delta-spark")


def change_one_percent(both: Sides) -> list[Figure]:
    """Return T4: the rows lie in one of the partitions."""
    return changes(both, "T4", WITHOUT, IN_ONE)


def measure_marks(broker: Broker) -> list[Figure]:
    """Return T4v: T4 with vectors on both sides, and the same for rows of all partitions."""
    warm_broker(broker)
    with up(broker, "t4v") as lake, sides(lake) as both:
        return [
            *changes(both, "T4v", VECTORS, IN_ONE),
            *changes(both, "T4v-spread", VECTORS, SPREAD),
        ]


def changes(both: Sides, name: str, properties: Properties, share: Share) -> list[Figure]:
    """Return what UPDATE and MERGE of a share of the rows take."""
    what = f"of 1 % of {CHANGED} rows, {share.what} of {PARTITIONS} partitions, against delta-spark"
    if properties.delta:
        what += " with deletion vectors"

    def update(table: str, number: int) -> None:
        both.sql(f"UPDATE {table} t SET price = price + 1 WHERE {share.where(number)}")

    def merge(table: str, number: int) -> None:
        rows = both.rows(share.first).alias("t").where(share.where(number))
        rows.selectExpr("id", "p", "price + 1 AS price").createOrReplaceTempView("some")
        both.sql(
            f"MERGE INTO {table} t USING some s ON {share.on} "
            "WHEN MATCHED THEN UPDATE SET price = s.price "
            "WHEN NOT MATCHED THEN INSERT (id, p, price) VALUES (s.id, s.p, s.price)"
        )

    return [
        against(f"{name}-{run.__name__}", "ms", found, f"{run.__name__.upper()} {what}")
        for run in (update, merge)
        for found in [changed(both, f"{name}_{run.__name__}", properties, share.calls, run)]
    ]


def changed(
    both: Sides, name: str, properties: Properties, calls: int, run: Run
) -> list[tuple[float, float]]:
    """Return what a statement takes on new tables of both sides, round by round."""
    names = name.replace("-", "_").lower()
    tables = (f"ledger.b.{names}", names)
    create(both, tables, "PARTITIONED BY (p)", properties)
    for table in tables:
        both.rows(CHANGED).writeTo(table).append()

    def calling(table: str) -> Call:
        numbers = count()
        return lambda: run(table, next(numbers))

    return rounds(*map(calling, tables), calls=calls)


def append_together(both: Sides) -> Figure:
    """Return T5."""
    tables = ("ledger.b.shared", "shared")
    create(both, tables, "")

    def append(table: str) -> Call:
        def appended() -> None:
            with ThreadPoolExecutor(APPENDERS) as pool:
                one = f"INSERT INTO {table} VALUES (1, 1, 1.5, 'x')"
                list(pool.map(both.sql, [one] * (APPENDERS * APPENDS)))

        return appended

    found = rounds(*map(append, tables), calls=1)
    made = APPENDERS * APPENDS
    ledger, delta = (both.spark.table(each).count() for each in tables)
    assert ledger == delta == made * (ROUNDS + 1)
    note = f"{APPENDERS} threads append one row each time to one table, against delta-spark"
    return against("T5", "commits/s", [(made / a * 1000, made / b * 1000) for a, b in found], note)


def create(
    both: Sides, tables: Sequence[str], partition: str, properties: Properties = WITHOUT
) -> None:
    ours, delta = tables
    place = f"LOCATION '{both.folder / ours}'"
    both.sql(f"CREATE TABLE {ours} ({COLUMNS}) {partition} {place} {properties.ours}")
    both.sql(f"CREATE TABLE {delta} ({COLUMNS}) USING delta {partition} {properties.delta}")


def rounds(ours: Call, other: Call, *, calls: int) -> list[tuple[float, float]]:
    """Return the median milliseconds of both in each round, in turn; the first is not measured."""
    found = []
    for _ in range(ROUNDS + 1):
        pairs = [(ms(ours), ms(other)) for _ in range(calls)]
        mine, others = zip(*pairs, strict=True)
        found.append((median(mine), median(others)))
    return found[1:]
