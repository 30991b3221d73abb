"""Published tables: their readers must see at the end what readers of the system see."""

from collections.abc import Iterator, Sequence
from typing import Final

from tests.consistency.history import Txn
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.judge.values import Seen
from tests.consistency.operations import Read

SESSION: Final = "published"
"""The session that reads the published tables once all others have ended."""


def published_anomalies(txns: Sequence[Txn], final: Sequence[Seen]) -> Iterator[Anomaly]:
    """Yield published tables whose rows are not the rows of the last read."""
    last = {seen.operation.table: seen for seen in final if seen.operation.key is None}
    for txn in txns:
        if txn.session != SESSION:
            continue
        for operation, rows in zip(txn.operations, txn.results, strict=True):
            assert isinstance(operation, Read)
            seen = last.get(operation.table)
            if seen is not None and list(seen.rows) != list(rows or ()):
                only = sorted(set(map(tuple, rows or ())) ^ set(map(tuple, seen.rows)))
                what = (
                    f"{operation.table} has {len(rows or ())} published rows, {len(seen.rows)} rows"
                )
                yield Anomaly("published rows differ", f"{what}; of one only: {only[:6]}", [txn.id])
