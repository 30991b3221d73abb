"""Files that Spark wrote without the catalog, with settings of earlier releases."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ledger.log.wire.file_list import AddFile
from spark_sink import Lake

pytestmark = pytest.mark.spark

DAYS = ["0003-03-01", "1582-10-04", "1582-10-15", "1899-12-31"]
WRITING = "spark.sql.parquet"


def test_old_days_in_both_calendars(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    """A condition finds the rows that a scan of all rows has, in Arrow and in Spark."""
    files = [
        each
        for kind in ("INT96", "TIMESTAMP_MICROS")
        for each in written(spark, tmp_path / "t", kind)
    ]
    ledger = lake.ledger
    ledger.create_table("db.t", [("d", "date"), ("t", "timestamp")], location=str(tmp_path / "t"))
    ledger.append("db.t", files)
    lost = []
    for read in (by_arrow, by_spark):
        every = read(lake, spark, "true")
        assert len(every) == len(files)
        for day, moment in every:
            wheres = (f"d = DATE'{day}'", f"t <= TIMESTAMP'{moment}'", f"t >= TIMESTAMP'{moment}'")
            found = {where: read(lake, spark, where) for where in wheres}
            lost += [(read, where) for where in wheres if (day, moment) not in found[where]]
    assert not lost


def written(spark: SparkSession, folder: Path, kind: str) -> list[AddFile]:
    """Write old days by the calendar of earlier releases, and return the files."""
    settings = {
        f"{WRITING}.outputTimestampType": kind,
        f"{WRITING}.datetimeRebaseModeInWrite": "LEGACY",
        f"{WRITING}.int96RebaseModeInWrite": "LEGACY",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        for day in DAYS:
            rows = spark.sql(f"SELECT DATE'{day}' AS d, TIMESTAMP'{day} 00:00:00.123456' AS t")
            rows.coalesce(1).write.parquet(str(folder / kind / day))
    finally:
        for key in settings:
            spark.conf.unset(key)
    return [added(folder, f"{kind}/{day}", day) for day in DAYS]


def added(folder: Path, below: str, day: str) -> AddFile:
    """Return a file with the statistics that Delta's writer in Spark records."""
    (path,) = (folder / below).glob("*.parquet")
    bounds = {"d": day, "t": f"{day}T00:00:00.123Z"}
    stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": {"d": 0}}
    name = path.relative_to(folder).as_posix()
    return AddFile(name, size=path.stat().st_size, stats=json.dumps(stats))


def by_arrow(lake: Lake, _: SparkSession, where: str) -> list[tuple[str, str]]:
    found = lake.ledger.scan("db.t", where).to_arrow().to_pylist()
    return [(text(each["d"]), text(each["t"])) for each in found]


def by_spark(_: Lake, spark: SparkSession, where: str) -> list[tuple[str, str]]:
    query = f"SELECT CAST(d AS STRING), CAST(t AS STRING) FROM ledger.db.t WHERE {where}"
    return [(each[0], each[1]) for each in spark.sql(query).collect()]


def text(value: date) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    return value.isoformat()
