"""Columns keep their values through every ALTER, and tables of other writers are read right."""

import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ledger.log.wire.file_list import AddFile
from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

ALL = "SELECT * FROM ledger.db.t"
EVOLVING = (
    "MERGE WITH SCHEMA EVOLUTION INTO ledger.db.t t USING (SELECT 3L id, 1 a) s ON t.id = s.id "
    "WHEN NOT MATCHED THEN INSERT *"
)


def both(lake: Lake, query: str = ALL) -> list[tuple[object, ...]]:
    """Return the rows of the table by Spark, which must be those that the SDK finds."""
    found = rows(lake, query)
    if query == ALL:
        own = [tuple(each.values()) for each in lake.ledger.scan("db.t").to_arrow().to_pylist()]
        assert found == sorted(own, key=repr)
    return found


def test_a_name_that_came_back_is_another_column(lake: Lake) -> None:
    done(
        lake,
        "CREATE TABLE ledger.db.t (id INT, a INT)",
        "INSERT INTO ledger.db.t VALUES (1, 10)",
        "ALTER TABLE ledger.db.t RENAME COLUMN a TO b",
        "INSERT INTO ledger.db.t VALUES (2, 20)",
        "ALTER TABLE ledger.db.t ADD COLUMN a INT",
        "INSERT INTO ledger.db.t VALUES (3, 30, 300)",
    )
    assert both(lake) == [(1, 10, None), (2, 20, None), (3, 30, 300)]
    assert both(lake, "SELECT id FROM ledger.db.t WHERE a IS NULL") == [(1,), (2,)]
    assert both(lake, "SELECT id FROM ledger.db.t WHERE b = 10") == [(1,)]
    done(
        lake,
        "ALTER TABLE ledger.db.t DROP COLUMN b",
        "ALTER TABLE ledger.db.t ADD COLUMN b STRING FIRST",
        "UPDATE ledger.db.t SET b = 'x' WHERE a IS NULL AND id = 1",
    )
    assert both(lake) == [("x", 1, None), (None, 2, None), (None, 3, 300)]


@pytest.mark.parametrize(
    ("statement", "feature"),
    [
        ("ALTER TABLE ledger.db.t ALTER COLUMN id TYPE BIGINT", "typeWidening"),
        ("ALTER TABLE ledger.db.t RENAME COLUMN a TO b", "columnMapping"),
        ("ALTER TABLE ledger.db.t DROP COLUMN a", "columnMapping"),
        (EVOLVING, "typeWidening"),
    ],
)
def test_readers_of_a_published_table(lake: Lake, statement: str, feature: str) -> None:
    """A statement that makes readers of Delta refuse a published table warns of them, once."""
    published = "TBLPROPERTIES ('lakeledger.publish' = 'delta')"
    done(
        lake,
        f"CREATE TABLE ledger.db.t (id INT, a INT) {published}",
        "INSERT INTO ledger.db.t VALUES (1, 10)",
    )
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        done(lake, statement)
    told = [str(each.message) for each in found if "published as Delta" in str(each.message)]
    assert [feature in each for each in told] == [True]


def test_fields_renamed_dropped_and_added_again(lake: Lake) -> None:
    """A field is found by its identity at any depth, in rows, conditions and changed rows."""
    inner = "STRUCT<f: INT, g: STRUCT<h: INT, k: INT>>"
    fields = "named_struct('f', {0}, 'g', named_struct('h', {0} + 1, 'k', {0} + 2))"
    row = "INSERT INTO ledger.db.t VALUES ({0}, {1}, array({1}), map({0}, {1}))"
    done(
        lake,
        f"CREATE TABLE ledger.db.t (id INT, s {inner}, a ARRAY<{inner}>, m MAP<INT, {inner}>)",
        row.format(1, fields.format(1)),
    )
    for path in ("s", "a.element", "m.value"):
        done(
            lake,
            f"ALTER TABLE ledger.db.t RENAME COLUMN {path}.f TO e",
            f"ALTER TABLE ledger.db.t DROP COLUMN {path}.g.h",
            f"ALTER TABLE ledger.db.t ADD COLUMN {path}.f INT",
            f"ALTER TABLE ledger.db.t ADD COLUMN {path}.g.h INT FIRST",
        )
    later = "named_struct('e', {0}, 'g', named_struct('h', {0}, 'k', {0}), 'f', {0})"
    done(lake, row.format(2, later.format(2)))
    old, new = (1, (None, 3), None), (2, (2, 2), 2)
    wanted = [(1, old, [old], {1: old}), (2, new, [new], {2: new})]
    assert rows(lake, ALL) == wanted
    told = [{"e": 1, "g": {"h": None, "k": 3}, "f": None}, {"e": 2, "g": {"h": 2, "k": 2}, "f": 2}]
    found = sorted(lake.ledger.scan("db.t").to_arrow().to_pylist(), key=lambda each: each["id"])
    assert [each["s"] for each in found] == told
    assert [each["a"] for each in found] == [[each] for each in told]
    assert [each["m"] for each in found] == [[(1, told[0])], [(2, told[1])]]
    queries = {
        "SELECT id FROM ledger.db.t WHERE s.e = 1": [(1,)],
        "SELECT s.g.k, a[0].e, m[1].g.k FROM ledger.db.t WHERE s.f IS NULL": [(3, 1, 3)],
        "SELECT id FROM ledger.db.t WHERE s.g.h IS NULL": [(1,)],
        "SELECT s.f, s.e FROM ledger.db.t.changes WHERE _change_type = 'insert'": [
            (2, 2),
            (None, 1),
        ],
    }
    assert {query: rows(lake, query) for query in queries} == queries
    done(
        lake,
        "UPDATE ledger.db.t SET s.f = 5 WHERE id = 1",
        "MERGE WITH SCHEMA EVOLUTION INTO ledger.db.t t USING (SELECT 1 AS id, "
        "named_struct('e', 1, 'g', named_struct('h', 1, 'k', 3), 'f', 5, 'n', 6) AS s) s "
        "ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET s = s.s",
    )
    assert rows(lake, "SELECT s.e, s.f, s.n, a[0].e FROM ledger.db.t WHERE id = 1") == [
        (1, 5, 6, 1)
    ]
    said = refusal(lake, "ALTER TABLE ledger.db.t DROP COLUMNS (s.e, s.f, s.g, s.n)")
    assert "must keep a field" in said


def test_old_files_are_read_in_the_wider_type(lake: Lake) -> None:
    done(
        lake,
        "CREATE TABLE ledger.db.t (id INT NOT NULL, c VARCHAR(3), d INT DEFAULT 7)",
        "INSERT INTO ledger.db.t (id, c) VALUES (1, 'abc')",
        "ALTER TABLE ledger.db.t ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE ledger.db.t ALTER COLUMN d SET DEFAULT 8",
        "INSERT INTO ledger.db.t (id) VALUES (3000000000)",
    )
    assert both(lake) == [(1, "abc", 7), (3000000000, None, 8)]
    assert "NOT_NULL" in refusal(lake, "INSERT INTO ledger.db.t VALUES (NULL, 'a', 1)")
    assert "LIMIT" in refusal(lake, "INSERT INTO ledger.db.t VALUES (1, 'abcd', 1)")


def test_a_statement_adds_columns_and_widens_types_in_its_own_commit(lake: Lake) -> None:
    done(
        lake,
        "CREATE TABLE ledger.db.t (id BIGINT, n INT, s STRUCT<a: INT>)",
        "INSERT INTO ledger.db.t VALUES (1, 10, named_struct('a', 1))",
        "MERGE WITH SCHEMA EVOLUTION INTO ledger.db.t t USING (SELECT id, 3000000000L AS n, "
        "named_struct('a', 5, 'b', 6) AS s, 'w' AS word FROM range(1, 3)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "INSERT WITH SCHEMA EVOLUTION INTO ledger.db.t BY NAME SELECT 3 AS id, true AS sure",
    )
    assert rows(lake, "SELECT id, n, s.b, word, sure FROM ledger.db.t") == [
        (1, 3000000000, 6, "w", None),
        (2, 3000000000, 6, "w", None),
        (3, None, None, None, True),
    ]
    assert lake.ledger.table("db.t").version == 3
    with lake.transaction():
        done(
            lake, "INSERT WITH SCHEMA EVOLUTION INTO ledger.db.t BY NAME SELECT 4 AS id, 1 AS more"
        )
        assert lake.ledger.table("db.t").definition.columns[-1].name == "sure"
    assert rows(lake, "SELECT id, more FROM ledger.db.t WHERE id > 2") == [(3, None), (4, 1)]
    assert lake.ledger.table("db.t").version == 4
    said = refusal(
        lake, "INSERT WITH SCHEMA EVOLUTION INTO ledger.db.t BY NAME SELECT 'text' AS id"
    )
    assert "id" in said
    assert lake.ledger.table("db.t").version == 4


@pytest.mark.parametrize(
    ("columns", "partition", "words"),
    [
        ("(p INT)", "PARTITIONED BY (p)", "must have a column in its files"),
        ("", "", "must have a column in its files"),
        ("(id INT, p BINARY)", "PARTITIONED BY (p)", "column p"),
        ("(id INT, p STRUCT<a: INT>)", "PARTITIONED BY (p)", "column p"),
    ],
)
def test_tables_that_would_lose_rows(lake: Lake, columns: str, partition: str, words: str) -> None:
    """A table whose files could not hold its rows as they are is refused, and not made."""
    assert words in refusal(lake, f"CREATE TABLE ledger.db.t {columns} {partition}")
    assert rows(lake, "SHOW TABLES IN ledger.db") == []


def test_tables_of_others_that_would_lose_rows(lake: Lake) -> None:
    """The last column of the files stays; a table that lacks one gets no rows until it has one."""
    done(lake, "CREATE TABLE ledger.db.t (id INT, p INT) PARTITIONED BY (p)")
    assert "must have a column" in refusal(lake, "ALTER TABLE ledger.db.t DROP COLUMN id")
    lake.ledger.alter_table("db.t", columns=[("p", "int")])
    assert "must have a column" in refusal(lake, "INSERT INTO ledger.db.t VALUES (1)")
    done(lake, "ALTER TABLE ledger.db.t ADD COLUMN n INT", "INSERT INTO ledger.db.t VALUES (1, 2)")
    assert both(lake) == [(1, 2)]
    lake.ledger.create_table("db.bare", [])
    done(lake, "DROP TABLE ledger.db.bare")
    lake.ledger.create_table("db.bytes", [("id", "int"), ("b", "binary")], partition_columns=["b"])
    assert "column b" in refusal(lake, "INSERT INTO ledger.db.bytes VALUES (1, X'41ff')")


def test_all_types(lake: Lake) -> None:
    """Values of every type are the same for Spark and for the SDK, NULLs and old days included."""
    columns = (
        "b BOOLEAN, y TINYINT, i BIGINT, f FLOAT, g DOUBLE, m DECIMAL(10,2), s STRING, x BINARY, "
        "d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, l ARRAY<INT>, o STRUCT<p: INT, q: STRING>"
    )
    done(
        lake,
        f"CREATE TABLE ledger.db.t ({columns})",
        "INSERT INTO ledger.db.t VALUES (true, 1Y, 2, 1.5, double('NaN'), 3.25, 'é', X'00FF', "
        "DATE'1500-01-01', TIMESTAMP'2024-06-01 12:00:00.000001Z', "
        "TIMESTAMP_NTZ'2024-06-01 12:00:00', array(1, NULL), struct(1, 'q'))",
        "INSERT INTO ledger.db.t (i) VALUES (NULL)",
    )
    spark = next(tuple(each) for each in lake.spark.sql(f"{ALL} WHERE b").collect())
    own = lake.ledger.scan("db.t", "b").to_arrow().to_pylist()[0]
    assert spark[5] == own["m"]
    assert (spark[8], spark[10], spark[6]) == (own["d"], own["n"], own["s"])
    assert spark[9].isoformat() == own["t"].replace(tzinfo=None).isoformat()
    assert bytes(spark[7]) == own["x"]
    assert (spark[11], tuple(spark[12])) == (own["l"], tuple(own["o"].values()))
    assert rows(lake, "SELECT count(*) FROM ledger.db.t WHERE d < DATE'1600-01-01'") == [(1,)]
    assert rows(lake, "SELECT s, o FROM ledger.db.t WHERE i IS NULL") == [(None, None)]


def test_a_condition_means_the_time_zone_of_its_session(lake: Lake) -> None:
    lake.spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        done(
            lake,
            "CREATE TABLE ledger.db.t (id INT, t TIMESTAMP) PARTITIONED BY (t)",
            "INSERT INTO ledger.db.t VALUES (1, TIMESTAMP'2024-06-01 12:00:00')",
            "INSERT INTO ledger.db.t VALUES (2, TIMESTAMP'2024-12-01 12:00:00.5')",
        )
        hit = "SELECT id FROM ledger.db.t WHERE t = TIMESTAMP'2024-06-01 12:00:00'"
        assert rows(lake, hit) == [(1,)]
        assert rows(lake, "SELECT id FROM ledger.db.t WHERE hour(t) = 12 AND month(t) = 12") == [
            (2,)
        ]
        done(lake, "DELETE FROM ledger.db.t WHERE t = TIMESTAMP'2024-06-01 12:00:00'")
        assert rows(lake, "SELECT id FROM ledger.db.t") == [(2,)]
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", "UTC")
    lake.spark.conf.set("spark.sql.session.timeZone", "PST")
    try:
        assert rows(lake, "SELECT id FROM ledger.db.t WHERE hour(t) = 9") == [(2,)]
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = rows(lake, "SELECT id, t FROM ledger.db.t")
    assert found[0][1].isoformat(" ") == "2024-12-01 17:00:00.500000"


def test_files_of_other_writers(lake: Lake, tmp_path: Path) -> None:
    """Files without ids are read by name, with partitions from the log; vectors need a place."""
    place = tmp_path / "given"
    place.mkdir()
    pq.write_table(pa.table({"B": [1], "extra": ["x"]}), place / "one%20file.parquet")
    pq.write_table(pa.table({"a": [2], "b": [2]}), place / "two.parquet")
    columns = [("a", "bigint"), ("b", "bigint"), ("p", "string")]
    lake.ledger.create_table("db.t", columns, partition_columns=["p"], location=str(place))
    names = ("one%20file.parquet", "two.parquet")
    lake.ledger.append("db.t", [AddFile(name, ("p=/",)) for name in names])
    assert both(lake) == [(2, 2, "p=/"), (None, 1, "p=/")]
    done(lake, "UPDATE ledger.db.t SET a = 1 WHERE b = 1")
    assert both(lake) == [(1, 1, "p=/"), (2, 2, "p=/")]
    lake.ledger.append("db.t", [AddFile("three.parquet", ("q",), vector="v")])
    assert "deletion vector" in refusal(lake, ALL)
    assert both(lake, "SELECT a FROM ledger.db.t WHERE p = 'p=/'") == [(1,), (2,)]


def test_files_that_spark_passes_over_are_read(lake: Lake, tmp_path: Path) -> None:
    names = ("_one.parquet", ".two.parquet", "three.parquet")
    for number, name in enumerate(names):
        pq.write_table(pa.table({"a": [number]}), tmp_path / name)
    lake.ledger.create_table("db.t", [("a", "bigint")], location=str(tmp_path))
    lake.ledger.append("db.t", [AddFile(name, ()) for name in names])
    assert both(lake) == [(0,), (1,), (2,)]
    done(lake, "UPDATE ledger.db.t SET a = 10 + a WHERE a < 2")
    assert both(lake) == [(10,), (11,), (2,)]


@pytest.mark.parametrize("size", [10, 3000, 10**7])
def test_all_rows_are_read_whatever_size_is_known(lake: Lake, tmp_path: Path, size: int) -> None:
    numbers = list(range(1000))
    pq.write_table(pa.table({"a": numbers}), tmp_path / "a.parquet", row_group_size=100)
    lake.ledger.create_table("db.t", [("a", "bigint")], location=str(tmp_path))
    lake.ledger.append("db.t", [AddFile("a.parquet", (), size=size)])
    assert both(lake) == sorted(((number,) for number in numbers), key=repr)
    done(lake, "DELETE FROM ledger.db.t WHERE a = 999")
    changed = "SELECT a FROM ledger.db.t.changes WHERE _change_type = 'delete'"
    assert rows(lake, changed) == [(999,)]


def test_partition_values_that_do_not_fit(lake: Lake, tmp_path: Path) -> None:
    columns = [("day", "STRING"), ("a", "bigint")]
    lake.ledger.create_table("db.t", columns, partition_columns=["day"], location=str(tmp_path))
    for name in ("4", "march"):
        pq.write_table(pa.table({"a": [1]}), tmp_path / f"{name}.parquet")
        lake.ledger.append("db.t", [AddFile(f"{name}.parquet", (name,))])
    definition = lake.ledger.table("db.t").definition
    day = definition.columns[0]._replace(type="INT")
    lake.ledger.alter_table("db.t", definition._replace(columns=[day, definition.columns[1]]))
    assert rows(lake, f"{ALL} WHERE day = 4") == [(4, 1)]
    said = refusal(lake, ALL)
    assert "column day has the value march, which must be INT" in said
    assert f"the value of file:{tmp_path}/march.parquet" in said
    assert "has the value march" in refusal(lake, "UPDATE ledger.db.t SET a = 2")


def test_partitions_without_a_zone_are_in_that_of_the_session(lake: Lake, tmp_path: Path) -> None:
    columns = [("at", "TIMESTAMP"), ("a", "bigint")]
    lake.ledger.create_table("db.t", columns, partition_columns=["at"], location=str(tmp_path))
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    lake.ledger.append("db.t", [AddFile("a.parquet", ("2024-01-01 00:00:00",))])
    session = lake.spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    found = session.sql("SELECT unix_seconds(at) FROM ledger.db.t WHERE at < '2024-01-01 00:30'")
    assert [tuple(each) for each in found.collect()] == [(1704063600,)]


def test_mapped_columns_are_read_and_written(lake: Lake, tmp_path: Path) -> None:
    mapped = {"delta.columnMapping.mode": "name"}
    lake.ledger.create_table("db.t", [("a", "bigint")], location=str(tmp_path), properties=mapped)
    definition = lake.ledger.table("db.t").definition
    key = "delta.columnMapping.physicalName"
    column = definition.columns[0]._replace(metadata=f'{{"{key}": "col-1"}}')
    lake.ledger.alter_table("db.t", definition._replace(columns=[column]))
    pq.write_table(pa.table({"col-1": [1], "a": [99]}), tmp_path / "x.parquet")
    lake.ledger.append("db.t", [AddFile("x.parquet", ())])
    done(lake, "INSERT INTO ledger.db.t VALUES (2)")
    assert both(lake) == [(1,), (2,)]
    new = next(path for path in tmp_path.glob("*.parquet") if path.name != "x.parquet")
    assert pq.read_schema(new).names == ["col-1"]


def test_a_table_of_directories_takes_rows_into_its_own_folders(lake: Lake) -> None:
    done(
        lake,
        "CREATE TABLE ledger.db.t (a INT, p STRING) PARTITIONED BY (p) "
        "TBLPROPERTIES ('layout' = 'directories')",
        "INSERT INTO ledger.db.t VALUES (1, 'x'), (2, NULL)",
        "INSERT INTO ledger.db.t VALUES (3, 'x')",
    )
    assert both(lake) == [(1, "x"), (2, None), (3, "x")]
    assert rows(lake, "SELECT a FROM ledger.db.t WHERE p = 'x'") == [(1,), (3,)]
    place = Path(lake.ledger.table("db.t").definition.location)
    assert len(list(place.glob("p=x/delta_*/*.parquet"))) == 2
    assert "lie in folders" in refusal(lake, "UPDATE ledger.db.t SET a = 0")


@pytest.mark.parametrize("name", ["null", "false", "1e5", "a`.b"])
def test_names_that_read_as_constants(lake: Lake, name: str) -> None:
    """A column with the name of a constant is not taken for the constant: its rows are found."""
    column = f"`{name.replace('`', '``')}`"
    for number, inside in enumerate(("", f"PARTITIONED BY ({column})")):
        table = f"ledger.db.t{number}"
        done(
            lake,
            f"CREATE TABLE {table} (id INT, {column} INT) {inside}",
            f"INSERT INTO {table} VALUES (1, 5), (2, 6)",
        )
        assert rows(lake, f"SELECT id FROM {table} WHERE {column} = 5") == [(1,)]
        assert rows(lake, f"SELECT id FROM {table} WHERE {column} IS NOT NULL") == [(1,), (2,)]
        done(lake, f"UPDATE {table} SET id = 3 WHERE {column} > 5")
        done(lake, f"DELETE FROM {table} WHERE {column} + 0 = 5")
        assert rows(lake, f"TABLE {table}") == [(3, 6)]
