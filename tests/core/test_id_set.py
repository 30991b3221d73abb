"""Sets of ids: what the library does not keep from us."""

import gc
from collections.abc import Callable

import psutil
import pytest

from ledger.core.state.id_set import IdSet

ROUNDS = 50_000
# An iterator that is never freed takes 220 bytes.
KEPT_MAX_BYTES = 20 * ROUNDS
# What other threads of the process take is in one span; what asking keeps is in each.
SPANS = 4


@pytest.mark.parametrize("ids", [(), (3, 70_000)], ids=["empty", "some"])
@pytest.mark.parametrize(
    "ask",
    [list, lambda ids: ids.below(5), lambda ids: ids.minimum(0)],
    ids=["list", "below", "min"],
)
def test_asking_keeps_nothing(ask: Callable[[IdSet], object], ids: tuple[int, ...]) -> None:
    members = IdSet(ids)
    assert min(growth(ask, members) for _ in range(SPANS)) < KEPT_MAX_BYTES


def growth(ask: Callable[[IdSet], object], members: IdSet) -> int:
    """Return the bytes by which this process grew while ids were asked for."""
    gc.collect()
    before = psutil.Process().memory_info().rss
    for _ in range(ROUNDS):
        ask(members)
    gc.collect()
    return int(psutil.Process().memory_info().rss - before)
