"""A forgotten row of a block: every row of a store that holds it is searched, byte by byte."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event as Signal

import pytest

from ledger.client import Ledger
from ledger.expressions.parse import parse
from ledger.forgetting.forgetting import forget, look
from ledger.forgetting.held_places import RowsHere, Surroundings
from ledger.forgetting.traces import traces
from ledger.log.memory import MemoryLog
from projections.fold.follower import Follower
from projections.store.port import KEYS_END
from projections.store.rocks_store import RocksStore
from tests.forgetting.every_byte import Planted, decoded_row

COLUMNS = [("id", "bigint"), ("name", "string")]
WHERE = "id = 987654321"
PLANTED = Planted(["planted Pauline"], [])
FIRST = [{"id": 987654321, "name": "planted Pauline"}, {"id": 7, "name": "another one"}]


@pytest.mark.parametrize("has_others", [True, False])
def test_rows_of_a_follower_keep_a_block(
    ledger: Ledger, log: MemoryLog, tmp_path: Path, *, has_others: bool
) -> None:
    made = {"lakeledger.inline": "on"}
    ledger.create_table("people", COLUMNS, location=tmp_path / "people", properties=made)
    ledger.append("people", FIRST if has_others else FIRST[:1])
    where, row = parse(WHERE), ledger.table("people")
    held = look(ledger.reads(), row, where)
    done = forget(ledger, row, where, held)
    assert (done.rows, done.files) == (1, [])
    held = look(ledger.reads(), ledger.table("people"), where, held.values)
    with RocksStore.open(tmp_path / "store") as store:
        stop = Signal()
        Follower(log, store, caught_up=stop.set).run(stop)

        def rows() -> Iterator[tuple[bytes, bytes]]:
            return iter(store.scan(b"", KEYS_END))

        assert any(PLANTED.within(*decoded_row(*each)) for each in rows())
        around = Surroundings(log, ledger.name, stores=[RowsHere("follower", "", tmp_path, rows)])
        found = list(traces(ledger.reads(), ledger.table("people"), held, around))
    holds = {each.place: each.holds for each in found}
    assert holds["rows of the follower"] == holds["topic events"] == "rows"
    assert "rows in the log" not in holds
    assert "data file" not in holds
