"""Planted reads at places and of balances: the smallest history that shows each kind."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import NEVER, History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.plants import (
    ABORTED,
    AT_ONCE,
    FINAL,
    STALE,
    A,
    accounts,
    history,
    lists,
    moved,
    register,
    registers,
    txn,
)
from tests.consistency.operations import (
    Add,
    Append,
    Claim,
    Delete,
    Insert,
    Read,
    ReadAt,
    Row,
    Transfer,
    Upsert,
    Write,
)

PLANTED_READS: Final[Mapping[str, tuple[Kind, History]]] = {
    "a past that shows a later write": (
        "past changed",
        history(
            txn("t1", 0, Upsert("keyed", 1, 11), place=3),
            txn("t2", 2, Upsert("keyed", 1, 12), place=5),
            txn("r", 4, (ReadAt("keyed", 3), [Row(1, 0, "11,12")])),
        ),
    ),
    "a past that lacks an earlier write": (
        "past changed",
        history(
            txn("t1", 0, Insert("bag", 1, 11), place=3),
            txn("t2", 2, Insert("bag", 1, 12), place=5),
            txn("r", 4, (ReadAt("bag", 5), [Row(1, 12, "")])),
        ),
    ),
    "a past that lacks a claim": (
        "past changed",
        history(
            txn("t1", 0, Claim("claims", 1, 11), place=3),
            txn("r1", 2, (Read("claims", 1), [Row(1, 11, "")])),
            txn("r2", 4, (ReadAt("claims", 3), [])),
        ),
    ),
    "a past with a row of no txn": (
        "value from nowhere",
        history(txn("r", 4, (ReadAt("bag", 3), [Row(1, 99, "")]))),
    ),
    "a past of an aborted txn": (
        "G1a",
        history(
            txn("t1", 0, Insert("bag", 1, 11), **ABORTED),
            txn("r", 4, (ReadAt("bag", 3), [Row(1, 11, "")])),
        ),
    ),
    "a past with a row that was deleted by then": (
        "past changed",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3),
            txn("t2", 2, Delete("stock", 1), place=4),
            txn("r", 4, (ReadAt("stock", 4), [Row(1, 11, "")])),
        ),
    ),
    "a past without a row that was deleted later": (
        "past changed",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3),
            txn("t2", 2, Delete("stock", 1), place=4),
            txn("r", 4, (ReadAt("stock", 3), [])),
        ),
    ),
    "a register of the past before its last write": (
        "past changed",
        history(
            txn("t1", 0, register(1, 0), Write("registers", 1, 11), place=3),
            txn("t2", 2, register(1, 11), Write("registers", 1, 12), place=5),
            txn("r", 4, (ReadAt("registers", 5), registers(11))),
        ),
    ),
    "a register of the past behind its place": (
        "past changed",
        history(
            txn("t1", 0, register(1, 0), Write("registers", 1, 11), place=5),
            txn("r", 4, (ReadAt("registers", 3), registers(11))),
        ),
    ),
    "one place of the past in two ways": (
        "past changed",
        history(
            txn("t1", 0, Insert("bag", 1, 11), outcome="unknown", ended=NEVER),
            txn("r1", 2, (ReadAt("bag", 3), [])),
            txn("r2", 4, (ReadAt("bag", 3), [Row(1, 11, "")])),
        ),
    ),
    "a snapshot that lacks what stands before it": (
        "past changed",
        history(
            txn("t1", 0, Append(A, 1, 11), place=7, **AT_ONCE),
            txn("r", 0, lists(A, 1), read_from=10, **AT_ONCE),
            txn("e", 10, lists(A, 1, 11)),
        ),
    ),
    "a balance of the past behind its place": (
        "balance broken",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5), place=3),
            txn("t2", 2, Transfer("bank", 0, 1, 7), place=5),
            txn("r", 4, (ReadAt("bank", 3), accounts(-12, 12))),
        ),
    ),
    "balances that no transfer explains": (
        "balance broken",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5)), txn("r", 2, moved("bank", -50, 50), **STALE)
        ),
    ),
    "balances of a transfer that was aborted": (
        "balance broken",
        history(
            txn("t1", 0, Add("vault_a", 0, -5), Add("vault_b", 0, 5), **ABORTED),
            txn("r", 2, moved("vault_a", -5)),
        ),
    ),
    "balances of a transfer that began later": (
        "balance broken",
        history(
            txn("r", 0, moved("bank", -5, 5)), txn("t1", 2, Transfer("bank", 0, 1, 5), place=3)
        ),
    ),
    "balances at the end that many unknown transfers do not explain": (
        "balance broken",
        history(
            *(
                txn(f"t{n}", n, Transfer("bank", 0, 1, 1), outcome="unknown", ended=NEVER)
                for n in range(20)
            ),
            txn("f", 90, moved("bank", -21, 21), **FINAL),
        ),
    ),
    "balances of a vault at the end": (
        "balance broken",
        history(
            txn("t1", 0, Add("vault_a", 0, -5), Add("vault_b", 0, 5)),
            txn("f", 4, moved("vault_a", -6), moved("vault_b", 6), **FINAL),
        ),
    ),
    "balances that miss an acknowledged transfer": (
        "stale read",
        history(txn("t1", 0, Transfer("bank", 0, 1, 5)), txn("r", 2, moved("bank", 0, 0))),
    ),
    "balances that miss an earlier transfer at a place": (
        "stale read",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5), place=3),
            txn("t2", 0, Transfer("bank", 0, 1, 7), place=2, outcome="committed", ended=9),
            txn("r", 2, moved("bank", -5, 5)),
            txn("r2", 4, moved("bank", -7, 7)),
        ),
    ),
    "balances without a transfer of their session": (
        "read your writes",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5), session="s"),
            txn("r", 2, moved("bank", 0, 0), session="s", **STALE),
        ),
    ),
    "balances without the transfer of a token": (
        "token ignored",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5)),
            txn("r", 2, moved("bank", 0, 0), after="t1", **STALE),
        ),
    ),
    "balances that go back in a session": (
        "monotonic reads",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5), place=3),
            txn("r1", 2, moved("bank", -5, 5), session="s", **STALE),
            txn("r2", 4, moved("bank", 0, 0), session="s", **STALE),
        ),
    ),
    "balances of a transfer without a place that began later": (
        "balance broken",
        history(txn("r", 0, moved("bank", -5, 5)), txn("t1", 2, Transfer("bank", 0, 1, 5))),
    ),
    "balances without a transfer before a token": (
        "token ignored",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5), place=3),
            txn("t2", 2, Append(A, 1, 11), place=4),
            txn("r", 4, moved("bank", 0, 0), after="t2", **STALE),
        ),
    ),
}
