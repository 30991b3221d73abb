"""Recorded runs: which statement wrote which table when, from either of two published sets.

LST-Bench recorded what Spark did to a TPC-DS schema, statement by statement; CAB publishes when the
queries of many databases arrive, of which one in twenty writes. Reads are not replayed.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

Kind = Literal["insert", "delete", "optimize", "cab"]

KINDS: Final[dict[str, Kind]] = {
    "INSERT INTO": "insert",
    "MERGE INTO": "delete",
    "DELETE FROM": "delete",
    "OPTIMIZE": "optimize",
    "CALL": "optimize",
}
# Statements that change no data: tables are created by whoever replays, views are not kept here.
LEFT_OUT: Final = frozenset({"CREATE TABLE", "CREATE VIEW", "DROP VIEW IF EXISTS"})
BUCKETS: Final = 16
CAB_TABLE: Final = "cab.orders"
MS: Final = 1000.0


class Statement(NamedTuple):
    """One write: when it began in seconds, to which table, in which of its ranges.

    `part` counts the statements of a kind over a table; the ranges they change repeat.
    """

    at_s: float
    kind: Kind
    table: str
    part: int


class Recording(NamedTuple):
    """A run by name: the statements that load the tables, and those that maintain them."""

    name: str
    load: Sequence[Statement]
    writes: Sequence[Statement]


class WorkloadError(Exception):
    """A file holds no recorded runs."""


def recordings(file: Path) -> list[Recording]:
    """Return the runs of a file that write at all; raises WorkloadError if it holds none."""
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        found = cab(rows) if rows and "write_start_ms" in rows[0] else list(lst_bench(rows))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkloadError(f"{file} holds no recorded runs: {error!r}") from error
    if not found:
        raise WorkloadError(f"{file} holds no run that writes")
    return found


def lst_bench(rows: Sequence[dict[str, Any]]) -> Iterator[Recording]:
    """Return the runs of LST-Bench; what comes before the first delete loads the tables."""
    for row in rows:
        written = [each for phase in row["phases"] for each in phase["write_statements"]]
        statements = list(numbered(written))
        first = next((i for i, each in enumerate(statements) if each.kind == "delete"), 0)
        if first:
            name = f"{row['workload']}/{row['format']}"
            yield Recording(name, statements[:first], statements[first:])


def numbered(written: Sequence[Sequence[Any]]) -> Iterator[Statement]:
    """Return the writes in order of their begin, counted by table and kind."""
    counts: dict[tuple[str, str], int] = {}
    for start_s, _, operation, table, _ in sorted(written, key=lambda each: float(each[0])):
        if operation in LEFT_OUT:
            continue
        kind = KINDS[operation]
        part = counts[table, kind] = counts.get((table, kind), -1) + 1
        yield Statement(start_s, kind, table, part)


def cab(rows: Sequence[dict[str, Any]]) -> list[Recording]:
    """Return one run for each set of databases; all databases write one table, key by key."""
    by_set: dict[str, list[Statement]] = {}
    for row in rows:
        writes = by_set.setdefault(f"cab/{row['set']}", [])
        for index, start_ms in enumerate(row["write_start_ms"]):
            # Each write of a database takes the next range of keys.
            writes.append(Statement(start_ms / MS, "cab", CAB_TABLE, index % BUCKETS))
    load = [Statement(0.0, "insert", CAB_TABLE, part) for part in range(BUCKETS)]
    return [Recording(name, load, sorted(writes)) for name, writes in by_set.items() if writes]
