"""The tables of docs/consistency.md, made from the folders of runs.

python -m tests.consistency tables FOLDER...
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.consistency.history import read_history
from tests.consistency.judge.anomalies import ALLOWED

LEVEL_NAMES: Final = {
    "serializable": "Serializable",
    "write-serializable": "WriteSerializable",
    "snapshot-isolation": "SnapshotIsolation",
}
NOTHING: Final = "none"
RUNS: Final = (
    *("System", "Level", "Grain", "Flush", "Seed", "Seconds"),
    *("Commits", "Refused", "Unknown", "Found", "Allowed, and met"),
)
STRIKES: Final = ("System", "Level", "Grain", "Strikes")
SYSTEMS: Final = ("System", "Version", "Absent in the system", "Not tried by the adapter")


class Shown(NamedTuple):
    """A run as the tables show it: its facts, outcomes of txns, and findings by kind."""

    facts: Mapping[str, Any]
    outcomes: Mapping[str, int]
    forbidden: Mapping[str, int]
    allowed: Mapping[str, int]


def shown(folder: Path) -> Shown:
    """Return the run of a folder as it was judged last."""
    history = read_history(folder)
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    forbidden, allowed = (
        Counter(str(each["kind"]) for each in verdict[part]) for part in ("forbidden", "allowed")
    )
    return Shown(history.facts, Counter(txn.outcome for txn in history.txns), forbidden, allowed)


def tables(runs: Sequence[Shown]) -> Iterator[str]:
    """Yield the lines of the three tables: runs, strikes, and the systems."""
    yield from table(RUNS, map(run_cells, runs))
    yield ""
    yield from table(STRIKES, map(strike_cells, runs))
    yield ""
    yield from table(SYSTEMS, dict.fromkeys(map(system_cells, runs)))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(map(str, cells))} |"


def run_cells(run: Shown) -> Sequence[object]:
    """Return the cells of a run: what was asked, what came of it, what was found."""
    facts = run.facts
    promised = ALLOWED[facts["level"]]
    met: dict[str, int] = {kind: number for kind, number in run.allowed.items() if kind in promised}
    free: dict[str, int] = {
        kind: number for kind, number in run.allowed.items() if kind not in promised
    }
    said = [counted(met)] if met or not free else []
    said += [f"not promised: {counted(free)}"] if free else []
    return (
        *(facts["subject"], LEVEL_NAMES[facts["level"]], facts["grain"]),
        *(facts["flush"], facts["seed"], round(facts["seconds"])),
        *(run.outcomes.get(name, 0) for name in ("committed", "aborted", "unknown")),
        counted(run.forbidden),
        "; ".join(said),
    )


def strike_cells(run: Shown) -> Sequence[object]:
    facts = run.facts
    level = LEVEL_NAMES[facts["level"]]
    return (facts["subject"], level, facts["grain"], counted(facts["strikes"]))


def system_cells(run: Shown) -> Sequence[str]:
    """Return the cells of a system: its version, and the operations that it was not asked for."""
    facts = run.facts
    more = [facts["server"]] if "server" in facts else []
    if facts["subject"].startswith("ledger-"):
        more.append(f"commit {facts['commit']}")
    version = ", ".join([facts["version"], *more])
    skipped = (", ".join(facts[name]) or NOTHING for name in ("lacks", "untried"))
    return (facts["subject"], version, *skipped)


def counted(numbers: Mapping[str, int]) -> str:
    """Return names with their numbers; what was there once has none."""
    found = sorted(numbers.items())
    named = (name if number == 1 else f"{name}: {number}" for name, number in found)
    return ", ".join(named) or NOTHING
