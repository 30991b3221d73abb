"""What sessions remember: a window of answers while open, and a bounded past after their end."""

import pytest

from ledger.core.limits import REMEMBERED_ANSWERS_MAX, REMEMBERED_SESSIONS_MAX, WINDOW
from ledger.core.state.sessions import Answered, Session, Sessions


def answer(position: int) -> Answered:
    return Answered(position, "TxnOpened", position, 1)


def session(number: int = 1, *, answers: int = 0) -> Session:
    """Return a session that remembers so many answers."""
    made = Session(number, number.to_bytes(16, "big"), "ada", "host", "etl", 10_000)
    for n in range(1, answers + 1):
        made.remember(n, answer(n))
    return made


@pytest.mark.parametrize(
    ("numbers", "kept"),
    [
        ([], []),
        ([1], [1]),
        ([3, 1, 2], [1, 2, 3]),
        ([1, WINDOW], [1, WINDOW]),
        ([1, WINDOW + 1], [WINDOW + 1]),
        ([1, 2, WINDOW + 1], [2, WINDOW + 1]),
        ([1, 5, WINDOW + 1, 2, 1], [2, 5, WINDOW + 1]),
        ([1, WINDOW, 2 * WINDOW], [2 * WINDOW]),
        ([1, WINDOW, 2 * WINDOW - 1], [WINDOW, 2 * WINDOW - 1]),
        (range(1, 3 * WINDOW + 1), range(2 * WINDOW + 1, 3 * WINDOW + 1)),
    ],
    ids=[
        "none",
        "one",
        "out of order",
        "window full",
        "window passed",
        "jump",
        "late ones",
        "jump by a window",
        "jump by less",
        "three windows",
    ],
)
def test_a_session_remembers_its_newest_answers(numbers: list[int], kept: list[int]) -> None:
    made = session()
    for n in numbers:
        made.remember(n, answer(n))

    assert sorted(made.answers) == list(kept)
    assert made.last_n == max(numbers, default=0)


def test_first_answer_stays() -> None:
    made = session()
    grown = [made.remember(1, answer(10)), made.remember(1, answer(11))]

    assert made.answers == {1: answer(10)}
    assert grown == [1, 0]


@pytest.mark.parametrize(
    ("before", "n", "grown"),
    [(0, 1, 1), (WINDOW, WINDOW + 1, 0), (WINDOW, 2 * WINDOW, 1 - WINDOW), (WINDOW + 1, 1, 0)],
)
def test_a_session_says_by_how_much_it_has_grown(before: int, n: int, grown: int) -> None:
    made = session(answers=before)
    kept = len(made.answers)

    assert made.remember(n, answer(n)) == grown
    assert len(made.answers) == kept + grown


def ended(sizes: list[int]) -> Sessions:
    """Return sessions that ended one after the other, with so many answers each."""
    sessions = Sessions()
    for number, answers in enumerate(sizes, 1):
        sessions.add(session(number, answers=answers))
        sessions.end(number)
    return sessions


def test_oldest_ended_sessions_are_crowded_out_by_number() -> None:
    sessions = ended([0] * (REMEMBERED_SESSIONS_MAX + 3))

    assert min(sessions.by_number) == 4
    assert len(sessions.by_number) == len(sessions.by_nonce) == REMEMBERED_SESSIONS_MAX


def test_oldest_ended_sessions_are_crowded_out_by_answers() -> None:
    fit = REMEMBERED_ANSWERS_MAX // WINDOW
    sessions = ended([WINDOW] * (fit + 2))

    assert min(sessions.by_number) == 3
    assert sessions.ended_answers == fit * WINDOW


def test_open_sessions_are_never_crowded_out() -> None:
    sessions = ended([0] * 2)
    sessions.add(session(3, answers=2))
    for number in range(4, REMEMBERED_SESSIONS_MAX + 9):
        sessions.add(session(number))
        sessions.end(number)

    assert sessions.by_number[3].is_open
    assert sessions.open_count() == 1


def test_an_answer_after_the_end_is_counted() -> None:
    sessions = ended([2])
    sessions.remember(sessions.by_number[1], 3, answer(9))
    sessions.remember(sessions.by_number[1], 3, answer(10))

    assert sessions.ended_answers == 3


def test_order_is_that_of_the_ends() -> None:
    sessions = Sessions()
    for number in (1, 2):
        sessions.add(session(number))
    for number in (2, 1):
        sessions.end(number)

    assert list(sessions.ended) == [2, 1]
