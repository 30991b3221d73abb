"""Rows of TXN_TO_WRITE_ID: which events add mappings, when they go, and where scans begin."""

from hypothesis import given

from ledger.core.state.domain import DomainState
from projections.rows.keys import MAPPING, last_number, read_id
from projections.store.port import RowReader, prefix_end
from tests.core.histories import Step, played, steps
from tests.driver import write
from tests.projections.followed import PATIENT, Followed, rows_of

Mapped = set[tuple[int, int]]


def stored(rows: RowReader) -> Mapped:
    """Return the stored mappings as (write id, txn), of all tables together."""
    found = rows.scan(MAPPING, prefix_end(MAPPING))
    return {(last_number(key), read_id(value)) for key, value in found}


def mapped(state: DomainState) -> Mapped:
    held = {txn: each.write_ids for txn, each in state.txns.open.items()} | state.txns.mappings
    return {(write_id, txn) for txn, ids in held.items() for write_id in ids.values()}


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
