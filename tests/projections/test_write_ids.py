"""Rows of TXN_TO_WRITE_ID: which events add mappings, when they go, and where scans begin."""

from collections.abc import Callable

import pytest
from hypothesis import given

from ledger.core.state.domain import DomainState
from ledger.reads.port import MappingRow
from projections.rows.keys import MAPPING, last_number, read_id
from projections.store.port import RowReader, prefix_end
from tests.core.histories import Step, played, steps
from tests.driver import definition, write
from tests.projections.followed import PATIENT, Followed, rows_of

Play = Callable[[Followed, int, int], object]
Mapped = set[tuple[int, int]]


def stored(rows: RowReader) -> Mapped:
    """Return the stored mappings as (write id, txn), of all tables together."""
    found = rows.scan(MAPPING, prefix_end(MAPPING))
    return {(last_number(key), read_id(value)) for key, value in found}


def mapped(state: DomainState) -> Mapped:
    held = {txn: each.write_ids for txn, each in state.txns.open.items()} | state.txns.mappings
    return {(write_id, txn) for txn, ids in held.items() for write_id in ids.values()}


def commit_behind_an_open_txn(domain: Followed, session: int, table: int) -> None:
    domain.open_txn(session, size=2)
    domain.commit(session, 2, write(table))


def end_the_older(domain: Followed, session: int, table: int) -> None:
    commit_behind_an_open_txn(domain, session, table)
    domain.commit(session, 1)


def abort_with_data(domain: Followed, session: int, _table: int) -> None:
    """Abort a txn that wrote to a table whose files lie under their write ids."""
    table = domain.create_table(session, "logs", layout="directories")
    txn = domain.open_txn(session)
    domain.allocate(session, [txn], [table])
    domain.abort(session, txn, [table])


def forget_data(domain: Followed, session: int, table: int) -> None:
    """Abort a txn that wrote, and state later that nothing is left of it."""
    abort_with_data(domain, session, table)
    domain.forget(session, [1])


def alter(domain: Followed, session: int, table: int) -> None:
    domain.alter_table(session, table, definition(), "ALTER", txn=domain.open_txn(session))


def alter_behind_an_open_txn(domain: Followed, session: int, table: int) -> None:
    domain.open_txn(session)
    domain.alter_table(session, table, definition(), "ALTER")


@pytest.mark.parametrize(
    ("play", "expected"),
    [
        (lambda d, s, t: d.allocate(s, [d.open_txn(s)], [t]), {(1, 1)}),
        (lambda d, s, t: d.rename_table(s, t, "x", txn=d.open_txn(s)), {(1, 1)}),
        (lambda d, s, _: d.create_table(s, "x", txn=d.open_txn(s)), {(1, 1)}),
        (lambda d, s, t: d.drop_table(s, t, txn=d.open_txn(s)), {(1, 1)}),
        (alter, {(1, 1)}),
        (alter_behind_an_open_txn, {(1, 2)}),
        (lambda d, s, t: d.commit(s, 0, write(t)), set()),
        (commit_behind_an_open_txn, {(1, 2)}),
        (end_the_older, set()),
        (abort_with_data, {(1, 1)}),
        (forget_data, set()),
    ],
    ids=[
        "allocated",
        "taken by a rename",
        "taken by a creation",
        "taken by a drop",
        "taken by an alter",
        "taken by an alter at once",
        "committed with nothing open",
        "given by the commit",
        "cleaned by the end of the oldest",
        "kept for aborted data",
        "cleaned once that is gone",
    ],
)
def test_a_mapping_stays_until_the_watermark_has_passed(play: Play, expected: Mapped) -> None:
    domain = Followed()
    session = domain.open_session()
    play(domain, session, domain.create_table(session, "flights"))

    assert stored(domain.rows) == expected


def test_asking_again_for_an_id_changes_no_row() -> None:
    domain = Followed()
    session = domain.open_session()
    tables = [domain.create_table(session, name) for name in ("a", "b")]
    txn = domain.open_txn(session)
    domain.allocate(session, [txn], tables[:1])
    domain.allocate(session, [txn], tables)

    assert stored(domain.rows) == {(1, txn)}
    assert [domain.reads.mappings(table) for table in tables] == [[MappingRow(1, txn)]] * 2


def test_scan_begins_at_the_least_mapped_id() -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    for _ in range(9):
        domain.commit(session, 0, write(table))
    domain.open_txn(session)
    domain.commit(session, 0, write(table))

    row = domain.reads.table(table)
    assert row is not None
    assert (row.mapped_from, row.last_write_id, row.version) == (10, 10, 10)


@PATIENT
@given(history=steps(min_size=30))
def test_rows_are_the_state(history: list[Step]) -> None:
    driver = played(history).driver

    assert stored(rows_of(driver)) == mapped(driver.state)
