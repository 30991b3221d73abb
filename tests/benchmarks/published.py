"""T10: from a commit to the version of its published log that deltalake reads.

A whole ledger of this machine is up, and a publisher besides. deltalake keeps its table open, and
looks for the next version until it is there, as a program does that follows a table.
"""

from time import monotonic, perf_counter
from typing import Final

from deltalake import DeltaTable

from ledger.machine.kafka.broker import Broker
from ledger.properties.column_mapping import PUBLISH
from projections.delta.log.log_folder import LOG_FOLDER
from tests.benchmarks.closed_loop import warm_broker
from tests.benchmarks.figure import Figure, percentile
from tests.benchmarks.repeated import collected_as_in_a_role
from tests.benchmarks.roles import role
from tests.benchmarks.table_rows import MS, Lake, up

TABLE: Final = "published"
COMMITS: Final = 300
WARM: Final = 50
PATIENCE_S: Final = 60.0


def measure(broker: Broker) -> list[Figure]:
    """Return T10, at the median and at the 99th percentile."""
    warm_broker(broker)
    with up(broker, "t10") as lake, role("publisher", broker, "t10"), collected_as_in_a_role():
        found = delays_ms(lake)
    note = f"{COMMITS} appends of one row, one at a time; from the answer to the version read"
    return [
        Figure("T10", round(percentile(found, 0.5), 1), "ms p50", note=note),
        Figure("T10-p99", round(percentile(found, 0.99), 1), "ms p99", note=note),
    ]


def delays_ms(lake: Lake) -> list[float]:
    """Return how long after its answer each commit was readable."""
    place = lake.folder / TABLE
    properties = {PUBLISH: "delta"}
    lake.ledger.create_table(TABLE, [("id", "bigint")], location=place, properties=properties)
    first = place / LOG_FOLDER / f"{0:020}.json"
    until_s = monotonic() + PATIENCE_S
    while not first.exists():
        assert monotonic() < until_s, "no version is published"
    table, found = DeltaTable(str(place)), []
    for number in range(1, WARM + COMMITS + 1):
        lake.ledger.append(TABLE, [{"id": number}])
        answered_s = perf_counter()
        while table.version() < number:
            table.update_incremental()
            assert perf_counter() < answered_s + PATIENCE_S, f"version {number} is not there"
        found.append((perf_counter() - answered_s) * MS)
    assert table.to_pyarrow_table().num_rows == WARM + COMMITS
    return found[WARM:]
