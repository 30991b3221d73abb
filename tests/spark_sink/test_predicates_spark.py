"""Read predicates against Spark itself: the same answer for every partition, and the same keys."""

import json
from random import Random
from typing import Final

import pytest
from pyspark.sql import DataFrame, SparkSession

from ledger.core.partitions.keys import UNCASTABLE
from ledger.core.predicates.predicates import compile_predicate, key_of
from ledger.core.predicates.sql_text import sql_of
from tests.conditions import tree_of
from tests.core.predicate_trees import SCHEMA, VALUES, condition, row

pytestmark = pytest.mark.spark

PREDICATES: Final = 400
PARTITIONS: Final = 60

# Where the parser groups otherwise than Spark, or the tree cannot say it, more may match.
DELICATE: Final = [
    "i = 1 IS NULL",
    "i = 1 IS NOT NULL",
    "b = b < true",
    "NOT b = b",
    "! i = 1 AND b",
    "NOT i = 1 OR i IS NULL AND b",
    "- i % 2 = 1",
    "-i % 5 * 2 + 1 < i % 7 - 3 % 2",
    "i - 1 - 1 = -1",
    "i / 2 / 5 = 1.0",
    "i BETWEEN 0 AND 5 AND b",
    "NOT i BETWEEN 0 AND 5",
    "i NOT BETWEEN 0 AND 5 OR b",
    "s LIKE 'a' || '%'",
    r"s LIKE 'a\_b' OR s LIKE 'a\\%'",
    r"s = 'a\_b' OR s = '\a'",
    "s = 'a' 'b'",
    "s = 'a''b' OR s = 'ab'",
    'CAST(s AS VARCHAR(1)) = "a"',
    "i = 1 IN (true)",
    "i & 1 = 1",
    "i | 1 = 1 AND b",
    "b IS TRUE OR b IS NOT FALSE",
    "b IS UNKNOWN",
    "i IS DISTINCT FROM NULL",
    "i <> 1 = b",
    "CASE WHEN b THEN i = 1 ELSE i = 7 END",
    "if(b, i = 1, i = 7)",
    "NOT b IS NULL OR b AND i = -(-1)",
    "i IN (1, 1.5, 7L)",
    "m = 1.5BD OR f = 1.5D OR i = 7L",
    "d = to_date('2024-01-31')",
    "d > '2024' AND date(t) = d",
    "substring(s, 0, 2) = 'ab' OR substr(s, -1) = 'b' OR substring(s, -5, 6) = 'a_b'",
    "concat(s, 'x') = 'ax'",
    "nullif(i, 1) = 7",
    "i < 99999999999999999999.5",
    "i > -99999999999999999999",
    "l = 99999999999999999999.5",
    "l <= 9223372036854775807.5 OR l > 9223372036854775807.5",
    "rand() >= 0 AND i = 1",
    "NOT (rand() >= 0 AND i = 1)",
    "i IN (SELECT 1)",
    "i = 1 -- or another \\\n AND b\n",
]
# Texts for each type that Spark reads in its own ways.
TEXTS: Final = {
    "int": [
        "1",
        "01",
        "+1",
        " 1\t",
        "1.0",
        "1e0",
        "1_0",
        "",
        "-",
        "0x1",
        "2147483648",
        "1L",
        "\u00a01",
    ],
    "bigint": ["-9223372036854775808", "9223372036854775808", "-0", "0"],
    "double": [
        "1",
        "1.0",
        "1e0",
        ".1e1",
        "1.",
        "1d",
        "inf",
        "Infinity",
        "-inf",
        "nan",
        "-0",
        "0",
        "e",
    ],
    "decimal(5,2)": ["1", "1.00", "1.004", "1.005", "1e2", "999.99", "999.995", "1000", ".5", "."],
    "boolean": ["t", "TRUE", "y", "Yes", "1", "0", "f", "no", "on", " true ", "2"],
    "date": [
        *("2024", "2024-1", "2024-01-01", "2024-1-1", "2024-01-01 x", "2024-01-01T", "2024-01-01x"),
        *(
            " 2024-01-01 ",
            "2024-02-30",
            "24-01-01",
            "10000-01-01",
            "2024-13-01",
            "2024-",
            "0001-01-01",
        ),
    ],
    "timestamp": [
        *("2024-01-01", "2024-01-01 00", "2024-01-01T00:00", "2024-01-01 00:00:00.000"),
        *("2024-01-01 00:00:00Z", "2024-01-01 01:00:00+01:00", "2024-01-01 00:00:00UTC", "2024"),
        *("2024-01-01 00:00:00.1234567", "2024-01-01 00:00:00.123456", "2024-01-01T24:00:00"),
        *("2023-12-31 23:00:00-1:00", "2024-01-01 00:00:00+19:00", "2024-01-01 x", "T00:00"),
        *("2024-01-01 0:0:0", "2024-01-01 00:00:60", "2024-01-01 00:00:00 ", "2024-01-01T"),
    ],
    "timestamp_ntz": ["2024-01-01", "2024-01-01 00:00:00", "2024-01-01T00:00:00.5", "2024-01-01 x"],
    "string": ["a", "A", " a", "a ", "1", "01"],
}


def partitions(spark: SparkSession, rows: list[tuple[str | None, ...]]) -> DataFrame:
    """Return the partitions as Delta reads them: texts cast to the types of their columns."""
    texts = ", ".join(f"{name} STRING" for name, _ in SCHEMA)
    columns = [f"CAST(nullif({name}, '') AS {type_}) AS {name}" for name, type_ in SCHEMA]
    return spark.createDataFrame(rows, texts).coalesce(1).selectExpr(*columns)


def answers(spark: SparkSession, rows: list[tuple[str | None, ...]], sqls: list[str]) -> list[str]:
    """Return for each condition which rows Spark holds to be TRUE, a character for each."""
    tests = [f"coalesce({sql}, false) AS c{number}" for number, sql in enumerate(sqls)]
    found = partitions(spark, rows).selectExpr(*tests).collect()
    return ["".join("x" if one[number] else "." for one in found) for number in range(len(sqls))]


def own_answers(rows: list[tuple[str | None, ...]], sql: str, zone: str = "") -> str:
    predicate = compile_predicate(tree_of(sql).in_zone(zone).to_wire(), SCHEMA, derive=False)
    return "".join("x" if predicate.matches(each) else "." for each in rows)


def test_predicates_match_where_spark_says_true(spark: SparkSession) -> None:
    """Random predicates over every type, parsed from SQL, match exactly the rows Spark selects."""
    random = Random(5)  # noqa: S311 - the same predicates every time
    rows = [row(random) for _ in range(PARTITIONS)]
    sqls = [sql_of(json.dumps(condition(random))) for _ in range(PREDICATES)]

    wrong = {
        sql: (ours, theirs)
        for sql, theirs in zip(sqls, answers(spark, rows, sqls), strict=True)
        if (ours := own_answers(rows, sql)) != theirs
    }
    assert wrong == {}


# Instants about changes of clocks: an hour skipped and one that comes twice, and days without a
# midnight.
TIMES: Final = [
    *("2024-03-31 01:30:00", "2024-03-31 02:30:00", "2024-03-31 03:30:00", "2024-03-31 01:30:00Z"),
    *("2024-10-27 02:30:00", "2024-10-27 00:30:00Z", "2024-10-27 01:30:00Z", "2024-10-27"),
    *("2018-11-04 00:30:00", "2018-11-04 01:00:00", "2018-11-04", "2018-11-04 03:00:00Z"),
    *("1919-03-31", "1919-03-31 00:10:00", "1919-03-31 04:30:00Z", "1919-03-31 00:30:00"),
]
ABOUT_TIMES: Final = [
    "t = {}",
    "t < {}",
    "t <=> CAST({} AS DATE)",
    "CAST(t AS DATE) = CAST({} AS DATE)",
    "d = {}",
    "d <= {}",
    "CAST(t AS STRING) = CAST({} AS STRING)",
    "hour(t) = hour({}) AND day(t) = day({})",
    "t IN ({}, TIMESTAMP '2024-10-27 01:30:00Z')",
    "coalesce(t, d) = {}",
]
# Spark casts the other side of these.
MOVED: Final = [
    "CAST(t AS TIMESTAMP_NTZ) = CAST({} AS TIMESTAMP_NTZ)",
    "CAST(t AS TIMESTAMP_NTZ) <> CAST({} AS TIMESTAMP_NTZ)",
    "CAST(t AS TIMESTAMP_NTZ) < {}",
]


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/Sao_Paulo", "America/Toronto", "+05:30", "-03:00"]
)
def test_times_in_a_zone(spark: SparkSession, zone: str) -> None:
    """In each session time zone those rows match that Spark selects there, of some also others."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    days = [text[:10] for text in TIMES]
    rows: list[tuple[str | None, ...]] = [
        ("1", "1", "a", "1", day, text, "1", "true", "1")
        for day, text in zip(days, TIMES, strict=True)
    ]
    literals = [f"TIMESTAMP '{text}'" for text in TIMES]
    literals += [f"TIMESTAMP_NTZ '{text}'" for text in TIMES if not text.endswith("Z")]
    sqls = [form.replace("{}", literal) for form in (*ABOUT_TIMES, *MOVED) for literal in literals]

    found = {
        sql: (own_answers(rows, sql, zone), theirs)
        for sql, theirs in zip(sqls, answers(session, rows, sqls), strict=True)
    }
    assert [sql for sql, each in found.items() if (".", "x") in zip(*each, strict=True)] == []
    exact = {sql: each for sql, each in found.items() if "CAST(t AS TIMESTAMP_NTZ)" not in sql}
    assert {sql: each for sql, each in exact.items() if each[0] != each[1]} == {}


def test_delicate_conditions_are_never_narrower(spark: SparkSession) -> None:
    """Where a condition is hard to read or to say, at least what Spark selects is matched."""
    random = Random(6)  # noqa: S311 - the same partitions every time
    rows = [row(random) for _ in range(PARTITIONS)]

    missed = {
        sql: (ours, theirs)
        for sql, theirs in zip(DELICATE, answers(spark, rows, DELICATE), strict=True)
        if (".", "x") in zip(ours := own_answers(rows, sql), theirs, strict=True)
    }
    assert missed == {}


@pytest.mark.parametrize("type_", TEXTS)
def test_keys_are_equal_where_spark_says_equal(spark: SparkSession, type_: str) -> None:
    """Two texts have one key exactly if Spark reads one value; what it cannot read has none."""
    named = {value for name, each in SCHEMA if each == type_ for value in VALUES[name] if value}
    texts = sorted({*TEXTS[type_], *named} - {""})
    pairs = spark.createDataFrame(
        [(one, two) for one in texts for two in texts], "a STRING, b STRING"
    )
    rows = pairs.selectExpr(
        "a", "b", f"try_cast(a AS {type_}) = try_cast(b AS {type_}) AS same"
    ).collect()
    judged = [
        each for each in rows if UNCASTABLE not in {key_of(each.a, type_), key_of(each.b, type_)}
    ]

    assert [(each.a, each.b, each.same) for each in judged] == [
        (each.a, each.b, key_of(each.a, type_) == key_of(each.b, type_)) for each in judged
    ]
    assert len(judged) >= len(texts)
