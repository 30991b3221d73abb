"""Chains and names: what came stands in the order of the log, each once."""

from itertools import permutations

import pytest

from projections.cache.entries.chain import Chain, TakenNames, Version
from projections.cache.entries.ids import NO_IDS, ReaderIds
from tests.driver import CATALOG


def chain_of(*versions: tuple[int, int]) -> Chain[str]:
    chain: Chain[str] = Chain()
    for position, write_id in versions:
        chain.put(Version(position, write_id, f"as of {position}"))
    return chain


@pytest.mark.parametrize("order", list(permutations([3, 5, 9])))
def test_versions_stand_by_position(order: tuple[int, ...]) -> None:
    chain = chain_of(*((position, position) for position in order))

    assert [version.position for version in chain.versions] == [3, 5, 9]


@pytest.mark.parametrize(
    ("versions", "positions"),
    [
        ([(3, 1), (5, 2), (9, 0)], [9]),
        ([(3, 1), (9, 2), (5, 0)], [5, 9]),
        ([(3, 0), (9, 2), (5, 1)], [3, 5, 9]),
    ],
)
def test_a_version_without_a_write_id_leaves_those_behind_it(
    versions: list[tuple[int, int]], positions: list[int]
) -> None:
    assert [version.position for version in chain_of(*versions).versions] == positions


def test_a_reader_finds_the_newest_version_it_sees_whatever_the_order_of_the_write_ids() -> None:
    chain = chain_of((3, 2), (5, 1), (9, 3))

    assert chain.newest(ReaderIds(2, ())) == Version(5, 1, "as of 5")
    assert chain.newest(ReaderIds(2, (1,))) == Version(3, 2, "as of 3")
    assert chain.newest(NO_IDS) is None
    assert chain.newest(None) == Version(9, 3, "as of 9")


@pytest.mark.parametrize(
    ("least", "positions", "tells"),
    [(1, [3, 5, 9], False), (2, [5, 9], True), (3, [9], True), (4, [3, 5, 9], False)],
)
def test_history_is_cut(least: int, positions: list[int], *, tells: bool) -> None:
    """What was before the newest version that all see goes; without one nothing does."""
    chain = chain_of((3, 1), (5, 2), (9, 3))

    assert chain.cut(ReaderIds(least, tuple(range(1, least)))) is tells
    assert [version.position for version in chain.versions] == positions


def test_a_name_taken_again_is_taken_once() -> None:
    name, names = (CATALOG, "t"), TakenNames()
    for table in (1, 2, 1):
        names.take(name, table)
    again = names.takers(name)
    for table in (1, 9):
        names.forget(name, table)

    assert (again, names.takers(name)) == ((1, 2), (2,))
