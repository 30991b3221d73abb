"""Progress and domains that come in chunks before their commit."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.commands import AppVersion, Domain, Footprint
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT
from ledger.core.events.events import Event, TxnCommitted
from ledger.core.invariants import assert_invariants
from ledger.core.refusals import Reason
from ledger.core.state.staged_progress import repeated_app, staged_weight, whole_footprint
from ledger.work.beside_files import chunks_beside_files, pieces_of, without_staged
from ledger.work.staging import size_of
from tests.core.parts import after, footprint
from tests.core.scene import Scene
from tests.core.test_decide_stage import commit, of_flights, staged


def domain(configuration: str, name: str = "d") -> Domain:
    return Domain(name, configuration, removed=False)


def commit_after(scene: Scene, last_chunk: Footprint, *chunks: Footprint) -> Event:
    staged(scene, *chunks)
    return scene.ask(commit(scene, of_flights(scene, after(chunks, last_chunk))))


FIRST = footprint("", apps=[AppVersion("a", 1)], domains=[domain('{"x"')])
SECOND = footprint("", apps=[AppVersion("b", 2)], domains=[domain(":1}"), domain("", "e")])
LAST = footprint(apps=[AppVersion("c", 3)])


def test_joined_at_the_commit() -> None:
    scene = Scene()
    event = commit_after(scene, LAST, FIRST, SECOND)
    table = scene.state.tables.by_id[scene.flights]
    won = scene.state.winners.parts[-1].footprint

    assert isinstance(event.body, TxnCommitted)
    assert {app: each.version for app, each in table.apps.items()} == {"a": 1, "b": 2, "c": 3}
    assert won is not None
    assert [each.name for each in won.domains] == ["d", "e"]
    assert [each.app for each in won.apps] == ["a", "b", "c"]
    assert_invariants(scene.state)


def test_a_commit_records_one_version_of_an_application_whichever_chunks_bring_it() -> None:
    event: Any = commit_after(Scene(), LAST._replace(apps=[AppVersion("a", 2)]), FIRST)

    assert event.body.reason == Reason.COMMAND_INVALID
    assert "several for 'a'" in event.body.message


def test_pieces_are_one_domain() -> None:
    found = whole_footprint([FIRST, SECOND], LAST)

    assert found.domains == [domain('{"x":1}'), domain("", "e")]
    assert whole_footprint([], LAST) is LAST


def test_progress_and_domains_count_among_the_bytes_that_wait_for_their_commits() -> None:
    long = footprint("", apps=[AppVersion("a" * 500, 1)], domains=[domain("c" * 700)])

    assert staged_weight(long) - staged_weight(EMPTY_FOOTPRINT) >= len("a" * 500 + "c" * 700)


TEXTS = st.sampled_from(["", "{}", "é" * 200_000, '{"a":1}' * 40_000])
APPS = st.integers(0, 30_000).map(
    lambda count: [AppVersion(f"application number {number}", number) for number in range(count)]
)
DOMAINS = st.lists(TEXTS, max_size=5).map(
    lambda texts: [domain(text, f"d{number}") for number, text in enumerate(texts)]
)


@settings(deadline=None)
@given(APPS, DOMAINS)
def test_what_is_staged_comes_back(apps: list[AppVersion], domains: list[Domain]) -> None:
    head = footprint(apps=apps, domains=domains)
    chunks, last = list(chunks_beside_files(head)), without_staged(head)
    found = whole_footprint(chunks, last)

    assert (list(found.apps), list(found.domains)) == (apps, domains)
    assert not repeated_app(found)
    assert all(size_of(each) <= 700_000 for each in (*chunks, last))


@pytest.mark.parametrize("letters", [0, 1, 150_000, 150_001])
def test_a_text_is_cut_without_loss(letters: int) -> None:
    assert "".join(pieces_of("x" * letters)) == "x" * letters
    assert list(pieces_of(""))


def test_nothing_to_stage() -> None:
    assert not list(chunks_beside_files(LAST))
    small: Footprint = without_staged(LAST)
    assert small == LAST
