"""Recorded runs: which statement wrote which table when, from either of two published sets.

LST-Bench recorded what Spark did to a TPC-DS schema, statement by statement, in tables of Delta,
Iceberg and Hudi; CAB publishes when the queries of many databases arrive, of which one in twenty
writes. The recorded runs have no rows, so a statement is replayed by the files that it would write.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

Kind = Literal[
    "insert", "overwrite", "merge", "delete", "update", "optimize", "alter", "select", "cab"
]

# What a recorded statement begins with. Iceberg and Hudi rewrite files by procedures.
KINDS: Final[dict[str, Kind]] = {
    "INSERT INTO": "insert",
    "INSERT OVERWRITE": "overwrite",
    "MERGE INTO": "merge",
    "DELETE FROM": "delete",
    "UPDATE": "update",
    "OPTIMIZE": "optimize",
    "CALL": "optimize",
    "ALTER TABLE": "alter",
    "SELECT": "select",
    "WITH": "select",
}
# Statements that change no data: tables are created by whoever replays, views are not kept here.
LEFT_OUT: Final = (
    *("CREATE", "DROP", "REFRESH", "USE", "SET", "ANALYZE", "VACUUM", "MSCK"),
    *("DESCRIBE", "SHOW", "CACHE", "UNCACHE", "CLEAR"),
)
# A recorded name may be cut out of the middle of a statement, such as `web_sales')`.
NAME: Final = re.compile(r"[A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)*", re.ASCII)
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
    """Return the runs of LST-Bench; the inserts before any other statement load the tables."""
    for row in rows:
        written = [each for phase in row["phases"] for each in phase["write_statements"]]
        statements = list(numbered(written))
        loads = takewhile(lambda each: each.kind == "insert", statements)
        first = len(list(loads))
        if 0 < first < len(statements):
            name = f"{row['workload']}/{row['format']}"
            yield Recording(name, statements[:first], statements[first:])


def numbered(written: Sequence[Sequence[Any]]) -> Iterator[Statement]:
    """Return the writes in order of their begin, counted by table and kind."""
    counts: dict[tuple[str, str], int] = {}
    for start_s, _, operation, named, _ in sorted(written, key=lambda each: float(each[0])):
        kind = kind_of(operation)
        if kind is None:
            continue
        table = name_in(named)
        part = counts[table, kind] = counts.get((table, kind), -1) + 1
        yield Statement(start_s, kind, table, part)


def kind_of(operation: str) -> Kind | None:
    """Return the kind of a recorded statement, None for one that changes no data.

    Raises WorkloadError for a statement that is not known.
    """
    words = " ".join(operation.upper().split())
    for start, kind in KINDS.items():
        if words == start or words.startswith(f"{start} "):
            return kind
    if words.split(" ")[0] in LEFT_OUT:
        return None
    raise WorkloadError(
        f"the statement {operation!r} is not known; known are {', '.join([*KINDS, *LEFT_OUT])}"
    )


def name_in(text: str) -> str:
    """Return the table in a recorded name; raises WorkloadError if there is no name in it."""
    found = NAME.findall(text)
    if not found:
        raise WorkloadError(f"a statement must name a table, got {text!r}")
    return str(found[-1])


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
