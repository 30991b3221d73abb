"""The systems that are judged: what each runs on, at which levels, and what it does not promise."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.benchmarks import peer
from tests.consistency.hosts import (
    Host,
    iceberg_host,
    ledger_host,
    no_host,
    postgres_host,
    unflushed_host,
)
from tests.consistency.judge.anomalies import SKEWS, Kind, Level

CLIENTS: Final = 3

HostOf = Callable[[Path], AbstractContextManager[Host]]


class Subject(NamedTuple):
    """A system to judge: its module, its host, whose Python runs it, and how many threads.

    Its first level is the one that it promises by default. `allows` are anomalies that its level
    forbids and that the system does not promise to prevent, or cannot be told of by its door.
    """

    module: str
    host: HostOf
    more: Mapping[str, Any]
    environment: peer.Peer | None = None
    clients: int = CLIENTS
    threads: int = 1
    levels: Sequence[Level] = ("serializable",)
    grains: Sequence[str] = ("default",)
    allows: frozenset[Kind] = frozenset()


LEDGER_LEVELS: Final[Sequence[Level]] = ("serializable", "write-serializable", "snapshot-isolation")
# A client of Iceberg tells the tables that it writes and whether it only appends, no other reads.
UNTOLD: Final[frozenset[Kind]] = SKEWS | {"G2-table", "doubled key"}
# At Serializable each append counts as a reader of its table.
UNTOLD_BY_WRITERS: Final = SKEWS
SNAPSHOT: Final[Sequence[Level]] = ("snapshot-isolation",)
# Its appends are not compared with other commits, and `upsert` inserts by an append.
UNCHECKED_UPSERT: Final[frozenset[Kind]] = frozenset({"doubled key"})
INLINED: Final = {"inlines": True}
NOT_INLINED: Final = {"inlines": False}
GRAINS: Final = ("file", "rows")
SUBJECTS: Final[Mapping[str, Subject]] = {
    "ledger-sdk": Subject("ledger_sdk", ledger_host, {}, levels=LEDGER_LEVELS, grains=GRAINS),
    "ledger-sql-reads": Subject(
        "ledger_sdk", ledger_host, {"reads": "sql"}, levels=LEDGER_LEVELS, grains=GRAINS
    ),
    "ledger-http-reads": Subject(
        "ledger_sdk", ledger_host, {"reads": "http"}, levels=LEDGER_LEVELS, grains=GRAINS
    ),
    "ledger-no-flush": Subject(
        "ledger_sdk", unflushed_host, {}, levels=LEDGER_LEVELS, grains=GRAINS
    ),
    "ledger-iceberg": Subject(
        "ledger_iceberg", iceberg_host, {}, levels=LEDGER_LEVELS, grains=GRAINS, allows=UNTOLD
    ),
    "ledger-spark": Subject("ledger_spark", ledger_host, {}, None, 1, 4, LEDGER_LEVELS, GRAINS),
    "deltalake": Subject("deltalake_rs", no_host, {}),  # The project has the version of the peer.
    "ducklake-file": Subject("ducklake", no_host, INLINED, peer.DUCKLAKE, 1, 4, SNAPSHOT),
    "ducklake-file-no-inlining": Subject(
        "ducklake", no_host, NOT_INLINED, peer.DUCKLAKE, 1, 4, SNAPSHOT
    ),
    "ducklake-postgres": Subject(
        "ducklake", postgres_host, INLINED, peer.DUCKLAKE, levels=SNAPSHOT
    ),
    "ducklake-postgres-no-inlining": Subject(
        "ducklake", postgres_host, NOT_INLINED, peer.DUCKLAKE, levels=SNAPSHOT
    ),
    "pyiceberg-sqlite": Subject(
        "pyiceberg_sqlite", no_host, {}, peer.PYICEBERG, allows=UNCHECKED_UPSERT
    ),
    "delta-spark": Subject("delta_spark", no_host, {}, None, 1, 4),
}


def chosen(name: str, level: str | None, grain: str | None) -> tuple[Level, str]:
    """Return the level and the grain of a run; raises ValueError for one that a subject lacks."""
    subject = SUBJECTS[name]
    for what, given, known in (("level", level, subject.levels), ("grain", grain, subject.grains)):
        if given is not None and given not in known:
            message = f"the {what} of {name} must be one of {', '.join(known)}, got {given}"
            raise ValueError(message)
    levels: Mapping[str, Level] = {each: each for each in subject.levels}
    return levels[level or subject.levels[0]], grain or subject.grains[0]
