"""The cleanup watermark: the worked examples of HIVE-18747, each a line of a table.

A scenario is words: `T open` opens a txn, `T write` gives it a write id of a table whose files lie
under it, `T commit` and `T abort` end it, `T compact` states that what it left is gone, and `= T`
says which txn the watermark stands at, or `= next` that nothing holds it. A type of txn other than
the default follows `open`.
"""

from typing import Any

import pytest

from ledger.core.limits import CLEAN_MAPPINGS_MAX, CLEAN_TXNS_MAX
from ledger.core.state.txns import Txns
from ledger.core.state.watermark import Watermark, bounds
from tests.core.oracle import mappings
from tests.driver import Driver


class Scenario:
    """Plays a scenario; `marks` are the watermarks as it stated them, `found` as they were."""

    def __init__(self, text: str) -> None:
        self.driver = Driver()
        self.session = self.driver.open_session()
        self.table = self.driver.create_table(self.session, "t", layout="directories")
        self.txns: dict[str, int] = {}
        self.marks: list[int] = []
        self.found: list[int] = []
        for line in text.split(","):
            self.play(*line.split())

    def play(self, first: str, *rest: str) -> None:
        if first == "=":
            self.marks.append(self.txns.get(rest[0], self.driver.state.txns.next_txn))
            self.found.append(self.driver.state.txns.watermark)
            return
        getattr(self, rest[0])(first, *rest[1:])

    def open(self, name: str, kind: Any = "default") -> None:
        self.txns[name] = self.driver.open_txn(self.session, kind)

    def write(self, name: str) -> None:
        self.driver.allocate(self.session, [self.txns[name]], [self.table])

    def commit(self, name: str) -> None:
        self.driver.commit(self.session, self.txns[name])

    def abort(self, name: str) -> None:
        """Abort a txn; it has written wherever it holds a write id."""
        self.driver.abort(self.session, self.txns[name])

    def overdue(self, name: str) -> None:
        """Let a txn pass its deadline."""
        self.driver.tidy(txns=[self.txns[name]])

    def compact(self, name: str) -> None:
        """State that nothing an aborted txn wrote is left."""
        self.driver.forget(self.session, [self.txns[name]])

    def drop(self, _name: str) -> None:
        self.driver.drop_table(self.session, self.table)

    def mapped(self) -> set[int]:
        """Return the txns whose write ids are still mapped."""
        return {row[2] for row in mappings(self.driver.state)}


EXAMPLES = [
    ("1 nothing", "= next"),
    ("2 all committed", "T1 open, T1 write, T1 commit, = next"),
    ("3 one open", "T1 open, = T1"),
    ("4 a reader opens after the commit", "T1 open, T1 write, T1 commit, R open, = R"),
    ("5 a reader saw it open", "T1 open, T1 write, R open, T1 commit, = T1, R commit, = next"),
    (
        "6 history is not transitive",
        "T1 open, A open, T1 commit, B open, A commit, = A, B commit, = next",
    ),
    (
        "7 two readers: the oldest history wins",
        "T1 open, A open, T2 open, T1 commit, B open, T2 commit, = T1, A commit, = A",
    ),
    (
        "8 an abort with data pins until its compaction",
        "T1 open, T1 write, T1 abort, T2 open, T2 write, T2 commit, = T1, T1 compact, = next",
    ),
    (
        "8 and then the next open one does",
        "T1 open, T1 write, T1 abort, T2 open, = T1, T1 compact, = T2",
    ),
    ("9 an empty abort pins nothing", "T1 open, T1 abort, T2 open, = T2"),
    ("10 nor as the newest txn", "T1 open, T1 abort, = next"),
    ("11 a reader aborts", "T1 open, R open, T1 commit, = T1, R abort, = next"),
    ("11 a reader is overdue", "T1 open, R open, T1 commit, = T1, R overdue, = next"),
    ("12 read_only", "T1 open, R open read_only, T1 commit, = T1, R commit, = next"),
    ("12 replicated", "T1 open, R open replicated, T1 commit, = T1, R commit, = next"),
    ("12 compaction", "T1 open, R open compaction, T1 commit, = T1, R commit, = next"),
    ("12 soft_delete", "T1 open, R open soft_delete, T1 commit, = T1, R commit, = next"),
    ("12 read_only opened first", "R open read_only, T1 open, T1 commit, = R, R commit, = next"),
    (
        "13 open, then aborted with data",
        "T1 open, T2 open, T2 write, T2 abort, T3 open, T3 commit, = T1, T1 commit, = T2",
    ),
    (
        "13 until its compaction",
        "T1 open, T1 write, T1 abort, T2 open, T2 commit, = T1, T1 compact, = next",
    ),
    ("an aborted reader leaves nothing", "R open read_only, R abort, = next"),
    ("a drop takes what aborts left", "T1 open, T1 write, T1 abort, = T1, t drop, = next"),
]


@pytest.mark.parametrize("text", [row[1] for row in EXAMPLES], ids=[row[0] for row in EXAMPLES])
def test_worked_examples(text: str) -> None:
    """The watermark stands where the min history, the aborted data and the next id put it."""
    scenario = Scenario(text)

    assert scenario.found == scenario.marks


def test_data_in_a_table_that_never_came_to_be_pins_nothing() -> None:
    """An abort takes with it what others say they left in a table it had created."""
    scenario = Scenario("T1 open, T2 open")
    driver, session = scenario.driver, scenario.session
    draft = driver.create_table(session, "draft", txn=scenario.txns["T2"])
    driver.abort(session, scenario.txns["T1"], wrote=[draft])
    before = driver.state.txns.watermark
    scenario.abort("T2")

    assert (before, driver.state.txns.watermark) == (scenario.txns["T1"], 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T1 open, T1 write, T1 commit, R open", set()),
        ("T1 open, T1 write, R open, T1 commit", {"T1"}),
        ("T1 open, T1 write, R open, T1 commit, R commit", set()),
        ("T1 open, T1 write, T1 abort, T2 open, T2 write, T2 commit", {"T1", "T2"}),
        ("T1 open, T1 write, T1 abort, T1 compact", set()),
        ("T1 open, T1 write, T2 open, T2 write, T1 commit", {"T1", "T2"}),
    ],
)
def test_mappings_below_the_watermark_go(text: str, expected: set[str]) -> None:
    scenario = Scenario(text)

    assert scenario.mapped() == {scenario.txns[name] for name in expected}


def test_bounds_name_what_holds_the_watermark() -> None:
    """The three bounds are told apart, so that an operator learns which one holds it."""
    scenario = Scenario(
        "T1 open, T1 write, T2 open, T2 abort, T1 abort, T3 open, T4 open, T3 commit"
    )

    assert bounds(scenario.driver.state.txns) == Watermark(
        watermark=1, open_bound=3, aborted_bound=1, next_txn=5
    )


def test_cleaning_goes_in_bounded_steps() -> None:
    scenario = Scenario("R open")
    driver, count = scenario.driver, 2 * CLEAN_TXNS_MAX
    first = driver.open_txn(scenario.session, size=count)
    for txn in range(first, first + count):
        driver.commit(scenario.session, txn)
    scenario.commit("R")
    steps = [driver.state.txns.cleaned_below]
    while steps[-1] < driver.state.txns.next_txn:
        driver.open_session()
        steps.append(driver.state.txns.cleaned_below)

    assert steps == [1 + CLEAN_TXNS_MAX, 1 + 2 * CLEAN_TXNS_MAX, first + count]


@pytest.mark.parametrize("each", [1, 7, CLEAN_MAPPINGS_MAX, CLEAN_MAPPINGS_MAX + 1])
def test_cleaning_is_bounded_by_mappings(each: int) -> None:
    count = 2 * CLEAN_TXNS_MAX
    ids = dict.fromkeys(range(each), 1)
    txns = Txns(watermark=count + 1, mappings={txn: dict(ids) for txn in range(1, count + 1)})
    gone = txns.clean()
    ended = min(CLEAN_TXNS_MAX, -(-CLEAN_MAPPINGS_MAX // each))

    assert (txns.cleaned_below, len(gone)) == (1 + ended, ended * each)
    assert len(gone) < CLEAN_MAPPINGS_MAX + each
