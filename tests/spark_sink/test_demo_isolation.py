"""The isolation step of the demo: its acts over a ledger in memory, and what would fail them."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from rich.console import Console

from ledger.testing import InMemoryLedger
from tests.demo.flights import NOTHING, Day, Totals, cut
from tests.demo.isolation import APPENDED_DAY, LOADED_DAYS, UPDATES_EACH, WRITERS, Acts
from tests.demo.listed_table import delete, month_totals, path_of, update
from tests.demo.report import CheckFailedError, Report
from tests.demo.two_tables import TwoTables, Views, create_tables, load

MONTHS = range(1, 8)
DAYS = (*range(1, LOADED_DAYS + 1), APPENDED_DAY)
ROWS = pa.table(
    {
        "month": [month for month in MONTHS for _ in DAYS],
        "day": [day for _ in MONTHS for day in DAYS],
        "distance": [100 * month + day for month in MONTHS for day in DAYS],
        "dep_delay": [None if day == 2 else -day for _ in MONTHS for day in DAYS],
    }
)
TWO_FLIGHTS = ROWS.slice(0, 2)
THEIR_TOTALS = Totals(2, 203, -1)
LOSERS = 3


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as memory:
        yield memory


@pytest.fixture
def tables(memory: InMemoryLedger, tmp_path: Path) -> TwoTables:
    """Return both tables, with two flights of January in one file and their sums."""
    ledger = memory.connect()
    tables = create_tables(ledger, tmp_path, ROWS.schema)
    with ledger.transaction() as txn:
        load(txn, tables, TWO_FLIGHTS)
    return tables


class Played(NamedTuple):
    """Acts that were played: what they showed, and how many conflicts the log has of them."""

    acts: Acts
    shown: str
    conflicts: int


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Play all acts once and check the sums."""
    shown, warehouse = io.StringIO(), tmp_path_factory.mktemp("warehouse")
    report = Report(Console(file=shown))
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        acts = Acts(ledger, memory.connect(), warehouse, cut(ROWS), report)
        acts.play()
        flights = acts.tables.flights
        acts.check_sums("pyarrow", month_totals(flights, ledger.read(flights)))
        return Played(acts, shown.getvalue(), len(memory.reads.conflicts(0, 1_000)))


def test_acts_come_out_as_the_levels_say(played: Played) -> None:
    assert f"{LOADED_DAYS * len(MONTHS)} commits over two tables" in played.shown
    assert played.shown.count("ConcurrentAppend: txn") == LOSERS
    assert played.shown.count("by rule file_added") == LOSERS
    assert "as the txn asks" in played.shown
    assert "as the table asks" in played.shown
    assert "3 sums for each of 7 months" in played.shown


def test_log_has_the_conflicts_that_were_told(played: Played) -> None:
    assert played.conflicts == played.acts.conflicts >= LOSERS + WRITERS - 1


@pytest.mark.parametrize(
    ("month", "wanted"),
    [
        pytest.param(1, Totals(3, 306 + 3, -4), id="updated once"),
        pytest.param(3, Totals(3, 906 + 3, -4), id="updated once, lost once"),
        pytest.param(4, Totals(1, 428, -28), id="deleted, appended"),
        pytest.param(5, Totals(4, 1_506 + 528, -4 - 28), id="not deleted, appended"),
        pytest.param(6, Totals(3, 1_806 + 3 * WRITERS * UPDATES_EACH, -4), id="updated by many"),
    ],
)
def test_wanted_sums_follow_from_the_commits(played: Played, month: int, wanted: Totals) -> None:
    assert played.acts.wanted[month] == wanted


def test_files_of_something_else_end_the_demo_by_month(played: Played) -> None:
    found = played.acts.wanted | {2: NOTHING}

    with pytest.raises(CheckFailedError, match=r"Spark .*: month 2 has .* instead of "):
        played.acts.check_sums("Spark", found)


def test_half_a_commit_is_recognised(memory: InMemoryLedger, tables: TwoTables) -> None:
    ledger = memory.connect()
    views = Views(ledger, tables)
    views.look()
    whole = list(views.halves)
    receipt = ledger.append(tables.flights, TWO_FLIGHTS)
    views.look()

    assert whole == []
    assert len(views.halves) == 1
    assert views.halves[0].startswith(f"position {receipt.position}: ")
    assert (views.looks, views.states) == (2, {THEIR_TOTALS, THEIR_TOTALS.plus(THEIR_TOTALS)})


def test_failed_look_is_raised(memory: InMemoryLedger, tables: TwoTables) -> None:
    file = memory.connect().read(tables.sums).paths[0]
    path_of(tables.sums, file).unlink()

    with Views(memory.connect(), tables) as views, pytest.raises(FileNotFoundError):
        views.wait_look()


def test_two_tables_begin_empty(memory: InMemoryLedger, tmp_path: Path) -> None:
    ledger = memory.connect()
    views = Views(ledger, create_tables(ledger, tmp_path, ROWS.schema))
    views.look()

    assert (views.states, views.halves) == ({NOTHING}, [])


def test_files_say_where_and_how_large(memory: InMemoryLedger, tables: TwoTables) -> None:
    """The ledger names each file with its partition and size; the partition is not in its rows."""
    (file,) = memory.connect().read(tables.flights)
    path = path_of(tables.flights, file.path)

    assert tuple(file.partition) == ("1",)
    assert file.path.startswith("month=1/")
    assert file.size == path.stat().st_size
    assert json.loads(file.stats)["numRecords"] == 2


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        pytest.param(update, {1: THEIR_TOTALS.plus(Totals(0, 2, 0))}, id="update"),
        pytest.param(delete, {}, id="delete"),
    ],
)
def test_statement_leaves_right_files(
    memory: InMemoryLedger, tables: TwoTables, statement: object, left: dict[int, Totals]
) -> None:
    ledger = memory.connect()
    assert callable(statement)
    with ledger.transaction() as txn:
        statement(txn, tables.flights, 1)

    assert month_totals(tables.flights, ledger.read(tables.flights)) == left


def test_day_is_the_unit_of_a_load() -> None:
    assert sorted(cut(ROWS)) == [Day(month, day) for month in MONTHS for day in DAYS]
