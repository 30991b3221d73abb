"""Clean histories, of which the judge must say nothing: each comes near to an anomaly."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import NEVER, History, Txn
from tests.consistency.judge.clean_counts import CLEAN_COUNTS
from tests.consistency.judge.plants import (
    AT_ONCE,
    CUT,
    FINAL,
    RUN,
    STALE,
    A,
    B,
    history,
    lists,
    moved,
    read_at_end,
    register,
    registers,
    txn,
    whole,
)
from tests.consistency.operations import (
    Append,
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

CLEAN: Final[Mapping[str, History]] = {
    **CLEAN_COUNTS,
    "one after the other": history(
        txn("t1", 0, lists(A, 1), Append(A, 1, 11), lists(A, 1, 11), place=5),
        txn("t2", 2, lists(A, 1, 11), Append(A, 1, 12), Append(A, 1, 13), place=6),
        txn("r", 4, lists(A, 1, 11, 12, 13)),
        txn(
            "f", 6, whole(A, *(Row(k, 0, "11,12,13" if k == 1 else "") for k in range(64))), **FINAL
        ),
    ),
    "an unknown txn that was read counts, another does not": history(
        txn("t1", 0, Append(A, 1, 11), outcome="unknown", ended=NEVER),
        txn("t2", 0, Append(A, 1, 12), outcome="unknown", ended=NEVER),
        txn("r", 4, lists(A, 1, 12)),
    ),
    "a snapshot from before a txn that runs beside it": history(
        txn("t1", 0, Append(A, 1, 11), Append(B, 1, 12), **AT_ONCE),
        txn("r1", 0, lists(A, 1), lists(B, 1), **AT_ONCE),
        txn("r2", 10, lists(A, 1, 11), lists(B, 1, 12)),
    ),
    "a claim that found its key taken": history(
        txn("t1", 0, Claim("claims", 1, 11)),
        txn("t2", 2, Claim("claims", 1, 21)),
        txn("f", 4, whole("claims", Row(1, 11, "")), **FINAL),
    ),
    "rows deleted beside their insert": history(
        txn("t1", 0, Insert("stock", 1, 11), **AT_ONCE),
        txn("t2", 0, Delete("stock", 1), **AT_ONCE),
        txn("f", 10, whole("stock"), **FINAL),
    ),
    "a key replaced one after the other": history(
        txn("t1", 0, Delete("stock", 1), Insert("stock", 1, 11)),
        txn("t2", 2, Delete("stock", 1), Insert("stock", 1, 21)),
        txn("f", 4, whole("stock", Row(1, 21, "")), **FINAL),
    ),
    "an unknown transfer that happened": history(
        txn("t1", 0, Transfer("bank", 0, 1, 5), outcome="unknown", ended=NEVER),
        txn("t2", 0, Transfer("bank", 0, 1, 7)),
        txn("f", 4, moved("bank", -12, 12), **FINAL),
    ),
    "a stale read of another session": history(
        txn("t1", 0, Append(A, 1, 11)),
        txn("r1", 2, lists(A, 1), **STALE),
        txn("r2", 4, lists(A, 1, 11)),
    ),
    "a session that moves on": history(
        txn("t1", 0, Append(A, 1, 11), session="s"),
        txn("r1", 2, lists(A, 1, 11), session="s", after="t1", **STALE),
        txn("t2", 4, register(1, 0), Write("registers", 1, 7), session="s"),
        txn("r2", 6, register(1, 7), session="s"),
    ),
    "changes, a past, and the end": history(
        txn("t1", 0, Insert("stock", 1, 11), place=3),
        txn("t2", 2, Delete("stock", 1), place=4),
        txn("r", 4, (ReadAt("stock", 3), [Row(1, 11, "")])),
        txn("f1", 6, whole("stock"), **FINAL),
        txn(
            "f2",
            8,
            (Feed("stock"), [Change(3, [Row(1, 11, "")], []), Change(4, [], [Row(1, 11, "")])]),
            **FINAL,
        ),
    ),
    "a commit lost with the end of the log and done again": history(
        txn("t1", 0, Append(A, 1, 11), place=8),
        txn("r1", 1, lists(A, 1, 11), **STALE),
        txn("t2", 4, Append(A, 1, 12), place=29),
        txn("r2", 6, lists(A, 1, 12)),
        cuts=[CUT],
    ),
    "forks that stale reads of one session each show": history(
        txn("t1", 0, Append(A, 1, 11), **AT_ONCE),
        txn("t2", 0, Append(B, 1, 21), **AT_ONCE),
        txn("r1", 1, lists(A, 1, 11), session="s", **STALE),
        txn("r2", 3, lists(B, 1), session="s", **STALE),
        txn("r3", 1, lists(B, 1), session="z", **STALE),
        txn("r4", 3, lists(A, 1, 11), session="z", **STALE),
        txn("e", 10, lists(A, 1, 11), lists(B, 1, 21)),
    ),
    "two writes at one time in either order": history(
        txn("t1", 0, Append(A, 1, 11), session="s", **AT_ONCE),
        txn("t2", 2, Append(A, 1, 21), place=7),
        txn("t3", 5, Append(A, 2, 22), place=8, begun=2.5, ended=6),
        txn("r", 10, lists(A, 1, 21, 11)),
    ),
    "a stale read behind a later one of another session": history(
        txn("t1", 0, Append(A, 1, 11)),
        txn("t2", 2, Append(A, 1, 12)),
        txn("r1", 4, lists(A, 1, 11, 12), session="s", **STALE),
        txn("r2", 6, lists(A, 1), session="z", **STALE),
    ),
    "a read that ends while its writer runs": history(
        txn("t1", 0, Append(A, 1, 11), begun=0, ended=9),
        txn("r", 1, lists(A, 1, 11)),
        txn("t2", 3, lists(A, 1, 11), Append(B, 1, 21), session="s"),
        txn("t3", 12, Append(B, 1, 22), session="s"),
        txn("e", 14, lists(B, 1, 21, 22)),
    ),
    "a claim that an earlier one beside it answered": history(
        txn("t1", 0, Claim("claims", 1, 11), begun=0, ended=3),
        txn("t2", 0, Claim("claims", 1, 21), begun=2, ended=5),
        txn("t3", 0, Claim("claims", 2, 31), outcome="unknown", ended=NEVER),
        txn("f", 6, whole("claims", Row(1, 21, "")), **FINAL),
    ),
    "a key merged one after the other": history(
        txn("t1", 0, Upsert("keyed", 1, 11)),
        txn("t2", 2, Upsert("keyed", 1, 21)),
        txn("f", 4, whole("keyed", Row(1, 0, "11,21")), **FINAL),
    ),
    "two rows by which one txn replaced a key": history(
        txn("t1", 0, Delete("stock", 1), Insert("stock", 1, 11), Insert("stock", 1, 12)),
        txn("f", 2, whole("stock", Row(1, 11, ""), Row(1, 12, "")), **FINAL),
    ),
    "a row beside one that replaced its key": history(
        txn("t1", 0, Delete("stock", 1), Insert("stock", 1, 11), **AT_ONCE),
        txn("t2", 0, Insert("stock", 1, 21), Delete("stock", 1), Insert("stock", 1, 22), **AT_ONCE),
        txn("f", 10, whole("stock", Row(1, 11, ""), Row(1, 22, "")), **FINAL),
    ),
    "stale reads of rows that come and go": history(
        txn("t1", 0, Insert("stock", 1, 11)),
        txn("r1", 2, whole("stock"), **STALE),
        txn("t2", 4, Delete("stock", 1)),
        txn("r2", 6, whole("stock", Row(1, 11, "")), **STALE),
    ),
    "rows that an unknown delete took or left": history(
        txn("t1", 0, Insert("stock", 1, 11)),
        txn("t2", 0, Insert("stock", 2, 12)),
        txn("t3", 2, Delete("stock", 1), outcome="unknown", ended=NEVER),
        txn("t4", 2, Delete("stock", 2), outcome="unknown", ended=NEVER),
        txn("r", 4, whole("stock", Row(2, 12, ""))),
        txn("f", 6, whole("stock", Row(2, 12, "")), **FINAL),
    ),
    "an unknown insert of stock that did not happen": history(
        txn("t1", 0, Insert("stock", 1, 11), outcome="unknown", ended=NEVER),
        txn("r", 4, whole("stock")),
        txn("f", 6, whole("stock"), **FINAL),
    ),
    "a run that was read at its end": history(
        txn("t1", 0, Compact("bag")), read_at_end(), **RUN, never_ready=[]
    ),
    "a row of another key than the one that was read": history(
        txn("t1", 0, Insert("stock", 1, 11)), txn("r", 2, (Read("stock", 2), []))
    ),
    "a txn that reads between its own writes": history(
        txn("t1", 0, Append(A, 1, 11), lists(A, 1, 11), Append(A, 1, 12)),
        txn("r", 2, lists(A, 1, 11, 12)),
    ),
    "an aborted claim": history(
        txn("t1", 0, Claim("claims", 1, 11), outcome="aborted"),
        txn("f", 4, whole("claims"), **FINAL),
    ),
    "registers behind a write of a killed client, which left no read": history(
        txn("t1", 0, register(1, 0), Write("registers", 1, 11)),
        Txn("t2", "s", (Read("registers", 1), Write("registers", 1, 12)), begun=2),
        txn("t3", 4, register(1, 12), Write("registers", 1, 13)),
        txn("f", 6, (Read("registers"), registers(13)), **FINAL),
    ),
    "a cut that counts what it lost in batches": history(
        txn("t1", 0, Insert("bag", 1, 11), place=12),
        txn("f", 6, whole("bag"), **FINAL),
        cuts=[{"kept": 7, "cut": 20, "from": 1, "to": 3, "lost": 1}],
    ),
}
