"""Strikes come from the seed of a run, and leave no pair of fault and role out."""

from random import Random

import pytest

from tests.consistency.strikes import CUT, LOG, Target, Targets

ROLES = ("client", "sequencer", "follower", "publisher", "broker")


def drawn(seed: str, number: int, *faults: str) -> list[Target]:
    targets = Targets(Random(seed), faults, ROLES)  # noqa: S311 - repeatable on purpose
    return [targets.draw() for _ in range(number)]


@pytest.mark.parametrize("seed", range(20))
def test_each_pair_comes_once_before_any_comes_again(seed: int) -> None:
    found = drawn(f"{seed}/x", 22, "kill", "pause", CUT)
    pairs = {(fault, role) for fault in ("kill", "pause") for role in ROLES} | {(CUT, LOG)}

    assert set(found[:11]) == pairs
    assert found[1] == (CUT, LOG)
    assert set(found[11:]) == pairs


def test_shares_of_one_seed_begin_with_different_pairs() -> None:
    assert len({drawn(f"1/{share}", 1, "kill", "pause")[0] for share in "abcdefgh"}) > 3


def test_a_pair_without_a_process_comes_after_the_others() -> None:
    targets = Targets(Random("1/x"), ("kill",), ROLES)  # noqa: S311 - repeatable on purpose
    first = targets.draw()
    targets.put_back(first)
    found = [targets.draw() for _ in ROLES]

    assert found.index(first) == len(ROLES) - 1
