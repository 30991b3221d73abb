"""Whether the installed PySpark works with the catalog: `python -m spark_sink.catalog.probe`.

It compiles the Java side, runs one statement of each kind on a ledger in memory, and writes one
line. Exit status 1 if anything fails.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyspark
from pyspark.sql import SparkSession

from ledger.machine.kafka.java import find_java
from ledger.machine.process import set_up_logging
from ledger.testing import InMemoryLedger
from spark_sink.catalog.session.attaching import Lake, attach
from spark_sink.catalog.session.starting import LOOPBACK, prepare_environment

SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": LOOPBACK,
    "spark.sql.shuffle.partitions": "1",
    "spark.log.level": "OFF",
}
STATEMENTS: Final = {
    "CREATE": "CREATE TABLE ledger.db.t (id INT, price DOUBLE, p STRING) PARTITIONED BY (p)",
    "INSERT": "INSERT INTO ledger.db.t VALUES (1, 1.5, 'x'), (2, 2.5, 'y'), (3, 3.5, 'y')",
    "UPDATE": "UPDATE ledger.db.t SET price = price * 2 WHERE id = 2",
    "DELETE": "DELETE FROM ledger.db.t WHERE id = 3",
    "MERGE": "MERGE INTO ledger.db.t t USING (SELECT 1 AS id, 'z' AS p) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET p = s.p WHEN NOT MATCHED THEN INSERT (id, p) VALUES (id, p)",
    "OVERWRITE": "INSERT INTO ledger.db.t REPLACE WHERE p = 'w' SELECT 4, 4.5, 'w'",
    "ALTER": "ALTER TABLE ledger.db.t ADD COLUMN more STRING",
    "SET": "ALTER TABLE ledger.db.t SET TBLPROPERTIES ('lakeledger.rows' = 'marks')",
    "MARK": "UPDATE ledger.db.t SET price = price + 1 WHERE id = 4",
    "CTAS": "CREATE TABLE ledger.db.u AS SELECT * FROM ledger.db.t",
    "SHOW": "SHOW PARTITIONS ledger.db.t",
    "CALL": "CALL ledger.system.history('db.t')",
    "BEGIN": "BEGIN",
    "OPTIMIZE": "OPTIMIZE ledger.db.t ZORDER BY (id)",
    "COMMIT": "COMMIT",
    "DESCRIBE HISTORY": "DESCRIBE HISTORY ledger.db.t LIMIT 1",
    "AS OF": "SELECT * FROM ledger.db.t VERSION AS OF 1",
}
EXPECTED: Final = [(1, "z"), (2, "y"), (4, "w"), (5, "v")]
REASON_CHARS: Final = 300


def probe(folder: Path) -> str:
    """Return which step fails and why, "" if all of them work."""
    builder = SparkSession.builder.master("local[2]").config(map=dict(SETTINGS))
    spark = builder.config("spark.sql.warehouse.dir", str(folder / "spark")).getOrCreate()
    step = "attach"
    try:
        with InMemoryLedger() as memory:
            lake = attach(spark, memory.connect(warehouse=str(folder)))
            for step, statement in STATEMENTS.items():  # noqa: B007 - names the step that failed
                spark.sql(statement).collect()
            step = "transaction"
            with lake.transaction():
                spark.sql("INSERT INTO ledger.db.t VALUES (5, 5.5, 'v', 'm')")
                spark.sql("DELETE FROM ledger.db.u")
            step = "rows"
            check_rows(lake)
            step = "stream"
            check_stream(lake, folder)
    except Exception as error:  # noqa: BLE001 - the reason is the answer
        return f"{step} fails: {' '.join(str(error).split())[:REASON_CHARS]}"
    finally:
        spark.stop()
    return ""


def check_rows(lake: Lake) -> None:
    """Raise ValueError if the statements left other rows than they say."""
    rows = lake.spark.sql("SELECT id, p FROM ledger.db.t ORDER BY id").collect()
    found = [tuple(row) for row in rows]
    if found != EXPECTED or lake.spark.table("ledger.db.u").count():
        raise ValueError(f"the rows must be {EXPECTED}, got {found}")


def check_stream(lake: Lake, folder: Path) -> None:
    """Raise ValueError if a stream brings other rows than its source has."""
    spark = lake.spark
    spark.range(7).write.json(str(folder / "in"))
    spark.sql("CREATE TABLE ledger.db.s (id BIGINT)")
    source = spark.readStream.schema("id BIGINT").json(str(folder / "in"))
    stream = source.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    stream.trigger(availableNow=True).toTable("ledger.db.s").awaitTermination()
    found = spark.table("ledger.db.s").count()
    if found != 7:  # noqa: PLR2004 - the rows above
        raise ValueError(f"a stream must bring 7 rows, got {found}")


def main() -> int:
    """Write the line, and return the exit status."""
    set_up_logging()
    prepare_environment(find_java())
    with TemporaryDirectory() as folder:
        reason = probe(Path(folder))
    verdict = f"does not work with the catalog: {reason}" if reason else "works with the catalog"
    sys.stdout.write(f"PySpark {pyspark.__version__} {verdict}\n")
    return int(bool(reason))


if __name__ == "__main__":
    sys.exit(main())
