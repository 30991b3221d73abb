"""Planted rows that are wrong: the smallest history that shows each kind."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import NEVER, History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.plants import (
    ABORTED,
    AT_ONCE,
    FINAL,
    A,
    bag,
    history,
    lists,
    register,
    txn,
    whole,
)
from tests.consistency.operations import Append, Claim, Delete, Insert, Read, Row, Upsert, Write

PLANTED_ROWS: Final[Mapping[str, tuple[Kind, History]]] = {
    "a list of an aborted txn": (
        "G1a",
        history(txn("t1", 0, Append(A, 1, 11), **ABORTED), txn("r", 2, lists(A, 1, 11))),
    ),
    "a row of an aborted txn": (
        "G1a",
        history(txn("t1", 0, Insert("bag", 1, 11), **ABORTED), txn("r", 2, bag(1, 11))),
    ),
    "a list between two writes of a txn": (
        "G1b",
        history(
            txn("t1", 0, Append(A, 1, 11), Append(A, 1, 12), **AT_ONCE),
            txn("r", 2, lists(A, 1, 11)),
        ),
    ),
    "a register between two writes of a txn": (
        "G1b",
        history(
            txn("t1", 0, register(1, 0), Write("registers", 1, 11), Write("registers", 1, 12)),
            txn("r", 2, register(1, 11)),
        ),
    ),
    "a register replaced twice": (
        "lost update",
        history(
            txn("t1", 0, register(1, 0), Write("registers", 1, 11), **AT_ONCE),
            txn("t2", 0, register(1, 0), Write("registers", 1, 21), **AT_ONCE),
        ),
    ),
    "an append that is gone": (
        "lost write",
        history(
            txn("t1", 0, Append(A, 1, 11)),
            txn("t2", 2, Append(A, 1, 12)),
            txn("f", 4, whole(A, Row(1, 0, "12")), **FINAL),
        ),
    ),
    "a register that is not its last write": (
        "lost write",
        history(
            txn("t1", 0, register(1, 0), Write("registers", 1, 11)),
            txn("f", 4, whole("registers", Row(1, 0, "")), **FINAL),
        ),
    ),
    "a claim that was read and is gone": (
        "lost row",
        history(
            txn("t1", 0, Claim("claims", 1, 11)),
            txn("r", 2, (Read("claims", 1), [Row(1, 11, "")])),
            txn("f", 4, whole("claims"), **FINAL),
        ),
    ),
    "an insert that is gone": (
        "lost row",
        history(txn("t1", 0, Insert("stock", 1, 11)), txn("f", 4, whole("stock"), **FINAL)),
    ),
    "a first row that is gone": ("lost row", history(txn("r", 0, (Read(A, 1), [])))),
    "a delete without effect": (
        "lost delete",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("t2", 2, Delete("stock", 1)),
            txn("f", 4, whole("stock", Row(1, 11, "")), **FINAL),
        ),
    ),
    "an append that happened twice": (
        "doubled write",
        history(txn("t1", 0, Append(A, 1, 11)), txn("r", 2, lists(A, 1, 11, 11))),
    ),
    "an insert that happened twice": (
        "doubled row",
        history(txn("t1", 0, Insert("bag", 1, 11)), txn("r", 2, bag(1, 11, 11))),
    ),
    "the former and the new form of a row": (
        "doubled row",
        history(
            txn("t1", 0, Append(A, 1, 11)),
            txn("r", 2, (Read(A, 1), [Row(1, 0, ""), Row(1, 0, "11")])),
        ),
    ),
    "a key merged twice": (
        "doubled key",
        history(
            txn("t1", 0, Upsert("keyed", 1, 11)),
            txn("t2", 0, Upsert("keyed", 1, 21)),
            txn("r", 2, (Read("keyed", 1), [Row(1, 0, "11"), Row(1, 0, "21")])),
        ),
    ),
    "a key replaced twice": (
        "doubled key",
        history(
            txn("t1", 0, Delete("stock", 1), Insert("stock", 1, 11), **AT_ONCE),
            txn("t2", 0, Delete("stock", 1), Insert("stock", 1, 21), **AT_ONCE),
            txn("r", 10, (Read("stock", 1), [Row(1, 11, ""), Row(1, 21, "")])),
        ),
    ),
    "a deleted row that comes back": (
        "deleted row is back",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("r1", 2, whole("stock", Row(1, 11, "")), session="s"),
            txn("t2", 2, Delete("stock", 1)),
            txn("r2", 4, whole("stock"), session="s"),
            txn("r3", 6, whole("stock", Row(1, 11, "")), session="s"),
        ),
    ),
    "a row that no txn wrote": ("value from nowhere", history(txn("r", 2, bag(1, 99)))),
    "a row under another key": (
        "value from nowhere",
        history(txn("t1", 0, Insert("bag", 2, 11)), txn("r", 2, bag(1, 11))),
    ),
    "two orders of one list": (
        "orders differ",
        history(
            txn("t1", 0, Append(A, 1, 11), **AT_ONCE),
            txn("t2", 0, Append(A, 1, 21), **AT_ONCE),
            txn("r1", 10, lists(A, 1, 21)),
            txn("r2", 12, lists(A, 1, 11, 21)),
        ),
    ),
    "a list without its own txn's write": (
        "own write not read",
        history(txn("t1", 0, Append(A, 1, 11), lists(A, 1))),
    ),
    "rows without its own txn's insert": (
        "own write not read",
        history(txn("t1", 0, Insert("bag", 1, 11), bag(1))),
    ),
    "a claim that is gone and was never read": (
        "lost row",
        history(txn("t1", 0, Claim("claims", 1, 11)), txn("f", 4, whole("claims"), **FINAL)),
    ),
    "a claim that a later one replaced": (
        "lost row",
        history(
            txn("t1", 0, Claim("claims", 1, 11)),
            txn("t2", 2, Claim("claims", 1, 21)),
            txn("f", 4, whole("claims", Row(1, 21, "")), **FINAL),
        ),
    ),
    "a blind insert that is gone": (
        "lost row",
        history(txn("t1", 0, Insert("bag", 1, 11)), txn("f", 4, whole("bag"), **FINAL)),
    ),
    "a key of a merge that is gone": (
        "lost write",
        history(
            txn("t1", 0, Upsert("keyed", 1, 11)),
            txn("r", 2, (Read("keyed", 1), [Row(1, 0, "11")])),
            txn("f", 4, whole("keyed"), **FINAL),
        ),
    ),
    "a claimed key twice": (
        "doubled key",
        history(
            txn("t1", 0, Claim("claims", 1, 11), **AT_ONCE),
            txn("t2", 0, Claim("claims", 1, 21), **AT_ONCE),
            txn("r", 10, (Read("claims", 1), [Row(1, 11, ""), Row(1, 21, "")])),
        ),
    ),
    "an account twice": (
        "doubled row",
        history(txn("r", 0, (Read("bank", 1), [Row(1, 100, ""), Row(1, 100, "")]))),
    ),
    "a row of stock twice": (
        "doubled row",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("r", 2, (Read("stock", 1), [Row(1, 11, ""), Row(1, 11, "")])),
        ),
    ),
    "a row that only an earlier delete could have met": (
        "lost row",
        history(
            txn("t1", 0, Delete("stock", 1)),
            txn("t2", 2, Insert("stock", 1, 11)),
            txn("f", 4, whole("stock"), **FINAL),
        ),
    ),
    "an insert beside claims that is gone": (
        "lost row",
        history(txn("t1", 0, Insert("claims", 1, 11)), txn("f", 4, whole("claims"), **FINAL)),
    ),
    "a register without its own txn's write": (
        "own write not read",
        history(txn("t1", 0, register(1, 0), Write("registers", 1, 11), register(1, 0))),
    ),
    "an account in two forms": (
        "doubled row",
        history(txn("r", 0, (Read("bank", 1), [Row(1, 100, ""), Row(1, 95, "")]))),
    ),
    "an account of a vault in two forms": (
        "doubled row",
        history(txn("r", 0, (Read("vault_a", 1), [Row(1, 100, ""), Row(1, 95, "")]))),
    ),
    "a register in two forms": (
        "doubled row",
        history(
            txn("t1", 0, register(1, 0), Write("registers", 1, 11)),
            txn("r", 2, (Read("registers", 1), [Row(1, 0, ""), Row(1, 11, "")])),
        ),
    ),
    "a first row that is gone at the end": (
        "lost row",
        history(txn("f", 4, whole("registers"), **FINAL)),
    ),
    "a register of an unknown txn replaced twice": (
        "lost update",
        history(
            txn("t1", 0, register(1, 0), Write("registers", 1, 11), outcome="unknown", ended=NEVER),
            txn("r", 0, register(1, 11), **AT_ONCE),
            txn("t2", 0, register(1, 0), Write("registers", 1, 21), **AT_ONCE),
        ),
    ),
}
