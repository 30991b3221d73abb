"""Rows of txns: each stage of a txn's life as it is read back."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.core.commands import Footprint, TableWrite
from ledger.reads.port import TxnPart, TxnRow
from tests.core.parts import after, footprint
from tests.driver import definition, write
from tests.projections.filing import files_of, stage
from tests.projections.followed import Followed

Play = Callable[[Followed, int, int], object]


def conflict(domain: Followed, session: int, table: int) -> None:
    """Let txn 1 lose against txn 2."""
    domain.open_txn(session, size=2)
    domain.commit(session, 2, write(table, operation="update", partition="day=1"))
    domain.commit(session, 1, write(table, operation="delete", partition="day=1"))


def committed(domain: Followed, session: int, table: int) -> None:
    domain.open_txn(session)
    domain.allocate(session, [1], [table])
    domain.commit(session, 1, write(table))


def changed_metadata(domain: Followed, session: int, table: int) -> None:
    domain.open_txn(session)
    domain.rename_table(session, table, "a", txn=1)
    domain.rename_table(session, table, "b", txn=1)
    domain.create_table(session, "c", txn=1)


def altered(domain: Followed, session: int, table: int) -> None:
    domain.alter_table(session, table, definition(), "ALTER", txn=domain.open_txn(session))


def renamed(domain: Followed, session: int, table: int) -> None:
    domain.rename_table(session, table, "a", txn=domain.open_txn(session))


def dropped(domain: Followed, session: int, table: int) -> None:
    domain.drop_table(session, table, txn=domain.open_txn(session))


def aborted(domain: Followed, session: int, table: int) -> None:
    domain.open_txn(session)
    domain.allocate(session, [1], [table])
    domain.abort(session, 1, [table])


def expired(domain: Followed, session: int, _table: int) -> None:
    """Let a txn pass its deadline."""
    domain.open_txn(session)
    domain.tidy(txns=[1])


def closed(domain: Followed, session: int, _table: int) -> None:
    domain.open_txn(session, "read_only")
    domain.close_session(session)


def forgotten(domain: Followed, session: int, table: int) -> None:
    """Abort a txn and let housekeeping forget it."""
    aborted(domain, session, table)
    domain.tidy()


def staged(domain: Followed, session: int, table: int) -> list[Footprint]:
    """Stage a chunk that changes data."""
    return stage(domain, session, domain.open_txn(session), table, files_of(["a"]))


def staged_and_committed(domain: Followed, session: int, table: int) -> None:
    last = after(staged(domain, session, table), footprint(data_change=False))
    domain.commit(session, 1, TableWrite(table, 0, (), last))


def row_of(play: Play, txn: int = 1) -> TxnRow:
    """Return the row of a txn after a play with session 4 and table 1, both made for it."""
    domain = Followed()
    session = domain.open_session("bob")
    play(domain, session, domain.create_table(session, "flights"))
    row = domain.reads.txn(txn)
    assert row is not None, f"txn {txn} has no row"
    return row


@pytest.mark.parametrize(
    ("play", "expected"),
    [
        (
            lambda d, s, _: d.open_txn(s, "compaction"),
            {"type": "compaction", "status": "open", "opened": 6, "ended": 0, "parts": ()},
        ),
        (
            lambda d, s, t: d.allocate(s, [d.open_txn(s)], [t]),
            {"status": "open", "parts": (TxnPart(1, 1, 0, None, 0, wrote=False),)},
        ),
        (staged, {"status": "open", "parts": (TxnPart(1, 0, 0, None, 0, wrote=True),)}),
        (
            staged_and_committed,
            {"status": "committed", "parts": (TxnPart(1, 1, 0, 1, 6, wrote=True),)},
        ),
        (
            changed_metadata,
            {
                "status": "open",
                "parts": (
                    TxnPart(1, 1, 2, None, 0, wrote=False),
                    TxnPart(2, 1, 1, None, 0, wrote=False),
                ),
            },
        ),
        *(
            (change, {"status": "open", "parts": (TxnPart(1, 1, 1, None, 0, wrote=False),)})
            for change in (altered, renamed, dropped)
        ),
        (
            lambda d, s, t: d.alter_table(s, t, definition(), "ALTER"),
            {
                "status": "committed",
                "opened": 6,
                "ended": 6,
                "parts": (TxnPart(1, 1, 1, 1, 0, wrote=False),),
            },
        ),
        (
            committed,
            {
                "status": "committed",
                "opened": 6,
                "ended": 8,
                "min_open": 1,
                "parts": (TxnPart(1, 1, 0, 1, 6, wrote=True),),
            },
        ),
        (
            lambda d, s, t: d.commit(s, 0, write(t)),
            {
                "status": "committed",
                "opened": 6,
                "ended": 6,
                "deadline": 0,
                "min_open": 0,
                "parts": (TxnPart(1, 1, 0, 1, 0, wrote=True),),
            },
        ),
        (
            aborted,
            {
                "status": "aborted",
                "ended": 8,
                "reason": "no longer wanted",
                "forgotten": 0,
                "parts": (TxnPart(1, 1, 0, None, 0, wrote=True),),
            },
        ),
        (expired, {"status": "aborted", "ended": 7, "reason": "deadline"}),
        (closed, {"type": "read_only", "status": "aborted", "ended": 7, "reason": "closed"}),
        (forgotten, {"status": "aborted", "ended": 8, "forgotten": 9}),
        (conflict, {"status": "aborted", "reason": "conflict"}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_txns_row_says_how_far_it_has_come(play: Play, expected: dict[str, Any]) -> None:
    row = row_of(play)

    assert {name: getattr(row, name) for name in expected} == expected


def test_a_txns_row_carries_who_opened_it_and_when_it_began_and_ended() -> None:
    row = row_of(committed)

    assert (row.session, row.user, row.host, row.application) == (4, "bob", "host", "etl")
    assert 0 < row.opened_at < row.ended_at


def test_the_row_of_a_txn_that_lost_a_conflict_says_against_whom_and_over_what() -> None:
    evidence = row_of(conflict).evidence

    assert evidence is not None
    assert (evidence.winner.txn, evidence.unit) == (2, "partition day=1")


@pytest.mark.parametrize("txn", [0, -1, 2, 2**63])
def test_a_number_that_is_no_txns_has_no_row_however_odd_it_is(txn: int) -> None:
    domain = Followed()
    domain.open_txn(domain.open_session())

    assert domain.reads.txn(txn) is None


def test_lost_commit_without_a_txn() -> None:
    """A commit without a txn that loses opens none, so there is no row."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    late = write(table, operation="update", read_at=domain.head.position)
    domain.commit(session, 0, late)
    domain.commit(session, 0, late)

    assert domain.reads.txn(2) is None
