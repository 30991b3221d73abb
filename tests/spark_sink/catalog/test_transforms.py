"""Tables that transforms divide: SQL creates, shows, writes, reads and changes them."""

import random
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.functions import partitioning

from ledger.core.partitions.transforms import parse_transform
from ledger.core.predicates.casts import DECIMALS
from ledger.errors import ConflictError
from spark_sink import Lake
from tests.spark_sink.catalog.divided import check_files, divided_by, result_of
from tests.spark_sink.catalog.sql import done, refusal, rows
from tests.tables.test_transforms import KINDS, append_undivided

pytestmark = pytest.mark.spark

COLUMNS: Final = "id BIGINT, ts TIMESTAMP, name STRING, region STRING, price DECIMAL(9,2), d DATE"
NAMES: Final = ["id", "ts", "name", "region", "price", "d"]
BY: Final = ["days(ts)", "bucket(16, id)", "truncate(4, name)", "region"]
T: Final = "ledger.db.t"
BEFORE: Final = [("update_preimage", 30)]
VALUES: Final = (
    "SELECT id, TIMESTAMP'2025-12-30 20:00:00Z' + make_interval(0, 0, 0, 0, int(id) * 5), "
    "IF(id % 7 = 0, NULL, concat('name', id % 3)), "
    "element_at(array('x', 'y=1/%', 'z', NULL), int(id % 4) + 1), id * 1.37, DATE'2026-01-31' "
    "FROM range({}, {}, 1, 2)"
)


def create(lake: Lake, by: str = ", ".join(BY), name: str = T, more: str = "") -> None:
    done(lake, f"CREATE TABLE {name} ({COLUMNS}) PARTITIONED BY ({by}) {more}")


def fill(lake: Lake, first: int = 0, end: int = 40, name: str = T) -> None:
    done(lake, f"INSERT INTO {name} {VALUES.format(first, end)}")


def made(lake: Lake, first: int, end: int) -> DataFrame:
    return lake.spark.sql(VALUES.format(first, end)).toDF(*NAMES)


def partitions(lake: Lake, name: str = "db.t") -> set[tuple[str | None, ...]]:
    return {tuple(each.partition) for each in lake.ledger.read(name).files}


def test_a_table_is_created_and_shown_with_transforms(lake: Lake) -> None:
    create(lake)
    fill(lake)
    assert divided_by(lake.ledger, "db.t") == BY
    assert rows(lake, f"SELECT count(*), count(DISTINCT id) FROM {T}") == [(40, 40)]
    # A partition of each task is one file.
    assert check_files(lake.ledger, "db.t") == len(partitions(lake))
    described = [tuple(each) for each in lake.spark.sql(f"DESCRIBE TABLE {T}").collect()]
    assert [each[1] for each in described if each[0].startswith("Part ")] == BY
    ((statement,),) = rows(lake, f"SHOW CREATE TABLE {T}")
    assert f"PARTITIONED BY ({', '.join(BY)})" in statement
    again = re.sub(r"LOCATION '.*'\n", "", statement).replace(T, "ledger.db.again")
    done(lake, again, "CREATE TABLE ledger.db.alike LIKE ledger.db.t")
    assert divided_by(lake.ledger, "db.again") == divided_by(lake.ledger, "db.alike") == BY
    shown = rows(lake, f"SHOW PARTITIONS {T} PARTITION (region = 'x')")
    assert len(shown) == sum(each[3] == "x" for each in partitions(lake))
    assert all(re.fullmatch(r"days\(ts\)=\d+-\d\d-\d\d/.*/region=x", each) for (each,) in shown)
    named = {each for (each,) in rows(lake, f"SELECT partition FROM {T}.files")}
    assert len(named) == len(partitions(lake))
    assert all(each.startswith("days(ts)=202") for each in named)


def test_queries_create_tables_that_transforms_divide(lake: Lake) -> None:
    create(lake)
    fill(lake)
    by = "months(ts), truncate(500, price), bucket(3, d), truncate(2, region)"
    done(lake, f"CREATE TABLE ledger.db.u PARTITIONED BY ({by}) AS SELECT * FROM {T}")
    assert ", ".join(divided_by(lake.ledger, "db.u")) == by
    before = rows(lake, "SELECT * FROM ledger.db.u")
    done(lake, f"CREATE OR REPLACE TABLE ledger.db.u AS SELECT * FROM {T}")
    assert "months(ts)" in divided_by(lake.ledger, "db.u")
    assert rows(lake, "SELECT * FROM ledger.db.u") == before
    done(
        lake,
        "CREATE OR REPLACE TABLE ledger.db.u PARTITIONED BY (months(ts), truncate(500, price), "
        f"bucket(3, d), truncate(2, region)) AS SELECT * FROM {T}",
    )
    assert check_files(lake.ledger, "db.u") > 1
    said = refusal(lake, f"CREATE OR REPLACE TABLE ledger.db.u AS SELECT id FROM {T}")
    assert "would lose the partitioning by months(ts)" in said
    writer = lake.spark.table(T).writeTo("ledger.db.w")
    by_functions = [
        *(partitioning.years("ts"), partitioning.months("d"), partitioning.days("d")),
        *(partitioning.hours("ts"), partitioning.bucket(4, "name"), sf.col("region")),
    ]
    writer.partitionedBy(*by_functions).create()
    assert divided_by(lake.ledger, "db.w") == [
        *("years(ts)", "months(d)", "days(d)", "hours(ts)", "bucket(4, name)", "region")
    ]
    lake.spark.table(T).write.bucketBy(5, "id").partitionBy("region").saveAsTable("ledger.db.b")
    assert divided_by(lake.ledger, "db.b") == ["region", "bucket(5, id)"]
    for name in ("db.w", "db.b"):
        assert check_files(lake.ledger, name) > 1
        assert rows(lake, f"SELECT id, ts, name, price FROM ledger.{name}") == rows(
            lake, f"SELECT id, ts, name, price FROM {T}"
        )


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("foo(id)", "foo(id)"),
        ("zorder(id, name)", "zorder(id, name)"),
        ("bucket(4, id, name)", "bucket(4, id, name)"),
        ("bucket(0, id)", "width"),
        ("truncate(id)", "width"),
        ("days(2, ts)", "days"),
        ("days(name)", "of type string"),
        ("hours(d)", "of type date"),
        ("truncate(4, none)", "none"),
        ("days(ts), day(ts)", "must differ"),
    ],
)
def test_what_divides_no_table_is_refused_by_name(lake: Lake, by: str, said: str) -> None:
    assert said in refusal(lake, f"CREATE TABLE {T} ({COLUMNS}) PARTITIONED BY ({by})")
    assert rows(lake, "SHOW TABLES IN ledger.db") == []


def test_a_column_with_the_name_of_a_transform_is_not_taken_for_it(lake: Lake) -> None:
    columns = "id INT, ts TIMESTAMP, `days(ts)` STRING"
    statement = f"CREATE TABLE {T} ({columns}) PARTITIONED BY "
    assert "Rename the column" in refusal(lake, f"{statement} (days(ts))")
    done(lake, f"{statement} (`days(ts)`, years(ts))")
    done(lake, f"INSERT INTO {T} VALUES (1, TIMESTAMP'2026-01-01 00:00:00Z', 'a')")
    assert partitions(lake) == {("a", "2026")}
    assert rows(lake, f"SELECT id, `days(ts)` FROM {T} WHERE `days(ts)` = 'a'") == [(1, "a")]


@pytest.mark.parametrize("kind", [*KINDS, "int", "smallint", "decimal(38,10)"])
def test_functions_of_spark_have_the_results_of_the_core(lake: Lake, kind: str) -> None:
    """Values lie around zero, around the ends of types, and at random places."""
    draw = random.Random(kind)
    start = datetime(1, 1, 1, tzinfo=UTC)
    make: Mapping[str, Callable[[], Any]] = {
        "bigint": lambda: draw.choice([draw.randrange(-(2**62), 2**62), draw.randrange(-9, 9)]),
        "int": lambda: draw.choice([-(2**31), 2**31 - 1, draw.randrange(-9, 9)]),
        "smallint": lambda: draw.randrange(-(2**15), 2**15),
        "tinyint": lambda: draw.randrange(-128, 128),
        "string": lambda: "".join(draw.choices("a\0~\xdf\u20ac\U0001f600", k=draw.randrange(9))),
        "decimal(9,2)": lambda: Decimal(draw.randrange(-(10**8), 10**8)).scaleb(-2),
        "decimal(38,10)": lambda: DECIMALS.scaleb(
            Decimal(draw.choice([draw.randrange(-(10**37), 10**37), draw.randrange(-300, 300)])),
            -10,
        ),
        "date": lambda: start.date() + timedelta(draw.randrange(3_652_059)),
        "timestamp": lambda: (
            start + timedelta(microseconds=draw.randrange(315_537_897_600 * 10**6))
        ),
        "timestamp_ntz": lambda: (
            start.replace(tzinfo=None)
            + timedelta(microseconds=draw.randrange(315_537_897_600 * 10**6))
        ),
    }
    values = [*(make[kind]() for _ in range(300)), None]
    texts = [None if each is None else str(each) for each in values]
    frame = lake.spark.createDataFrame(
        [(at, each) for at, each in enumerate(texts)], "at INT, t STRING"
    )
    frame.selectExpr("at", f"CAST(t AS {kind}) a").createOrReplaceTempView("values_given")
    for text in KINDS.get(kind, ["bucket(97, a)", "bucket(2147483647, a)", "truncate(77, a)"]):
        transform = parse_transform(text)
        assert transform is not None
        name = f"ledger.`lakeledger.{transform.kind}.{transform.width}`"
        query = f"SELECT {name}(a) FROM values_given ORDER BY at"
        found = [each[0] for each in lake.spark.sql(query).collect()]
        wanted = [result_of(transform, each, kind) for each in values]
        is_decimal = transform.kind == "truncate" and kind.startswith("decimal")
        read = Decimal if is_decimal else str
        given, made = ([each and read(each) for each in texts] for texts in (found, wanted))
        assert given == made, text


def test_values_that_a_transform_cannot_take_are_refused_by_name(lake: Lake) -> None:
    done(lake, f"CREATE TABLE {T} (id BIGINT, d DATE) PARTITIONED BY (truncate(10, id), days(d))")
    said = refusal(lake, f"INSERT INTO {T} VALUES (-9223372036854775808, NULL)")
    assert "near the least one of 64 bits" in said
    said = refusal(lake, f"INSERT INTO {T} SELECT 1, DATE'9999-12-31' + 1")
    assert "year 10000" in said
    assert rows(lake, f"SELECT * FROM {T}") == []


def test_overwrites_replace_the_partitions_that_get_rows(lake: Lake) -> None:
    create(lake, "days(ts), region")
    fill(lake)
    kept = rows(lake, f"SELECT * FROM {T} WHERE NOT (ts < '2026-01-01' AND region <=> 'x')")
    made(lake, 0, 1).createOrReplaceTempView("one")
    lake.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        day = "TIMESTAMP'2025-12-30 01:00:00Z'"
        done(lake, f"INSERT OVERWRITE {T} SELECT 900, {day}, 'n', 'x', 0, NULL")
    finally:
        lake.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    lost = rows(lake, f"SELECT id FROM {T} WHERE ts < '2025-12-31' AND region = 'x'")
    assert lost == [(900,)]
    assert set(kept) <= set(rows(lake, f"SELECT * FROM {T}"))
    done(
        lake,
        f"INSERT OVERWRITE {T} PARTITION (region = 'x') SELECT id, ts, name, price, d FROM one",
    )
    assert rows(lake, f"SELECT id, region FROM {T} WHERE region = 'x'") == [(0, "x")]
    made(lake, 4, 5).writeTo(T).overwritePartitions()
    made(lake, 8, 9).writeTo(T).overwrite(sf.col("id").isin(4, 8))
    assert rows(lake, f"SELECT id FROM {T} WHERE region = 'x'") == [(0,), (8,)]
    check_files(lake.ledger, "db.t")
    assert "PARTITION" in refusal(lake, f"INSERT INTO {T} PARTITION (ts = '2026') SELECT 1")
    lake.ledger.alter_table("db.t", partition_columns=["hours(ts)", "region"])
    with pytest.raises(PySparkException, match="divided otherwise"):
        made(lake, 4, 5).writeTo(T).overwritePartitions()
    done(lake, f"OPTIMIZE {T} ZORDER BY (id)")
    made(lake, 8, 9).writeTo(T).overwritePartitions()
    assert rows(lake, f"SELECT id FROM {T} WHERE region = 'x'") == [(0,), (8,)]
    check_files(lake.ledger, "db.t")


def test_conditions_on_the_column_leave_out_files(lake: Lake) -> None:
    """A file that must not be read is gone: a query that reads it would fail."""
    create(lake, "days(ts), bucket(8, id)")
    fill(lake)
    place = lake.ledger.table("db.t").definition.location.removeprefix("file:")
    for file in lake.ledger.read("db.t").files:
        if str(file.partition[0]) >= "2026-01-02" or file.partition[1] == "3":
            open(f"{place}/{file.path}", "w").close()  # noqa: PTH123
    shown = rows(
        lake, f"SELECT id FROM {T} WHERE ts < '2026-01-01 23:00:00' AND id IN (1, 5, 9) AND id <> 3"
    )
    bucket = parse_transform("bucket(8, id)")
    assert bucket is not None
    wanted = [each for each in (1, 5, 9) if bucket.of_text(str(each), "bigint") != "3"]
    assert [each[0] for each in shown] == wanted
    with pytest.raises((PySparkException, Py4JJavaError)):
        rows(lake, f"SELECT * FROM {T}")


@pytest.mark.parametrize("grain", ["", "TBLPROPERTIES ('lakeledger.rows' = 'marks')"])
def test_changes_are_those_of_an_undivided_table(lake: Lake, grain: str) -> None:
    """Rows that a statement only copied are left out, also where the division changed between."""
    create(lake, more=grain)
    done(lake, f"CREATE TABLE ledger.db.plain ({COLUMNS}) {grain}")
    divisions = [["hours(ts)", "region"], ["region"], BY]
    for step in range(3):
        for name in ("t", "plain"):
            fill(lake, 40 * step, 40 * step + 30, f"ledger.db.{name}")
        if step:
            lake.ledger.alter_table("db.t", partition_columns=divisions[step - 1])
        for name in ("t", "plain"):
            done(
                lake,
                f"UPDATE ledger.db.{name} SET price = price + 1, ts = ts + INTERVAL 1 DAY "
                "WHERE id % 3 = 0",
                f"DELETE FROM ledger.db.{name} WHERE id % 5 = 1",
            )
    shown = [
        rows(
            lake,
            f"SELECT _change_type, {name}.* EXCEPT (_change_type, _commit_version, "
            f"_commit_timestamp) FROM ledger.db.{name}.changes AS {name}",
        )
        for name in ("t", "plain")
    ]
    assert len(shown[0]) > 100
    assert shown[0] == shown[1]
    check_files(lake.ledger, "db.t")
    if not grain:
        done(lake, f"CREATE TABLE ledger.db.grown ({COLUMNS}) PARTITIONED BY (days(ts), region)")
        fill(lake, name="ledger.db.grown")
        stream = lake.spark.readStream.table("ledger.db.grown").writeStream.format("memory")
        query = stream.queryName("streamed").trigger(availableNow=True).start()
        query.awaitTermination()
        assert rows(lake, "TABLE streamed") == rows(lake, "TABLE ledger.db.grown")


def test_another_division_holds_for_new_files(lake: Lake) -> None:
    create(lake, "days(ts), region")
    fill(lake)
    shown = rows(lake, f"ALTER TABLE {T} ADD PARTITION FIELD bucket(4, id)")
    assert shown == [(["days(ts)", "region", "bucket(4, id)"],)]
    fill(lake, 40, 60)
    done(
        lake,
        f"ALTER TABLE {T} REPLACE PARTITION FIELD ts_day WITH month(ts)",
        f"ALTER TABLE {T} RENAME COLUMN ts TO at",
        f"ALTER TABLE {T} DROP PARTITION FIELD bucket(4, id)",
    )
    assert divided_by(lake.ledger, "db.t") == ["months(at)", "region"]
    fill(lake, 60, 80)
    assert rows(lake, f"SELECT count(*), count(DISTINCT id), count(at) FROM {T}") == [(80, 80, 80)]
    assert rows(lake, f"SELECT count(*) FROM {T} WHERE id = 41 AND at > '2026-01-01'") == [(1,)]
    check_files(lake.ledger, "db.t")
    named = {each.split("/")[0] for (each,) in rows(lake, f"SELECT partition FROM {T}.files")}
    assert {"days(ts)=2026-01-01", "months(at)=2026-01"} <= named
    assert "divided otherwise" in refusal(lake, f"SHOW PARTITIONS {T}")
    assert "must be of a column" in refusal(lake, f"ALTER TABLE {T} DROP COLUMN at")
    done(lake, f"UPDATE {T} SET name = 'new' WHERE id % 2 = 0", f"DELETE FROM {T} WHERE id = 3")
    assert rows(lake, f"SELECT count(*), count_if(name = 'new') FROM {T}") == [(79, 40)]
    check_files(lake.ledger, "db.t")


@pytest.mark.parametrize("grain", ["rewrite", "marks"])
def test_a_file_may_have_rows_of_several_partitions(lake: Lake, grain: str) -> None:
    create(lake, "days(ts), bucket(4, id)", more=f"TBLPROPERTIES ('lakeledger.rows' = '{grain}')")
    fill(lake)
    given = [
        {**each.asDict(), "ts": each.ts.astimezone(UTC)} for each in made(lake, 40, 60).collect()
    ]
    append_undivided(lake.ledger, "db.t", given)
    assert () in partitions(lake)
    assert rows(lake, f"SELECT count(*), count(DISTINCT id) FROM {T}") == [(60, 60)]
    assert rows(lake, f"SELECT id FROM {T} WHERE id = 41 AND ts > '2026-01-01'") == [(41,)]
    assert "divided otherwise" in refusal(lake, f"SHOW PARTITIONS {T}")
    done(lake, f"UPDATE {T} SET name = 'new' WHERE id % 2 = 0", f"DELETE FROM {T} WHERE id = 43")
    assert rows(lake, f"SELECT count(*), count_if(name = 'new') FROM {T}") == [(59, 30)]
    changed = rows(lake, f"SELECT _change_type, count(*) FROM {T}.changes GROUP BY 1 ORDER BY 1")
    assert changed == [("delete", 1), ("insert", 60), ("update_postimage", 30), *BEFORE]
    check_files(lake.ledger, "db.t")


def test_a_transformed_column_may_get_a_wider_type(lake: Lake) -> None:
    """Results of wider values may be others, so older files are found by no result."""
    columns = "i INT, p DECIMAL(9,2), d DATE"
    by = "bucket(4, i), truncate(50, p), bucket(4, d)"
    done(lake, f"CREATE TABLE {T} ({columns}) PARTITIONED BY ({by})")
    done(lake, f"INSERT INTO {T} VALUES (7, 7.77, DATE'2026-01-01')")
    done(lake, f"ALTER TABLE {T} ALTER COLUMN i TYPE BIGINT")
    done(
        lake,
        f"ALTER TABLE {T} ALTER COLUMN p TYPE DECIMAL(12,4)",
        f"ALTER TABLE {T} ALTER COLUMN d TYPE TIMESTAMP_NTZ",
        f"INSERT INTO {T} VALUES (8, 7.77, TIMESTAMP_NTZ'2026-01-01 00:00:00')",
    )
    for where in ("p = 7.77", "d = TIMESTAMP_NTZ'2026-01-01 00:00:00'", "i IN (7, 8)"):
        assert rows(lake, f"SELECT i FROM {T} WHERE {where}") == [(7,), (8,)]
        assert lake.ledger.scan("db.t", where=where).to_arrow().num_rows == 2


def test_an_empty_text_that_divides_a_table_is_null_for_its_transforms_too(lake: Lake) -> None:
    done(lake, f"CREATE TABLE {T} (id INT, s STRING) PARTITIONED BY (s, truncate(2, s))")
    done(lake, f"INSERT INTO {T} VALUES (1, ''), (2, NULL), (3, 'abc')")
    assert partitions(lake) == {(None, None), ("abc", "~ab")}
    assert rows(lake, f"SELECT id FROM {T} WHERE s IS NULL") == [(1,), (2,)]
    done(lake, "CREATE TABLE ledger.db.u (id INT, s STRING) PARTITIONED BY (truncate(2, s))")
    done(lake, "INSERT INTO ledger.db.u VALUES (1, ''), (2, NULL), (3, 'abc')")
    assert partitions(lake, "db.u") == {(None,), ("~",), ("~ab",)}
    assert rows(lake, "SELECT id FROM ledger.db.u WHERE s = ''") == [(1,)]


def test_computed_columns_divide_by_transforms_where_rows_keep_together(lake: Lake) -> None:
    done(
        lake,
        f"CREATE TABLE {T} (at TIMESTAMP, v INT, day DATE GENERATED ALWAYS AS (CAST(at AS DATE))) "
        "PARTITIONED BY (months(day))",
        f"INSERT INTO {T} (at, v) SELECT TIMESTAMP'2026-01-30 00:00:00Z' + make_interval(0, 0, 0, "
        "0, int(id)), id FROM range(0, 99, 1, 1)",
    )
    assert partitions(lake) == {("2026-01",), ("2026-02",)}
    assert check_files(lake.ledger, "db.t") == 2
    done(
        lake,
        "CREATE TABLE ledger.db.n (id BIGINT GENERATED BY DEFAULT AS IDENTITY, v INT) "
        "PARTITIONED BY (bucket(4, id))",
    )
    assert "bucket(4, id)" in refusal(lake, "INSERT INTO ledger.db.n (v) VALUES (1)")


def test_overwrites_conflict_with_new_rows_of_their_results_alone(lake: Lake) -> None:
    create(
        lake,
        "days(ts), bucket(4, id)",
        more="TBLPROPERTIES ('delta.isolationLevel' = 'Serializable')",
    )
    fill(lake)

    def overwritten(day: int) -> None:
        """Replace one partition; meanwhile the SDK adds a row to that day, or to another one."""
        new = {"id": 1, "ts": datetime(2026, 1, day, 5, tzinfo=UTC), "region": "new"}
        with lake.transaction():
            made(lake, 1, 2).withColumn("ts", sf.expr("TIMESTAMP'2026-01-01 01:00:00Z'")).writeTo(
                T
            ).overwritePartitions()
            lake.ledger.append("db.t", [new])

    overwritten(2)
    with pytest.raises(ConflictError):
        overwritten(1)
    check_files(lake.ledger, "db.t")
