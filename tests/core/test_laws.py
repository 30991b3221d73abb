"""The laws of the core, each over generated histories: what holds whatever clients do.

A plain run takes a few dozen histories, the same every time; `-m slow` draws new ones and prints
how to play a failing one again.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.acceptance import NO_CHAIN, LogHead
from ledger.core.decide.decide import decide
from ledger.core.decide.housekeep import Lapsed, housekeep
from ledger.core.events.events import CommandRefused, CommandRepeated, Event, TxnOpened
from ledger.core.evolve.evolve import evolve, fold
from ledger.core.evolve.form import state_form
from ledger.core.evolve.tables import is_listed
from ledger.core.invariants import assert_invariants
from ledger.core.lists.visibility import held_txn_list, valid_txn_list
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.checkpoints import digest, dump, load
from ledger.log.port import Record
from ledger.log.wire.codec import frame_event
from tests.core.histories import (
    COMMANDS,
    DEEP,
    LIMITS,
    QUICK,
    Draw,
    Player,
    Step,
    fingerprint,
    played,
    random_steps,
    steps,
)
from tests.core.oracle import Oracle

ROOT = Path(__file__).parents[2]
LAPSED = Lapsed(range(99), range(99))


def check_each_step(history: Sequence[Step]) -> None:
    """Play a history; after every step the state is consistent and is what the oracle says."""
    player, oracle = Player(), Oracle(LIMITS.outcomes_max)
    seen = 0
    for step in (Step("let_time_pass", b""), *history):
        player.play(step)
        for event in player.driver.events[seen:]:
            oracle.observe(event)
        seen = len(player.driver.events)
        assert_invariants(player.driver.state)
        oracle.compare(player.driver.state)


@QUICK
@given(steps())
def test_states_are_consistent(history: list[Step]) -> None:
    """Laws 4 to 7: what decide emits evolve accepts, and the oracle agrees with the state after."""
    check_each_step(history)


@pytest.mark.slow
@DEEP
@given(steps(min_size=20, max_size=150))
def test_states_are_consistent_for_long(history: list[Step]) -> None:
    """Laws 4 to 7 over long histories, other ones in every run."""
    check_each_step(history)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_states_are_consistent_for_very_long(seed: int) -> None:
    """Laws 4 to 7 where bounds have been passed many times."""
    check_each_step(random_steps(seed, 1_500))


class Reader:
    """Reads a log record by record into a state of its own."""

    def __init__(self, state: DomainState, head: LogHead) -> None:
        self.state = state
        self.acceptor = Acceptor(head)
        self.events: list[Event] = []

    def read(self, records: Sequence[Record]) -> "Reader":
        taken = [self.acceptor.take(record.value) for record in records]
        events = [event for event in taken if event is not None]
        fold(self.state, events)
        self.events += events
        return self

    def restarted(self) -> "Reader":
        state, head, _ = load(dump(self.state, self.acceptor.head, 0))
        return Reader(state, head)


@QUICK
@given(steps())
def test_bytes_lead_to_the_same_state(history: list[Step]) -> None:
    """Laws 1 and 9: who reads the log gets the leader's events, and with them its state."""
    driver = played(history).driver
    reader = Reader(DomainState(), LogHead()).read(driver.records)

    assert reader.events == driver.events
    assert reader.state == driver.state
    assert digest(reader.state, reader.acceptor.head) == digest(driver.state, driver.head)


@QUICK
@given(steps(), st.integers(0, 10_000))
def test_fold_may_stop_anywhere(history: list[Step], cut: int) -> None:
    """Law 2: a fold that stops, is stored, restored and goes on ends where an unbroken one does."""
    driver = played(history).driver
    at = cut % len(driver.records)
    first = Reader(DomainState(), LogHead()).read(driver.records[:at])
    second = first.restarted()

    assert second.state == first.state
    assert second.read(driver.records[at:]).state == driver.state


def check_decisions(history: Sequence[Step], asked: Sequence[Step]) -> None:
    """Decide commands on a state and on its copy from a checkpoint, by which neither changes."""
    player = played(history)
    driver = player.driver
    before = digest(driver.state, driver.head)
    other = load(dump(driver.state, driver.head, 0)).state
    commands = [COMMANDS[step.move](player, Draw(step.draw)) for step in asked]
    for command in commands:
        bodies = [decide(state, command, driver.now) for state in (driver.state, other)]
        written = [frame_event(driver.events[-1].control, body, NO_CHAIN)[1] for body in bodies]
        assert written[0] == written[1], f"{command} is decided in two ways"
    kept = [housekeep(state, LAPSED) for state in (driver.state, other)]

    assert kept[0] == kept[1]
    assert digest(driver.state, driver.head) == digest(other, driver.head) == before


@QUICK
@given(steps(), steps(COMMANDS, min_size=0, max_size=20))
def test_decisions_depend_on_the_state_only(history: list[Step], asked: list[Step]) -> None:
    """Law 3: the same state, command and time decide the same bytes, and change nothing."""
    check_decisions(history, asked)


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_decisions_are_the_same_in_another_process(hash_seed: str) -> None:
    """Law 3: a history writes the same bytes in a process that hashes strings otherwise."""
    program = [sys.executable, "-m", "tests.core.histories", "7", "400"]
    environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
    other = subprocess.run(
        program, cwd=ROOT, env=environ, capture_output=True, text=True, check=True, timeout=60
    )

    assert other.stdout == fingerprint(7, 400)


def check_snapshots(history: Sequence[Step]) -> None:
    """Compare what each TxnOpened says with the list of a state that knows nothing later."""
    state = DomainState()
    for control, body in played(history).driver.events:
        evolve(state, Event(control, body))
        if isinstance(body, TxnOpened) and body.inline:
            for txn in range(control.txn, control.txn + body.size):
                assert held_txn_list(control, body, txn) == valid_txn_list(state, txn)


@QUICK
@given(steps())
def test_snapshots_are_of_their_position(history: list[Step]) -> None:
    """Law 6: what a txn may see follows from the events up to its own open."""
    check_snapshots(history)


def without_memory(state: DomainState, session: int) -> dict[str, Any]:
    form = state_form(state, LogHead())
    memory = len(("last_n", "answers"))
    form["sessions"] = [each[:-memory] if each[0] == session else each for each in form["sessions"]]
    return form


def check_unchanged(before: DomainState, event: Event, after: DomainState) -> None:
    """Raise unless an event did nothing but be remembered by its session."""
    control, body = event
    assert isinstance(body, CommandRepeated | CommandRefused), f"{type(body).__name__} repeated"
    # Time and cleaning go on with any event: this one says nothing to anyone.
    evolve(before, Event(control._replace(session=0, n=0), CommandRefused(b"", "", "", 0)))

    assert without_memory(after, control.session) == without_memory(before, control.session)


def check_repeats(history: Sequence[Step]) -> None:
    """Send every command that had an effect once more."""
    player = played(history)
    driver = player.driver
    effects = [a for a in player.asked if not isinstance(a.event.body, CommandRefused)]
    for command, first in effects:
        before = deepcopy(driver.state)
        again = driver.ask(command)
        check_unchanged(before, again, driver.state)
        if isinstance(again.body, CommandRepeated):
            original = first.body
            answered, outcome = first.control.position, type(original).__name__
            if isinstance(original, CommandRepeated):
                answered, outcome = original.answered, original.outcome
            assert (again.body.answered, again.body.outcome) == (answered, outcome)


@QUICK
@given(steps())
def test_repeats_change_nothing(history: list[Step]) -> None:
    """Law 8: a command that had an effect has none again, and is told of the first one."""
    check_repeats(history)


def check_refusals(history: Sequence[Step]) -> None:
    player = Player()
    for step in history:
        before = deepcopy(player.driver.state)
        event = player.play(step)
        if event is not None and isinstance(event.body, CommandRepeated | CommandRefused):
            check_unchanged(before, event, player.driver.state)


@QUICK
@given(steps(COMMANDS))
def test_refusals_change_nothing(history: list[Step]) -> None:
    """Law 8: what is refused or repeated changes nothing but its session's memory."""
    check_refusals(history)


def check_tidied(history: Sequence[Step]) -> None:
    """Keep house with everybody silent until nothing is due."""
    driver = played(history).driver
    every = range(driver.state.position + 1)
    for _ in driver.events:
        if driver.tidy(every, every) is None:
            break
        assert_invariants(driver.state)

    assert driver.tidy(every, every) is None
    assert not driver.state.txns.open
    assert driver.state.sessions.open_count() == 0
    assert all(not is_listed(driver.state, t) for t in driver.state.txns.writers)


@QUICK
@given(steps())
def test_housekeeping_ends_all_that_is_open_and_then_itself(history: list[Step]) -> None:
    check_tidied(history)
