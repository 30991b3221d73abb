"""Rows of events: their pages, and now and then the full list of open and aborted txns."""

import pytest

from ledger.core.limits import DEFAULT_LIMITS
from projections.reads.snapshots import txns_at
from projections.rows.keys import EXCEPTIONS, last_number
from projections.rows.txns.history import EXCEPTIONS_EVERY, spacing
from projections.store.port import prefix_end
from tests.driver import write
from tests.projections.followed import Followed


@pytest.mark.parametrize(
    ("after", "limit", "expected"),
    [(0, 3, [1, 2, 3]), (3, 9, [4, 5]), (5, 9, []), (-7, 1, [1]), (0, 0, [])],
)
def test_pages(after: int, limit: int, expected: list[int]) -> None:
    """History is read page by page, oldest first."""
    domain = Followed()
    domain.open_txn(domain.open_session())

    assert [row.position for row in domain.reads.history(after, limit)] == expected


@pytest.mark.parametrize(
    ("open_txns", "apart"), [(1, 64), (63, 64), (64, 128), (600, 1024), (3_000, 4096)]
)
def test_spacing(open_txns: int, apart: int) -> None:
    """Full lists are as far apart as they are long, so that per event they cost nothing."""
    domain = Followed(limits=DEFAULT_LIMITS._replace(txns_per_open_max=open_txns))
    domain.open_txn(domain.open_session(), size=open_txns)

    assert spacing(domain.state) == apart


def test_aborted_txns_take_room() -> None:
    """A full list has the aborted txns too, so they count as much as the open ones."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    domain.open_txn(session, size=EXCEPTIONS_EVERY)
    domain.allocate(session, [1], [table])
    domain.abort(session, 1)

    assert spacing(domain.state) == 2 * EXCEPTIONS_EVERY


def test_full_lists_are_written_at_fixed_positions() -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    for _ in range(2 * EXCEPTIONS_EVERY):
        domain.commit(session, 0, write(table))

    found = domain.rows.scan(EXCEPTIONS, prefix_end(EXCEPTIONS))
    assert [last_number(key) for key, _ in found] == [EXCEPTIONS_EVERY, 2 * EXCEPTIONS_EVERY]


def test_full_lists_keep_readers_apart() -> None:
    """Txns that only read are nobody's exceptions, so a full list has them on their own."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    writer, reader = domain.open_txn(session), domain.open_txn(session, "read_only")
    for _ in range(EXCEPTIONS_EVERY):
        domain.commit(session, 0, write(table))
    sets = txns_at(domain.rows, domain.head.position)

    assert (set(sets.open), set(sets.read_only)) == ({writer}, {reader})
