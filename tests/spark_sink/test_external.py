"""External tables: Spark reads what lies at their place, for the ledger knows nothing of it."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_sink import UnreadableTableError, cached_table
from tests.spark_sink.host import NAME, Host
from tests.spark_sink.test_frames import rows

pytestmark = pytest.mark.spark


def test_external_table(spark: SparkSession, host: Host) -> None:
    """Of an external table everything is read that lies there."""
    host.ledger.create_table(
        NAME, [("tail", "STRING")], kind="external", location=str(host.warehouse / "flights")
    )
    snapshot = host.snapshot()
    host.write("one.parquet", ["N1"])
    host.write("two.parquet", ["N2"])
    assert rows(cached_table(spark, NAME, snapshot, host.tables)) == [("N1",), ("N2",)]


@pytest.mark.parametrize("in_folder", [True, False])
def test_partition_values(spark: SparkSession, host: Host, *, in_folder: bool) -> None:
    """Values of partition columns are those that folders tell, else those that the files hold."""
    host.ledger.create_table(
        NAME,
        [("price", "DECIMAL(10,2)"), ("tail", "STRING")],
        partition_columns=["price"],
        kind="external",
        location=str(host.warehouse / "flights"),
    )
    if in_folder:
        host.write("price=1.5/one.parquet", ["N1"])
    else:
        prices = pa.array([Decimal("1.50")], pa.decimal128(10, 2))
        (host.warehouse / "flights").mkdir(parents=True)
        pq.write_table(
            pa.table({"price": prices, "tail": ["N1"]}), host.warehouse / "flights" / "one.parquet"
        )
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert rows(frame) == [(Decimal("1.50"), "N1")]


@pytest.mark.parametrize("place", ["flights", "12:00"])
def test_folders_within(spark: SparkSession, host: Host, place: str) -> None:
    """What lies in folders of any depth is read, also where they say no values."""
    host.ledger.create_table(
        NAME, [("tail", "STRING")], kind="external", location=str(host.warehouse / place)
    )
    host.write(f"../{place}/one.parquet", ["N1"])
    host.write(f"../{place}/a/b/two.parquet", ["N2"])
    assert rows(cached_table(spark, NAME, host.snapshot(), host.tables)) == [("N1",), ("N2",)]


def test_removed_files_of_a_delta_table_are_not_read(spark: SparkSession, host: Host) -> None:
    host.ledger.create_table(
        NAME, [("tail", "STRING")], kind="external", location=str(host.warehouse / "flights")
    )
    host.write("one.parquet", ["N1"])
    (host.warehouse / "flights" / "_delta_log").mkdir()
    with pytest.raises(UnreadableTableError, match="is a Delta table"):
        cached_table(spark, NAME, host.snapshot(), host.tables)
