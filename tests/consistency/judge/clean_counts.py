"""Clean histories of pasts, balances and feeds: each comes near to an anomaly."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import NEVER, History
from tests.consistency.judge.plants import (
    ALL_EMPTY,
    AT_ONCE,
    CUT,
    FINAL,
    STALE,
    accounts,
    bag,
    history,
    moved,
    register,
    registers,
    txn,
    whole,
)
from tests.consistency.operations import (
    Change,
    Claim,
    Compact,
    Delete,
    Feed,
    Insert,
    Read,
    ReadAt,
    Row,
    Transfer,
    Upsert,
    Write,
)

FEED: Final = [
    Change(3, [Row(1, 11, "")], []),
    Change(5, [Row(1, 12, "")], [Row(1, 11, "")]),
    Change(6, [Row(1, 12, "")], [Row(1, 12, "")]),
    Change(9, [Row(1, 13, "")], []),
    Change(11, [], [Row(1, 12, ""), Row(1, 13, "")]),
]

CLEAN_COUNTS: Final[Mapping[str, History]] = {
    "pasts before and behind what is unknown": history(
        txn("t1", 0, Insert("stock", 1, 11), place=3),
        txn("t2", 2, Delete("stock", 1), outcome="unknown", ended=NEVER),
        txn("t3", 2, Insert("bag", 1, 12), outcome="unknown", ended=NEVER),
        txn("t4", 4, Insert("bag", 1, 13), place=9),
        txn("r1", 6, (ReadAt("stock", 3), [Row(1, 11, "")])),
        txn("r2", 6, (ReadAt("stock", 9), [])),
        txn("r3", 6, (ReadAt("bag", 3), [])),
        txn("r4", 6, (ReadAt("bag", 9), [Row(1, 12, ""), Row(1, 13, "")])),
        txn("r5", 6, bag(1), read_from=3, begun=0.5, ended=9),
    ),
    "a claim of the past that found its key taken": history(
        txn("t1", 0, Claim("claims", 1, 11), place=3),
        txn("t2", 2, Claim("claims", 1, 21), place=5),
        txn("r1", 4, (ReadAt("claims", 5), [Row(1, 11, "")])),
        txn("r2", 4, (ReadAt("claims", 2), [])),
    ),
    "registers at places of the past": history(
        txn("t1", 0, register(1, 0), Write("registers", 1, 10), Write("registers", 1, 11), place=3),
        txn("t2", 2, register(1, 11), Write("registers", 1, 12), place=5),
        txn("r1", 4, (ReadAt("registers", 2), registers(0))),
        txn("r2", 4, (ReadAt("registers", 4), registers(11))),
        txn("r3", 4, (ReadAt("registers", 5), registers(12))),
    ),
    "a txn that reads what it changed behind its snapshot": history(
        txn("t1", 0, bag(1), Insert("bag", 1, 11), bag(1, 11), place=5, read_from=3),
        txn("t2", 2, Insert("bag", 1, 12), place=6),
        txn("r", 4, bag(1, 11, 12), read_from=6),
    ),
    "a blind insert that a txn with a read missed": history(
        txn("t1", 0, bag(1), Insert("bag", 2, 11), place=6, read_from=3, **AT_ONCE),
        txn("t2", 0, Insert("bag", 1, 12), place=5, **AT_ONCE),
        txn("r", 10, bag(2, 11), bag(1, 12), read_from=6),
    ),
    "stale reads of balances, each later than the one before": history(
        txn("t1", 0, Transfer("bank", 0, 1, 5), place=3),
        txn("t2", 2, Transfer("bank", 0, 1, 7), place=5),
        txn("u", 3, Transfer("bank", 2, 3, 1), outcome="unknown", ended=NEVER),
        txn("r1", 4, moved("bank", 0, 0), session="s", **STALE),
        txn("r2", 6, moved("bank", -5, 5), session="s", **STALE),
        txn("r3", 8, moved("bank", -12, 12, -1, 1), session="s", **STALE),
        txn("r4", 8, moved("bank", -5, 5), session="z", after="t1", **STALE),
        txn("r5", 9, (ReadAt("bank", 5), accounts(-12, 12)), session="y"),
        txn("r6", 11, moved("bank", 0, 0), session="y", **STALE),
        txn("f", 12, moved("bank", -12, 12, -1, 1), **FINAL),
    ),
    "balances beside transfers without a place": history(
        txn("t1", 0, Transfer("bank", 0, 1, 5)),
        txn("t2", 0, Transfer("bank", 0, 1, 7), **AT_ONCE),
        txn("r1", 2, moved("bank", -5, 5)),
        txn("r2", 4, moved("bank", -12, 12)),
        txn("r3", 6, moved("bank", 0, 0), **STALE),
    ),
    "many unknown transfers of which some happened": history(
        *(
            txn(f"t{n}", n, Transfer("bank", 0, 1, 1), outcome="unknown", ended=NEVER)
            for n in range(20)
        ),
        txn("f", 90, moved("bank", -13, 13), **FINAL),
    ),
    "feeds with all that is known, and more": history(
        txn("t1", 0, Insert("stock", 1, 11), place=3),
        txn("t2", 2, Delete("stock", 1), Insert("stock", 1, 12), place=5),
        txn("u1", 2, Insert("stock", 1, 13), outcome="unknown", ended=NEVER),
        txn("u2", 2, Delete("stock", 1), outcome="unknown", ended=NEVER),
        txn("t3", 3, Compact("stock"), place=6),
        txn("t4", 3, Delete("stock", 9), place=7),
        txn("t5", 3, Insert("stock", 5, 55), Delete("stock", 5), place=8),
        txn("f1", 4, (Feed("stock"), FEED[:1])),
        txn("f2", 4, (Feed("stock", 3), [FEED[1], FEED[3]])),
        txn("r5", 4, (Read("stock", 2), []), read_from=20),
        txn("f3", 4, (Feed("stock", 9), [])),
        txn("r", 6, whole("stock"), read_from=20, **FINAL),
        txn("f4", 8, (Feed("stock"), FEED), **FINAL),
    ),
    "a feed of transfers and of what was there first": history(
        txn("t1", 0, Transfer("bank", 0, 1, 5), place=3),
        txn("t2", 0, Transfer("bank", 0, 1, 7), outcome="unknown", ended=NEVER),
        txn("f1", 4, moved("bank", -12, 12), **FINAL),
        txn(
            "f2",
            8,
            (
                Feed("bank"),
                [
                    Change(1, ALL_EMPTY, []),
                    Change(3, accounts(-5, 5), ALL_EMPTY),
                    Change(9, accounts(-12, 12), accounts(-5, 5)),
                ],
            ),
            **FINAL,
        ),
    ),
    "a feed of merged lists": history(
        txn("t1", 0, Upsert("keyed", 1, 11), place=3),
        txn("t2", 2, Upsert("keyed", 1, 12), place=5),
        txn(
            "f",
            8,
            (
                Feed("keyed"),
                [
                    Change(3, [Row(1, 0, "11")], []),
                    Change(5, [Row(1, 0, "11,12")], [Row(1, 0, "11")]),
                ],
            ),
            **FINAL,
        ),
    ),
    "what was read of the end that a log lost": history(
        txn("t1", 0, Insert("stock", 1, 11), place=8, ended=0.2),
        txn("r1", 0.4, (ReadAt("stock", 8), [Row(1, 11, "")]), ended=0.6),
        txn("f1", 0.4, (Feed("stock"), [Change(8, [Row(1, 11, "")], [])]), ended=0.6),
        txn("r2", 0.4, (Read("stock", 1), [Row(1, 11, "")]), read_from=8, ended=0.6),
        txn("r3", 6, (ReadAt("stock", 8), [])),
        txn("f2", 6, (Feed("stock"), []), **FINAL),
        cuts=[CUT],
    ),
    "feeds that end before a read, or begin late": history(
        txn("t1", 0, Insert("stock", 1, 11), place=3),
        txn("t2", 2, Insert("stock", 2, 12), place=5),
        txn("t3", 2, Insert("bag", 1, 13), place=6),
        txn("f1", 3, (Feed("stock"), [Change(3, [Row(1, 11, "")], [])])),
        txn("f2", 4, (Feed("bag", 5), [Change(6, [Row(1, 13, "")], [])])),
        txn("r", 6, whole("stock", Row(1, 11, ""), Row(2, 12, "")), read_from=9),
        txn("r2", 6, bag(1, 13), read_from=9),
    ),
    "a feed of claims": history(
        txn("t1", 0, Claim("claims", 1, 11), place=3),
        txn("t2", 2, Claim("claims", 1, 12), place=5),
        txn("f", 8, (Feed("claims"), [Change(3, [Row(1, 11, "")], [])]), **FINAL),
    ),
}
