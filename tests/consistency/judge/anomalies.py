"""Anomalies by kind, and which level forbids which.

The names G0 to G2 are Adya's (Weak Consistency, 1999), as Elle uses them. A cycle has edges of
writes over writes (ww), reads of writes (wr), and reads of what a later write replaced (rw).
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "G0",
    "G1a",
    "G1b",
    "G1c",
    "G-single",
    "G2-item",
    "G2-table",
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
    "past changed",
    "log order broken",
]

MEANINGS: Final[Mapping[Kind, str]] = {
    "G0": "two txns wrote over each other, each before the other",
    "G1a": "a txn read what an aborted txn wrote",
    "G1b": "a txn read what another txn wrote over before its commit",
    "G1c": "a txn read of another one that depends on it",
    "G-single": "a txn saw one part of another txn, or of what came before it, and missed another",
    "G2-item": "each of some txns missed what the next one wrote (write skew, phantoms)",
    "G2-table": "the same within one table, by txns that are no blind inserts",
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
    "past changed": "a read at a place gave other rows than the changes up to there",
    "log order broken": "a commit depends on a later one of the log",
}

Level: TypeAlias = Literal["serializable", "write-serializable", "snapshot-isolation"]
LEVELS: Final[Sequence[Level]] = ("serializable", "write-serializable", "snapshot-isolation")

ALLOWED: Final[Mapping[Level, frozenset[Kind]]] = {
    "serializable": frozenset(),
    "write-serializable": frozenset({"G2-item"}),
    "snapshot-isolation": frozenset({"G2-item", "G2-table", "doubled key"}),
}


class Anomaly(NamedTuple):
    """A finding: its kind, what there is to see, and the txns that show it."""

    kind: Kind
    what: str
    txns: Sequence[str]


class Verdict(NamedTuple):
    """What a history shows: findings that its level forbids, and those that it allows."""

    forbidden: Sequence[Anomaly]
    allowed: Sequence[Anomaly]


def sorted_by(
    level: Level, found: Sequence[Anomaly], more: frozenset[Kind] = frozenset()
) -> Verdict:
    """Return which findings a level forbids; kinds in `more` are allowed as well."""
    allowed = ALLOWED[level] | more
    return Verdict(
        [anomaly for anomaly in found if anomaly.kind not in allowed],
        [anomaly for anomaly in found if anomaly.kind in allowed],
    )
