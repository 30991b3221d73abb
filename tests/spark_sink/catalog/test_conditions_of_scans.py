"""Conditions of a scan reach the ledger as trees, which leave out no row that Spark selects."""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import pytest

from ledger.core.predicates.predicates import compile_predicate
from ledger.core.predicates.sql_text import sql_of
from ledger.core.predicates.tree import node_of
from spark_sink import Lake
from spark_sink.catalog.questions import CATALOGS
from spark_sink.catalog.read.conditions import conjunction
from tests.core.predicate_trees import SCHEMA, condition, row
from tests.spark_sink.catalog.test_python_call import Script
from tests.spark_sink.test_predicates_spark import DELICATE, answers

pytestmark = pytest.mark.spark

PREDICATES: Final = 200
PARTITIONS: Final = 60
COLUMNS: Final = (*SCHEMA, ("y", "tinyint"), ("n z", "timestamp_ntz"), ("x", "struct<a: int>"))
NO_FILES: Final[dict[str, list[Any]]] = {
    "paths": [],
    "sizes": [],
    "values": [],
    "value_of": [],
    "groups": [],
    "group_of": [],
}
EXACT: Final = {
    "i = 1": [["=", ["col", "i"], ["lit", "1", "int"]]],
    "l > -5": [[">", ["col", "l"], ["lit", "-5", "bigint"]]],
    "y <= 7": [["<=", ["col", "y"], ["lit", "7", "tinyint"]]],
    "f < 1.5D": [["<", ["col", "f"], ["lit", "1.5", "double"]]],
    "m = 1.5BD": [["=", ["col", "m"], ["lit", "1.50", "decimal(10,2)"]]],
    "d = DATE'2024-01-31'": [["=", ["col", "d"], ["lit", "2024-01-31", "date"]]],
    "t >= TIMESTAMP'2024-01-31 10:00:00.5+02:00'": [
        [">=", ["col", "t"], ["lit", "2024-01-31 08:00:00.500000Z", "timestamp"]]
    ],
    "`n z` <=> TIMESTAMP_NTZ'2024-01-31 10:00:00'": [
        ["<=>", ["col", "n z"], ["lit", "2024-01-31 10:00:00", "timestamp_ntz"]]
    ],
    "s LIKE 'a%'": [["like", ["col", "s"], ["lit", "a%", "string"]]],
    "s LIKE '%it\\'s%'": [["like", ["col", "s"], ["lit", "%it's%", "string"]]],
    "NOT b": [["not", ["col", "b"]]],
    "i IN (1, 2)": [["in", ["col", "i"], [["lit", "1", "int"], ["lit", "2", "int"]]]],
    "i IS NULL AND abs(i) % 2 = 1": [
        ["is_null", ["col", "i"]],
        ["=", ["%", ["call", "abs", ["col", "i"]], ["lit", "2", "int"]], ["lit", "1", "int"]],
    ],
    "CAST(t AS DATE) = d": [["=", ["cast", ["col", "t"], "date"], ["col", "d"]]],
    "b OR s = 'a' OR i = 1": [
        [
            "or",
            ["col", "b"],
            ["=", ["col", "s"], ["lit", "a", "string"]],
            ["=", ["col", "i"], ["lit", "1", "int"]],
        ]
    ],
}
# What the tree cannot say, and the columns of that part.
UNKNOWN: Final = {
    "rand() > 0.5": [],
    "contains(s, '%')": ["s"],
    "s RLIKE 'a+' OR i = 1": ["s"],
    "x.a = 1": ["x"],
    "try_cast(s AS INT) = 1": ["s"],
    "if(b, i = 1, l = 7)": ["b", "i", "l"],
    f"i {'+ l ' * 60} > 3": ["i", "l"],
}
Asked = Callable[[str], list[Any]]


@pytest.fixture
def asked(lake: Lake) -> Iterator[Asked]:
    """Return a function that returns the trees that a scan of a condition asks with."""
    gateway: Any = lake.spark.sparkContext._gateway  # noqa: SLF001 - as the product does
    columns = [{"name": name, "type": kind} for name, kind in COLUMNS]
    table = {"name": "a.t", "id": "1", "position": 1, "seen": "v1", "pinned": True}
    table |= {"columns": columns, "partition": [], "constraints": [], "properties": {}}
    script = Script({"table": {"answer": table}, "files": {"answer": NO_FILES}})

    def asked(sql: str) -> list[Any]:
        script.asked.clear()
        lake.spark.sql(f"SELECT 1 FROM ledger.a.t WHERE {sql}").collect()
        found = [each["where"] for word, each in script.asked if word == "files"]
        # Spark reads no file for what it knows to be false.
        where = found[0] if found else [["lit", "false", "boolean"]]
        return [tree for tree in where if tree[0] != "not" or tree[1][0] != "is_null"]

    gateway.jvm.lakeledger.PythonCall.setBackend(script)
    yield asked
    gateway.jvm.lakeledger.PythonCall.setBackend(CATALOGS)


def unknown_in(tree: Any) -> Iterator[list[str]]:
    """Yield the columns of each unknown part."""
    if isinstance(tree, list) and tree[:1] == ["unknown"]:
        yield sorted(tree[2])
    elif isinstance(tree, list):
        for each in tree:
            yield from unknown_in(each)


@pytest.mark.parametrize("sql", EXACT)
def test_what_a_tree_says(asked: Asked, sql: str) -> None:
    """Each form of a condition has its tree, and each type its literals."""
    assert asked(sql) == EXACT[sql]


@pytest.mark.parametrize("sql", UNKNOWN)
def test_what_no_tree_says(asked: Asked, sql: str) -> None:
    """A part without a form is unknown, with the columns that it reads."""
    assert UNKNOWN[sql] in list(unknown_in(asked(sql)))


def test_no_row_is_left_out(lake: Lake, asked: Asked) -> None:
    """Of any condition the tree holds for all rows for which Spark's own evaluation does."""
    random = Random(8)
    rows = [row(random) for _ in range(PARTITIONS)]
    sqls = [*DELICATE, *(sql_of(json.dumps(condition(random))) for _ in range(PREDICATES))]
    missed, exact = {}, 0
    for sql, theirs in zip(sqls, answers(lake.spark, rows, sqls), strict=True):
        if "SELECT" in sql:
            continue
        where = conjunction(list(map(node_of, asked(sql))))
        text = '["lit","true","boolean"]' if where is None else where.to_wire()
        predicate = compile_predicate(text, SCHEMA, derive=False)
        ours = "".join("x" if predicate.matches(each) else "." for each in rows)
        exact += ours == theirs
        if (".", "x") in zip(ours, theirs, strict=True):
            missed[sql] = ours, theirs
    assert missed == {}
    assert exact > PREDICATES
