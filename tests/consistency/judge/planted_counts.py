"""Planted sums, feeds, pasts and cuts: the smallest history that shows each kind."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.plants import (
    ABORTED,
    CUT,
    FINAL,
    RUN,
    A,
    history,
    lists,
    moved,
    read_at_end,
    txn,
    whole,
)
from tests.consistency.operations import (
    Add,
    Append,
    Change,
    Compact,
    Feed,
    Insert,
    Read,
    ReadAt,
    Row,
    Transfer,
)

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
    "a commit that a cut of one place cannot have lost": (
        "lost row",
        history(
            txn("t1", 0, Insert("bag", 1, 11), place=8),
            txn("t2", 1, Insert("bag", 1, 12), place=10),
            txn("f", 6, whole("bag"), **FINAL),
            cuts=[CUT],
        ),
    ),
    "a run that was not read at its end": (
        "no final read",
        history(txn("t1", 0, Insert("bag", 1, 11)), subject="ledger-sdk"),
    ),
    "a run of which one table was not read at its end": (
        "no final read",
        history(txn("t1", 0, Transfer("bank", 0, 1, 0)), txn("f", 6, whole("bag"), **FINAL), **RUN),
    ),
    "a run without a commit": (
        "no commit",
        history(
            txn("r", 0, (Read("bag"), [])),
            txn("t1", 2, Insert("bag", 1, 11), **ABORTED),
            read_at_end(),
            **RUN,
        ),
    ),
    "a run without one of its clients": (
        "client not ready",
        history(txn("t1", 0, Compact("bag")), read_at_end(), **RUN, never_ready=["ready-10"]),
    ),
    "a commit that was kept before a cut and is gone": (
        "lost row",
        history(
            txn("t1", 0, Insert("bag", 1, 11), place=7),
            txn("f", 6, whole("bag"), **FINAL),
            cuts=[CUT],
        ),
    ),
    "a past that still shows what a log lost": (
        "G1a",
        history(
            txn("t1", 0, Insert("bag", 1, 11), place=8),
            txn("r", 6, (ReadAt("bag", 8), [Row(1, 11, "")])),
            cuts=[CUT],
        ),
    ),
    "a run whose feeds were not read at its end": (
        "no final read",
        history(txn("t1", 0, Compact("bag")), read_at_end(), **{**RUN, "is_read_at_end": False}),
    ),
}
