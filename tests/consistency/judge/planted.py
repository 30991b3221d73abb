"""All planted histories: each must be found, by the kind beside it."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.planted_counts import PLANTED_COUNTS
from tests.consistency.judge.planted_cycles import PLANTED_CYCLES
from tests.consistency.judge.planted_feeds import PLANTED_FEEDS
from tests.consistency.judge.planted_orders import PLANTED_ORDERS
from tests.consistency.judge.planted_reads import PLANTED_READS
from tests.consistency.judge.planted_rows import PLANTED_ROWS

PLANTED: Final[Mapping[str, tuple[Kind, History]]] = {
    "writes over each other": (
        "G0",
        history(
            txn("t1", 0, Append(A, 1, 11), Append(A, 2, 12), **AT_ONCE),
            txn("t2", 0, Append(A, 1, 21), Append(A, 2, 22), **AT_ONCE),
            txn("r1", 10, lists(A, 1, 11, 21)),
            txn("r2", 12, lists(A, 2, 22, 12)),
        ),
    ),
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
    "half of a transfer": (
        "sum broken",
        history(txn("t1", 0, Transfer("bank", 0, 1, 5)), txn("r", 2, moved("bank", -5, 0))),
    ),
    "half of a transfer over two tables": (
        "sum broken",
        history(
            txn("t1", 0, Add("vault_a", 0, -5), Add("vault_b", 0, 5)),
            txn("r", 2, moved("vault_a", -5), moved("vault_b", 0)),
        ),
    ),
    "a transfer that two txns did and one is gone": (
        "balance broken",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5)),
            txn("t2", 2, Transfer("bank", 0, 1, 7)),
            txn("f", 4, moved("bank", -7, 7), **FINAL),
        ),
    ),
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
    "changes that leave a row out": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("f1", 2, whole("stock", Row(1, 11, "")), **FINAL),
            txn("f2", 4, (Feed("stock"), [Change(1, [], [])]), **FINAL),
        ),
    ),
    "changes that remove what is not there": (
        "feed broken",
        history(txn("f", 4, (Feed("stock"), [Change(1, [], [Row(1, 11, "")])]))),
    ),
    "changes that are others later": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("f1", 2, (Feed("stock"), [Change(1, [Row(1, 12, "")], [])])),
            txn("f2", 4, (Feed("stock"), [Change(1, [Row(1, 11, "")], []), Change(2, [], [])])),
        ),
    ),
    "a published log without a row": (
        "published rows differ",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("f", 2, whole("stock", Row(1, 11, "")), session="final"),
            txn("p", 4, whole("stock"), session="published"),
        ),
    ),
    "a past that is another one": (
        "past changed",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("r", 2, (ReadAt("stock", 1), [])),
            txn("f", 4, (Feed("stock"), [Change(1, [Row(1, 11, "")], []), Change(2, [], [])])),
        ),
    ),
    "a commit that depends on a later one": (
        "log order broken",
        history(
            txn("t1", 0, Append(A, 1, 11), place=8, **AT_ONCE),
            txn("t2", 0, Append(A, 1, 21), place=7, **AT_ONCE),
            txn("r", 10, lists(A, 1, 11, 21)),
        ),
    ),
    "a commit lost with the end of the log and still read": (
        "G1a",
        history(
            txn("t1", 0, Append(A, 1, 11), place=8),
            txn("r", 5, lists(A, 1, 11), place=29),
            cuts=[CUT],
        ),
    ),
}
