"""Operations as verbs of the Python SDK, on a client or in a txn, and its change feed."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from ledger.client import Ledger
from ledger.reads.port import TableRow
from ledger.transaction.transaction import Transaction
from tests.consistency.operations import (
    Add,
    Append,
    Change,
    Claim,
    Compact,
    Delete,
    Insert,
    Operation,
    Row,
    Transfer,
    Upsert,
    Write,
    ordered,
)

COLUMNS: Final = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("v", pa.string())])


def arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=COLUMNS)


def name(operation: Operation) -> str:
    return f"lake.{operation.table}"


def where(operation: Operation) -> str | None:
    key = getattr(operation, "key", None)
    return None if key is None else f"k = {key}"


def write(verbs: Ledger | Transaction, operation: Operation) -> Any:
    """Carry out a statement by the verbs of a client or of a txn; both have the same."""
    table, condition = name(operation), where(operation)
    match operation:
        case Append(_, _, value):
            return verbs.update(table, {"v": f"concat(v, ',{value}')"}, condition)
        case Upsert(_, key, value):
            lists = {"v": "concat(target.v, ',', source.v)"}
            return merge(verbs, table, Row(key, 0, str(value)), when_matched_update=lists)
        case Claim(_, key, value):
            return merge(verbs, table, Row(key, value, ""))
        case Insert(_, key, value):
            rows = arrow([Row(key, value, "")])
            is_txn = isinstance(verbs, Transaction)
            return verbs.insert(table, rows) if is_txn else verbs.append(table, rows)  # type: ignore[union-attr]
        case Write(_, _, value):
            return verbs.update(table, {"n": value}, condition)
        case Add(_, _, amount):
            return verbs.update(table, {"n": f"n + ({amount})"}, condition)
        case Transfer(_, source, target, amount):
            moved = f"CASE WHEN k = {source} THEN n - {amount} ELSE n + {amount} END"
            return verbs.update(table, {"n": moved}, f"k IN ({source}, {target})")
        case Delete(_, _):
            return verbs.delete(table, condition)
        case Compact(_):
            return verbs.optimize(table)
        case _:
            message = f"{operation} is no statement"
            raise ValueError(message)


def merge(verbs: Ledger | Transaction, table: str, row: Row, **clauses: Any) -> Any:
    on = "target.k = source.k"
    return verbs.merge(table, arrow([row]), on, when_not_matched_insert=True, **clauses)


def changes(ledger: Ledger, table: str | TableRow, after: int = 0) -> Iterator[Change]:
    """Yield the commits of a table behind a position, with the rows that they added and removed."""
    for commit in ledger.changes(table, position=after or None):
        rows = commit.rows().to_pylist()
        added = [row for row in rows if row["_change_type"] in ("insert", "update_postimage")]
        removed = [row for row in rows if row["_change_type"] in ("delete", "update_preimage")]
        yield Change(
            commit.position,
            ordered([(row["k"], row["n"], row["v"]) for row in added]),
            ordered([(row["k"], row["n"], row["v"]) for row in removed]),
        )
