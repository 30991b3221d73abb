"""Spark SQL as a session of a subject: its threads share one application."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from re import Pattern
from typing import Any, Final

from tests.consistency.history import Result
from tests.consistency.operations import Compact, Operation, Read, ReadAt, ordered
from tests.consistency.subjects.port import RefusedError
from tests.consistency.subjects.statements import statement

SETTINGS: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
}


@contextmanager
def application(settings: Mapping[str, str]) -> Iterator[Any]:
    """Run a Spark application of this process."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - loads Spark

    builder = SparkSession.builder.master("local[2]").appName("consistency")
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


class SparkSqlSession:
    """A session of Spark; `refusals` finds errors that change nothing."""

    def __init__(
        self, spark: Any, place_of: Callable[[str], str], refusals: Pattern[str], begin: str = ""
    ) -> None:
        self.place, self.read_from, self.token = 0, 0, ""
        self._spark, self._place_of, self._refusals = spark, place_of, refusals
        self._begin = begin

    def begin(self) -> None:
        self._run(self._begin)

    def do(self, operation: Operation) -> Result:
        place = self._place_of(operation.table)
        match operation:
            case Compact(_):
                self._run(f"OPTIMIZE {place}")
            case ReadAt(_, version):
                text = f"SELECT k, n, v FROM {place} VERSION AS OF {version}"
                return ordered(self._run(text))
            case Read(_, _):
                return ordered(self._run(statement(operation, place)))
            case _:
                self._run(statement(operation, place))
        return None

    def alone(self, operation: Operation) -> Result:
        return self.do(operation)

    def commit(self) -> None:
        self._run("COMMIT")

    def abort(self) -> None:
        self._spark.sql("ROLLBACK")

    def wait_for(self, token: str) -> None:
        raise NotImplementedError(token)

    def _run(self, text: str) -> list[tuple[Any, ...]]:
        try:
            return [tuple(row) for row in self._spark.sql(text).collect()]
        except Exception as error:
            if self._refusals.search(str(error)):
                raise RefusedError(str(error)) from error
            raise
