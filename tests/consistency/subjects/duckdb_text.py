"""DuckDB's SQL over an attached catalog: what DuckLake and the Iceberg door have in common."""

from collections.abc import Callable
from re import Pattern
from typing import Any

from tests.consistency.history import Result
from tests.consistency.operations import Compact, Operation, Read, ordered
from tests.consistency.subjects.port import RefusedError
from tests.consistency.subjects.statements import statement

Namer = Callable[[str], str]


class DuckDbSession:
    """A connection with a catalog attached; `refusals` finds errors that change nothing."""

    def __init__(
        self, connection: Any, place_of: Namer, refusals: Pattern[str], compact: str = ""
    ) -> None:
        self.place, self.read_from, self.token = 0, 0, ""
        self._connection, self._place_of = connection, place_of
        self._refusals, self._compact = refusals, compact

    def begin(self) -> None:
        self._connection.execute("BEGIN")

    def do(self, operation: Operation) -> Result:
        if isinstance(operation, Compact):
            self._run(self._compact.format(table=operation.table))
            return None
        rows = self._run(statement(operation, self._place_of(operation.table)))
        return ordered(rows) if isinstance(operation, Read) else None

    def alone(self, operation: Operation) -> Result:
        return self.do(operation)

    def commit(self) -> None:
        self._run("COMMIT")

    def abort(self) -> None:
        self._connection.execute("ROLLBACK")

    def wait_for(self, token: str) -> None:
        raise NotImplementedError(token)

    def _run(self, text: str) -> Any:
        try:
            return self._connection.execute(text).fetchall()
        except Exception as error:
            if self._refusals.search(str(error)):
                raise RefusedError(str(error)) from error
            raise
