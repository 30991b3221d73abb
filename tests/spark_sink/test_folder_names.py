"""Folders and files are found whatever characters columns, values and locations have."""

import pytest
from pyspark.sql import SparkSession

from ledger.core.commands import Column, Layout
from ledger.errors import UnreadableTableError
from ledger.log.wire.file_list import AddFile
from spark_sink import cached_table
from tests.spark_sink.host import NAME, Host
from tests.spark_sink.test_frames import add_row, rows

pytestmark = pytest.mark.spark

ODD = "a\"#%'*/:=?\\{[]^,}b"
ESCAPED = "A%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%5B%5D%5E,}b"


def create(host: Host, column: str, layout: Layout, place: str = "flights") -> None:
    columns, location = [(column, "STRING"), ("tail", "STRING")], str(host.warehouse / place)
    host.ledger.create_table(
        NAME, columns, partition_columns=[column], location=location, layout=layout
    )


@pytest.mark.parametrize(
    ("column", "folder"),
    [(ODD, f"{ESCAPED}=x"), ("a'#^b", "a'#^b=x"), ("a%b", "a%b=x"), ("a b.c`d", "a b.c`d=x")],
    ids=["escaped", "raw", "percent", "never_escaped"],
)
def test_a_folder_of_a_column_is_found_as_spark_and_hive_write_its_name_and_as_it_is(
    spark: SparkSession, host: Host, column: str, folder: str
) -> None:
    create(host, column, "directories")
    with host.ledger.transaction() as txn:
        host.write(f"{folder}/delta_{txn.write_id(NAME)}/a.parquet", ["N1"])
        txn.wrote(NAME, "insert")
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert (frame.columns, rows(frame)) == ([column, "tail"], [("x", "N1")])


@pytest.mark.parametrize("layout", ["directories", "listed"])
@pytest.mark.parametrize("steps", [1, 2])
def test_name_of_another_partition_column_since(
    spark: SparkSession, host: Host, layout: Layout, steps: int
) -> None:
    create(host, "day", layout)
    with host.ledger.transaction() as txn:
        add_row(host, txn, "N1", ["day"], "1")
    before = host.snapshot()
    day, tail = host.ledger.table(NAME).definition.columns
    columns = [day._replace(name="was"), tail]
    if steps > 1:
        host.ledger.alter_table(NAME, columns=columns, partition_columns=["was"])
    columns.append(Column("day", "STRING", nullable=True, id=3))
    with host.ledger.transaction() as txn:
        txn.alter_table(NAME, columns=columns, partition_columns=["day"])
        if layout == "directories":
            add_row(host, txn, "N2", ["day"], "2")
        own = cached_table(spark, NAME, txn, host.tables).collect()
    with host.ledger.transaction() as txn:
        add_row(host, txn, "N3", ["day"], "3")

    then, now = (cached_table(spark, NAME, each, host.tables) for each in (before, host.snapshot()))
    added = [(None, "N2", "2")] if layout == "directories" else []
    assert rows(then) == [("1", "N1")]
    assert sorted(map(tuple, own), key=str) == sorted([("1", "N1", None), *added], key=str)
    expected = sorted([("1", "N1", None), *added, (None, "N3", "3")], key=str)
    assert sorted(map(tuple, now.collect()), key=str) == expected


@pytest.mark.parametrize("layout", ["directories", "listed"])
@pytest.mark.parametrize("is_renamed", [True, False])
def test_name_of_a_column_since(
    spark: SparkSession, host: Host, layout: Layout, *, is_renamed: bool
) -> None:
    create(host, "day", layout)
    with host.ledger.transaction() as txn:
        add_row(host, txn, "N1", ["day"], "1")
    _, tail = host.ledger.table(NAME).definition.columns
    host.ledger.alter_table(NAME, columns=[tail], partition_columns=[])
    taken = tail._replace(name="day") if is_renamed else ("day", "STRING")
    host.ledger.alter_table(NAME, columns=[taken])
    with host.ledger.transaction() as txn:
        path = f"delta_{txn.write_id(NAME)}/b.parquet"
        host.write(path, ["2"], "day")
        if layout == "listed":
            txn.add_files(NAME, [AddFile(path, ())])
        else:
            txn.wrote(NAME, "insert")
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    # Files that the ledger lists are read by the ids of columns: a renamed one keeps its values.
    kept = "N1" if is_renamed and layout == "listed" else None
    assert sorted(map(tuple, frame.collect()), key=str) == [("2",), (kept,)]


def test_column_with_a_sign_that_divides(spark: SparkSession, host: Host) -> None:
    """What comes before the first of two equal signs is not all of the column's name."""
    create(host, "a=b", "listed")
    host.write("a=b=x/a.parquet", ["N1"])
    host.ledger.append(NAME, [AddFile("a=b=x/a.parquet", ("x",))])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert rows(frame) == [("x", "N1")]


@pytest.mark.parametrize(("place", "folder"), [("12:00", "day=1"), ("flights", "day=12:00")])
def test_where_hadoop_cannot_look_for_folders_the_table_is_refused_by_name(
    spark: SparkSession, host: Host, place: str, folder: str
) -> None:
    create(host, "day", "directories", place)
    (host.warehouse / place / folder / "delta_1").mkdir(parents=True)
    with pytest.raises(UnreadableTableError, match="colon"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


def test_folders_within_those_of_write_ids(spark: SparkSession, host: Host) -> None:
    create(host, "day", "directories")
    plain = "db.plain"
    host.ledger.create_table(
        plain, [("tail", "STRING")], location=str(host.warehouse / "plain"), layout="directories"
    )
    with host.ledger.transaction() as txn:
        host.write(f"day=1/delta_{txn.write_id(NAME)}/one/a.parquet", ["N1"])
        host.write(f"day=2/delta_{txn.write_id(NAME)}/a.parquet", ["N2"])
        host.write(f"../plain/delta_{txn.write_id(plain)}/one/a.parquet", ["N3"])
        host.write(f"../plain/delta_{txn.write_id(plain)}/a.parquet", ["N4"])
        txn.wrote(NAME, "insert")
        txn.wrote(plain, "insert")
    snapshot = host.snapshot()
    found, flat = (cached_table(spark, each, snapshot, host.tables) for each in (NAME, plain))
    assert (rows(found), rows(flat)) == ([("1", "N1"), ("2", "N2")], [("N3",), ("N4",)])


@pytest.mark.parametrize("column", ["day", "tail"])
@pytest.mark.parametrize("is_partitioned", [True, False])
def test_partitions_within_folders_of_write_ids(
    spark: SparkSession, host: Host, *, column: str, is_partitioned: bool
) -> None:
    host.ledger.create_table(
        NAME,
        [("day", "STRING"), ("tail", "STRING")],
        partition_columns=["day"] if is_partitioned else [],
        location=str(host.warehouse / "flights"),
        layout="directories",
    )
    with host.ledger.transaction() as txn:
        above = "day=1/" if is_partitioned else ""
        host.write(f"{above}delta_{txn.write_id(NAME)}/{column}=7/a.parquet", ["N1"])
        txn.wrote(NAME, "insert")
    with pytest.raises(UnreadableTableError, match="within the folder of its write id"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


def test_folder_above_the_partitions(spark: SparkSession, host: Host) -> None:
    """A folder that lies in no partition is not passed over, if the snapshot shows its write id."""
    create(host, "day", "directories")
    txn = host.ledger.begin()
    host.write(f"delta_{txn.write_id(NAME)}/day=1/a.parquet", ["N1"])
    txn.wrote(NAME, "insert")
    before = rows(cached_table(spark, NAME, host.snapshot(), host.tables))
    txn.commit()
    with pytest.raises(UnreadableTableError, match="lies in no partition of column day"):
        cached_table(spark, NAME, host.snapshot(), host.tables)
    assert before == []


def test_file_beside_a_colon(spark: SparkSession, host: Host) -> None:
    """A listed file is read by its name, which nothing in it makes a pattern."""
    create(host, "day", "listed")
    host.ledger.append(NAME, [host.file("12:00/[a].parquet", "N1")])
    assert rows(cached_table(spark, NAME, host.snapshot(), host.tables)) == [("1", "N1")]


def test_a_file_that_hadoop_cannot_look_for_is_named(spark: SparkSession, host: Host) -> None:
    create(host, "day", "listed")
    host.ledger.append(NAME, [AddFile("file://elsewhere/a.parquet", ("1",))])
    with pytest.raises(UnreadableTableError, match="of this host"):
        cached_table(spark, NAME, host.snapshot(), host.tables)
