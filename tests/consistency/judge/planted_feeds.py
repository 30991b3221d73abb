"""Planted feeds: the smallest history that shows what is wrong with one."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import NEVER, History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.plants import ABORTED, ALL_EMPTY, FINAL, accounts, history, txn, whole
from tests.consistency.operations import Change, Delete, Feed, Insert, Row, Transfer

ELEVEN: Final = Row(1, 11, "")
PLANTED_FEEDS: Final[Mapping[str, tuple[Kind, History]]] = {
    "an empty feed of a table with rows": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("f1", 2, whole("stock", ELEVEN), **FINAL),
            txn("f2", 4, (Feed("stock"), []), **FINAL),
        ),
    ),
    "a feed without a row that came and went": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3),
            txn("t2", 2, Delete("stock", 1), place=4),
            txn("f1", 4, whole("stock"), **FINAL),
            txn("f2", 6, (Feed("stock"), []), **FINAL),
        ),
    ),
    "a feed without a change of its session": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3, session="s"),
            txn("f", 6, (Feed("stock"), []), session="s"),
        ),
    ),
    "a feed without a change of its token": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3),
            txn("f", 6, (Feed("stock"), []), after="t1"),
        ),
    ),
    "a feed with a gap": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3),
            txn("t2", 2, Insert("stock", 1, 12), place=5),
            txn("f", 6, (Feed("stock"), [Change(5, [Row(1, 12, "")], [])])),
        ),
    ),
    "a feed that goes on and leaves out what another feed has": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), outcome="unknown", ended=NEVER),
            txn("t2", 0, Insert("stock", 1, 12), outcome="unknown", ended=NEVER),
            txn(
                "f1", 2, (Feed("stock"), [Change(4, [ELEVEN], []), Change(6, [Row(1, 12, "")], [])])
            ),
            txn("f2", 4, (Feed("stock", 3), [Change(6, [Row(1, 12, "")], [])])),
        ),
    ),
    "a feed that goes on and begins too early": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3),
            txn("f", 6, (Feed("stock", 3), [Change(3, [ELEVEN], [])])),
        ),
    ),
    "a feed whose places fall": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=4),
            txn("t2", 0, Insert("stock", 2, 12), place=3),
            txn(
                "f", 6, (Feed("stock"), [Change(4, [ELEVEN], []), Change(3, [Row(2, 12, "")], [])])
            ),
        ),
    ),
    "a feed that has a place twice": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=4),
            txn("f", 6, (Feed("stock"), [Change(4, [ELEVEN], []), Change(4, [ELEVEN], [])])),
        ),
    ),
    "a change at another place than its commit": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3),
            txn("f", 6, (Feed("stock", 5), [Change(7, [ELEVEN], [])])),
        ),
    ),
    "a row that comes and goes a second time": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3),
            txn("t2", 2, Delete("stock", 1), place=4),
            txn(
                "f",
                6,
                (
                    Feed("stock"),
                    [
                        Change(at, *rows)
                        for at, rows in enumerate([([ELEVEN], []), ([], [ELEVEN])] * 2, 3)
                    ],
                ),
            ),
        ),
    ),
    "an unknown txn in two changes": (
        "feed broken",
        history(
            txn(
                "t1",
                0,
                Insert("stock", 1, 11),
                Insert("stock", 2, 12),
                outcome="unknown",
                ended=NEVER,
            ),
            txn(
                "f", 6, (Feed("stock"), [Change(3, [ELEVEN], []), Change(4, [Row(2, 12, "")], [])])
            ),
        ),
    ),
    "a change with half of a txn": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), Insert("stock", 2, 12), place=3),
            txn("f", 6, (Feed("stock"), [Change(3, [ELEVEN], [])])),
        ),
    ),
    "a change of an aborted txn": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), **ABORTED),
            txn("f", 6, (Feed("stock"), [Change(3, [ELEVEN], []), Change(4, [], [ELEVEN])])),
        ),
    ),
    "a change of no txn": (
        "feed broken",
        history(txn("f", 6, (Feed("stock"), [Change(3, [ELEVEN], [])]))),
    ),
    "a change that takes a row of another key": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), place=3),
            txn("t2", 2, Delete("stock", 2), place=4),
            txn("f", 6, (Feed("stock"), [Change(3, [ELEVEN], []), Change(4, [], [ELEVEN])])),
        ),
    ),
    "a change that moves another amount": (
        "feed broken",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5), place=3),
            txn("f", 6, (Feed("bank", 2), [Change(3, accounts(-7, 7), ALL_EMPTY)])),
        ),
    ),
    "a change that moves what no txn did": (
        "feed broken",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5), outcome="unknown", ended=NEVER),
            txn("f", 6, (Feed("bank", 2), [Change(3, accounts(-7, 7), ALL_EMPTY)])),
        ),
    ),
    "a feed without a transfer": (
        "feed broken",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5), place=3),
            txn("f", 6, (Feed("bank", 2), []), **FINAL),
        ),
    ),
    "a change of an aborted txn that stays": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), **ABORTED),
            txn("f", 6, (Feed("stock"), [Change(3, [ELEVEN], [])])),
        ),
    ),
    "a change that takes a row that was never there": (
        "feed broken",
        history(
            txn("t1", 0, Delete("stock", 1), place=3),
            txn("f", 6, (Feed("stock"), [Change(3, [], [ELEVEN])])),
        ),
    ),
    "one place in two feeds": (
        "feed broken",
        history(
            txn("t1", 0, Insert("stock", 1, 11), outcome="unknown", ended=NEVER),
            txn("t2", 0, Insert("stock", 2, 12), outcome="unknown", ended=NEVER),
            txn("f1", 2, (Feed("stock", 2), [Change(4, [ELEVEN], [])])),
            txn("f2", 4, (Feed("stock", 2), [Change(4, [Row(2, 12, "")], [])])),
        ),
    ),
    "a change without its txn's transfer": (
        "feed broken",
        history(
            txn("t1", 0, Transfer("bank", 0, 1, 5), place=3),
            txn("f", 6, (Feed("bank", 2), [Change(3, ALL_EMPTY, ALL_EMPTY)])),
        ),
    ),
}
