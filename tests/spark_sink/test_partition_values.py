"""The values of partitions are what their texts stand for in SQL, in any session."""

from decimal import Decimal

import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from ledger.core.commands import Layout
from spark_sink import cached_table
from tests.spark_sink.host import NAME, Host
from tests.spark_sink.test_frames import add_row, rows

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("layout", ["directories", "listed"])
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("DECIMAL(10,2)", ("1.5", Decimal("1.50"))),
        ("numeric(30, 4)", ("2", Decimal("2.0000"))),
        ("boolean", ("T", True)),
        ("SMALLINT", ("-7", -7)),
        ("FLOAT", ("inf", float("inf"))),
        ("double", ("-Inf", float("-inf"))),
    ],
)
def test_values_that_folders_tell(
    spark: SparkSession, host: Host, layout: Layout, kind: str, told: tuple[str, object]
) -> None:
    """A value is what it is in SQL, however many digits or letters the folder spells it with."""
    value, read = told
    columns, location = [("day", kind), ("tail", "STRING")], str(host.warehouse / "flights")
    host.ledger.create_table(
        NAME, columns, partition_columns=["day"], location=location, layout=layout
    )
    with host.ledger.transaction() as txn:
        add_row(host, txn, "N1", ["day"], value)
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert (rows(frame), rows(frame.where(sf.col("day") == sf.lit(read)))) == ([(read, "N1")],) * 2


def test_bytes_that_a_folder_escapes(spark: SparkSession, host: Host) -> None:
    """Bytes that no folder can be named by are those that Spark and Hive wrote otherwise."""
    columns, location = [("day", "BINARY"), ("tail", "STRING")], str(host.warehouse / "flights")
    host.ledger.create_table(
        NAME, columns, partition_columns=["day"], location=location, layout="directories"
    )
    with host.ledger.transaction() as txn:
        add_row(host, txn, "N1", ["day"], "a%3Ab")
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert rows(frame) == [(b"a:b", "N1")]


@pytest.mark.parametrize("is_ansi", ["true", "false"])
@pytest.mark.parametrize("path", ["day={}/a.parquet", "a.parquet"])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("TINYINT", "300"),
        ("SMALLINT", "70000"),
        ("INT", "99999999999"),
        ("BIGINT", "1.5"),
        ("DECIMAL(4,2)", "12345"),
        ("DATE", "2024-02-30"),
        ("TIMESTAMP", "noon"),
        ("BOOLEAN", "maybe"),
    ],
)
def test_value_that_does_not_fit(
    spark: SparkSession, host: Host, *, kind: str, value: str, path: str, is_ansi: str
) -> None:
    columns, location = [("day", kind), ("tail", "STRING")], str(host.warehouse / "flights")
    host.ledger.create_table(NAME, columns, partition_columns=["day"], location=location)
    host.append_as_before([host.file(path.format(value), "N1", day=value)])
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", is_ansi)
    with pytest.warns(UserWarning, match="no condition on it holds"):
        frame = cached_table(session, NAME, host.snapshot(), host.tables)
    with pytest.raises(SparkRuntimeException, match=f"value '?{value}'?[, ]"):
        frame.collect()


@pytest.mark.parametrize("path", ["day={}/a.parquet", "{}.parquet"])
def test_values_beside_one_that_does_not_fit(spark: SparkSession, host: Host, path: str) -> None:
    columns = [("day", "INT"), ("land", "STRING"), ("tail", "STRING")]
    host.ledger.create_table(
        NAME, columns, partition_columns=["day", "land"], location=str(host.warehouse / "flights")
    )
    told = [("march", "DE"), ("4", "DE"), ("4", "FR"), ("", "FR")]
    files = [host.file(path.format(f"{day}{land}"), f"{day}{land}") for day, land in told]
    pairs = zip(files, told, strict=True)
    host.append_as_before([file._replace(partition=values) for file, values in pairs])
    with pytest.warns(UserWarning, match="column day has the value march"):
        frame = cached_table(spark, NAME, host.snapshot(), host.tables)

    assert rows(frame.where("day = 4")) == [(4, "DE", "4DE"), (4, "FR", "4FR")]
    assert rows(frame.where("day BETWEEN 1 AND 9 AND land = 'DE'")) == [(4, "DE", "4DE")]
    assert frame.where("land = 'FR'").count() == 2
    for condition in ("land = 'DE'", "day IS NULL", "tail = 'marchDE'", "TRUE"):
        with pytest.raises(SparkRuntimeException, match="column day has the value march"):
            frame.where(condition).count()
