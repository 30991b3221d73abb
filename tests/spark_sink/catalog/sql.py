"""What the tests of SQL share: rows in order, and the text of a refusal."""

from typing import Any

from pyspark.errors import PySparkException

from spark_sink import Lake


def rows(lake: Lake, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query in one order, NULLs and mixed types included."""
    return sorted((tuple(each) for each in lake.spark.sql(query).collect()), key=repr)


def done(lake: Lake, *statements: str) -> None:
    for statement in statements:
        lake.spark.sql(statement).collect()


def refusal(lake: Lake, statement: str) -> str:
    """Return the text of the error that a statement fails with."""
    try:
        lake.spark.sql(statement).collect()
    except PySparkException as error:
        return str(error)
    raise AssertionError(f"{statement} was not refused")
