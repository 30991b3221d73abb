"""All planted histories: each must be found, by the kind beside it."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.planted_counts import PLANTED_COUNTS
from tests.consistency.judge.planted_cycles import PLANTED_CYCLES
from tests.consistency.judge.planted_feeds import PLANTED_FEEDS
from tests.consistency.judge.planted_orders import PLANTED_ORDERS
from tests.consistency.judge.planted_published import PLANTED_PUBLISHED
from tests.consistency.judge.planted_reads import PLANTED_READS
from tests.consistency.judge.planted_rows import PLANTED_ROWS

PLANTED: Final[Mapping[str, tuple[Kind, History]]] = {
    **PLANTED_CYCLES,
    **PLANTED_ORDERS,
    **PLANTED_ROWS,
    **PLANTED_COUNTS,
    **PLANTED_FEEDS,
    **PLANTED_READS,
    **PLANTED_PUBLISHED,
}

# Planted histories that show what some level allows, and nothing beside it.
NO_MORE: Final[Mapping[str, frozenset[Kind]]] = {
    "write skew over two tables": frozenset({"G2-item"}),
    "write skew in one table": frozenset({"G2-item", "G2-table"}),
    "writes over each other": frozenset({"G0"}),
    "reads of each other": frozenset({"G1c"}),
    "half of a txn over two tables": frozenset({"G-single"}),
    "a blind insert between a read and its txn's commit": frozenset({"G2-item"}),
    "write skew that a session closes": frozenset({"G2-item-process"}),
    "write skew that time closes": frozenset({"G2-item-realtime"}),
    "two claims that both found no row": frozenset({"G2-item", "G2-table", "doubled key"}),
}
