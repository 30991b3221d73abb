"""Rows of tables and names: at once, pending, committed, aborted, swapped, dropped."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from ledger.core.state.domain import DomainState
from ledger.reads.metadata import Read
from ledger.reads.port import TableRow
from projections.queries import StoreReads
from projections.rows.keys import NAME, read_value
from projections.store.port import RowReader, prefix_end
from tests.core.histories import Step, played, steps
from tests.driver import CATALOG, definition
from tests.projections.followed import PATIENT, Followed, rows_of

Play = Callable[[Followed, int, int], object]
FLIGHTS = 1


def commit_rename(domain: Followed, session: int, table: int) -> None:
    txn = domain.open_txn(session)
    domain.rename_table(session, table, "planes", txn=txn)
    domain.commit(session, txn)


def abort_rename(domain: Followed, session: int, table: int) -> None:
    txn = domain.open_txn(session)
    domain.rename_table(session, table, "planes", txn=txn)
    domain.abort(session, txn)


def commit_drop(domain: Followed, session: int, table: int) -> None:
    txn = domain.open_txn(session)
    domain.drop_table(session, table, txn=txn)
    domain.commit(session, txn)


def replace(domain: Followed, session: int, table: int) -> None:
    domain.drop_table(session, table)
    domain.create_table(session, "FLIGHTS")


def swap(domain: Followed, session: int, table: int) -> None:
    """Let two tables swap their names in one txn."""
    other = domain.create_table(session, "planes")
    txn = domain.open_txn(session)
    domain.rename_table(session, other, "spare", txn=txn)
    domain.rename_table(session, table, "planes", txn=txn)
    domain.rename_table(session, other, "flights", txn=txn)
    domain.commit(session, txn)


def create_pending(domain: Followed, session: int, _table: int) -> None:
    domain.create_table(session, "planes", txn=domain.open_txn(session))


def commit_create(domain: Followed, session: int, table: int) -> None:
    create_pending(domain, session, table)
    domain.commit(session, 1)


def close_create(domain: Followed, session: int, table: int) -> None:
    create_pending(domain, session, table)
    domain.close_session(session)


def abort_create(domain: Followed, session: int, table: int) -> None:
    create_pending(domain, session, table)
    domain.abort(session, 1)


def expire_create(domain: Followed, session: int, table: int) -> None:
    create_pending(domain, session, table)
    domain.tidy(txns=[1])


def lose_a_name(domain: Followed, session: int, table: int) -> None:
    """Create a table in a txn, and at once another of its name, then abort the txn."""
    create_pending(domain, session, table)
    domain.create_table(session, "planes")
    domain.abort(session, 1)


def drop_under_a_rename(domain: Followed, session: int, table: int) -> None:
    txn = domain.open_txn(session)
    domain.rename_table(session, table, "planes", txn=txn)
    domain.drop_table(session, table)
    domain.abort(session, txn)


PLAYS: list[tuple[Play, dict[str, int], dict[str, Any]]] = [
    (lambda _d, _s, _t: None, {"flights": 1}, {"name": "flights", "version": 0, "dropped": 0}),
    (
        lambda d, s, t: d.rename_table(s, t, "Planes"),
        {"planes": 1},
        {"name": "Planes", "changed": 6, "operation": "rename"},
    ),
    (lambda d, s, t: d.rename_table(s, t, "FLIGHTS"), {"flights": 1}, {"name": "FLIGHTS"}),
    (lambda d, s, t: d.drop_table(s, t), {}, {"name": "flights", "dropped": 6}),
    (commit_rename, {"planes": 1}, {"name": "planes", "changed": 8, "version": 1}),
    (abort_rename, {"flights": 1}, {"name": "flights", "changed": 5, "last_write_id": 1}),
    (commit_drop, {}, {"name": "flights", "dropped": 8, "version": 1}),
    (replace, {"flights": 2}, {"name": "flights", "dropped": 6}),
    (swap, {"flights": 2, "planes": 1}, {"name": "planes"}),
    (create_pending, {"flights": 1}, {"dropped": 0}),
    (commit_create, {"flights": 1, "planes": 2}, {"dropped": 0}),
    (close_create, {"flights": 1}, {"dropped": 0}),
    (lose_a_name, {"flights": 1, "planes": 3}, {"dropped": 0}),
    (drop_under_a_rename, {}, {"dropped": 8}),
]


def domain_after(play: Play) -> Followed:
    domain = Followed()
    session = domain.open_session()
    play(domain, session, domain.create_table(session, "flights"))
    return domain


def stored_names(rows: RowReader) -> dict[str, int]:
    found = rows.scan(NAME, prefix_end(NAME))
    return {key[1:].split(b"\0")[1].decode(): read_value(value) for key, value in found}


@pytest.mark.parametrize(("play", "names", "row"), PLAYS)
def test_names_and_standing(play: Play, names: dict[str, int], row: dict[str, Any]) -> None:
    """A name row leads to the table that holds it for all; the table's row says how it stands."""
    domain = domain_after(play)

    flights = domain.reads.table(FLIGHTS)
    assert stored_names(domain.rows) == names
    assert {name: getattr(flights, name) for name in row} == row


@pytest.mark.parametrize(
    ("play", "expected"),
    [
        (create_pending, {"version": -1, "creator": 1, "dropped": 0, "created": 7}),
        (commit_create, {"version": 0, "creator": 0, "dropped": 0, "changed": 8}),
        *(
            (play, {"version": -1, "creator": 1, "dropped": 8})
            for play in (close_create, abort_create, expire_create)
        ),
    ],
)
def test_a_table_created_in_a_txn_shares_its_fate(play: Play, expected: dict[str, int]) -> None:
    created = domain_after(play).reads.table(2)

    assert {name: getattr(created, name) for name in expected} == expected


def test_a_tables_row_carries_its_definition_as_it_was_created() -> None:
    flights = domain_after(lambda _d, _s, _t: None).reads.table(FLIGHTS)

    assert flights is not None
    assert (flights.catalog, flights.created) == (CATALOG, 5)
    assert flights.definition._replace(columns=(), partition_columns=(), properties=()) == (
        definition()
    )


@pytest.mark.parametrize(
    ("play", "alive", "every"),
    [
        (replace, [2], [1, 2]),
        (swap, [1, 2], [1, 2]),
        (create_pending, [1], [1, 2]),
        (close_create, [1], [1, 2]),
    ],
)
def test_listed(play: Play, alive: list[int], every: list[int]) -> None:
    """The list of tables leaves out dropped and pending ones, unless asked for all."""
    reads = domain_after(play).reads

    assert [row.table for row in reads.tables()] == alive
    assert [row.table for row in reads.tables(include_dropped=True)] == every


@pytest.mark.parametrize("name", ["flights", "Flights"])
def test_names_differ_by_more_than_case(name: str) -> None:
    found = domain_after(lambda _d, _s, _t: None).reads.table_named(CATALOG, name)

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
    reads = domain_after(lambda _d, _s, _t: None).reads

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
