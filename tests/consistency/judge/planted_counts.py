"""Planted sums, feeds, pasts and cuts: the smallest history that shows each kind."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.plants import CUT, FINAL, A, history, lists, moved, txn, whole
from tests.consistency.operations import Add, Append, Change, Feed, Insert, ReadAt, Row, Transfer

PLANTED_COUNTS: Final[Mapping[str, tuple[Kind, History]]] = {
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
    "a past that is another one": (
        "past changed",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("r", 2, (ReadAt("stock", 1), [])),
            txn("f", 4, (Feed("stock"), [Change(1, [Row(1, 11, "")], []), Change(2, [], [])])),
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
