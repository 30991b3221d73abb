"""A client with DuckDB's extension: it also commits to two tables at once."""

from contextlib import suppress
from typing import Final

import duckdb

from tests.iceberg.clients.duckdb_client import attach, with_extensions
from tests.iceberg.clients.stress.journal import COUNTS, LINES, LINES_EACH, TOTALS
from tests.iceberg.clients.stress.turns import take_turns, told

# What the extension says of a status that is a refusal.
REFUSALS: Final = ("Conflict", "_409", "CommitFailedException", "BadRequest", "_400", "_404")
UNSURE: Final = ("CommitStateUnknown", "InternalServerError", "_50")


class DuckdbWorker:
    """Works through one connection, which lives as long as the process."""

    def __init__(self, uri: str) -> None:
        self._connection = with_extensions()
        attach(self._connection, uri)

    def append(self, operation: str) -> None:
        """Append lines."""
        self._run(self._appended(operation))

    def count(self, operation: str, counter: int) -> None:
        """Count a row up by one statement."""
        self._run(self._counted(COUNTS, operation, counter))

    def append_and_count(self, operation: str, counter: int) -> None:
        """Append lines and count a total up in one transaction."""
        self._run(self._appended(operation), self._counted(TOTALS, operation, counter))

    def is_refused(self, error: Exception) -> bool:
        """Tell whether an error carries the status of a refusal."""
        text = str(error)
        return any(word in text for word in REFUSALS) and not any(word in text for word in UNSURE)

    def _run(self, *statements: str) -> None:
        try:
            self._connection.execute("BEGIN")
            for each in statements:
                self._connection.execute(each)
            self._connection.execute("COMMIT")
        except Exception:
            with suppress(duckdb.Error):
                self._connection.execute("ROLLBACK")
            raise

    @staticmethod
    def _appended(operation: str) -> str:
        rows = f"SELECT '{operation}', range FROM range({LINES_EACH})"
        return f"INSERT INTO lake.{LINES} {rows}"

    @staticmethod
    def _counted(table: str, operation: str, counter: int) -> str:
        change = f"value = value + 1, operation = '{operation}'"
        return f"UPDATE lake.{table} SET {change} WHERE id = {counter}"


if __name__ == "__main__":
    where = told()
    client = DuckdbWorker(where.uri)
    take_turns(client, where, client.append_and_count)
