"""Law 12: a cache tells what the store tells, never half a txn and never an aborted one.

Over generated histories and ways to the cache: events twice, late, from further back, over crashes,
from a checkpoint of any position. And each rule of the caches is needed: without it some history
shows a reader what it must not see.
"""

from collections.abc import Mapping

import pytest
from hypothesis import given

from ledger.reads.metadata import TABLE, described
from projections.cache.entries import rows_as_entries
from projections.cache.ports import StoreAnswer
from tests.core.histories import DEEP, QUICK, Step
from tests.projections.cache_history import (
    HISTORIES,
    WHATS,
    Played,
    Reader,
    Told,
    as_told,
    drawn,
    played,
    told,
    wanted,
)
from tests.projections.cache_mutants import MUTANTS, Mutant
from tests.projections.cache_play import (
    ANY_ORDER,
    Make,
    MultiVersion,
    OneVersion,
    Order,
    Trip,
    drawn_plan,
    plans,
)

HONEST = {
    "several versions": Mutant(MultiVersion, ANY_ORDER),
    "one version": Mutant(OneVersion, ANY_ORDER),
}
SWEPT = 60
SWEPT_FOR_LONG = 3_000
SEEDS_MAX = 1_500


def wrong_answers(history: Played, plan: list[Order], make: Make) -> list[str]:
    """Return what a cache told its readers that was not right."""
    trip = Trip(history, make)
    trip.go(plan)
    return trip.wrong


def first_wrong(make: Make, orders: Mapping[str, int], seeds: int) -> list[str]:
    found = (wrong_answers(drawn(seed), drawn_plan(seed, orders), make) for seed in range(seeds))
    return next(filter(None, found), [])


@QUICK
@given(HISTORIES, plans(ANY_ORDER))
def test_a_reader_is_told_by_its_list_or_sent_on(history: list[Step], plan: list[Order]) -> None:
    assert wrong_answers(played(history), plan, MultiVersion) == []


@QUICK
@given(HISTORIES, plans(ANY_ORDER))
def test_one_version_sends_more_readers_on(history: list[Step], plan: list[Order]) -> None:
    assert wrong_answers(played(history), plan, OneVersion) == []


@pytest.mark.parametrize("cache", HONEST.values(), ids=HONEST)
def test_no_drawn_way_to_a_cache_makes_it_tell_what_is_not_right(cache: Mutant) -> None:
    assert first_wrong(*cache, SWEPT) == []


@pytest.mark.slow
@pytest.mark.parametrize("cache", HONEST.values(), ids=HONEST)
def test_thousands_of_drawn_ways_to_a_cache_tell_nothing_wrong(cache: Mutant) -> None:
    assert first_wrong(*cache, SWEPT_FOR_LONG) == []


@pytest.mark.slow
@DEEP
@given(HISTORIES, plans(ANY_ORDER))
def test_other_ways_in_every_run(history: list[Step], plan: list[Order]) -> None:
    assert wrong_answers(played(history), plan, MultiVersion) == []


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_every_rule_is_needed(mutant: Mutant) -> None:
    assert first_wrong(*mutant, SEEDS_MAX) != []


@pytest.mark.parametrize("seed", range(10))
def test_the_store_answers_every_list(seed: int) -> None:
    history = drawn(seed)
    all_events = range(len(history.events) + 1)
    asked = [(reader, what) for reader in history.readers for what in set(WHATS)]

    answers = [stored_for(history, *each) for each in asked]

    assert answers == [told(history, *each, all_events) for each in asked]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("begin", [0, 20])
def test_who_was_in_no_txn_with_its_list_is_never_sent_on(seed: int, begin: int) -> None:
    history = drawn(seed)
    trip = Trip(history, MultiVersion)
    trip.bootstrap(begin)
    trip.go([])
    readers = [
        reader
        for reader in history.readers
        if not reader.own_txn and reader.position >= begin and is_there(history, reader)
    ]

    answers = [trip.way.subject.read(wanted(reader)) for reader in readers]

    assert readers
    assert {answer.reason for answer in answers} <= {"hit", "hit_old_version"}


def is_there(history: Played, reader: Reader) -> bool:
    """Tell whether the table exists for a reader once all events have come."""
    return told(history, reader, TABLE, range(len(history.events) + 1)) is not None


def stored_for(history: Played, reader: Reader, what: str) -> Told:
    found: StoreAnswer = rows_as_entries.store_answer(
        history.store(len(history.events)), wanted(reader, what)
    )
    if found.name is None or found.objects is None or what not in found.objects:
        return None
    return as_told(described(found.table, found.name, found.objects, what))
