"""Planted cycles that sessions, tokens, time or the log close: the smallest of each kind."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.plants import (
    AT_ONCE,
    STALE,
    A,
    B,
    bag,
    history,
    lists,
    register,
    txn,
    whole,
)
from tests.consistency.operations import Append, Delete, Insert, Read, Row, Upsert, Write

PLANTED_ORDERS: Final[Mapping[str, tuple[Kind, History]]] = {
    "a session that misses what it wrote": (
        "read your writes",
        history(
            txn("t1", 0, Append(A, 1, 11), session="s"),
            txn("r1", 2, lists(A, 1), session="s", **STALE),
            txn("r2", 4, lists(A, 1, 11)),
        ),
    ),
    "a session that goes back": (
        "monotonic reads",
        history(
            txn("t1", 0, Append(A, 1, 11)),
            txn("r1", 2, lists(A, 1, 11), session="s", **STALE),
            txn("r2", 4, lists(A, 1), session="s", **STALE),
        ),
    ),
    "a reader with a token that misses it": (
        "token ignored",
        history(
            txn("t1", 0, Append(A, 1, 11)),
            txn("r1", 2, lists(A, 1), after="t1", **STALE),
            txn("r2", 4, lists(A, 1, 11)),
        ),
    ),
    "a txn that misses what was acknowledged": (
        "stale read",
        history(txn("t1", 0, Insert("bag", 1, 11)), txn("r1", 2, bag(1)), txn("r2", 4, bag(1, 11))),
    ),
    "a commit that depends on a later one": (
        "log order broken",
        history(
            txn("t1", 0, Append(A, 1, 11), place=8, **AT_ONCE),
            txn("t2", 0, Append(A, 1, 21), place=7, **AT_ONCE),
            txn("r", 10, lists(A, 1, 11, 21)),
        ),
    ),
    "a long fork of sessions": (
        "G-nonadjacent-process",
        history(
            txn("t1", 0, Append(A, 1, 11), **AT_ONCE),
            txn("t2", 0, Append(B, 1, 21), **AT_ONCE),
            txn("r1", 1, lists(A, 1, 11), session="s", **STALE),
            txn("r2", 3, lists(B, 1), session="s", **STALE),
            txn("r3", 1, lists(B, 1, 21), session="z", **STALE),
            txn("r4", 3, lists(A, 1), session="z", **STALE),
            txn("e", 10, lists(A, 1, 11), lists(B, 1, 21)),
        ),
    ),
    "a long fork that time shows": (
        "G-nonadjacent-realtime",
        history(
            txn("t1", 0, Append(A, 1, 11), **AT_ONCE),
            txn("t2", 0, Append(B, 1, 21), **AT_ONCE),
            txn("r1", 1, lists(A, 1, 11), session="s", ended=5),
            txn("r2", 6, lists(B, 1), session="s", **STALE),
            txn("r3", 1, lists(B, 1, 21)),
            txn("r4", 3, lists(A, 1)),
            txn("e", 10, lists(A, 1, 11), lists(B, 1, 21)),
        ),
    ),
    "a session that writes behind its later write": (
        "G0-process",
        history(
            txn("t1", 0, Append(A, 1, 11), session="s"),
            txn("t2", 2, Append(A, 1, 21), session="s"),
            txn("r", 4, lists(A, 1, 21, 11)),
        ),
    ),
    "a write that was acknowledged stands behind a later one": (
        "G0-realtime",
        history(
            txn("t1", 0, Append(A, 1, 11)),
            txn("t2", 2, Append(A, 1, 21)),
            txn("r", 4, lists(A, 1, 21, 11)),
        ),
    ),
    "a session that writes before what it has read": (
        "G1c-process",
        history(
            txn("t1", 0, Append(A, 1, 11), Append(B, 1, 12), **AT_ONCE),
            txn("r", 2, lists(A, 1, 11), session="s"),
            txn("t2", 4, Append(B, 1, 22), session="s"),
            txn("e", 12, lists(B, 1, 22, 12)),
        ),
    ),
    "a token whose commit comes later": (
        "G1c-process",
        history(
            txn("t1", 0, lists(B, 1, 21), Append(A, 1, 11), begun=0, ended=1),
            txn("t2", 2, Append(B, 1, 21), after="t1"),
        ),
    ),
    "a read that ended before its writer began": (
        "G1c-realtime",
        history(txn("r", 0, lists(A, 1, 11)), txn("t1", 5, Append(A, 1, 11))),
    ),
    "write skew that a session closes": (
        "G2-item-process",
        history(
            txn("t1", 0, lists(A, 1), Append(B, 1, 11), **AT_ONCE),
            txn("t2", 1, Append(A, 1, 21), session="s"),
            txn("t3", 3, Append(A, 2, 5), lists(B, 1), session="s"),
            txn("e", 12, lists(A, 1, 21), lists(B, 1, 11)),
        ),
    ),
    "write skew that time closes": (
        "G2-item-realtime",
        history(
            txn("t1", 0, lists(A, 1), Append(B, 1, 11), **AT_ONCE),
            txn("t2", 1, Append(A, 1, 21)),
            txn("t3", 3, Append(A, 2, 5), lists(B, 1)),
            txn("e", 12, lists(A, 1, 21), lists(B, 1, 11)),
        ),
    ),
    "places against the order in time": (
        "log order broken",
        history(txn("t1", 0, Append(A, 1, 11), place=8), txn("t2", 2, Append(B, 1, 21), place=7)),
    ),
    "a key merged again once it was there": (
        "stale read",
        history(
            txn("t1", 0, Upsert("keyed", 1, 11)),
            txn("t2", 2, Upsert("keyed", 1, 21)),
            txn("r", 4, (Read("keyed", 1), [Row(1, 0, "11"), Row(1, 0, "21")])),
        ),
    ),
    "a key replaced again that leaves the former row": (
        "stale read",
        history(
            txn("t1", 0, Delete("stock", 1), Insert("stock", 1, 11)),
            txn("t2", 2, Delete("stock", 1), Insert("stock", 1, 21)),
            txn("r", 4, (Read("stock", 1), [Row(1, 11, ""), Row(1, 21, "")])),
            txn("t3", 6, Delete("stock", 1)),
        ),
    ),
    "rows that miss an acknowledged insert": (
        "stale read",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("r", 2, whole("stock")),
            txn("t2", 4, Delete("stock", 1)),
        ),
    ),
    "rows of all keys that miss an acknowledged insert": (
        "stale read",
        history(txn("t1", 0, Insert("bag", 1, 11)), txn("r", 2, whole("bag"))),
    ),
    "keys that miss an acknowledged one": (
        "stale read",
        history(
            txn("t1", 0, Upsert("keyed", 1, 11)),
            txn("r1", 2, whole("keyed")),
            txn("r2", 4, whole("keyed", Row(1, 0, "11"))),
        ),
    ),
    "rows that an acknowledged delete took": (
        "stale read",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("t2", 2, Delete("stock", 1)),
            txn("r", 4, whole("stock", Row(1, 11, ""))),
            txn("t3", 6, Delete("stock", 1)),
        ),
    ),
    "a session that does not see the row that it inserted": (
        "read your writes",
        history(
            txn("t1", 0, Insert("stock", 1, 11), session="s"),
            txn("r", 2, whole("stock"), session="s", **STALE),
            txn("t2", 4, Delete("stock", 2)),
        ),
    ),
    "a token whose delete is not seen": (
        "token ignored",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("t2", 2, Delete("stock", 1)),
            txn("r", 4, (Read("stock", 1), [Row(1, 11, "")]), after="t2", **STALE),
        ),
    ),
    "a register that does not show its acknowledged write": (
        "stale read",
        history(
            txn("t1", 0, register(1, 0), Write("registers", 1, 11)), txn("r", 2, register(1, 0))
        ),
    ),
    "rows that miss an insert behind an earlier delete": (
        "stale read",
        history(
            txn("t1", 0, Delete("stock", 1)),
            txn("t2", 2, Insert("stock", 1, 11)),
            txn("r", 4, whole("stock")),
        ),
    ),
    "claims that miss an acknowledged row": (
        "stale read",
        history(txn("t1", 0, Insert("claims", 1, 11)), txn("r", 2, (Read("claims", 1), []))),
    ),
    "a fresh read that misses what a stale one showed": (
        "stale read",
        history(
            txn("t1", 0, Append(A, 1, 11), **AT_ONCE),
            txn("r1", 1, lists(A, 1, 11), **STALE),
            txn("r2", 3, lists(A, 1)),
        ),
    ),
    "a read that misses one of two acknowledged at once": (
        "stale read",
        history(
            txn("t1", 0, Insert("bag", 1, 11), ended=2),
            txn("t2", 1, Insert("bag", 2, 12), ended=3),
            txn("r", 4, bag(1)),
        ),
    ),
}
