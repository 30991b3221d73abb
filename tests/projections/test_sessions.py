"""Rows of sessions and answers: who asked, and that the first answer stays the answer."""

from collections.abc import Callable

import pytest

from ledger.core.commands import OpenTxn
from ledger.reads.port import OutcomeRow, SessionRow
from tests.driver import NEVER
from tests.projections.followed import Followed

Play = Callable[[Followed, int], object]
SESSION = 4


def domain_after(play: Play) -> Followed:
    domain = Followed()
    play(domain, domain.open_session("bob"))
    return domain


def ask_twice(domain: Followed, session: int) -> None:
    """Open two txns and ask the same once more."""
    command = OpenTxn(session, 1, NEVER, "default", 2, 0)
    domain.ask(command)
    domain.ask(command)


def commit_twice(domain: Followed, session: int) -> None:
    """Commit a txn, and again under a number of its own."""
    txn = domain.open_txn(session)
    domain.commit(session, txn)
    domain.commit(session, txn)


def reuse_late(domain: Followed, session: int) -> None:
    """Ask 1, jump a window ahead, then ask 1 again, which is no longer remembered."""
    domain.ask(OpenTxn(session, 1, NEVER, "default", 1, 0))
    domain.ask(OpenTxn(session, 1_025, NEVER, "default", 1, 0))
    domain.ask(OpenTxn(session, 1, NEVER, "default", 1, 0))


@pytest.mark.parametrize(
    ("play", "n", "expected"),
    [
        (lambda d, s: d.open_txn(s, size=3), 1, (5, "TxnOpened", 1, 3)),
        (lambda d, s: d.create_table(s, "flights"), 1, (5, "TableCreated", 1, 1)),
        (lambda d, s: d.drop_table(s, 7), 1, (5, "UnknownTable", 7, 0)),
        (lambda d, s: d.close_session(s), 1, (5, "SessionClosed", 0, 1)),
        (ask_twice, 1, (5, "TxnOpened", 1, 2)),
        (commit_twice, 2, (6, "TxnCommitted", 1, 1)),
        (commit_twice, 3, (6, "TxnCommitted", 1, 1)),
        (reuse_late, 1, (5, "TxnOpened", 1, 1)),
    ],
    ids=[
        "txns",
        "table",
        "refusal",
        "close",
        "the same again",
        "first commit",
        "commit under a new number",
        "after it was forgotten",
    ],
)
def test_outcome(play: Play, n: int, expected: tuple[int, str, int, int]) -> None:
    """The outcome of a command is its first answer, whatever was asked since."""
    assert domain_after(play).reads.outcome(SESSION, n) == OutcomeRow(SESSION, n, *expected)


@pytest.mark.parametrize(("session", "n"), [(SESSION, 2), (9, 1), (0, 0), (-1, 1), (SESSION, -1)])
def test_a_command_never_answered_has_no_outcome(session: int, n: int) -> None:
    domain = domain_after(lambda d, s: d.open_txn(s))
    domain.ask(OpenTxn(9, 1, NEVER, "default", 1, 0))
    domain.ask(OpenTxn(SESSION, -1, NEVER, "default", 1, 0))

    assert domain.reads.outcome(session, n) is None


@pytest.mark.parametrize(
    ("play", "ended"),
    [
        (lambda d, s: d.open_txn(s), 0),
        (lambda d, s: d.close_session(s), 5),
        (lambda d, s: d.tidy(sessions=[s]), 5),
    ],
    ids=["open", "closed", "lapsed"],
)
def test_a_sessions_row_says_who_opened_it_and_where_it_ended(play: Play, ended: int) -> None:
    expected = SessionRow(SESSION, "bob", "host", "etl", 10_000, ended)

    assert domain_after(play).reads.session(SESSION) == expected


def test_a_session_is_found_by_the_nonce_it_was_opened_with() -> None:
    domain = Followed()
    session = domain.open_session(nonce=b"n" * 16)
    domain.open_session()

    assert domain.reads.session_of(b"n" * 16) == session
    assert domain.reads.session_of(b"x" * 16) is None
