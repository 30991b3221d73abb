"""RL3: the bytes that an UPDATE of one row of a large file writes, with marks and without.

Bytes of data files and of the log count: a mark stands in the log.
"""

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
import pyarrow as pa

from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from ledger.properties.known_properties import MARKS, ROWS
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.table_rows import Lake, up

LEDGER: Final = "rl3"
LINES: Final = 1_250_000
COLUMNS: Final = 10
UPDATES: Final = 5
REWRITE: Final = "rewrite"


def measure(broker: Broker) -> list[Figure]:
    """Return RL3."""
    draw = np.random.default_rng(7)
    columns = {f"c{number}": draw.random(LINES) for number in range(COLUMNS)}
    rows = pa.table({"id": range(LINES), **columns})
    with up(broker, LEDGER) as lake:
        tables = {way: lake.folder / way for way in (MARKS, REWRITE)}
        for way, place in tables.items():
            lake.ledger.create_table(f"db.{way}", rows, location=place, properties={ROWS: way})
        (file,) = lake.ledger.read(f"db.{MARKS}")
        found = [
            (written(broker, lake, MARKS, number), written(broker, lake, REWRITE, number))
            for number in range(1, UPDATES + 1)
        ]
    in_log = median(logged for (_, logged), _ in found)
    pairs = [(sum(marked), sum(whole)) for marked, whole in found]
    note = (
        f"an UPDATE of one row in a file of {file.size:,} bytes, against the same with rewrite; "
        f"{in_log:,.0f} of the bytes with marks are the log's"
    )
    return [against("RL3", "bytes", pairs, note)]


def written(broker: Broker, lake: Lake, way: str, number: int) -> tuple[int, int]:
    """Return the bytes of data and of log that an update of a row writes."""
    table, row = lake.folder / way, number * (LINES // (UPDATES + 1))
    before = bytes_of(files_in(table)), bytes_of(log_of(broker))
    receipt = lake.ledger.update(f"db.{way}", {"c0": 0.5}, f"id = {row}")
    assert receipt.num_affected_rows == 1, receipt
    after = bytes_of(files_in(table)), bytes_of(log_of(broker))
    return after[0] - before[0], after[1] - before[1]


def files_in(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def log_of(broker: Broker) -> Iterable[Path]:
    """Yield the segments that have commands and events of the ledger."""
    for topic in (Topic.COMMANDS, Topic.EVENTS):
        yield from broker.folder.glob(f"**/{LEDGER}.{topic}-*/*.log")


def bytes_of(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files)
