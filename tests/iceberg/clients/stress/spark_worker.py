"""A client with Spark and Iceberg's runtime; it runs in an environment of its own."""

from pathlib import Path
from typing import Any, Final

from tests.iceberg.clients.spark_session import session
from tests.iceberg.clients.stress.journal import COUNTS, LINES, LINES_EACH
from tests.iceberg.clients.stress.turns import take_turns, told

REFUSALS: Final = (
    *("CommitFailedException", "ValidationException", "BadRequestException"),
    *("AlreadyExistsException", "RESTException: Malformed"),
)
UNSURE: Final = ("CommitStateUnknown", "Connect", "ServiceFailure", "ServiceUnavailable")


class SparkWorker:
    """Works through one session, which lives as long as the process."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def append(self, operation: str) -> None:
        """Append lines."""
        rows = f"SELECT '{operation}', id FROM range({LINES_EACH})"
        self._run(f"INSERT INTO lake.{LINES} {rows}")

    def count(self, operation: str, counter: int) -> None:
        """Count a row up by one statement."""
        change = f"value = value + 1, operation = '{operation}'"
        self._run(f"UPDATE lake.{COUNTS} SET {change} WHERE id = {counter}")

    def is_refused(self, error: Exception) -> bool:
        """Tell whether the cause of an error is a refusal, or a check of Iceberg's own."""
        # The cause stands before the stack.
        text = str(error).partition("\tat ")[0]
        return any(word in text for word in REFUSALS) and not any(word in text for word in UNSURE)

    def _run(self, statement: str) -> None:
        self._spark.sql(statement).collect()


if __name__ == "__main__":
    where = told()
    take_turns(SparkWorker(session(where.uri, Path(where.rest[0]))), where)
