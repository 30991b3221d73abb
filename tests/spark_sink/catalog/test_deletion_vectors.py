"""Files with deletion vectors in Spark: every read leaves out the same rows as `Ledger.scan`."""

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile
from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, rows
from tests.tables.files import inline_vector, stored_vector

pytestmark = pytest.mark.spark

ROWS: Final = 10_000
COLUMNS: Final = [
    ("id", "bigint"),
    ("name", "string"),
    ("price", "decimal(9,2)"),
    ("point", "struct<x: int, y: struct<z: string>>"),
    ("tags", "array<string>"),
    ("words", "map<string, int>"),
    ("data", "binary"),
    ("day", "date"),
    ("p", "string"),
]
EVERY: Final = "SELECT * FROM ledger.db.t"


def column_values(number: int) -> dict[str, Any]:
    """Return a row with some NULLs at every depth."""
    return {
        "id": number,
        "name": None if number % 7 == 0 else f"n{number}",
        "price": f"{number}.25",
        "point": None if number % 5 == 0 else {"x": number, "y": {"z": f"z{number}"}},
        "tags": [f"t{number}"] * (number % 3),
        "words": None if number % 4 == 0 else {"w": number},
        "data": bytes([number % 256]),
        "day": number,
    }


def written(folder: Path, name: str, numbers: range) -> None:
    """Write a file of several row groups."""
    types = pa.schema(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("price", pa.decimal128(9, 2)),
            ("point", pa.struct([("x", pa.int32()), ("y", pa.struct([("z", pa.string())]))])),
            ("tags", pa.list_(pa.string())),
            ("words", pa.map_(pa.string(), pa.int32())),
            ("data", pa.binary()),
            ("day", pa.date32()),
        ]
    )
    made = [column_values(number) for number in numbers]
    columns = {name: [row[name] for row in made] for name in types.names}
    columns["words"] = [None if each is None else list(each.items()) for each in columns["words"]]
    arrays = [
        pa.array(values, pa.string()).cast(types.field(name).type)
        if name == "price"
        else pa.array(values, pa.int32()).cast(pa.date32())
        if name == "day"
        else pa.array(values, types.field(name).type)
        for name, values in columns.items()
    ]
    pq.write_table(pa.table(arrays, schema=types), folder / name, row_group_size=3_000)


def added(name: str, partition: str, vector: DeletionVector | None = None) -> AddFile:
    if vector is None:
        return AddFile(name, (partition,))
    return AddFile(name, (partition,), vector=vector.id, deletion_vector=vector)


@pytest.fixture
def table(lake: Lake, tmp_path: Path) -> Lake:
    """Return a lake whose table has two files with vectors and one without."""
    place = tmp_path / "given"
    place.mkdir()
    for at, name in enumerate(("a.parquet", "b.parquet", "c.parquet")):
        written(place, name, range(at * ROWS, (at + 1) * ROWS))
    lake.ledger.create_table("db.t", COLUMNS, partition_columns=["p"], location=str(place))
    first = [*range(0, 50, 3), *range(4_000, 8_200), ROWS - 1]
    files = [
        added("a.parquet", "p1", inline_vector(first)),
        added("b.parquet", "p1", stored_vector(place, [0, 2_999, 3_000, 5_000])),
        added("c.parquet", "p2"),
    ]
    lake.ledger.append("db.t", files)
    return lake


def in_ledger(lake: Lake, where: str | None = None) -> list[tuple[Any, ...]]:
    found = lake.ledger.scan("db.t", where, ["id", "name", "p"]).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


@pytest.mark.parametrize("is_vectorized", ["true", "false"])
@pytest.mark.parametrize("part_bytes", ["20000", "128MB"])
def test_a_query_reads_the_rows_that_are_left(
    table: Lake, is_vectorized: str, part_bytes: str
) -> None:
    settings = {
        "spark.sql.parquet.enableVectorizedReader": is_vectorized,
        "spark.sql.files.maxPartitionBytes": part_bytes,
    }
    for key, value in settings.items():
        table.spark.conf.set(key, value)
    try:
        whole = rows(table, "SELECT id, name, p FROM ledger.db.t")
        some = rows(table, "SELECT id, name, p FROM ledger.db.t WHERE id % 2 = 0 AND id > 2990")
        one = rows(table, "SELECT count(*), sum(id) FROM ledger.db.t WHERE p = 'p1'")
    finally:
        for key in settings:
            table.spark.conf.unset(key)

    assert whole == in_ledger(table)
    assert some == [row for row in in_ledger(table) if row[0] % 2 == 0 and row[0] > 2990]
    left = [row[0] for row in in_ledger(table, "p = 'p1'")]
    assert one == [(len(left), sum(left))]


def test_values_of_all_types_stay_with_their_rows(table: Lake) -> None:
    query = (
        "SELECT id, price, point.x, point.y.z, point IS NULL, size(tags), get(tags, 0), "
        "words['w'], data, datediff(day, DATE'1970-01-01') FROM ledger.db.t "
        "WHERE id < 100 OR id > 19000"
    )

    for row in table.spark.sql(query).collect():
        number = row[0]
        values = column_values(number)
        point, words = values["point"], values["words"]
        assert str(row[1]) == values["price"]
        assert row[2] == (None if point is None else number)
        assert row[3] == (None if point is None else f"z{number}")
        assert row[4] == (point is None)
        assert (row[5], row[6]) == (number % 3, f"t{number}" if number % 3 else None)
        assert row[7] == (None if words is None else number)
        assert bytes(row[8]) == values["data"]
        assert row[9] == number


def test_statements_change_the_rows_that_are_left(table: Lake) -> None:
    before = in_ledger(table)
    done(table, "UPDATE ledger.db.t SET name = 'new' WHERE id IN (1, 3, 2999, 25000)")
    done(table, "DELETE FROM ledger.db.t WHERE id BETWEEN 10001 AND 10010")
    after = [
        (number, "new" if number in (1, 2_999, 25_000) else name, part)
        for number, name, part in before
        if not 10_001 <= number <= 10_010
    ]

    assert rows(table, "SELECT id, name, p FROM ledger.db.t") == sorted(after, key=repr)
    assert in_ledger(table) == sorted(after, key=repr)


def test_changes_of_rows_are_those_between_two_vectors(table: Lake) -> None:
    ledger = table.ledger
    version = ledger.history("db.t", limit=1)[0].version
    (old,) = [file for file in ledger.read("db.t") if file.path == "b.parquet"]
    vector = inline_vector([0, 7, 2_999, 3_000, 5_000, 9_000])
    with ledger.transaction() as txn:
        txn.remove_files("db.t", [old])
        txn.add_files("db.t", [added("b.parquet", "p1", vector)])
        txn.operation("db.t", "DELETE")
    gone = rows(
        table,
        f"SELECT id, _change_type FROM ledger.db.t CHANGES FROM VERSION {version + 1} "
        f"TO VERSION {version + 1}",
    )

    assert gone == [(10_007, "delete"), (19_000, "delete")]
    assert rows(table, "SELECT id, name, p FROM ledger.db.t") == in_ledger(table)


def test_a_stream_begins_with_the_rows_that_are_left(table: Lake, tmp_path: Path) -> None:
    stream = table.spark.readStream.table("ledger.db.t").select("id", "name", "p")
    query = (
        stream.writeStream.format("memory")
        .queryName("left_rows")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)

    assert rows(table, "SELECT * FROM left_rows") == in_ledger(table)


def test_a_vector_of_another_file_is_noticed(lake: Lake, tmp_path: Path) -> None:
    written(tmp_path, "a.parquet", range(10))
    lake.ledger.create_table("db.t", COLUMNS, partition_columns=["p"], location=str(tmp_path))
    lake.ledger.append("db.t", [added("a.parquet", "p1", inline_vector([3, 10]))])

    with pytest.raises((PySparkException, Py4JJavaError), match="names row 10"):
        done(lake, EVERY)


def test_a_vector_without_a_place_is_refused(lake: Lake, tmp_path: Path) -> None:
    written(tmp_path, "a.parquet", range(10))
    lake.ledger.create_table("db.t", COLUMNS, partition_columns=["p"], location=str(tmp_path))
    lake.ledger.append("db.t", [AddFile("a.parquet", ("p1",), vector="v")])

    with pytest.raises(PySparkException, match="does not know where that lies"):
        done(lake, EVERY)
