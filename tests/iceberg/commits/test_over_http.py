"""Real clients of several threads commit over HTTP: no append is refused, and no update is lost."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from ledger.testing import InMemoryLedger
from tests.iceberg.door.doors import Door, answering

pyiceberg = pytest.importorskip("pyiceberg")

from pyiceberg.catalog import load_catalog  # noqa: E402 - it may be absent
from pyiceberg.exceptions import CommitFailedException, ValidationException  # noqa: E402
from pyiceberg.schema import Schema  # noqa: E402
from pyiceberg.types import LongType, NestedField  # noqa: E402

THREADS: Final = 4
ROUNDS: Final = 5
SCHEMA: Final = Schema(NestedField(1, "n", LongType()))


def numbers(*found: int) -> pa.Table:
    return pa.table({"n": pa.array(found, pa.int64())})


@pytest.fixture
def door(memory: InMemoryLedger, tmp_path: Path) -> Iterator[Door]:
    with answering(memory, tmp_path / "lake") as made:
        made.ledger.create_namespace("db")
        yield made


def catalog(door: Door) -> Any:
    """Return a client of its own."""
    return load_catalog("lake", type="rest", uri=door.url, warehouse="main")


def rows(door: Door, name: str) -> list[int]:
    return sorted(row["n"] for row in door.ledger.scan(name).to_arrow().to_pylist())


def test_appends_of_stale_clients_all_arrive(door: Door) -> None:
    catalog(door).create_table("db.t", SCHEMA)

    def append(thread: int) -> None:
        table = catalog(door).load_table("db.t")
        for number in range(ROUNDS):
            table.append(numbers(thread * ROUNDS + number))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(append, range(THREADS)))
    assert rows(door, "db.t") == list(range(THREADS * ROUNDS))
    refused = [each for each in door.lake.reads().history(0, 10_000) if "Aborted" in each.type]
    assert refused == []


def test_a_counter_of_stale_clients_ends_at_the_number_of_successes(door: Door) -> None:
    catalog(door).create_table("db.t", SCHEMA).append(numbers(0))

    def count(_: int) -> int:
        table = catalog(door).load_table("db.t")
        (value,) = table.scan().to_arrow()["n"].to_pylist()
        try:
            table.overwrite(numbers(value + 1))
        except (CommitFailedException, ValidationException):
            return 0
        return 1

    with ThreadPoolExecutor(THREADS) as pool:
        won = sum(pool.map(count, range(THREADS * ROUNDS)))
    assert won > 0
    assert rows(door, "db.t") == [won]
