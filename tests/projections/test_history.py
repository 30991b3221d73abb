"""Rows of events: each in brief, and now and then the full list of open and aborted txns."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.core.events.events import CommandsMoved
from ledger.core.limits import DEFAULT_LIMITS
from projections.reads.snapshots import txns_at
from projections.rows.keys import EXCEPTIONS, last_number
from projections.rows.txns.history import EXCEPTIONS_EVERY, spacing
from projections.store.port import prefix_end
from tests.driver import write
from tests.projections.followed import Followed

Play = Callable[[Followed, int, int], object]


def lose(domain: Followed, session: int, table: int) -> None:
    """Lose against an earlier update of the same rows."""
    txn = domain.open_txn(session)
    domain.commit(session, 0, write(table, operation="update", read_at=domain.head.position))
    domain.commit(session, txn, write(table, operation="update"))


def repeat(domain: Followed, session: int, _table: int) -> None:
    """Commit a txn, and again under a number of its own."""
    txn = domain.open_txn(session)
    domain.commit(session, txn)
    domain.commit(session, txn)


def forget(domain: Followed, session: int, table: int) -> None:
    """Abort two txns and let housekeeping forget them."""
    domain.open_txn(session, size=2)
    domain.allocate(session, [1, 2], [table])
    domain.close_session(session)
    domain.tidy()


@pytest.mark.parametrize(
    ("play", "expected"),
    [
        (
            lambda d, s, _: d.open_txn(s, size=2),
            {"type": "TxnOpened", "txn": 1, "session": 4, "n": 2, "next_txn": 3},
        ),
        (
            lambda d, s, t: d.commit(s, 0, write(t)),
            {"type": "TxnCommitted", "txn": 1, "tables": (1,), "watermark": 2, "ended": ()},
        ),
        (
            lambda d, s, _: d.drop_table(s, 5),
            {
                "type": "CommandRefused",
                "outcome": "UnknownTable",
                "message": "there is no table 5",
            },
        ),
        (
            lambda d, s, _: d.abort(s, d.open_txn(s)),
            {"type": "TxnAborted", "outcome": "no longer wanted", "ended": (1,)},
        ),
        (lose, {"type": "TxnAborted", "outcome": "conflict", "message": "ConcurrentDeleteDelete"}),
        (
            lambda d, s, _: d.tidy(sessions=[s], txns=[d.open_txn(s)]),
            {"type": "TxnsExpired", "session": 0, "n": 0, "ended": (1,)},
        ),
        (repeat, {"type": "CommandRepeated", "outcome": "TxnCommitted", "message": ""}),
        (forget, {"type": "AbortedForgotten", "tables": (1,), "forgotten": (1, 2)}),
        (
            lambda d, _s, _t: d.internal(CommandsMoved("c", "retention"), last_cmd=9),
            {"type": "CommandsMoved", "message": "retention"},
        ),
    ],
)
def test_brief(play: Play, expected: dict[str, Any]) -> None:
    """An event's row names what happened, to which txns and tables, and why."""
    domain = Followed()
    session = domain.open_session()
    play(domain, session, domain.create_table(session, "flights"))

    row = domain.reads.history(domain.head.position - 1, 1)[0]
    assert {name: getattr(row, name) for name in expected} == expected
    assert (row.position, row.at) == (domain.head.position, domain.state.at)


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
