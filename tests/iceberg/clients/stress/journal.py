"""What the clients of a stress run set out to do, and what they got to know of its outcome.

Each process writes a file of its own, one JSON line before an operation and one after it. A process
that is killed leaves the last operation without an outcome. Only the standard library is imported:
Spark's client runs in an environment of its own.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

LINES: Final = "stress.lines"
COUNTS: Final = "stress.counts"
TOTALS: Final = "stress.totals"
# Rows that one append writes, and rows of a table of counters.
LINES_EACH: Final = 3
COUNTERS: Final = 4

APPEND: Final = "append"
COUNT: Final = "count"
BOTH: Final = "both"

DONE: Final = "done"
REFUSED: Final = "refused"
UNKNOWN: Final = "unknown"

STOP: Final = "stop"
WHY_MAX: Final = 400


class Attempt(NamedTuple):
    """One operation, its kind, and its outcome as its client knows it."""

    operation: str
    kind: str
    outcome: str
    why: str = ""

    @property
    def client(self) -> str:
        """The name of the client, such as duckdb-1."""
        return self.operation.partition("/")[0]


class Journal:
    """The file of one process of a client; use it in a `with` block."""

    def __init__(self, folder: Path, client: str) -> None:
        self._prefix = f"{client}/{os.getpid()}"
        self._count = 0
        self._file = (folder / f"{client}-{os.getpid()}.jsonl").open("a", encoding="utf-8")

    def begin(self, kind: str) -> str:
        """Note that an operation begins; return its name, which no other one has."""
        self._count += 1
        operation = f"{self._prefix}/{self._count}"
        self._write(operation=operation, kind=kind)
        return operation

    def end(self, operation: str, outcome: str, why: str = "") -> None:
        """Note what became of it, and the words of an error."""
        self._write(operation=operation, outcome=outcome, why=why[:WHY_MAX])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _write(self, **line: str) -> None:
        self._file.write(json.dumps(line) + "\n")
        # Past this process: a kill takes nothing of it away.
        self._file.flush()


def attempts(folder: Path) -> Iterator[Attempt]:
    """Yield what all clients set out to do; without an outcome it is unknown."""
    for path in sorted(folder.glob("*.jsonl")):
        found: dict[str, Attempt] = {}
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue  # A kill may cut the last line.
            operation = line["operation"]
            if "kind" in line:
                found[operation] = Attempt(operation, line["kind"], UNKNOWN, "no outcome noted")
            else:
                known = found[operation]
                found[operation] = known._replace(outcome=line["outcome"], why=line["why"])
        yield from found.values()
