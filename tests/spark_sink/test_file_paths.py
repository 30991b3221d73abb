"""Files are read wherever they lie, by whatever path; what is not there, or not known, is named."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from ledger.errors import UnreadableTableError
from ledger.log.file_list import AddFile
from spark_sink import cached_table
from tests.spark_sink.host import NAME, Host
from tests.spark_sink.test_frames import rows

pytestmark = pytest.mark.spark


def test_many_files_are_looked_for_by_few_tasks(spark: SparkSession, host: Host) -> None:
    """A plan of many files starts no task for each of them."""
    host.create("listed")
    host.ledger.append(NAME, [host.file(f"day=1/{n}.parquet", "N") for n in range(100)])
    snapshot, context = host.snapshot(), spark.sparkContext
    context.setJobGroup("many files", "a plan")
    frame = cached_table(spark, NAME, snapshot, host.tables)
    context.setJobGroup("", "")
    seen = context.statusTracker()
    jobs = [seen.getJobInfo(each) for each in seen.getJobIdsForGroup("many files")]
    stages = [seen.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert (sum(each.numTasks for each in stages if each), frame.count()) == (8, 100)


@pytest.mark.parametrize(
    ("path", "vector", "why"),
    [
        ("day=1/a.parquet", "u1", "has a deletion vector"),
        ("day=1/_a.parquet", "", "has a name that Spark treats as hidden"),
        (".a.parquet", "", "has a name that Spark treats as hidden"),
        ("day=1/a.parquet._COPYING_", "", "has a name that Spark treats as hidden"),
    ],
)
def test_files_that_are_not_plain(
    spark: SparkSession, host: Host, path: str, vector: str, why: str
) -> None:
    """A file of which Spark would show other rows, or none, is refused."""
    host.create("listed")
    host.ledger.append(NAME, [host.file(path, "N1", vector=vector), host.file("b.parquet", "N2")])
    with pytest.raises(UnreadableTableError, match=why):
        cached_table(spark, NAME, host.snapshot(), host.tables)


def test_a_partition_of_no_value(spark: SparkSession, host: Host) -> None:
    """A file whose only partition value is NULL is read, also where it is the only file."""
    host.create("listed")
    host.ledger.append(NAME, [host.file("a.parquet", "N1", day=None)])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert rows(frame) == [(None, "N1")]


def test_escapes_in_paths(spark: SparkSession, host: Host) -> None:
    """A path is plain text, or a URI as in a Delta log: what lies there is read."""
    host.create("listed")
    host.write("day=1/a%20b.parquet", ["as it is"])
    host.write("day=1/c d.parquet", ["as a URI"])
    host.write("10%25 ö:e/a.parquet", ["escaped twice"])
    odd = str(host.warehouse / "flights/10%2525%20%C3%B6%3Ae/a.parquet")
    paths = ["day=1/a%20b.parquet", "day=1/c%20d.parquet", f"file://{odd}"]
    host.ledger.append(NAME, [AddFile(path, ("1",)) for path in paths])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert rows(frame) == [(1, "as a URI"), (1, "as it is"), (1, "escaped twice")]


def test_a_path_of_two_files(spark: SparkSession, host: Host) -> None:
    """Where a path may mean either of two files neither is guessed."""
    host.create("listed")
    host.ledger.append(NAME, [host.file("a%20b.parquet", "one")])
    host.write("a b.parquet", ["other"])
    with pytest.raises(UnreadableTableError, match="may mean two files"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


def test_two_paths_of_a_file(spark: SparkSession, host: Host) -> None:
    """A file that is in a table twice, by other spellings, is not shown twice."""
    host.create("listed")
    host.ledger.append(NAME, [host.file("a.parquet", "N1"), AddFile("x/../a.parquet", ("1",))])
    with pytest.raises(UnreadableTableError, match="is two files of the ledger"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


def test_files_that_are_gone(spark: SparkSession, host: Host) -> None:
    """A file that is not there is named: rows that are missing are never passed over."""
    host.create("listed")
    gone = [AddFile(f"gone/{number}.parquet", ("1",)) for number in range(40)]
    host.ledger.append(NAME, [host.file("a.parquet", "N1"), *gone])
    with pytest.raises(UnreadableTableError, match=r"not there: .*gone/0.parquet.* and 37 more"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


def test_a_scan_of_all_partitions(spark: SparkSession, host: Host) -> None:
    """Files of any number of partitions are one scan, of which conditions leave files out."""
    host.create("listed")
    host.ledger.append(
        NAME, [host.file(f"{day}.parquet", f"N{day}", day=str(day)) for day in range(40)]
    )
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    found = frame.where("day IN (3, 7)")
    assert len(scans(frame)) == 1
    assert rows(found) == [(3, "N3"), (7, "N7")]
    assert files_read(found) == 2


def scans(frame: DataFrame) -> list[str]:
    """Return the scans of files in the plan of a frame."""
    plan: str = frame._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001
    return [line for line in plan.splitlines() if "FileScan" in line]


def files_read(frame: DataFrame) -> int:
    """Return how many files the scans of a frame read."""
    plan = frame._jdf.queryExecution().executedPlan()  # noqa: SLF001
    leaves = plan.collectLeaves()
    return sum(
        leaves.apply(n).selectedPartitions().totalNumberOfFiles() for n in range(leaves.size())
    )
