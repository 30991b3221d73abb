"""Manifests: the work of each producer, txn by txn, recorded independently of the ledger.

The demo checks answers against them: from the txns of a snapshot and the days written in them, the
sums follow from the raw rows. A producer writes a line before it commits, so the manifest of a
killed one has its last txn.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tests.demo.flights import Day

SUFFIX: Final = ".jsonl"

Step = Literal["wrote", "committed", "aborted"]


class ManifestEntry(NamedTuple):
    """One line: the files of a day are `wrote`, then their txn is `committed` or `aborted`.

    `position` is the position of the end of the txn, 0 for `wrote`; `at_ns` is the monotonic clock,
    which all processes of a machine share.
    """

    producer: str
    step: Step
    txn: int
    write_id: int
    month: int
    day: int
    position: int
    at_ns: int

    @property
    def date(self) -> Day:
        """Return the day whose rows the txn holds."""
        return Day(self.month, self.day)


class DatasetManifest:
    """The manifest that one producer writes."""

    def __init__(self, folder: Path, producer: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lines = (folder / f"{producer}{SUFFIX}").open("a", encoding="utf-8")

    def write(self, entry: ManifestEntry) -> None:
        """Append a line, which stays even if this process is killed right after."""
        self._lines.write(json.dumps(entry) + "\n")
        self._lines.flush()

    def close(self) -> None:
        """Close the file."""
        self._lines.close()


def read_manifests(folder: Path) -> list[ManifestEntry]:
    """Return the whole lines of all manifests, in the order of time."""
    entries = [
        ManifestEntry(*json.loads(line))
        for path in folder.glob(f"*{SUFFIX}")
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
        if line.endswith("\n")
    ]
    return sorted(entries, key=lambda entry: entry.at_ns)


def with_step(entries: Iterable[ManifestEntry], step: Step) -> list[ManifestEntry]:
    """Return the lines of one step."""
    return [entry for entry in entries if entry.step == step]
