"""Rows of tables and names: they agree with the state, and names lead to their table only."""

import pytest
from hypothesis import given

from ledger.core.state.domain import DomainState
from ledger.reads.metadata import Read
from ledger.reads.port import TableRow
from projections.queries import StoreReads
from projections.rows.keys import NAME, read_value
from projections.store.port import RowReader, prefix_end
from tests.core.histories import Step, played, steps
from tests.driver import CATALOG
from tests.projections.followed import PATIENT, Followed, rows_of

FLIGHTS = 1


def reads_of_flights() -> StoreReads:
    domain = Followed()
    domain.create_table(domain.open_session(), "flights")
    return domain.reads


def stored_names(rows: RowReader) -> dict[str, int]:
    found = rows.scan(NAME, prefix_end(NAME))
    return {key[1:].split(b"\0")[1].decode(): read_value(value) for key, value in found}


@pytest.mark.parametrize("name", ["flights", "Flights"])
def test_names_differ_by_more_than_case(name: str) -> None:
    found = reads_of_flights().table_named(CATALOG, name)

    assert found is not None
    assert found.table == FLIGHTS


@pytest.mark.parametrize(
    ("catalog", "name"),
    [
        (CATALOG, "planes"),
        ("elsewhere", "flights"),
        (CATALOG, "fli\0ghts"),
        (CATALOG, "flights\udcff"),
        ("\ud800", "flights"),
    ],
)
def test_not_found_by_name(catalog: str, name: str) -> None:
    reads = reads_of_flights()

    assert reads.table_named(catalog, name) is None
    assert reads.metadata([Read(name, None, catalog=catalog)])[0].value is None


def by_state(state: DomainState) -> dict[int, tuple[object, ...]]:
    return {
        table.table: (
            *(table.catalog, table.name, table.version, table.last_write_id, table.mapped_from),
            *(table.creator, table.change.position, table.change.operation),
        )
        for table in state.tables.by_id.values()
    }


def by_row(rows: list[TableRow]) -> dict[int, tuple[object, ...]]:
    """Return what rows say of each table that is not dropped."""
    return {
        row.table: (
            *(row.catalog, row.name, row.version, row.last_write_id, row.mapped_from),
            *(row.creator, row.changed, row.operation),
        )
        for row in rows
        if not row.dropped
    }


@PATIENT
@given(history=steps(min_size=30))
def test_rows_are_the_state(history: list[Step]) -> None:
    driver = played(history).driver
    store = rows_of(driver)

    names = {name: table for (_, name), table in driver.state.tables.names.items()}
    assert by_row(list(StoreReads(store).tables(include_dropped=True))) == by_state(driver.state)
    assert stored_names(store) == names
