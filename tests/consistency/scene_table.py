"""What each level of the ledger makes of the scenes, as a table of a page.

The scenes run in a ledger in memory, with the product's own sequencer, SDK and files.

    python -m tests.consistency.scene_table    # writes the table into the page
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Final

from ledger.testing import InMemoryLedger
from tests.consistency.history import History
from tests.consistency.judge.anomalies import LEVELS, Level
from tests.consistency.judge.judging import anomalies
from tests.consistency.operations import READS
from tests.consistency.scenes import SCENES, play
from tests.consistency.subjects.ledger_sdk import LedgerSession, create_in
from tests.consistency.subjects.port import Job, Session
from tests.consistency.summary import LEVEL_NAMES
from tests.consistency.systems import GRAINS
from tests.docs.make import DOCS, between

PAGE: Final = DOCS / "consistency.md"


@contextmanager
def client(connect: Callable[[], object], job: Job) -> Iterator[Session]:
    """Yield a session of a client of its own; the ledger closes it at its end."""
    del job
    yield LedgerSession(connect(), by_sql=False)  # type: ignore[arg-type]


def outcome(history: History) -> str:
    """Return which writers lost, and what the reads at the end show of those that did not."""
    lost = [txn.id for txn in history.txns if txn.outcome == "aborted"]
    kinds = sorted({anomaly.kind for anomaly in anomalies(history)})
    if lost:
        losers = ("the reader" if is_reader(history, name) else "one loses" for name in lost)
        said = " and ".join(sorted(set(losers))).replace("the reader", "the reader loses")
        return said + (f": {', '.join(kinds)}" if kinds else "")
    return f"**{', '.join(kinds)}**" if kinds else "all commit"


def is_reader(history: History, name: str) -> bool:
    [found] = [txn for txn in history.txns if txn.id == name]
    return all(isinstance(step, READS) for step in found.operations)


def outcomes(level: Level, grain: str) -> Mapping[str, str]:
    """Return what became of each scene at a level."""
    with tempfile.TemporaryDirectory() as folder, InMemoryLedger() as memory:
        connect = partial(memory.connect, warehouse=str(Path(folder)))
        create_in(connect(), {"level": level, "grain": grain})
        subject = SimpleNamespace(session=partial(client, connect))
        return {name: outcome(play(subject, {}, steps)) for name, steps in SCENES.items()}


def table() -> str:
    """Return the table: a scene a line, a level a column."""
    found = {(level, grain): outcomes(level, grain) for level in LEVELS for grain in GRAINS}
    lines = [
        f"| Scene | {' | '.join(LEVEL_NAMES[level] for level in LEVELS)} |",
        "|---|---|---|---|",
    ]
    for scene in SCENES:
        cells = []
        for level in LEVELS:
            by_file, by_rows = (found[level, grain][scene] for grain in GRAINS)
            same = by_file == by_rows
            cells.append(by_file if same else f"file: {by_file}; rows: {by_rows}")
        lines.append(f"| {scene} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """Return the page of consistency with the table of scenes in it."""
    return between("scenes", text, f"\n{table()}\n")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
