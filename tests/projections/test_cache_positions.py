"""Positions of a cache: which events are applied, whatever their order, and behind a cut."""

import pytest

from ledger.core.events.events import Body, CatalogCreated, Control, Event, LogCut
from projections.cache.fold import AppliedPositions
from tests.driver import CATALOG

CATALOG_CREATED = CatalogCreated(CATALOG)


def at(position: int, body: Body = CATALOG_CREATED) -> Event:
    return Event(Control(b"", 1, position, 0, 0, 0, 0, 0), body)


def test_positions_count_each_event_once() -> None:
    positions = AppliedPositions(4)
    taken = [positions.take(at(position)) for position in (6, 6, 4, 5, 5, 6, 7)]

    assert taken == [True, False, False, True, False, False, True]
    assert (positions.last, positions.ahead) == (7, set())


@pytest.mark.parametrize("order", [(5, 90, 91), (90, 5, 91), (91, 90, 5), (90, 91, 90, 5)])
def test_positions_go_on_behind_a_cut(order: tuple[int, ...]) -> None:
    """Nothing lies between a cut and the event that it follows, so nothing there is waited for."""
    positions = AppliedPositions(4)
    cut = LogCut(5, 1, 1, [], [], "commands-0", "operator", "power cut")
    for position in order:
        positions.take(at(position, cut if position == 90 else CATALOG_CREATED))
    assert (positions.last, positions.ahead) == (91, set())
