"""What a condition means to Spark it means to the ledger: in the time zone of the session."""

import pytest
from pyspark.sql import SparkSession

from ledger.errors import ConflictError
from ledger.expressions.build import col
from ledger.log.wire.file_list import AddFile
from spark_sink import cached_table
from tests.spark_sink.host import NAME, Host
from tests.spark_sink.test_frames import rows

pytestmark = pytest.mark.spark

FIRST, SECOND = "2024-01-01 00:00:00", "2024-01-01 00:00:00Z"


def in_zone(spark: SparkSession, zone: str) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    return session


def fill(host: Host) -> None:
    """Create a table of two partitions: one is an instant, one a time of day of a session."""
    host.ledger.create_table(
        NAME,
        [("at", "TIMESTAMP"), ("tail", "STRING")],
        partition_columns=["at"],
        location=str(host.warehouse / "flights"),
    )
    files = [host.file(f"{at[-1]}.parquet", at, day=at) for at in (FIRST, SECOND)]
    host.ledger.append(NAME, files)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", [FIRST, SECOND]),
        ("Europe/Berlin", [FIRST]),
        # Java's own name of a zone that is called otherwise.
        ("PST", [FIRST, SECOND]),
    ],
)
def test_rows_of_a_condition(
    spark: SparkSession, host: Host, zone: str, expected: list[str]
) -> None:
    """Files that a session shows are those that the condition, recorded or not, concerns there."""
    fill(host)
    session = in_zone(spark, zone)
    where = "at <= TIMESTAMP '2024-01-01 00:30:00'"
    whole = cached_table(session, NAME, host.snapshot(), host.tables)
    planned = cached_table(session, NAME, host.snapshot(), host.tables, where=where)
    assert rows(planned.select("tail")) == rows(whole.where(where).select("tail"))
    assert rows(planned.select("tail")) == [(each,) for each in expected]


@pytest.mark.parametrize(("zone", "loses"), [("Europe/Berlin", False), ("UTC", True)])
def test_the_zone_of_a_session_is_recorded(
    spark: SparkSession, host: Host, *, zone: str, loses: bool
) -> None:
    fill(host)
    txn = host.ledger.begin(level="serializable")
    where = "at <= TIMESTAMP '2024-01-01 00:30:00'"
    cached_table(in_zone(spark, zone), NAME, txn, host.tables, where=where)
    txn.add_files(NAME, [AddFile("sum.parquet", ("2000-01-01 00:00:00Z",))])
    host.ledger.append(NAME, [AddFile("new.parquet", ("2024-01-01 00:10:00Z",))])
    if loses:
        with pytest.raises(ConflictError):
            txn.commit()
    else:
        txn.commit()


def test_a_condition_of_another_zone(spark: SparkSession, host: Host) -> None:
    """SQL cannot name a zone: a condition that is meant in another one is refused."""
    fill(host)
    where = (col("at") == FIRST).in_zone("Europe/Berlin")
    with pytest.raises(ValueError, match="in time zone Europe/Berlin"):
        cached_table(spark, NAME, host.snapshot(), host.tables, where=where)
    berlin = in_zone(spark, "Europe/Berlin")
    found = cached_table(berlin, NAME, host.snapshot(), host.tables, where=where)
    assert rows(found.select("tail")) == [(FIRST,)]
