"""A client with pyiceberg: it appends, and it overwrites one row by what it read before."""

import logging
from typing import Any, Final

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    NoSuchTableError,
    ValidationException,
)

from tests.iceberg.clients.stress.journal import COUNTS, LINES, LINES_EACH
from tests.iceberg.clients.stress.turns import take_turns, told

REFUSALS: Final = (
    *(BadRequestError, CommitFailedException, NoSuchTableError),
    *(ValidationException, ValueError),
)
COUNTER: Final = pa.schema([("id", pa.int64()), ("value", pa.int64()), ("operation", pa.string())])
LINE: Final = pa.schema([("operation", pa.string()), ("number", pa.int64())])


def lines(operation: str) -> pa.Table:
    """Return the rows of an append."""
    rows = [{"operation": operation, "number": number} for number in range(LINES_EACH)]
    return pa.Table.from_pylist(rows, schema=LINE)


class PyicebergWorker:
    """Works through one catalog; every operation loads its table anew."""

    def __init__(self, uri: str) -> None:
        self._catalog = load_catalog("lake", type="rest", uri=uri, warehouse="main")

    def append(self, operation: str) -> None:
        """Append lines."""
        self._catalog.load_table(LINES).append(lines(operation))

    def count(self, operation: str, counter: int) -> None:
        """Count a row up: read it, and put another one in its place."""
        table, here = self._catalog.load_table(COUNTS), f"id = {counter}"
        (row,) = table.scan(here).to_arrow().to_pylist()
        new: dict[str, Any] = {**row, "value": row["value"] + 1, "operation": operation}
        table.overwrite(pa.Table.from_pylist([new], schema=COUNTER), overwrite_filter=here)

    def is_refused(self, error: Exception) -> bool:
        """Tell whether an error is the catalog's refusal, or a check of pyiceberg's own."""
        return isinstance(error, REFUSALS)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    where = told()
    take_turns(PyicebergWorker(where.uri), where)
