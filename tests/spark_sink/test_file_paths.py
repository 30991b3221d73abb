"""Files are read wherever they lie, by whatever path; what is not there, or not known, is named."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from ledger.errors import UnreadableTableError
from ledger.log.wire.file_list import AddFile
from spark_sink import cached_table
from tests.spark_sink.host import NAME, Host
from tests.spark_sink.test_frames import rows
from tests.tables.files import inline_vector

pytestmark = pytest.mark.spark


def test_many_files_are_looked_for_without_jobs(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    host.ledger.append(NAME, [host.file(f"day=1/{n}.parquet", "N") for n in range(100)])
    snapshot, context = host.snapshot(), spark.sparkContext
    context.setJobGroup("many files", "a plan")
    frame = cached_table(spark, NAME, snapshot, host.tables)
    context.setJobGroup("", "")
    jobs = context.statusTracker().getJobIdsForGroup("many files")
    assert ([*jobs], frame.count()) == ([], 100)


def test_deleted_rows_of_a_file_are_left_out(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    host.write("day=1/a.parquet", ["N1", "N2", "N3"])
    vector = inline_vector([1])
    files = [AddFile("day=1/a.parquet", ("1",), vector=vector.id, deletion_vector=vector)]
    host.ledger.append(NAME, [*files, host.file("b.parquet", "N4")])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert rows(frame) == [(1, "N1"), (1, "N3"), (1, "N4")]


def test_a_deletion_vector_without_a_place_is_refused(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    host.ledger.append(NAME, [host.file("day=1/a.parquet", "N1", vector="u1")])
    with pytest.raises(UnreadableTableError, match="does not know where that lies"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


@pytest.mark.parametrize(
    "path", ["day=1/_a.parquet", ".a.parquet", "day=1/a.parquet._COPYING_", "_b/.c/d.parquet"]
)
def test_files_with_hidden_names(spark: SparkSession, host: Host, path: str) -> None:
    host.create("listed")
    host.ledger.append(NAME, [host.file(path, "N1"), host.file("b.parquet", "N2")])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert rows(frame) == [(1, "N1"), (1, "N2")]
    assert rows(frame.where("day = 1 AND tail = 'N1'")) == [(1, "N1")]


def test_a_file_whose_only_partition_value_is_null_is_read(spark: SparkSession, host: Host) -> None:
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


def test_a_path_that_may_mean_two_files_is_not_guessed(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    host.ledger.append(NAME, [host.file("a%20b.parquet", "one")])
    host.write("a b.parquet", ["other"])
    with pytest.raises(UnreadableTableError, match="may mean two files"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


def test_a_file_named_twice_is_not_shown_twice(spark: SparkSession, host: Host) -> None:
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


def test_files_that_statistics_leave_out_may_be_absent(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    stats = '{"numRecords":1,"minValues":{"tail":"%s"},"maxValues":{"tail":"%s"}}'
    files = [host.file(f"{name}.parquet", name) for name in ("a", "b")]
    files = [file._replace(stats=stats % (file.path[0], file.path[0])) for file in files]
    host.ledger.append(NAME, files)
    (host.warehouse / "flights" / "b.parquet").unlink()
    frame = cached_table(spark, NAME, host.snapshot(), host.tables, where="tail < 'b'")
    assert rows(frame) == [(1, "a")]
    with pytest.raises(UnreadableTableError, match=r"not there: .*/b.parquet"):
        cached_table(spark, NAME, host.snapshot(), host.tables, where="tail <= 'b'")


def test_a_file_of_another_host_is_not_looked_for_here(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    place = host.warehouse / "flights" / "a.parquet"
    host.write("a.parquet", ["N1"])
    host.ledger.append(NAME, [AddFile(f"file://other{place}", ("1",))])
    with pytest.raises(UnreadableTableError, match="of this host"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


def test_the_column_file_is_the_path_of_a_rows_file(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    host.ledger.append(NAME, [host.file("a b.parquet", "N1"), host.file("c.parquet", "N2")])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables, where="tail <> 'N2'")
    assert rows(frame.select("tail", "_file")) == [
        ("N1", f"file:{host.warehouse}/flights/a b.parquet")
    ]


def test_files_of_any_number_of_partitions_are_one_scan(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    host.ledger.append(
        NAME, [host.file(f"{day}.parquet", f"N{day}", day=str(day)) for day in range(40)]
    )
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert len(scans(frame)) == 1
    for day in set(range(40)) - {3, 7}:
        (host.warehouse / "flights" / f"{day}.parquet").unlink()
    assert rows(frame.where("day IN (3, 7)")) == [(3, "N3"), (7, "N7")]


def scans(frame: DataFrame) -> list[str]:
    plan: str = frame._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001
    return [line for line in plan.splitlines() if "Scan" in line]
