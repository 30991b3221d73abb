"""What leaders say of where the log begins, before and after the records of a trim left."""

from collections.abc import Iterator

import pytest

from ledger.core.events.events import RecordsTrimmed
from ledger.core.state.domain import DomainState
from ledger.log.port import Topic
from ledger.log.replay import Replay
from ledger.log.trimmed import start_of, write_trim_mark
from ledger.sequencer.log_beginning import LOOK_S, LogBeginning
from ledger.testing import FixedClock, InMemoryLedger
from ledger.trimming.survey import TrimPlan
from ledger.trimming.trimming import carry_out
from tests.log.test_trimmed import log_of, mark_at

BELOW, LATER = 6, 8


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    """Return a ledger with some events."""
    with InMemoryLedger(clock=FixedClock()) as memory, memory.connect() as ledger:
        for number in range(5):
            ledger.create_table(f"t{number}", [("id", "bigint")])
        yield memory


def said(memory: InMemoryLedger) -> list[int]:
    """Return where the log begins, as its leaders said after each look, once one has passed."""
    memory.advance(LOOK_S)
    log = log_of(memory)
    bodies = [event.body for event in Replay(log, begun=start_of(log))]
    return [body.below for body in bodies if isinstance(body, RecordsTrimmed)]


def test_a_leader_says_that_records_left_once_they_did(memory: InMemoryLedger) -> None:
    log = log_of(memory)
    plans = [TrimPlan(mark_at(log, below), b"digest", 1) for below in (BELOW, LATER)]
    for plan, before in zip(plans, ([], [BELOW]), strict=True):
        with memory.connect() as ledger:
            mark = carry_out(ledger, log, plan, lambda _offset: None, "room")
        assert said(memory) == before
        log.remove_below(Topic.EVENTS, mark.offset)
        assert said(memory) == [*before, mark.below]


@pytest.mark.parametrize(
    ("begins", "is_marked", "expected"),
    [
        (1, True, RecordsTrimmed(BELOW)),
        (BELOW - 1, True, RecordsTrimmed(BELOW)),
        # A leader before has said so, or the log was trimmed further and lost that end since.
        (BELOW, True, None),
        (LATER, True, None),
        (1, False, None),
    ],
)
def test_what_a_new_leader_says_of_where_the_log_begins(
    memory: InMemoryLedger, begins: int, *, is_marked: bool, expected: RecordsTrimmed | None
) -> None:
    log = log_of(memory)
    mark, state = mark_at(log, BELOW), DomainState(begins=begins)
    beginning = LogBeginning(log, LOOK_S)
    assert beginning.seen(state, 0.0) is None
    if is_marked:
        write_trim_mark(log, 0, mark)
    log.remove_below(Topic.EVENTS, mark.offset)
    assert beginning.seen(state, LOOK_S / 2) is None
    assert beginning.seen(state, LOOK_S) == expected
    assert beginning.seen(state, 2 * LOOK_S) is None
