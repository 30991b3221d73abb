"""R11: one check of a commit that conflicts with nothing, after 1,000 winners and after one.

The commits and winners are those of `tests/core/test_conflict_growth`, which holds the same bound.
"""

from typing import Final

from ledger.machine.kafka.broker import Broker
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.repeated import rounds_of
from tests.core.test_conflict_growth import ATTEMPTS, MANY, check, winners

CALLS: Final = 40
NAMES: Final = ("R11", "R11-eq", "R11-range")


def measure(_: Broker) -> list[Figure]:
    """Return R11 for listed paths, an equality, and a range over few partitions."""
    return [
        against(
            name,
            "us per check",
            rounds_of(check(winners(MANY, won), said), check(winners(1, won), said), calls=CALLS),
            f"{what}, no match: after {MANY} winners against after one",
        )
        for name, (what, won, said) in zip(NAMES, ATTEMPTS, strict=True)
    ]
