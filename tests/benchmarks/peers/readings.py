"""Readings of sensors: batches of ten rows with 23 columns of mixed types, and nine questions.

The shape is that of DuckLake's own benchmark of inlined rows. Both sides get the same tables of
Arrow. No two rows have one id, so a row that was lost or doubled can be counted.
"""

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import count
from typing import Any, Final

import pyarrow as pa

from tests.benchmarks.peers.crew import Job

ROWS: Final = 10
BATCHES_KNOWN: Final = 1_000
IDS_EACH: Final = 100_000_000
TABLE: Final = "readings"
COUNT: Final = "SELECT count(*) AS n, count(DISTINCT id) AS ids FROM {table}"

COLUMNS: Final = (
    ("id", "BIGINT"),
    ("device", "INT"),
    ("taken", "TIMESTAMP_NTZ"),
    ("day", "DATE"),
    ("region", "STRING"),
    ("model", "STRING"),
    ("firmware", "STRING"),
    ("note", "STRING"),
    ("is_moving", "BOOLEAN"),
    ("has_alarm", "BOOLEAN"),
    ("latitude", "DOUBLE"),
    ("longitude", "DOUBLE"),
    ("altitude", "DOUBLE"),
    ("speed", "DOUBLE"),
    ("heading", "DOUBLE"),
    ("temperature", "DOUBLE"),
    ("humidity", "FLOAT"),
    ("pressure", "FLOAT"),
    ("voltage", "FLOAT"),
    ("battery", "INT"),
    ("satellites", "INT"),
    ("distance", "BIGINT"),
    ("cost", "DECIMAL(10,2)"),
)

QUERIES: Final = (
    "SELECT count(*), min(taken), max(taken) FROM {table}",
    "SELECT region, count(*), avg(temperature) FROM {table} GROUP BY region",
    "SELECT model, firmware, avg(voltage), min(battery) FROM {table} GROUP BY model, firmware",
    "SELECT device, max(speed) AS top FROM {table} GROUP BY device ORDER BY top DESC LIMIT 10",
    "SELECT day, sum(cost), sum(distance) FROM {table} GROUP BY day ORDER BY day",
    "SELECT count(*) FROM {table} WHERE has_alarm AND NOT is_moving",
    "SELECT region, stddev(pressure), avg(humidity) FROM {table} WHERE is_moving GROUP BY region",
    "SELECT count(DISTINCT device), count(DISTINCT note) FROM {table}",
    "SELECT floor(latitude), floor(longitude), avg(altitude) FROM {table} GROUP BY 1, 2",
)

REGIONS: Final = ("africa", "americas", "asia", "europe", "oceania")
BEGIN: Final = dt.datetime(2026, 1, 1)  # noqa: DTZ001 - its column has no zone
ARROW_TYPES: Final = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "DATE": pa.date32(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "DECIMAL(10,2)": pa.decimal128(10, 2),
}


def batches(job: Job) -> Iterator[pa.Table]:
    """Yield the batches of one session without an end."""
    for first in count(job["session"] * IDS_EACH, ROWS):
        yield batch(first)


def batch(first: int) -> pa.Table:
    """Return the rows with the ids from `first` on."""
    known = known_batches()
    ids = pa.array(range(first, first + ROWS), pa.int64())
    return known[first // ROWS % len(known)].set_column(0, "id", ids)


@cache
def known_batches() -> list[pa.Table]:
    """Return rows that are made before anything is measured; only their ids are new each time."""
    draw = random.Random(1)  # noqa: S311 - readings need not be secret
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in COLUMNS])
    return [
        pa.Table.from_pylist([reading(draw) for _ in range(ROWS)], schema=schema)
        for _ in range(BATCHES_KNOWN)
    ]


def reading(draw: random.Random) -> dict[str, Any]:
    """Return one row, with an id of nothing."""
    taken = BEGIN + dt.timedelta(milliseconds=draw.randrange(10**9))
    return {
        "id": 0,
        "device": draw.randrange(2_000),
        "taken": taken,
        "day": taken.date(),
        "region": draw.choice(REGIONS),
        "model": f"model-{draw.randrange(8)}",
        "firmware": f"{draw.randrange(4)}.{draw.randrange(10)}.{draw.randrange(10)}",
        "note": f"reading {draw.randrange(10**6)} of a sensor",
        "is_moving": draw.random() < 0.6,
        "has_alarm": draw.random() < 0.02,
        "latitude": draw.uniform(-90, 90),
        "longitude": draw.uniform(-180, 180),
        "altitude": draw.uniform(0, 3_000),
        "speed": draw.uniform(0, 40),
        "heading": draw.uniform(0, 360),
        "temperature": draw.gauss(15, 8),
        "humidity": draw.uniform(0, 100),
        "pressure": draw.gauss(1_013, 10),
        "voltage": draw.uniform(3, 4.2),
        "battery": draw.randrange(101),
        "satellites": draw.randrange(24),
        "distance": draw.randrange(10**6),
        "cost": Decimal(draw.randrange(10**6)) / 100,
    }
