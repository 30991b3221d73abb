"""Histories by hand, for planted and clean ones.

A txn is written as its operations with what they got; its times follow from its place in the list
unless they are named.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.consistency.history import History, Txn
from tests.consistency.operations import ACCOUNTS, BALANCE, TABLES, Operation, Read, Row, first_rows

Step = Operation | tuple[Operation, Sequence[Any]]
A, B = "lists_a", "lists_b"
ALL_EMPTY = [Row(key, BALANCE, "") for key in range(ACCOUNTS)]


def txn(name: str, at: float, *steps: Step, **others: Any) -> Txn:
    """Return a committed txn that takes one unit of time, in a session of its own."""
    operations = tuple(step[0] if isinstance(step, tuple) else step for step in steps)
    results = tuple(step[1] if isinstance(step, tuple) else None for step in steps)
    made = {"outcome": "committed", "begun": at, "ended": at + 1, "session": f"of {name}"}
    return Txn(id=name, operations=operations, results=results, **{**made, **others})


def lists(table: str, key: int, *values: int) -> tuple[Operation, Sequence[Row]]:
    return Read(table, key), [Row(key, 0, ",".join(map(str, values)))]


def bag(key: int, *values: int) -> tuple[Operation, Sequence[Row]]:
    return Read("bag", key), [Row(key, value, "") for value in values]


def register(key: int, value: int) -> tuple[Operation, Sequence[Row]]:
    return Read("registers", key), [Row(key, value, "")]


def whole(table: str, *rows: Row) -> tuple[Operation, Sequence[Row]]:
    return Read(table), list(rows)


def history(*txns: Txn, **facts: Any) -> History:
    return History(sorted(txns, key=lambda each: each.begun), facts)


def accounts(*amounts: int) -> Sequence[Row]:
    """Return all accounts, the first ones changed by amounts."""
    rows = [row._replace(n=row.n + more) for row, more in zip(ALL_EMPTY, amounts, strict=False)]
    return [*rows, *ALL_EMPTY[len(rows) :]]


def moved(table: str, *amounts: int) -> tuple[Operation, Sequence[Row]]:
    """Return a read of all accounts, the first ones changed by amounts."""
    return Read(table), accounts(*amounts)


def registers(first: int) -> Sequence[Row]:
    """Return all registers, of which number one has a value."""
    rows = first_rows("registers")
    return [row._replace(n=first) if row.k == 1 else row for row in rows]


STALE = {"is_fresh": False}
AT_ONCE: Final[Mapping[str, Any]] = {"begun": 0, "ended": 9}
FINAL: Final[Mapping[str, Any]] = {"session": "final"}
CUT: Final = {"kept": 7, "cut": 20, "from": 1, "to": 3, "lost": 2, "batches": 1}
RUN: Final[Mapping[str, Any]] = {"subject": "ledger-sdk", "is_read_at_end": True}
ABORTED: Final[Mapping[str, Any]] = {"outcome": "aborted"}


def read_at_end(at: float = 90) -> Txn:
    """Return a read of all tables that finds the first rows of each."""
    return txn("final", at, *(whole(table, *first_rows(table)) for table in TABLES), **FINAL)
