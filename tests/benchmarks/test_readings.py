"""The benchmarks of rows in the log: both sides have the same rows, and are asked the same."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.machine.kafka.broker import Broker
from ledger.properties.known_properties import INLINE
from tests.benchmarks.inlined_commits import Appended, create_table
from tests.benchmarks.inlined_reads import NAME, ask, count, flush, load
from tests.benchmarks.peers.readings import COLUMNS, COUNT, QUERIES, ROWS, TABLE, batch, batches
from tests.benchmarks.table_rows import up
from tests.benchmarks.worked import Worked
from tests.tables.conftest import ledger, log, memory

__all__ = ["ledger", "log", "memory"]
FEW = 12


def test_no_two_rows_of_any_sessions_have_one_id() -> None:
    given = [rows for number in range(3) for rows in islice(batches({"session": number}), FEW)]
    ids = pa.concat_tables(given)["id"]
    assert len(set(ids.to_pylist())) == len(ids) == 3 * FEW * ROWS


def test_rows_that_are_missing_or_there_again_are_counted() -> None:
    worked = Worked([1.0], 0, 1.0, 1.0)
    assert (Appended(worked, 100, 100, 100).lost, Appended(worked, 100, 100, 100).doubled) == (0, 0)
    assert (Appended(worked, 100, 95, 90).lost, Appended(worked, 100, 95, 90).doubled) == (10, 5)


@pytest.mark.parametrize("query", [COUNT, *QUERIES])
def test_a_query_has_the_same_answer_from_blocks_as_from_the_rows_given(
    ledger: Ledger, tmp_path: Path, query: str
) -> None:
    given = [batch(number * ROWS) for number in range(FEW)]
    ledger.create_table(NAME, COLUMNS, location=tmp_path, properties={INLINE: "on"})
    for rows in given:
        ledger.append(NAME, rows)
    assert all(file.rows for file in ledger.read(NAME))
    with duckdb.connect() as connection:
        connection.register(TABLE, pa.concat_tables(given))
        expected = connection.execute(query.format(table=TABLE)).fetchall()
    found = ledger.sql(query.format(table=NAME)).to_pylist()
    assert rounded(tuple(row.values()) for row in found) == rounded(expected)


def rounded(rows: Iterable[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """Return rows without their order, and without the last digits of sums of doubles."""
    return Counter(
        tuple(round(value, 6) if isinstance(value, float) else value for value in row)
        for row in rows
    )


@pytest.mark.kafka
def test_rows_that_are_loaded_are_asked_and_flushed(broker: Broker) -> None:
    with up(broker, "test-readings") as lake:
        create_table(lake, NAME)
        load(lake, FEW)
        assert ask(lake) > 0
        assert flush(lake) > 0
        assert count(lake) == (FEW * ROWS, FEW * ROWS)
        assert [bool(file.rows) for file in lake.ledger.read(NAME)] == [False]
