"""What every command is asked first, and the opening of sessions, as tables.

The refusals stand in the order they are checked: what a row does wrong, the rows above it do wrong
as well, as far as one command can.
"""

from copy import deepcopy
from typing import Any

import pytest

from ledger.core.commands import AbortTxn, Command, ForgetAborted, OpenSession, OpenTxn, Unreadable
from ledger.core.decide.decide import decide
from ledger.core.events.events import CommandRefused, CommandRepeated, SessionOpened
from ledger.core.limits import LABEL_CHARS_MAX, LEASE_MAX_MS, LEASE_MIN_MS, WINDOW
from ledger.core.refusals import Reason
from ledger.core.state.domain import DomainState
from tests.core.scene import MISSING, Accepted, Asks, Refusal, Scene, accepts, refuses
from tests.core.test_decide_aborts import REFUSALS as ABORTS
from tests.core.test_decide_alter import REFUSALS as ALTERS
from tests.core.test_decide_commit import REFUSALS as COMMIT
from tests.core.test_decide_footprints import REFUSALS as FOOTPRINTS
from tests.core.test_decide_namespaces import REFUSALS as NAMESPACES
from tests.core.test_decide_stage import REFUSALS as STAGES
from tests.core.test_decide_tables import REFUSALS as TABLES
from tests.core.test_decide_trimming import TRIMS
from tests.core.test_decide_txns import REFUSALS as TXNS
from tests.driver import NEVER, STARTED_AT, Driver

PAST = STARTED_AT
NONCE = b"sixteen bytes..."
ID_MAX = 2**63 - 1
FAR = 1_000_000


def forgotten_number(scene: Scene) -> OpenTxn:
    """Return a command under a number that has left the window."""
    ahead = scene.state.sessions.by_number[scene.ada].last_n + WINDOW
    scene.ask(OpenTxn(scene.ada, ahead, NEVER, "default", 1, 0))
    return OpenTxn(scene.ada, 1, PAST, "default", 0, -1)


ASKED_FIRST = [
    Refusal(
        Reason.COMMAND_UNREADABLE,
        "3 bytes are no OpenTxn",
        lambda _: Unreadable(MISSING, 0, PAST, "3 bytes are no OpenTxn"),
    ),
    Refusal(
        Reason.SESSION_EXPIRED,
        "session 404 is unknown",
        lambda _: OpenTxn(MISSING, 0, PAST, "default", 0, -1),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.SESSION_EXPIRED,
        "has ended",
        lambda s: OpenTxn(s.ended, 0, PAST, "default", 0, -1),
        lambda s: s.ended,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "n must be 1 or more, got 0",
        lambda s: OpenTxn(s.ada, 0, PAST, "default", 0, -1),
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "n must be 1 or more, got -1",
        lambda s: OpenTxn(s.ada, -1, PAST, "default", 0, -1),
    ),
    Refusal(Reason.COMMAND_FORGOTTEN, "whether it was executed is unknown", forgotten_number),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        f"{WINDOW} commands in flight",
        lambda s: OpenTxn(s.ada, 2 * WINDOW, PAST, "default", 0, -1),
    ),
    Refusal(
        Reason.COMMAND_TOO_LATE,
        "after its not_after of",
        lambda s: OpenTxn(*s.asks(s.ada)[:2], PAST, "default", 0, -1),
    ),
]
SESSION = [
    Refusal(
        Reason.COMMAND_INVALID,
        "nonce must have 16 bytes, got 5",
        lambda _: OpenSession(0, 0, PAST, b"short", "u", "h", "a", -1),
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "lease_ms must be 500 to 86400000, or 0 for the ledger's default, got -1",
        lambda _: OpenSession(0, 0, PAST, NONCE, "u", "h", "a", -1),
    ),
    Refusal(
        Reason.COMMAND_TOO_LATE,
        "after its not_after of",
        lambda _: OpenSession(0, 0, PAST, NONCE, "u", "h", "a", 0),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "2 sessions are open",
        lambda _: OpenSession(0, 0, NEVER, NONCE, "u", "h", "a", 0),
    ),
]
REFUSALS = [*ASKED_FIRST, *SESSION]
test_refused = refuses(REFUSALS)


def test_a_ledger_that_is_not_created_yet_opens_no_session() -> None:
    command = OpenSession(0, 0, PAST - 1, NONCE, "u", "h", "a", 0)
    refusal = decide(DomainState(), command, PAST)

    assert isinstance(refusal, CommandRefused)
    assert (refusal.nonce, refusal.reason) == (NONCE, Reason.COMMAND_FAILED)


def test_every_reason_has_a_row() -> None:
    tables = [REFUSALS, TXNS, ABORTS, ALTERS, COMMIT, FOOTPRINTS, STAGES, TABLES, NAMESPACES]
    tables.append(TRIMS)
    hit = {row.reason for table in tables for row in table}

    # Two stand alone: the one above needs a ledger without a genesis, the other a log that was cut.
    assert hit == set(Reason) - {Reason.COMMAND_FAILED, Reason.LOST_BY_CUT}


def again(scene: Scene, session: int) -> OpenSession:
    """Return another command under the nonce of a session, late and with another lease."""
    nonce = scene.state.sessions.by_number[session].nonce
    return OpenSession(0, 0, PAST, nonce, "u", "h", "a", -1)


def named_again(scene: Scene, session: int) -> CommandRepeated:
    nonce = scene.state.sessions.by_number[session].nonce
    return CommandRepeated(nonce, session, "SessionOpened", session, 1, [])


ACCEPTED = [
    Accepted(
        "a nonce used before names its session, whatever else is asked",
        lambda s: s.ask(again(s, s.ada)),
        lambda s: named_again(s, s.ada),
    ),
    Accepted(
        "a nonce of an ended session names it as long as it is remembered",
        lambda s: s.ask(again(s, s.ended)),
        lambda s: named_again(s, s.ended),
    ),
]
test_accepted = accepts(ACCEPTED)


def test_session_opens_with_its_labels_cut() -> None:
    driver, long = Driver(), "x" * (LABEL_CHARS_MAX + 1)
    opened = driver.ask(OpenSession(0, 0, NEVER, NONCE, long, long, long, 0))
    cut = long[:LABEL_CHARS_MAX]

    assert opened.body == SessionOpened(NONCE, cut, cut, cut, 10_000)
    assert opened.control.position in driver.state.sessions.by_number


@pytest.mark.parametrize(
    ("asked_ms", "given_ms"),
    [
        (0, 10_000),
        (LEASE_MIN_MS - 1, None),
        (LEASE_MIN_MS, LEASE_MIN_MS),
        (60_000, 60_000),
        (LEASE_MAX_MS, LEASE_MAX_MS),
        (LEASE_MAX_MS + 1, None),
    ],
)
def test_session_opens_with_the_lease_it_asks_for(asked_ms: int, given_ms: int | None) -> None:
    driver = Driver()
    opened = driver.ask(OpenSession(0, 0, NEVER, NONCE, "u", "h", "a", asked_ms))
    session = driver.state.sessions.by_number.get(opened.control.position)

    assert (session.lease_ms if session is not None else None) == given_ms


@pytest.mark.parametrize(("late_by", "is_late"), [(0, False), (1, True)])
def test_not_after_is_the_last_moment(late_by: int, *, is_late: bool) -> None:
    driver = Driver()
    session = driver.open_session()
    at = max(driver.now, driver.state.at)
    commands: list[Command] = [
        OpenTxn(session, 1, at - late_by, "default", 1, 0),
        OpenSession(0, 0, at - late_by, NONCE, "u", "h", "a", 0),
    ]

    for command in commands:
        assert isinstance(decide(driver.state, command, at), CommandRefused) == is_late


@pytest.mark.parametrize("behind_ms", [0, 1_000])
def test_deadlines_count_from_the_time_of_the_log(behind_ms: int) -> None:
    driver = Driver()
    command = OpenTxn(*driver.asks(driver.open_session()), "default", 1, 5)
    opened: Any = decide(driver.state, command, driver.state.at - behind_ms)

    assert opened.deadline == driver.state.at + 5


@pytest.mark.parametrize(
    ("from_newest", "reason"),
    [
        (-WINDOW, Reason.COMMAND_FORGOTTEN),
        (1 - WINDOW, None),
        (WINDOW, None),
        (WINDOW + 1, Reason.LIMIT_EXCEEDED),
    ],
)
def test_window_is_as_wide_as_said(from_newest: int, reason: Reason | None) -> None:
    driver = Driver()
    session = driver.open_session()
    driver.ask(OpenTxn(session, WINDOW, NEVER, "default", 1, 0))
    driver.ask(OpenTxn(session, WINDOW + 2, NEVER, "default", 1, 0))
    n = WINDOW + 2 + from_newest
    body = driver.ask(OpenTxn(session, n, NEVER, "default", 1, 0)).body

    assert getattr(body, "reason", None) == reason


LARGEST: list[tuple[str, Asks]] = [
    ("deadline", lambda s: OpenTxn(*s.asks(s.ada), "default", 1, ID_MAX)),
    ("size", lambda s: OpenTxn(*s.asks(s.ada), "default", ID_MAX, 0)),
    ("wrote", lambda s: AbortTxn(*s.asks(s.ada), s.mine, "", [ID_MAX, -1])),
    ("txns", lambda s: ForgetAborted(*s.asks(s.ada), [-ID_MAX - 1], 0, [])),
]


@pytest.mark.parametrize("command", [row[1] for row in LARGEST], ids=[row[0] for row in LARGEST])
def test_largest_numbers_are_answered(command: Asks) -> None:
    scene = Scene()
    position = scene.position()

    assert scene.ask(command(scene)).control.position == position + 1


OUTSIDE: list[tuple[str, Asks]] = [
    ("above", lambda s: OpenTxn(s.ada, FAR, NEVER, "default", 1, 0)),
    ("below", lambda s: OpenTxn(s.ada, -FAR, NEVER, "default", 1, 0)),
    ("just below", lambda s: OpenTxn(s.ada, -1, NEVER, "default", 1, 0)),
    ("unreadable", lambda s: Unreadable(s.ada, FAR, NEVER, "3 bytes")),
    ("opening a session", lambda s: OpenSession(s.ada, FAR, NEVER, NONCE, "u", "h", "a", 0)),
]


@pytest.mark.parametrize("command", [row[1] for row in OUTSIDE], ids=[row[0] for row in OUTSIDE])
def test_number_outside_the_window_leaves_the_session(command: Asks) -> None:
    scene = Scene()
    before = deepcopy(scene.state.sessions.by_number[scene.ada])
    scene.ask(command(scene))

    assert scene.state.sessions.by_number[scene.ada] == before
