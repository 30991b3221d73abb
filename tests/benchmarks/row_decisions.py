"""RL6: a decision over a commit of 100 marked rows, after 1,000 winners on one file and after one.

The commits have the form that the SDK gives an UPDATE: the marked rows, the condition, and the
values that the new rows have. No two of them name one row, so every commit is accepted.
"""

import json
from collections.abc import Callable, Sequence
from typing import Final

from pyroaring import BitMap

from ledger.core.commands import CommitTxn, CreateTable, Footprint, TableWrite
from ledger.core.conflicts.footprints import packed
from ledger.core.decide.decide import decide
from ledger.core.events.events import TxnCommitted
from ledger.core.rows.bitmaps import bytes_of
from ledger.core.rows.changes import AddedRows, Marks, RowChanges, ToldColumn
from ledger.machine.kafka.broker import Broker
from ledger.properties.known_properties import MARKS, ROWS
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.repeated import rounds_of
from tests.core.parts import above, footprint, partition, table_of
from tests.driver import CATALOG, Driver

FILE: Final = "part-0.parquet"
LINES: Final = 1_000_000
MANY: Final = 1_000
MARKED: Final = range(LINES - 1_000, LINES, 10)
CALLS: Final = 5
TABLE: Final = 1


def measure(_: Broker) -> list[Figure]:
    """Return RL6, for a condition that names rows and for one that names a range of them."""
    ids = [["lit", str(row), "bigint"] for row in MARKED]
    named = json.dumps(["in", ["col", "id"], ids], separators=(",", ":"))
    ranged = above("id", str(MARKED[0] - 1), "bigint")
    return [
        against(
            name,
            "us per decision",
            rounds_of(decision(MANY, where), decision(1, where), calls=CALLS),
            f"an UPDATE of {len(MARKED)} rows of a file by {what}: after {MANY} winners that "
            "updated a row of it each, against after one",
        )
        for name, what, where in (
            ("RL6", "their ids", named),
            ("RL6-range", "a range of ids", ranged),
        )
    ]


def decision(winners: int, where: str) -> Callable[[], None]:
    """Return what decides over an UPDATE that read before all winners."""
    driver = Driver()
    session = driver.open_session("ada")
    properties = {ROWS.replace(".", "__"): MARKS}
    definition = table_of(("id", "bigint"), ("n", "bigint"), **properties)
    driver.ask(CreateTable(*driver.asks(session), 0, 0, CATALOG, "t", definition))
    read_at = driver.state.position
    for number in range(winners):
        row = number * (MARKED[0] // MANY)
        won = update([row], f'["=",["col","id"],["lit","{row}","int"]]')
        position = driver.state.position
        ended = driver.commit(session, 0, TableWrite(TABLE, position, [], won)).body
        assert isinstance(ended, TxnCommitted), f"a winner lost: {ended}"
    command = CommitTxn(
        *driver.asks(session), 0, (TableWrite(TABLE, read_at, [], update(MARKED, where)),), ""
    )

    def run() -> None:
        ended = decide(driver.state, command, driver.state.at)
        assert isinstance(ended, TxnCommitted), f"the commit lost: {ended}"

    return run


def update(rows: Sequence[int], where: str) -> Footprint:
    """Return what an UPDATE of some rows of the file leaves behind."""
    columns = [ToldColumn("id", "bigint"), ToldColumn("n", "bigint")]
    told = AddedRows(partition(), columns, [f'["{row}","1"]' for row in rows], "", "")
    return footprint(
        "UPDATE",
        reads=[where],
        adds=[partition()],
        removes_in=[partition()],
        rows_added=len(rows),
        rows=changes(rows, [told]),
        files=b"list",
    )


def changes(rows: Sequence[int], added: Sequence[AddedRows]) -> RowChanges:
    return RowChanges([Marks(FILE, bytes_of(BitMap(rows)))], [], packed([FILE]), [], added)
