"""What Spark reads of a table is the data of one snapshot, in either layout, and nothing else."""

from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from ledger.core.commands import Column, Layout
from ledger.definitions.definitions import TableChanges, TableOptions
from ledger.errors import UnreadableTableError
from ledger.log.wire.file_list import AddFile
from ledger.transaction.transaction import Transaction
from spark_sink import cached_table
from spark_sink.unions import in_pairs
from tests.spark_sink.host import NAME, Host

pytestmark = pytest.mark.spark


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    """Return the rows of a frame in order."""
    return sorted(map(tuple, frame.collect()))


def test_folders_of_a_snapshot(spark: SparkSession, host: Host) -> None:
    """Folders of aborted, open and later txns are not read, and a later alter is not seen."""
    host.create("directories")
    with host.ledger.transaction() as txn:
        host.insert(txn, "N1", "N2")
        host.insert(txn, "N3", day=2)
    gone, pending = host.ledger.begin(), host.ledger.begin()
    host.insert(gone, "aborted")
    host.insert(pending, "open")
    gone.abort("no longer wanted")
    snapshot = host.snapshot()
    with host.ledger.transaction() as txn:
        host.insert(txn, "later")
    columns = [("day", "INT"), ("tail", "STRING"), ("carrier", "STRING")]
    host.ledger.alter_table(NAME, columns=columns)

    held = cached_table(spark, NAME, snapshot, host.tables)
    now = cached_table(spark, NAME, host.snapshot(), host.tables)
    own = cached_table(spark, NAME, pending, host.tables)

    assert held.columns == ["day", "tail"]
    assert rows(held) == [(1, "N1"), (1, "N2"), (2, "N3")]
    assert now.columns == ["day", "tail", "carrier"]
    assert rows(now.select("tail")) == [("N1",), ("N2",), ("N3",), ("later",)]
    assert rows(own) == [(1, "N1"), (1, "N2"), (1, "open"), (2, "N3")]


def test_files_of_a_snapshot(spark: SparkSession, host: Host) -> None:
    """Files that were replaced since are read, those that took their place are not."""
    host.create("listed")
    host.ledger.append(NAME, [host.file("day=1/a.parquet", "N1")])
    snapshot = host.snapshot()
    host.write("day=1/orphan.parquet", ["orphan"])
    with host.ledger.transaction() as txn:
        txn.remove_files(NAME, txn.read(NAME), operation="UPDATE")
        txn.add_files(NAME, [host.file("day=1/b.parquet", "N9")])
    assert rows(cached_table(spark, NAME, snapshot, host.tables)) == [(1, "N1")]
    assert rows(cached_table(spark, NAME, host.snapshot(), host.tables)) == [(1, "N9")]


@pytest.mark.parametrize("layout", ["directories", "listed"])
def test_table_without_columns(spark: SparkSession, host: Host, layout: Layout) -> None:
    """Of a table that does not say what its columns are, those are read that its files have."""
    host.ledger.create_table(NAME, location=str(host.warehouse / "flights"), layout=layout)
    with host.ledger.transaction() as txn:
        if layout == "listed":
            host.write("a.parquet", ["N1"])
            txn.add_files(NAME, [AddFile("a.parquet", ())])
        else:
            host.write(f"delta_{txn.write_id(NAME)}/a.parquet", ["N1"])
            txn.wrote(NAME, "insert")
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert (frame.columns, rows(frame)) == (["tail"], [("N1",)])


@pytest.mark.parametrize("layout", ["directories", "listed"])
@pytest.mark.parametrize("columns", [[], ["day"]])
def test_of_a_table_that_does_not_say_what_its_columns_are_all_are_read(
    spark: SparkSession, host: Host, *, layout: Layout, columns: list[str]
) -> None:
    host.ledger.create_table(
        NAME, partition_columns=columns, location=str(host.warehouse / "flights"), layout=layout
    )
    for number, column in enumerate(("tail", "carrier", "tail")):
        day = f"0{number}"
        folder = f"day={day}/" if columns else ""
        with host.ledger.transaction() as txn:
            if layout == "listed":
                path = f"{folder if number else ''}{number}.parquet"
                txn.add_files(NAME, [AddFile(path, (day,) if columns else ())])
            else:
                path = f"{folder}delta_{txn.write_id(NAME)}/a.parquet"
                txn.wrote(NAME, "insert")
            host.write(path, [f"N{number}"], column)
    found = cached_table(spark, NAME, host.snapshot(), host.tables)
    days = [("00",), ("01",), ("02",)] if columns else [()] * 3
    values = [("N0", None), ("N2", None), (None, "N1")]
    expected = [(*one, *day) for one, day in zip(values, [days[0], days[2], days[1]], strict=True)]
    assert sorted(map(tuple, found.select("tail", "carrier", *columns).collect()), key=str) == (
        sorted(expected, key=str)
    )


@pytest.mark.parametrize("layout", ["directories", "listed"])
def test_empty_table(spark: SparkSession, host: Host, layout: str) -> None:
    """A table without data has its columns and no rows."""
    host.create("directories" if layout == "directories" else "listed")
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert (frame.dtypes, frame.count()) == ([("day", "int"), ("tail", "string")], 0)


def test_partitions_are_those_of_the_ledger(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    files = [
        host.file("any/a.parquet", "N1"),
        host.file("any/b.parquet", "N2"),
        host.file("day=1/f.parquet", "N6"),
        host.file("day=7/c.parquet", "N3", day="2"),
        host.file("d.parquet", "N4", day=None),
        host.file("e.parquet", "N5", day=""),
    ]
    host.ledger.append(NAME, files)
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert frame.dtypes == [("day", "int"), ("tail", "string")]
    there = [(1, "N1"), (1, "N2"), (1, "N6"), (2, "N3")]
    assert rows(frame.where("day IS NOT NULL")) == there
    assert rows(frame.where("day IS NULL")) == [(None, "N4"), (None, "N5")]


@pytest.mark.parametrize(
    ("parts", "joined"), [("a", "a"), ("ab", "(ab)"), ("abcde", "(((ab)(cd))e)")]
)
def test_parts_are_joined_in_pairs(parts: str, joined: str) -> None:
    assert in_pairs(parts, lambda first, second: f"({first}{second})") == joined


@pytest.mark.parametrize("layout", ["directories", "listed"])
def test_paths_are_no_patterns(spark: SparkSession, host: Host, layout: Layout) -> None:
    place = "flights/[12]/{a}?*"
    columns, location = [("day", "INT"), ("tail", "STRING")], str(host.warehouse / place)
    host.ledger.create_table(
        NAME, columns, partition_columns=["day"], location=location, layout=layout
    )
    host.write("1/a?*/day=1/[ab].parquet", ["other"])
    with host.ledger.transaction() as txn:
        if layout == "listed":
            host.write("[12]/{a}?*/day=1/a.parquet", ["other"])
            host.write("[12]/{a}?*/day=1/[ab].parquet", ["N1"])
            host.write("[12]/{a}?*/[ab].parquet", ["N2"])
            paths = ["day=1/[ab].parquet", "[ab].parquet"]
            txn.add_files(NAME, [AddFile(path, ("1",)) for path in paths])
        else:
            folder = f"[12]/{{a}}?*/day=1/delta_{txn.write_id(NAME)}"
            host.write(f"{folder}/[ab].parquet", ["N1", "N2"])
            txn.wrote(NAME, "insert")
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert rows(frame) == [(1, "N1"), (1, "N2")]


def test_folders_of_an_unpartitioned_table(spark: SparkSession, host: Host) -> None:
    """What the folders of its files are called says nothing, wherever they lie."""
    host.ledger.create_table(NAME, [("tail", "STRING")], location=str(host.warehouse / "flights"))
    paths = ["tail=x/a.parquet", "day=1/b.parquet", "c.parquet"]
    elsewhere = {f"../day={n}/d.parquet": str(host.warehouse / f"day={n}/d.parquet") for n in "234"}
    roots = ("", "file:", "file://")
    files = [*paths, *(root + path for root, path in zip(roots, elsewhere.values(), strict=True))]
    for number, path in enumerate([*paths, *elsewhere], start=1):
        host.write(path, [f"N{number}"])
    host.ledger.append(NAME, [AddFile(path, ()) for path in files])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert (frame.columns, rows(frame)) == (["tail"], [(f"N{n}",) for n in range(1, 7)])


@pytest.mark.parametrize("layout", ["directories", "listed"])
def test_partition_column_in_other_letters(spark: SparkSession, host: Host, layout: Layout) -> None:
    """A column is known however partition columns, folders or files spell it."""
    host.ledger.create_table(
        NAME,
        [("day", "INT"), ("tail", "STRING")],
        partition_columns=["Day"],
        location=str(host.warehouse / "flights"),
        layout=layout,
    )
    paths = ["DAY=1/a.parquet", "day=2/b.parquet", "c.parquet"]
    with host.ledger.transaction() as txn:
        if layout == "listed":
            files = [host.file(path, f"N{n}", day=str(n)) for n, path in enumerate(paths, 1)]
            txn.add_files(NAME, files)
        else:
            for n in (1, 2, 3):
                host.write(f"DAY={n}/delta_{txn.write_id(NAME)}/a.parquet", [f"N{n}"])
            txn.wrote(NAME, "insert")
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert (frame.columns, rows(frame)) == (["day", "tail"], [(1, "N1"), (2, "N2"), (3, "N3")])


@pytest.mark.parametrize("is_empty", [False, True])
def test_bounded_texts(spark: SparkSession, host: Host, *, is_empty: bool) -> None:
    """Columns of types that Spark knows in its own tables alone are read as texts.

    A field may be called as such a type.
    """
    types = ["VARCHAR(5)", "STRUCT<`char(2)`: array<char (2)>>", "char(3)"]
    host.ledger.create_table(
        NAME,
        [*zip(("tail", "b", "c"), types, strict=True)],
        partition_columns=["c"],
        location=str(host.warehouse / "flights"),
    )
    if not is_empty:
        host.ledger.append(NAME, [host.file("a.parquet", "N1", day="abc")])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    kinds = ["string", "struct<char(2):array<string>>", "string"]
    assert frame.dtypes == [*zip(("tail", "b", "c"), kinds, strict=True)]
    assert rows(frame) == ([] if is_empty else [("N1", None, "abc")])


def test_files_without_a_column_still_have_their_rows(spark: SparkSession, host: Host) -> None:
    host.ledger.create_table(
        NAME, [("day", "INT")], partition_columns=["day"], location=str(host.warehouse / "flights")
    )
    host.ledger.append(NAME, [host.file("a.parquet", "N1", "N2")])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert (frame.columns, rows(frame)) == (["day"], [(1,), (1,)])


RENAMED = [Column("on", "INT", nullable=True, id=1), Column("tail", "STRING", nullable=True, id=2)]


def add_row(host: Host, txn: Transaction, tail: str, columns: Sequence[str], value: str) -> None:
    """Write a row into the partition of one value, as the layout of the table has it."""
    levels = [f"{column}={value}" for column in columns]
    if host.ledger.table(NAME).definition.layout == "listed":
        path = "/".join([*levels, f"{txn.id}.parquet"])
        host.write(path, [tail])
        txn.add_files(NAME, [AddFile(path, (value,) * len(columns))])
        return
    host.write("/".join([*levels, f"delta_{txn.write_id(NAME)}", "part.parquet"]), [tail])
    txn.wrote(NAME, "insert")


@pytest.mark.parametrize("layout", ["directories", "listed"])
@pytest.mark.parametrize(
    ("changes", "columns", "expected"),
    [
        ({"partition_columns": ["tail"]}, ["day", "tail"], [(1, "N1"), (None, "9")]),
        ({"partition_columns": []}, ["day", "tail"], [(1, "N1"), (None, "N9")]),
        ({"columns": RENAMED, "partition_columns": ["on"]}, ["on", "tail"], [(1, "N1"), (9, "N9")]),
        (
            {
                "columns": [*RENAMED, Column("day", "STRING", nullable=True, id=3)],
                "partition_columns": ["on"],
            },
            ["on", "tail", "day"],
            [(1, "N1", None), (9, "N9", None)],
        ),
        ({"columns": [("tail", "STRING")], "partition_columns": []}, ["tail"], [("N1",), ("N9",)]),
    ],
    ids=["other", "none", "renamed", "replaced", "dropped"],
)
def test_a_file_has_values_of_the_partition_columns_when_it_was_added(
    spark: SparkSession,
    host: Host,
    *,
    layout: Layout,
    changes: TableChanges,
    columns: list[str],
    expected: list[tuple[object, ...]],
) -> None:
    host.create(layout)
    with host.ledger.transaction() as txn:
        add_row(host, txn, "N1", ["day"], "1")
    with host.ledger.transaction() as txn:
        txn.alter_table(NAME, **changes)
        own = cached_table(spark, NAME, txn, host.tables)
        assert (own.columns, rows(own)) == (columns, expected[:1])
    now = host.ledger.table(NAME).definition.partition_columns
    with host.ledger.transaction() as txn:
        add_row(host, txn, "N9", now, "9")

    found = cached_table(spark, NAME, host.snapshot(), host.tables)

    assert (found.columns, sorted(found.collect(), key=str)) == (columns, sorted(expected, key=str))


def test_a_column_keeps_its_values_under_a_new_name(spark: SparkSession, host: Host) -> None:
    host.create("listed")
    host.ledger.append(NAME, [host.file("a.parquet", "N1")])
    day = Column("day", "INT", nullable=True, id=1)
    columns = [day, day._replace(name="craft", type="STRING", id=2)]
    host.ledger.alter_table(NAME, columns=columns)
    host.write("b.parquet", ["N2"], "craft")
    host.ledger.append(NAME, [AddFile("b.parquet", ("1",))])
    then = host.snapshot()
    host.ledger.alter_table(NAME, columns=[*columns, columns[1]._replace(name="tail", id=3)])

    frame = cached_table(spark, NAME, host.snapshot(), host.tables)

    assert rows(cached_table(spark, NAME, then, host.tables)) == [(1, "N1"), (1, "N2")]
    assert rows(frame) == [(1, "N1", None), (1, "N2", None)]
    assert rows(frame.where("craft = 'N1' AND tail IS NULL")) == [(1, "N1", None)]
    assert rows(frame.select("tail", "day")) == [(None, 1), (None, 1)]


def test_columns_that_were_said_later(spark: SparkSession, host: Host) -> None:
    """Files from before the table said its columns are read by the names of columns."""
    host.ledger.create_table(NAME, location=str(host.warehouse / "flights"))
    host.write("a.parquet", ["N1"])
    host.ledger.append(NAME, [AddFile("a.parquet", ())])
    host.ledger.alter_table(NAME, columns=[("tail", "STRING"), ("day", "INT")])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    assert rows(frame) == [("N1", None)]
    assert host.ledger.scan(NAME).to_arrow().to_pylist() == [{"tail": "N1", "day": None}]


def test_mapped_columns(spark: SparkSession, host: Host) -> None:
    """Columns are read by the names that Delta's column mapping gives them in files."""
    mapped = {"delta.columnMapping.mode": "name"}
    name = '{"delta.columnMapping.physicalName": "col-1"}'
    columns = [Column("craft", "STRING", nullable=True, id=1, metadata=name)]
    place = str(host.warehouse / "flights")
    host.ledger.create_table(NAME, columns, location=place, properties=mapped)
    host.write("a.parquet", ["N1"], "col-1")
    host.ledger.append(NAME, [AddFile("a.parquet", ())])
    assert rows(cached_table(spark, NAME, host.snapshot(), host.tables)) == [("N1",)]


@pytest.mark.parametrize(
    ("layout", "key", "mode", "why"),
    [
        ("listed", "delta.columnmapping.mode", "name", "hold columns under other names"),
        ("listed", "delta.columnMapping.mode", "id", "finds its columns by id alone"),
        ("directories", "delta.columnMapping.mode", "name", "hold columns under other names"),
    ],
)
def test_column_mapping_that_spark_cannot_follow(
    spark: SparkSession, host: Host, *, layout: Layout, key: str, mode: str, why: str
) -> None:
    host.create(layout)
    host.ledger.alter_table(NAME, properties={key: mode})
    with host.ledger.transaction() as txn:
        add_row(host, txn, "N1", ["day"], "1")
    with pytest.raises(UnreadableTableError, match=why):
        cached_table(spark, NAME, host.snapshot(), host.tables)


@pytest.mark.parametrize("options", [{}, {"layout": "directories"}, {"kind": "external"}], ids=str)
def test_table_without_location(spark: SparkSession, host: Host, options: TableOptions) -> None:
    """Where nobody says where files lie none are looked for, in the root folder or elsewhere."""
    host.ledger.create_table(NAME, [("tail", "STRING")], **options)
    if not options:
        host.ledger.append(NAME, [AddFile("a.parquet", ())])
    with pytest.raises(UnreadableTableError, match="must have a location"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


@pytest.mark.parametrize(
    "folder",
    [
        *("delta_0000001_0000004", "base_0000004", "delete_delta_0000004_0000004"),
        *("delta_0000000", "delta_\N{ARABIC-INDIC DIGIT ONE}"),
    ],
)
def test_folder_of_another_maker(spark: SparkSession, host: Host, folder: str) -> None:
    """A folder that holds several write ids or none, or deletes, is not passed over in silence."""
    host.create("directories")
    host.write(f"day=1/{folder}/part.parquet", ["N1"])
    with pytest.raises(UnreadableTableError, match="is not named delta_<write id>"):
        cached_table(spark, NAME, host.snapshot(), host.tables)


@pytest.mark.parametrize("layout", ["directories", "listed"])
def test_older_files_have_the_default_that_a_column_is_added_with(
    spark: SparkSession, host: Host, layout: Layout
) -> None:
    host.create(layout)
    with host.ledger.transaction() as txn:
        if layout == "listed":
            txn.add_files(NAME, [host.file("day=1/a.parquet", "N1")])
        else:
            host.insert(txn, "N1")
    columns = [("day", "INT"), ("tail", "STRING"), ("at", "TIMESTAMP DEFAULT DATE'2026-01-01'")]
    host.ledger.alter_table(NAME, columns=[*columns, ("c", "CHAR(3) DEFAULT 'a'")])
    frame = cached_table(spark, NAME, host.snapshot(), host.tables)
    found = frame.selectExpr("tail", "unix_seconds(at)", "c").collect()
    assert [tuple(row) for row in found] == [("N1", 1767225600, "a  ")]
    assert [row["c"] for row in host.ledger.scan(NAME).to_arrow().to_pylist()] == ["a  "]
