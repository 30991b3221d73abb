"""The invariants hold in a scene where everything is there, and each fault is named."""

from collections.abc import Callable

import pytest

from ledger.core.invariants import RULES, assert_invariants
from ledger.core.state.domain import DomainState
from ledger.core.state.namespaces import Namespace
from ledger.core.state.sessions import Answered
from ledger.errors import StateBrokenError
from tests.core.scene import Scene
from tests.driver import write

Break = Callable[[DomainState], object]


def scene() -> DomainState:
    scene = Scene()
    scene.commit(scene.ada, 0, write(scene.flights))
    return scene.state


def last_session_forgets_its_txns(state: DomainState) -> None:
    oldest = next(iter(state.txns.open.values()))
    state.sessions.by_number[oldest.session].txns.clear()


def answer_too_far(state: DomainState) -> None:
    """Let a session remember an answer that it never got."""
    session = next(iter(state.sessions.by_number.values()))
    session.answers[session.last_n + 1] = Answered(1, "TxnOpened", 1, 1)


BREAKS: list[tuple[str, Break]] = [
    ("open_txns_ascend", lambda s: s.txns.open.update({10**6: s.txns.open.popitem()[1]})),
    ("exceptions_are_derived", lambda s: setattr(s.txns, "digest", s.txns.digest ^ 1)),
    ("aborted_are_indexed", lambda s: s.txns.writers.clear()),
    ("ends_are_exclusive", lambda s: s.txns.ended.update({s.txns.next_txn: s.position << 1})),
    ("watermark_is_the_minimum", lambda s: setattr(s.txns, "watermark", 0)),
    ("write_ids_are_dense", lambda s: setattr(s.txns, "mapped", s.txns.mapped + 1)),
    ("names_are_claimed", lambda s: s.tables.names.popitem()),
    ("namespaces_are_named", lambda s: s.namespaces.put(Namespace("lake", "s", (), 10**6))),
    ("changes_wait_for_their_txn", lambda s: s.tables.pending.clear()),
    ("sessions_own_their_txns", last_session_forgets_its_txns),
    ("answers_are_bounded", answer_too_far),
    ("winners_are_indexed", lambda s: setattr(s.winners, "entries", s.winners.entries + 1)),
]


def test_every_invariant_is_broken_here() -> None:
    assert [name for name, _ in BREAKS] == [rule.__name__ for rule in RULES]


def test_nothing_is_wrong_with_a_state_that_came_about_by_events() -> None:
    assert_invariants(scene())


@pytest.mark.parametrize(("name", "spoil"), BREAKS)
def test_a_state_that_contradicts_itself_is_refused_by_its_rule(name: str, spoil: Break) -> None:
    state = scene()
    spoil(state)

    with pytest.raises(StateBrokenError, match=f"position {state.position} .*{name}: ") as broken:
        assert_invariants(state)

    assert broken.value.invariant == name
