"""Iceberg tables that Spark writes without a catalog, and the rows of each of their snapshots.

It runs in the environment that `tests.iceberg.clients.spark_environment` makes: nothing of the
product is imported.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

ROW: Final = (
    "SELECT id, concat('n', id) AS name, "
    "timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, cast(id AS int)) AS at, "
    "named_struct('x', id * 1.5D, 'y', cast(id AS int)) AS p, array('a', cast(id AS string)), "
    "map('k', named_struct('z', cast(id AS int))) FROM range({first}, {last})"
)
LATER: Final = (
    "SELECT {id}, 'c', timestamp'2026-03-01 05:00:00', named_struct('y', 1.0D, 'w', 'w'), "
    "array('q'), map(), 'new'"
)
TABLES: Final = {
    "first": ("1", "copy-on-write", ""),
    "second": ("2", "merge-on-read", "PARTITIONED BY (days(at))"),
    "third": ("3", "merge-on-read", "PARTITIONED BY (truncate(1, name))"),
}
STATEMENTS: Final = (
    f"INSERT INTO {{table}} {ROW.format(first=0, last=10)}",
    f"INSERT INTO {{table}} {ROW.format(first=10, last=15)}",
    "DELETE FROM {table} WHERE id = 3",
    "UPDATE {table} SET name = 'changed' WHERE id IN (4, 11)",
    "ALTER TABLE {table} RENAME COLUMN name TO called",
    "ALTER TABLE {table} ADD COLUMN name STRING",
    "ALTER TABLE {table} ADD COLUMN p.w STRING",
    "ALTER TABLE {table} DROP COLUMN p.y",
    "ALTER TABLE {table} RENAME COLUMN p.x TO y",
    f"INSERT INTO {{table}} {LATER.format(id=100)}",
    "DELETE FROM {table} WHERE id IN (5, 100)",
    "ALTER TABLE {table} ADD PARTITION FIELD bucket(4, id)",
    f"INSERT INTO {{table}} {LATER.format(id=200)}",
    "DELETE FROM {table} WHERE id IN (6, 200)",
    "CALL lake.system.rewrite_data_files(table => '{plain}', options => map('rewrite-all','true'))",
    "DELETE FROM {table} WHERE id = 7",
)


def session(jar: str, warehouse: str) -> Any:
    """Return a session whose catalog `lake` is a folder."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - loads Spark

    settings = {
        "spark.jars": jar,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": warehouse,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
    }
    builder = SparkSession.builder.master("local[1]").appName("iceberg")
    for key, value in settings.items():
        builder = builder.config(key, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def rows_of_snapshots(spark: Any, name: str) -> dict[str, list[str]]:
    """Make a table with a history, and return the rows of each of its snapshots as JSON."""
    form, mode, more = TABLES[name]
    plain, table = f"db.{name}", f"lake.db.{name}"
    modes = ", ".join(f"'write.{each}.mode'='{mode}'" for each in ("delete", "update", "merge"))
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, name STRING, at TIMESTAMP, "
        "p STRUCT<x: DOUBLE, y: INT>, tags ARRAY<STRING>, m MAP<STRING, STRUCT<z: INT>>) "
        f"USING iceberg {more} TBLPROPERTIES ('format-version'='{form}', {modes})"
    )
    for statement in STATEMENTS:
        spark.sql(statement.format(table=table, plain=plain))
    history = f"SELECT snapshot_id FROM {table}.history WHERE is_current_ancestor"  # noqa: S608
    return {
        str(each[0]): spark.read.option("versionAsOf", each[0]).table(table).toJSON().collect()
        for each in spark.sql(history).collect()
    }


def main() -> None:
    """Make all tables below a folder, and write the rows of their snapshots beside them."""
    jar, warehouse = sys.argv[1:3]
    spark = session(jar, warehouse)
    found = {name: rows_of_snapshots(spark, name) for name in TABLES}
    (Path(warehouse) / "rows.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
