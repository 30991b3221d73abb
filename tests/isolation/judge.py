"""The judge of a history: takes in what is told, thing by thing, and writes down what is wrong.

Each commit that is asked is judged twice before it is taken in: pair by pair, whatever came of it,
and by re-execution if it was let through. The floor of the ledger's index is judged beside.
"""

from collections import Counter
from typing import Final, NamedTuple

from tests.isolation.lake import Lake
from tests.isolation.pairwise import verdict_on
from tests.isolation.plain import Attempt, Changed, Told, Verdict
from tests.isolation.reexecution import broken_promises

# The rules of the core by the step they belong to: within a step they have no order.
STEPS: Final = {
    **dict.fromkeys(
        ("protocol_twice", "replaced_twice", "feature_dropped", "feature_drop_overtaken"),
        "protocol",
    ),
    "metadata_changed": "metadata",
    "metadata_twice": "metadata",
    "file_removed_twice": "removed_twice",
    "coarse_write_write": "removed_twice",
}


class Finding(NamedTuple):
    """Something wrong with what came of an attempt; `law` says which judge found it."""

    law: str
    position: int
    what: str
    attempt: Attempt | None = None
    expected: Verdict | None = None


class Judge:
    """Judges a history as it goes on; `findings` are what is wrong, `counts` what it has seen.

    `exact_floor` = the index lets everything go that no open writing txn can meet, and no more.
    """

    def __init__(self, *, exact_floor: bool) -> None:
        self.lake = Lake()
        self.findings: list[Finding] = []
        self.counts: Counter[str] = Counter()
        self._exact_floor = exact_floor
        self._floor = 0

    def take(self, told: Told, floor: int) -> None:
        """Judge one thing that happened and take it in; `floor` is the ledger's after it."""
        if isinstance(told, Attempt):
            self._judge(told)
        self.lake.take(told)
        if is_commit(told):
            self._judge_floor(told.position, floor)

    def _judge(self, attempt: Attempt) -> None:
        verdict = attempt.verdict
        self.counts[verdict.exception or verdict.outcome] += 1
        expected = verdict_on(self.lake, attempt)
        if by_step(verdict) != by_step(expected):
            what = f"{shown(verdict)}, should be {shown(expected)}"
            self.findings.append(Finding("pairwise", attempt.position, what, attempt, expected))
        for what in broken_promises(self.lake, attempt):
            self.findings.append(Finding("re-execution", attempt.position, what, attempt))

    def _judge_floor(self, position: int, floor: int) -> None:
        """No winner leaves that an open writing txn can meet, where nothing else forces it out."""
        writers = [each.position for each in self.lake.open.values() if each.type != "read_only"]
        oldest = min(writers, default=position)
        wins = (win.position for table in self.lake.tables.values() for win in table.wins)
        lowest = max((each for each in wins if each <= oldest), default=0)
        due = max(self._floor, lowest) if self._exact_floor else None
        if floor < self._floor or floor > position or (due is not None and floor != due):
            what = f"the floor is {floor}, it was {self._floor}, it should be {due}"
            self.findings.append(Finding("floor", position, what))
        self._floor = floor


def is_commit(told: Told) -> bool:
    """Tell whether winners may leave the index now."""
    if isinstance(told, Attempt):
        return told.verdict.outcome == "committed"
    return isinstance(told, Changed) and told.commits


def by_step(verdict: Verdict) -> Verdict:
    """Return a verdict with its rule as the judge names it."""
    return verdict._replace(rule=STEPS.get(verdict.rule, verdict.rule))


def shown(verdict: Verdict) -> str:
    """Return a verdict in a few words."""
    if verdict.outcome == "committed":
        return f"committed at {dict(verdict.levels)}"
    about = f" {verdict.exception} by {verdict.rule}" if verdict.exception else ""
    return f"{verdict.outcome}{about} (table {verdict.table}, winner {verdict.winner})"
