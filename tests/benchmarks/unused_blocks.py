"""RI8: what commits and followers do where no table has rows in the log.

R4, R8 and catch-up are measured as always. Their ratios stand against the ratios in
docs/figures.md from before there were rows in the log: a ratio depends less on the machine than a
rate does.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ledger.machine.kafka.broker import Broker
from tests.benchmarks import against_delta, against_sql, catch_up
from tests.benchmarks.figure import Figure
from tests.benchmarks.topics import Durability

BEFORE: Final[Mapping[bool, Mapping[str, float]]] = {
    False: {"R4": 4.4, "R8": 46.0, "catch-up": 0.015},
    # Flushed, from a run beside other work.
    True: {"R4": 3.0, "R8": 25.0, "catch-up": 0.015},
}
MEASURES: Final[Mapping[str, Callable[[Broker], list[Figure]]]] = {
    "R4": against_sql.measure_sixteen,
    "R8": against_delta.measure_rate,
    "catch-up": catch_up.measure,
}


def measure(broker: Broker) -> list[Figure]:
    """Return RI8."""
    return [compared(name, measure(broker)) for name, measure in MEASURES.items()]


def compared(name: str, figures: list[Figure]) -> Figure:
    """Return the ratio of a figure against that of the page."""
    (found,) = (figure for figure in figures if figure.id == name)
    assert found.ratio is not None
    before = BEFORE[Durability.flush][name]
    note = (
        f"{name}, {found.value} {found.unit}, no table with rows in the log; against docs/figures, "
        f"before there were any; {found.note}"
    )
    return Figure(f"RI8-{name}", found.ratio, "ratio", before, round(found.ratio / before, 3), note)
