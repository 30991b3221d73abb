"""Planted cycles: the smallest history that shows each kind."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.plants import AT_ONCE, A, B, bag, history, lists, register, txn
from tests.consistency.operations import Append, Claim, Insert, Read, Row, Write

PLANTED_CYCLES: Final[Mapping[str, tuple[Kind, History]]] = {
    "writes over each other": (
        "G0",
        history(
            txn("t1", 0, Append(A, 1, 11), Append(A, 2, 12), **AT_ONCE),
            txn("t2", 0, Append(A, 1, 21), Append(A, 2, 22), **AT_ONCE),
            txn("r1", 10, lists(A, 1, 11, 21)),
            txn("r2", 12, lists(A, 2, 22, 12)),
        ),
    ),
    "reads of each other": (
        "G1c",
        history(
            txn("t1", 0, Append(A, 1, 11), lists(B, 1, 21), **AT_ONCE),
            txn("t2", 0, Append(B, 1, 21), lists(A, 1, 11), **AT_ONCE),
        ),
    ),
    "half of a txn over two tables": (
        "G-single",
        history(
            txn("t1", 0, Append(A, 1, 11), Append(B, 1, 12), **AT_ONCE),
            txn("r1", 0, lists(A, 1, 11), lists(B, 1), **AT_ONCE),
            txn("r2", 10, lists(B, 1, 12)),
        ),
    ),
    "half of a txn that inserts two rows": (
        "G-single",
        history(
            txn("t1", 0, Insert("bag", 1, 11), Insert("bag", 1, 12), **AT_ONCE),
            txn("r1", 0, bag(1, 11), **AT_ONCE),
        ),
    ),
    "write skew over two tables": (
        "G2-item",
        history(
            txn("t1", 0, lists(A, 1), Append(B, 1, 11), **AT_ONCE),
            txn("t2", 0, lists(B, 1), Append(A, 1, 21), **AT_ONCE),
            txn("r", 10, lists(A, 1, 21), lists(B, 1, 11)),
        ),
    ),
    "write skew in one table": (
        "G2-table",
        history(
            txn("t1", 0, lists(A, 1), Append(A, 2, 11), **AT_ONCE),
            txn("t2", 0, lists(A, 2), Append(A, 1, 21), **AT_ONCE),
            txn("r", 10, lists(A, 1, 21), lists(A, 2, 11)),
        ),
    ),
    "two claims that both found no row": (
        "G2-table",
        history(
            txn("t1", 0, Claim("claims", 1, 11), **AT_ONCE),
            txn("t2", 0, Claim("claims", 1, 21), **AT_ONCE),
            txn("r", 10, (Read("claims", 1), [Row(1, 11, ""), Row(1, 21, "")])),
        ),
    ),
    "a long fork over two tables": (
        "G-nonadjacent",
        history(
            txn("t1", 0, Append(A, 1, 11), **AT_ONCE),
            txn("t2", 0, Append(B, 1, 21), **AT_ONCE),
            txn("r1", 0, lists(A, 1, 11), lists(B, 1), **AT_ONCE),
            txn("r2", 0, lists(A, 1), lists(B, 1, 21), **AT_ONCE),
            txn("e", 10, lists(A, 1, 11), lists(B, 1, 21)),
        ),
    ),
    "a long fork in one table": (
        "G-nonadjacent",
        history(
            txn("t1", 0, Insert("bag", 1, 11), **AT_ONCE),
            txn("t2", 0, Insert("bag", 2, 21), **AT_ONCE),
            txn("r1", 0, bag(1, 11), bag(2), **AT_ONCE),
            txn("r2", 0, bag(1), bag(2, 21), **AT_ONCE),
        ),
    ),
    "two registers that show half of a txn": (
        "G-single",
        history(
            txn("t1", 0, register(1, 0), Write("registers", 1, 11), Append(A, 1, 12), **AT_ONCE),
            txn("r", 0, register(1, 11), lists(A, 1), **AT_ONCE),
            txn("e", 10, lists(A, 1, 12)),
        ),
    ),
    "a blind insert between a read and its txn's commit": (
        "G2-item",
        history(
            txn("t1", 0, bag(1), Insert("bag", 2, 31), **AT_ONCE),
            txn("t2", 0, Insert("bag", 1, 32), **AT_ONCE),
            txn("r1", 0, bag(1, 32), bag(2), **AT_ONCE),
            txn("r2", 10, bag(2, 31)),
        ),
    ),
}
