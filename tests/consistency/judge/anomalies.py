"""Anomalies by kind, and which level forbids which.

The names G0 to G2 are Adya's (Weak Consistency, 1999), as Elle uses them. A cycle has edges of
writes over writes (ww), reads of writes (wr), and reads of what a later write replaced (rw). Names
in -process need the order within a session or by a token as well, those in -realtime the order in
time. G-single with such an order has plainer names: "read your writes", "stale read" and others.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "G0",
    "G1a",
    "G1b",
    "G1c",
    "G-single",
    "G-nonadjacent",
    "G2-item",
    "G2-table",
    "G0-process",
    "G0-realtime",
    "G1c-process",
    "G1c-realtime",
    "G-nonadjacent-process",
    "G-nonadjacent-realtime",
    "G2-item-process",
    "G2-item-realtime",
    "lost update",
    "lost write",
    "lost row",
    "lost delete",
    "doubled write",
    "doubled row",
    "doubled key",
    "deleted row is back",
    "value from nowhere",
    "orders differ",
    "own write not read",
    "sum broken",
    "balance broken",
    "read your writes",
    "monotonic reads",
    "token ignored",
    "stale read",
    "feed broken",
    "published rows differ",
    "past changed",
    "log order broken",
    "no final read",
    "no commit",
    "client not ready",
]

MEANINGS: Final[Mapping[Kind, str]] = {
    "G0": "two txns wrote over each other, each before the other",
    "G1a": "a txn read what an aborted txn wrote",
    "G1b": "a txn read what another txn wrote over before its commit",
    "G1c": "a txn read of another one that depends on it",
    "G-single": "a txn saw one part of another txn, or of what came before it, and missed another",
    "G-nonadjacent": "two txns saw two others in different orders (long fork)",
    "G2-item": "each of some txns missed what the next one wrote (write skew, phantoms)",
    "G2-table": "the same within one table, by txns that are no blind inserts",
    "G0-process": "a session wrote over what it writes later",
    "G0-realtime": "a txn wrote over one that began after it was acknowledged",
    "G1c-process": "a session depends on what followed it (writes follow reads)",
    "G1c-realtime": "a txn read what began after it ended",
    "G-nonadjacent-process": "sessions saw txns in different orders (long fork)",
    "G-nonadjacent-realtime": "a long fork with the order in time",
    "G2-item-process": "write skew that the order within a session closes",
    "G2-item-realtime": "write skew that the order in time closes",
    "lost update": "two txns read one version and both replaced it",
    "lost write": "an acknowledged change is not there at the end",
    "lost row": "an acknowledged row is not there, and no txn deleted it",
    "lost delete": "a row is there that an acknowledged delete must have met",
    "doubled write": "one change took effect twice",
    "doubled row": "one inserted row is there twice",
    "doubled key": "a key that is inserted if absent is there twice",
    "deleted row is back": "a row was there, was not, and is there again",
    "value from nowhere": "a row that no txn wrote",
    "orders differ": "two reads saw the changes of one row in different orders",
    "own write not read": "a txn did not read what it wrote itself",
    "sum broken": "a read saw half of a transfer",
    "balance broken": "the transfers do not explain the balances at the end",
    "read your writes": "a session did not read what it wrote before",
    "monotonic reads": "a session read something older than before",
    "token ignored": "a reader with a token missed the commit of the token",
    "stale read": "a txn missed what was acknowledged before it began",
    "feed broken": "the changes of a table do not add up to its rows",
    "published rows differ": "a reader of the published log sees other rows at the end",
    "past changed": "a read at a place gave other rows than the changes up to there",
    "log order broken": "a commit depends on a later one of the log",
    "no final read": "the run was not read at its end, so what was lost is not known",
    "no commit": "no change was acknowledged, so the run shows nothing",
    "client not ready": "a client never began, so the run was another one than it says",
}

Level: TypeAlias = Literal["serializable", "write-serializable", "snapshot-isolation"]
LEVELS: Final[Sequence[Level]] = ("serializable", "write-serializable", "snapshot-isolation")

SKEWS: Final[frozenset[Kind]] = frozenset({"G2-item", "G2-item-process", "G2-item-realtime"})
ALLOWED: Final[Mapping[Level, frozenset[Kind]]] = {
    "serializable": frozenset(),
    "write-serializable": SKEWS,
    "snapshot-isolation": SKEWS | {"G2-table", "doubled key"},
}


class Anomaly(NamedTuple):
    """A finding: its kind, what there is to see, the txns that show it, and a cycle's tables."""

    kind: Kind
    what: str
    txns: Sequence[str]
    tables: Sequence[str] = ()


class Verdict(NamedTuple):
    """What a history shows: findings that its level forbids, and those that it allows."""

    forbidden: Sequence[Anomaly]
    allowed: Sequence[Anomaly]


def sorted_by(
    level: Level, found: Sequence[Anomaly], more: frozenset[Kind] = frozenset()
) -> Verdict:
    """Return which findings a level forbids; `more` is what the door of a system cannot tell it.

    Such a door tells all about the table that is written, so skews in `more` are over several.
    """
    forbidden: list[Anomaly] = []
    allowed: list[Anomaly] = []
    for anomaly in found:
        is_untold = anomaly.kind in more and (anomaly.kind not in SKEWS or len(anomaly.tables) > 1)
        is_allowed = anomaly.kind in ALLOWED[level] or is_untold
        (allowed if is_allowed else forbidden).append(anomaly)
    return Verdict(forbidden, allowed)
