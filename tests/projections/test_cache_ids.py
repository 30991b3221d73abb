"""Write ids in a cache: sets against lists, and single ids merged one by one."""

from collections.abc import Iterator
from itertools import combinations, product

import pytest

from ledger.core.lists.text import ID_MAX
from ledger.core.lists.valid_lists import ValidWriteIdList
from projections.cache.entries.ids import NO_IDS, IdStates, ReaderIds

LARGEST = 4
ALL = set(range(1, LARGEST + 3))


def lists() -> Iterator[ValidWriteIdList]:
    for hwm in range(LARGEST + 1):
        ids = range(1, hwm + 1)
        for count in range(hwm + 1):
            for exceptions in combinations(ids, count):
                yield ValidWriteIdList(None, hwm, exceptions, (), None)


def members(ids: ReaderIds) -> set[int]:
    return {each for each in ALL if ids.sees(each)}


def test_sets_are_compared_and_not_lists() -> None:
    pairs = list(product(map(ReaderIds.of, lists()), repeat=2))

    assert all((a == b) == (members(a) == members(b)) for a, b in pairs)
    assert all(a.covers(b) == (members(a) >= members(b)) for a, b in pairs)


def test_what_is_valid_in_either_is_valid_in_both_together() -> None:
    pairs = list(product(map(ReaderIds.of, lists()), repeat=2))

    assert all(members(a.joined(b)) == members(a) | members(b) for a, b in pairs)
    assert {a.joined(b) for a, b in pairs} <= set(map(ReaderIds.of, lists()))


def test_a_set_less_one_id() -> None:
    found = [(ReaderIds.of(each), write_id) for each in lists() for write_id in ALL]

    assert all(members(ids.without(each)) == members(ids) - {each} for ids, each in found)
    assert all(ids.without(each) in map(ReaderIds.of, lists()) for ids, each in found)


def test_a_list_of_everything_is_not_expanded() -> None:
    everything = ReaderIds.of(ValidWriteIdList(None, ID_MAX, (7,), (), 7))

    assert everything.covers(NO_IDS)
    assert not NO_IDS.covers(everything)
    assert everything.sees(ID_MAX)
    assert IdStates(13).first_unknown(everything) == ID_MAX


def begun() -> IdStates:
    return IdStates(11, {4: 1, 6: 2, 10: 3}, {2: 4, 8: 5})


@pytest.mark.parametrize(
    ("moves", "hwm", "still_open", "aborted"),
    [
        ([("allocate", 13), ("abort", 4), ("abort", 12)], 13, [6, 10, 13], [2, 4, 8, 12]),
        ([("commit", 4), ("commit", 10)], 11, [6], [2, 8]),
        ([("commit", 13)], 13, [4, 6, 10, 12], [2, 8]),
        ([("abort", 13)], 13, [4, 6, 10, 12], [2, 8, 13]),
        ([("allocate", 5)], 11, [4, 6, 10], [2, 8]),
        ([("commit", 5), ("commit", 5)], 11, [4, 6, 10], [2, 8]),
        ([("abort", 5)], 11, [4, 6, 10], [2, 8]),
        ([("commit", 8)], 11, [4, 6, 10], [2, 8]),
        ([("abort", 4), ("abort", 4)], 11, [6, 10], [2, 4, 8]),
    ],
)
def test_gaps_open_ends_come_once_and_what_has_ended_does_not_change(
    moves: list[tuple[str, int]], hwm: int, still_open: list[int], aborted: list[int]
) -> None:
    ids = begun()
    steps = {
        "allocate": lambda write_id: ids.allocate(write_id, 9),
        "commit": lambda write_id: ids.end(write_id, 9, committed=True),
        "abort": lambda write_id: ids.end(write_id, 9, committed=False),
    }
    for move, write_id in moves:
        steps[move](write_id)

    assert (ids.hwm, sorted(ids.open), sorted(ids.aborted)) == (hwm, still_open, aborted)


def test_an_id_has_ended_once_it_is_known_not_to_be_open() -> None:
    """All up to the mark have ended but those still open, the mark itself too; 0 is no id."""
    ids = begun()

    assert [each for each in range(14) if ids.has_ended(each)] == [1, 2, 3, 5, 7, 8, 9, 11]


def test_whose_an_open_id_is() -> None:
    ids = IdStates()
    ids.allocate(3, 7)
    ids.settle(ReaderIds(6, (1, 3, 5)))
    untold = dict(ids.open)
    ids.allocate(5, 8)
    ids.allocate(3, 0)

    assert untold == {1: 0, 3: 7, 5: 0}
    assert ids.open == {1: 0, 3: 7, 5: 8}
    assert [ids.id_of(txn) for txn in (0, 1, 7, 8)] == [0, 0, 3, 5]


def test_a_set_is_settled() -> None:
    ids = begun()
    ids.settle(ReaderIds(15, (6, 12, 13)))

    assert (ids.hwm, sorted(ids.open), sorted(ids.aborted)) == (15, [6, 12, 13], [])


def test_a_forgotten_txn_leaves_the_exceptions() -> None:
    ids = begun()
    ids.forget(5)

    assert ids.listed().aborted == (2,)


@pytest.mark.parametrize(
    ("hwm", "exceptions", "lacks"),
    [
        (11, (2, 4, 6, 8, 10), False),
        (11, (4, 6, 10), False),
        (11, (2, 3, 4, 6, 8, 10), True),
        (9, (2, 4, 6, 8), True),
        (13, (2, 4, 6, 8, 10), False),
    ],
)
def test_committed_ids_may_be_missing(hwm: int, exceptions: tuple[int, ...], lacks: bool) -> None:  # noqa: FBT001
    """A list lacks an id that is neither open nor aborted, if it excepts it or ends below it."""
    assert begun().lacks_committed(ReaderIds(hwm, exceptions)) is lacks
