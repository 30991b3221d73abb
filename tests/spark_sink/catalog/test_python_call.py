"""The Java side of the protocol: what it asks, and what it makes of scripted answers."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from pyspark.errors import AnalysisException, PySparkException, SparkRuntimeException
from pyspark.sql import SparkSession

from spark_sink import Lake
from spark_sink.catalog.questions import CATALOGS

pytestmark = pytest.mark.spark

Answer = dict[str, Any]


class Script:
    """Answers questions from a script, and keeps them."""

    class Java:
        """The Java interface of this object, for Py4J."""

        implements: Final = ["java.util.function.BiFunction"]

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Answer]] = []

    def apply(self, word: str, text: str) -> str:
        self.asked.append((word, json.loads(text)))
        return json.dumps(self.answers.get(word, {"answer": None}))


@pytest.fixture
def play(lake: Lake) -> Iterator[Callable[[dict[str, Answer]], Script]]:
    """Return a function that sets a script; the catalogs of the process answer afterwards."""
    gateway: Any = lake.spark.sparkContext._gateway  # noqa: SLF001 - as the product does

    def play(answers: dict[str, Answer]) -> Script:
        script = Script(answers)
        gateway.jvm.lakeledger.PythonCall.setBackend(script)
        return script

    yield play
    gateway.jvm.lakeledger.PythonCall.setBackend(CATALOGS)


Play = Callable[[dict[str, Answer]], Script]


def test_rows_of_an_answer(spark: SparkSession, play: Play) -> None:
    columns = [
        {"name": "n", "type": "bigint"},
        {"name": "t", "type": "timestamp"},
        {"name": "b", "type": "boolean"},
    ]
    values = [["7", "2024-01-01 10:00:00+00:00", "true"], [None, None, None]]
    script = play({"table": {"answer": {"name": "r", "columns": columns, "rows": values}}})
    found = spark.sql("SELECT n, unix_seconds(t), b FROM ledger.a.`b c`.history").collect()
    assert [tuple(each) for each in found] == [(7, 1704103200, True), (None, None, None)]
    word, asked = script.asked[0]
    assert (word, asked["catalog"], asked["table"]) == ("table", "ledger", "a.b c.history")
    assert asked["txn"] == ""


@pytest.mark.parametrize(
    ("kind", "error", "condition"),
    [
        ("NoSuchTable", AnalysisException, "TABLE_OR_VIEW_NOT_FOUND"),
        ("LEDGER_CONFLICT.CONCURRENT_APPEND", SparkRuntimeException, None),
        ("LEDGER_INTERNAL", SparkRuntimeException, None),
    ],
)
def test_errors(
    spark: SparkSession, play: Play, kind: str, error: type[PySparkException], condition: str
) -> None:
    """A refusal keeps its condition and its text, with quotes, lines and letters of any kind."""
    text = "a.t" if condition else 'é "quoted" {braces}\nsecond line'
    play({"table": {"error": kind, "message": text}})
    with pytest.raises(error) as raised:
        spark.sql("SELECT * FROM ledger.a.t").collect()
    assert raised.value.getCondition() == (condition or kind)
    if condition is None:
        assert str(raised.value) == f"[{kind}] {text}"


def test_a_txn_that_fails_is_ended(spark: SparkSession, play: Play) -> None:
    script = play(
        {"begin": {"answer": "ledger/5"}, "table": {"error": "LEDGER_INTERNAL", "message": "no"}}
    )
    with pytest.raises(SparkRuntimeException):
        spark.sql("INSERT INTO ledger.a.t VALUES (1)").collect()
    words = [word for word, _ in script.asked]
    assert words[0] == "begin"
    assert words.index("abort") < len(words) - 1
    assert words[-1] == "close"
    assert {asked["txn"] for word, asked in script.asked if word != "begin"} == {"ledger/5"}
