"""The picture of the rooms: which of them imports which, drawn from the imports of all modules."""

from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from typing import Final

from tests.sources import lies_in, product
from tests.test_layers import ROOMS

INNER: Final = (
    *("ledger.errors", "ledger.core", "ledger.log", "ledger.reads", "ledger.config"),
    *("ledger.sequencer", "ledger.machine", "ledger.recovery", "ledger.backup", "ledger.delta"),
    "ledger.ingest",
)
OUTER: Final = (
    *("projections.store", "projections.rows", "projections.fold", "projections.reads"),
    *("projections.cache", "projections.delta", "projections.notifier", "projections.web"),
    *("spark_sink", "ledger.cli"),
)
NAMES: Final = (*INNER, *ROOMS, *OUTER)
MARK: Final = "x"


def room_of(module: str) -> str | None:
    """Return the room in which a module lies, None for one that lies loose."""
    return next((room for room in NAMES if lies_in(module, room)), None)


@cache
def arrows() -> Mapping[str, frozenset[str]]:
    """Return the rooms that each room imports, wherever in a file an import stands."""
    found: dict[str, set[str]] = {room: set() for room in NAMES}
    for module in product():
        room = room_of(module.name)
        if room is not None:
            others = {other for name in module.imports if (other := room_of(name))}
            found[room] |= others - {room}
    return {room: frozenset(others) for room, others in found.items()}


def picture() -> str:
    """Return the rooms from the lowest to the highest, each with a mark under what it imports."""
    graph = arrows()
    order = list(TopologicalSorter({room: graph[room] for room in NAMES}).static_order())
    width = max(map(len, order))
    lines = [f"{'':{width + 4}}{' '.join(f'{at:2}' for at in range(1, len(order) + 1))}"]
    for at, room in enumerate(order, start=1):
        marks = (f" {MARK if other in graph[room] else '.'}" for other in order[: at - 1])
        lines.append(f"{at:2}  {room:{width}}{' '.join(marks)}".rstrip())
    return "\n".join(["```text", *lines, "```"])
