"""The serial run that the versions of a table stand for: each is one operation upon the one before.

Versions are judged by the net rows that they change. A version that changes no rows may only be a
rearrangement of files.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tests.iceberg.clients.stress.journal import (
    APPEND,
    BOTH,
    COUNT,
    COUNTERS,
    COUNTS,
    DONE,
    LINES,
    LINES_EACH,
    REFUSED,
    TOTALS,
    Attempt,
)

REMOVING: Final = frozenset({"delete", "update_preimage"})
# Which tables an operation of each kind changes, all in one commit.
CHANGES: Final[Mapping[str, frozenset[str]]] = {
    APPEND: frozenset({LINES}),
    COUNT: frozenset({COUNTS}),
    BOTH: frozenset({LINES, TOTALS}),
}

Row = Mapping[str, Any]


class Version(NamedTuple):
    """A version of a table: where the log has it, and the net rows that it removed and added."""

    table: str
    version: int
    position: int
    removed: Sequence[Row]
    added: Sequence[Row]


class SerialRun:
    """Plays versions on a model of the tables.

    Attributes:
        counters: the value and the last operation of each row, by table and id.
        commits: the tables and positions at which each operation was found.
        wrong: what no serial run can explain.
    """

    def __init__(self) -> None:
        self.counters: dict[tuple[str, int], tuple[int, str]] = {
            (table, number): (0, "") for table in (COUNTS, TOTALS) for number in range(COUNTERS)
        }
        self.commits: dict[str, list[tuple[str, int]]] = {}
        self.wrong: list[str] = []

    def play(self, version: Version) -> None:
        """Play the next version of a table."""
        if not version.removed and not version.added:
            return
        place = f"version {version.version} of {version.table}"
        if version.table == LINES:
            operation = self._appended(place, version)
        else:
            operation = self._counted(place, version)
        self.commits.setdefault(operation, []).append((version.table, version.position))

    def judge(self, attempts: Iterable[Attempt]) -> None:
        """Compare what clients know with what was found."""
        known = {each.operation: each for each in attempts}
        for operation in self.commits.keys() - known.keys():
            self.wrong.append(f"{operation!r} was committed, and no client began it")
        for each in known.values():
            self._judge(each)

    def committed(self, kind: str, attempts: Iterable[Attempt]) -> int:
        """Return how many operations of a kind were found."""
        return sum(each.kind == kind and each.operation in self.commits for each in attempts)

    def _judge(self, attempt: Attempt) -> None:
        found = self.commits.get(attempt.operation, [])
        if attempt.outcome == DONE and not found:
            self.wrong.append(f"{attempt.operation} was acknowledged, and is not there")
        if attempt.outcome == REFUSED and found:
            self.wrong.append(f"{attempt.operation} was refused ({attempt.why}), and is in {found}")
        if not found:
            return
        tables = Counter(table for table, _ in found)
        if tables != Counter(CHANGES[attempt.kind]):
            self.wrong.append(f"{attempt.operation}, {attempt.kind}, changed {dict(tables)}")
        elif len({position for _, position in found}) != 1:
            self.wrong.append(f"{attempt.operation} is not one commit: {found}")

    def _appended(self, place: str, version: Version) -> str:
        """Return the operation whose lines a version added."""
        if version.removed:
            self.wrong.append(f"{place} removed {len(version.removed)} rows")
        names = {row["operation"] for row in version.added}
        if len(names) != 1:
            self.wrong.append(f"{place} added rows of {sorted(names)}")
        operation = str(min(names, default=""))
        numbers = sorted(row["number"] for row in version.added)
        if numbers != list(range(LINES_EACH)):
            self.wrong.append(f"{place} added the rows {numbers} of {operation}")
        return operation

    def _counted(self, place: str, version: Version) -> str:
        """Return the operation that counted a row up in a version."""
        if len(version.added) != 1 or len(version.removed) > 1:
            self.wrong.append(f"{place} removed {version.removed} and added {version.added}")
        (new,) = version.added[:1] or [{"id": -1, "value": 0, "operation": ""}]
        key = version.table, int(new["id"])
        value, operation = self.counters.get(key, (-1, ""))
        before = [(row["value"], row["operation"]) for row in version.removed]
        if before != [(value, operation)]:
            self.wrong.append(f"{place} replaced {before}, but there was {value} by {operation!r}")
        if new["value"] != value + 1:
            self.wrong.append(f"{place} made {new['value']} of {value}")
        self.counters[key] = int(new["value"]), str(new["operation"])
        return str(new["operation"])


def netted(table: str, version: int, position: int, rows: Iterable[Row]) -> Version:
    """Return a version by the rows of a change feed, with `_change_type`."""
    removed: list[Row] = []
    added: list[Row] = []
    for row in rows:
        (removed if row["_change_type"] in REMOVING else added).append(row)
    return Version(table, version, position, removed, added)
