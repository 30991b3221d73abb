"""The parser of the ledger leaves every other statement to Spark's parser."""

import re
from typing import Any, Final

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, rows

pytestmark = pytest.mark.spark

PLAIN: Final = (
    "SELECT 1",
    "SELECT 'OPTIMIZE t' AS a -- VACUUM",
    "SELECT * FROM optimize o JOIN vacuum v ON o.restore = v.commit",
    "WITH commit AS (SELECT 1 AS begin) SELECT begin FROM commit",
    "DESCRIBE history",
    "DESCRIBE TABLE EXTENDED detail",
    "DESCRIBE FUNCTION EXTENDED abs",
    "SHOW TABLES",
    "SHOW TBLPROPERTIES conflicts",
    "EXPLAIN EXTENDED SELECT 1",
    "BEGIN SELECT 1; SELECT 2; END",
    "BEGIN DECLARE x INT; SET x = 1; END",
    "CREATE TABLE a.b.c (d INT) PARTITIONED BY (d) TBLPROPERTIES ('e' = 'f')",
    "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
    "INSERT OVERWRITE t PARTITION (p = 1) SELECT 2",
    "UPDATE t SET a = 1 WHERE b IN (SELECT c FROM d)",
    "ALTER TABLE t ADD COLUMNS (e INT)",
    "CALL ledger.system.history('db.t')",
    "SET spark.sql.ansi.enabled",
    "SELECT * FROM t VERSION AS OF 1",
)
WRONG: Final = ("SELEC 1", "SELECT", "OPTIMISE t", "", "SELECT 'a", "/* open", "SHOW", "BEGIN 1")
DRAWN: Final = re.compile(r"#\d+|@[0-9a-f]+|[0-9a-f]{8}(-[0-9a-f]+){4}")


def parsers(spark: SparkSession) -> tuple[Any, Any]:
    """Return the parser of a session, and a new one of Spark."""
    session: Any = spark._jsparkSession  # noqa: SLF001 - PySpark has no public way to the parser
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - as above
    own = session.sessionState().sqlParser()
    assert own.getClass().getSimpleName() == "LedgerParser"
    return own, jvm.org.apache.spark.sql.execution.SparkSqlParser()


def parsed(parser: Any, text: str) -> str:
    """Return the plan of a text, or the error, without what is drawn anew."""
    try:
        return DRAWN.sub("", str(parser.parsePlan(text).treeString()))
    except PySparkException as error:
        return str(error)


@pytest.mark.parametrize("text", [*PLAIN, *WRONG])
def test_a_plain_statement_has_the_plan_or_the_error_of_spark(lake: Lake, text: str) -> None:
    own, plain = parsers(lake.spark)
    assert parsed(own, text) == parsed(plain, text)


def test_expressions_and_names_are_those_of_spark(lake: Lake) -> None:
    own, plain = parsers(lake.spark)
    for text in ("a.`b.c`", "optimize", "ledger.db.t"):
        assert own.parseMultipartIdentifier(text).equals(plain.parseMultipartIdentifier(text))
        assert own.parseExpression(text).toString() == plain.parseExpression(text).toString()
    assert own.parseDataType("struct<a: int>").equals(plain.parseDataType("struct<a: int>"))


def test_statements_with_parameters_keep_them(lake: Lake) -> None:
    done(lake, "CREATE TABLE ledger.db.a AS SELECT 1 AS id")
    found = lake.spark.sql("SELECT id + :more AS n FROM ledger.db.a", {"more": 2}).collect()
    assert found[0].n == 3
    done(lake, "INSERT INTO ledger.db.a VALUES (5)")
    history = lake.spark.sql("DESCRIBE HISTORY ledger.db.a LIMIT :n", {"n": 1})
    assert [row.version for row in history.collect()] == [1]
    lake.spark.sql("RESTORE ledger.db.a TO VERSION AS OF ?", [0])
    assert rows(lake, "SELECT id FROM ledger.db.a") == [(1,)]


def test_a_new_session_and_a_second_attach_have_one_parser(lake: Lake) -> None:
    other = lake.spark.newSession()
    own, _ = parsers(other)
    assert own.getClass().getSimpleName() == "LedgerParser"
    done(lake, "CREATE TABLE ledger.db.a AS SELECT 1 AS id")
    assert len(other.sql("DESCRIBE HISTORY ledger.db.a").collect()) == 1
    assert rows(lake, "OPTIMIZE ledger.db.a") == [(0, 0)]
