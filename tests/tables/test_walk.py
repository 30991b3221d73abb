"""How many calls the verbs for rows take in the client's thread; the sequencer has another.

A bound may go down freely. One goes up only with a reason in the commit.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.testing import InMemoryLedger
from tests.tables.lake import Lake
from tests.test_layers import ROOMS
from tests.walk import Walk, walk_of

COLUMNS: Final = [("id", "bigint"), ("name", "string"), ("day", "date")]
ROWS: Final = [{"id": 1, "name": "a", "day": None}, {"id": 2, "name": "b", "day": None}]
WHERE: Final = "id = 2 AND name <> 'x'"
BEFORE: Final = "id = 1 AND name <> 'y'"
CLIENT: Final = (*ROOMS, "ledger.client")

APPEND_MAX: Final = 433
SCAN_MAX: Final = 736
SCAN_PARSES: Final = 1
UPDATE_CLIENT_MAX: Final = 767


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Return a client of a table with rows that has read all; each verb was called before."""
    with InMemoryLedger() as memory, memory.connect() as ledger:
        Lake(ledger, tmp_path).create("t", COLUMNS)
        ledger.append("t", ROWS)
        with ledger.begin() as txn:
            txn.update("t", {"name": "'c'"}, BEFORE)
        ledger.scan("t", BEFORE).to_arrow()
        yield ledger


def told(walk: Walk, *rooms: str) -> str:
    most = walk.calls_in(*rooms).most_common(60)
    return f"{walk.count(*rooms)} calls, {len(walk.modules)} modules, {walk.moves} moves: {most}"


def test_rows_of_two_columns_and_a_day_in_one_file(ledger: Ledger) -> None:
    receipt, walk = walk_of(partial(ledger.append, "t", ROWS))

    assert receipt.position
    assert walk.count() <= APPEND_MAX, told(walk)


def test_a_condition_on_two_columns_is_parsed_once_and_judged_on_each_file(ledger: Ledger) -> None:
    rows, walk = walk_of(lambda: ledger.scan("t", WHERE).to_arrow())

    assert rows.num_rows
    assert walk.count() <= SCAN_MAX, told(walk)
    assert walk.parses() <= SCAN_PARSES, told(walk)


def test_update(ledger: Ledger) -> None:
    """One assignment under one condition, in a txn of its own."""

    def update() -> None:
        with ledger.begin() as txn:
            txn.update("t", {"name": "concat(name, '!')"}, WHERE)

    _, walk = walk_of(update)

    assert walk.count(*CLIENT) <= UPDATE_CLIENT_MAX, told(walk, *CLIENT)
