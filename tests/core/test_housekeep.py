"""Housekeeping: what nobody asked for, in bounded batches, from evidence that may be stale."""

from collections.abc import Callable
from time import perf_counter

import pytest

from ledger.core.decide.housekeep import Lapsed, genesis, housekeep
from ledger.core.events.events import (
    AbortedForgotten,
    CatalogCreated,
    LedgerCreated,
    TxnCommitted,
    TxnsExpired,
)
from ledger.core.events.parts import AbortedPart, ForgottenPart, TxnEnd
from ledger.core.limits import DEFAULT_LIMITS, ENDS_PER_EVENT_MAX, FORGOTTEN_PER_EVENT
from ledger.core.state.domain import DomainState
from ledger.log.wire.codec import frame_event
from tests.core.scene import MISSING, Scene
from tests.driver import Driver

EVENT_BYTES_MAX = 2 * 1024 * 1024


NOTHING = Lapsed()
LOOKS = 20


def tidied(driver: Driver, lapsed: Lapsed = NOTHING) -> list[TxnsExpired | AbortedForgotten]:
    """Keep house until nothing is due and return the bodies of the events."""
    bodies = []
    while (body := housekeep(driver.state, lapsed)) is not None:
        driver.internal(body)
        bodies.append(body)
    return bodies


def opened(txns: int) -> Driver:
    """Return a domain in which one session has so many txns open."""
    driver = Driver(limits=DEFAULT_LIMITS._replace(open_txns_max=txns, txns_per_open_max=txns))
    driver.open_txn(driver.open_session(), size=txns)
    return driver


def seconds(driver: Driver, lapsed: Lapsed) -> float:
    """Return how long one look takes at what is due, at best."""
    took_s = []
    for _ in range(LOOKS):
        began_s = perf_counter()
        housekeep(driver.state, lapsed)
        took_s.append(perf_counter() - began_s)
    return min(took_s)


@pytest.mark.parametrize("silent", [0, 1])
def test_many_open_txns(silent: int) -> None:
    """A look at what is due costs what it finds, however many txns are open: most find nothing."""
    few, many = map(opened, (ENDS_PER_EVENT_MAX, 100 * ENDS_PER_EVENT_MAX))
    lapsed = Lapsed([*many.state.sessions.by_number][:silent])

    assert seconds(many, lapsed) < 5 * seconds(few, lapsed)


def swept() -> Scene:
    scene = Scene()
    tidied(scene)
    return scene


EXPIRED: list[tuple[str, Callable[[Scene], Lapsed], Callable[[Scene], TxnsExpired | None]]] = [
    ("nothing", lambda _: Lapsed(), lambda _: None),
    (
        "a silent session with its txns",
        lambda s: Lapsed([s.ada]),
        lambda s: TxnsExpired(
            [s.ada], [TxnEnd(s.mine, "lease", []), TxnEnd(s.reading, "lease", [])]
        ),
    ),
    (
        "a txn with a table of its own",
        lambda s: Lapsed([s.bob]),
        lambda s: TxnsExpired(
            [s.bob], [TxnEnd(s.others, "lease", [AbortedPart(s.draft, 1, 1, wrote=True)])]
        ),
    ),
    (
        "overdue txns",
        lambda s: Lapsed((), [s.reading, s.mine]),
        lambda s: TxnsExpired(
            [], [TxnEnd(s.mine, "deadline", []), TxnEnd(s.reading, "deadline", [])]
        ),
    ),
    (
        "an overdue txn of a silent session ends with it",
        lambda s: Lapsed([s.ada], [s.mine]),
        lambda s: TxnsExpired(
            [s.ada], [TxnEnd(s.mine, "lease", []), TxnEnd(s.reading, "lease", [])]
        ),
    ),
    (
        "two sessions, named twice and in disorder",
        lambda s: Lapsed([s.bob, s.ada, s.bob]),
        lambda s: TxnsExpired(
            [s.ada, s.bob],
            [
                TxnEnd(s.mine, "lease", []),
                TxnEnd(s.reading, "lease", []),
                TxnEnd(s.others, "lease", [AbortedPart(s.draft, 1, 1, wrote=True)]),
            ],
        ),
    ),
    ("stale: a session that ended", lambda s: Lapsed([s.ended]), lambda _: None),
    ("stale: a session never heard of", lambda _: Lapsed([MISSING, 0]), lambda _: None),
    (
        "stale: txns that ended, or never were",
        lambda s: Lapsed((), [s.committed, s.failed, s.forgotten, MISSING, 0]),
        lambda _: None,
    ),
]


@pytest.mark.parametrize(
    ("lapsed", "expected"), [row[1:] for row in EXPIRED], ids=[row[0] for row in EXPIRED]
)
def test_what_is_named_and_still_open_ends_once_sessions_before_deadlines(
    lapsed: Callable[[Scene], Lapsed], expected: Callable[[Scene], TxnsExpired | None]
) -> None:
    scene = swept()
    bodies = tidied(scene, lapsed(scene))
    found = [body for body in bodies if isinstance(body, TxnsExpired)]

    assert found == [body for body in [expected(scene)] if body is not None]


def test_a_silent_session_stays_for_its_replicated_txn_and_ends_with_it() -> None:
    driver = Driver()
    session = driver.open_session()
    kept = driver.open_txn(session, "replicated")
    ended = driver.open_txn(session)
    expired = [body for body in tidied(driver, Lapsed([session])) if isinstance(body, TxnsExpired)]
    still_open = list(driver.state.txns.open)
    body = housekeep(driver.state, Lapsed([session], [kept]))

    assert expired == [TxnsExpired([], [TxnEnd(ended, "lease", [])])]
    assert still_open == [kept]
    assert body == TxnsExpired([], [TxnEnd(kept, "deadline", [])])


def test_an_owner_of_replicated_txns_may_still_commit() -> None:
    driver = Driver()
    session = driver.open_session()
    kept = driver.open_txn(session, "replicated")
    tidied(driver, Lapsed([session]))
    committed = driver.commit(session, kept)
    ended = [body for body in tidied(driver, Lapsed([session])) if isinstance(body, TxnsExpired)]

    assert isinstance(committed.body, TxnCommitted)
    assert ended == [TxnsExpired([session], [])]


def test_closing_ends_replicated_txns_too() -> None:
    driver = Driver()
    session = driver.open_session()
    driver.open_txn(session, "replicated")
    driver.close_session(session)

    assert not driver.state.txns.open


def crowd(driver: Driver, count: int) -> tuple[int, list[int]]:
    """Open so many txns in a session; return both."""
    session = driver.open_session()
    first = driver.open_txn(session, size=count)
    return session, list(range(first, first + count))


def test_ends_come_in_batches() -> None:
    driver = Driver()
    session, txns = crowd(driver, ENDS_PER_EVENT_MAX + 2)
    bodies = tidied(driver, Lapsed([session]))
    expired = [body for body in bodies if isinstance(body, TxnsExpired)]

    assert [body.sessions for body in expired] == [[], [session]]
    assert [[end.txn for end in body.ends] for body in expired] == [
        txns[:ENDS_PER_EVENT_MAX],
        txns[ENDS_PER_EVENT_MAX:],
    ]


def test_a_full_batch_ends_its_session() -> None:
    driver = Driver()
    session, _ = crowd(driver, ENDS_PER_EVENT_MAX)
    body = housekeep(driver.state, Lapsed([session]))

    assert isinstance(body, TxnsExpired)
    assert (body.sessions, len(body.ends)) == ([session], ENDS_PER_EVENT_MAX)


def test_deadlines_come_in_batches() -> None:
    driver = Driver()
    _, txns = crowd(driver, ENDS_PER_EVENT_MAX + 2)
    bodies = tidied(driver, Lapsed((), txns))
    expired = [body for body in bodies if isinstance(body, TxnsExpired)]

    assert [len(body.ends) for body in expired] == [ENDS_PER_EVENT_MAX, 2]


def test_sessions_share_a_batch() -> None:
    driver = Driver()
    one, first = crowd(driver, ENDS_PER_EVENT_MAX - 1)
    two, second = crowd(driver, 2)
    bodies = tidied(driver, Lapsed([one, two]))
    expired = [body for body in bodies if isinstance(body, TxnsExpired)]

    assert [body.sessions for body in expired] == [[one], [two]]
    assert [len(body.ends) for body in expired] == [ENDS_PER_EVENT_MAX, 1]
    assert expired[1].ends[0].txn == second[-1]
    assert first[0] == expired[0].ends[0].txn


def test_forgotten_come_in_batches() -> None:
    driver = Driver()
    session, txns = crowd(driver, FORGOTTEN_PER_EVENT + 2)
    driver.close_session(session)
    bodies = tidied(driver)

    forgotten = [body for body in bodies if isinstance(body, AbortedForgotten)]

    assert [body.txns for body in forgotten] == [
        txns[:FORGOTTEN_PER_EVENT],
        txns[FORGOTTEN_PER_EVENT:],
    ]


@pytest.mark.parametrize(
    ("tables", "parts", "gone"),
    [
        ([], [], True),
        (["listed"], ["listed"], True),
        (["directories"], [], False),
        (["listed", "directories"], ["listed"], False),
    ],
    ids=["empty", "listed", "directories", "both"],
)
def test_forgotten(tables: list[str], parts: list[str], gone: bool) -> None:  # noqa: FBT001
    """What aborts left in listed tables is forgotten, and txns of which nothing is left."""
    driver = Driver()
    session = driver.open_session()
    ids = {
        "listed": driver.create_table(session, "a", layout="listed"),
        "directories": driver.create_table(session, "b", layout="directories"),
    }
    txn = driver.open_txn(session)
    driver.allocate(session, [txn], [ids[table] for table in tables] or [ids["listed"]])
    driver.abort(session, txn, [ids[table] for table in tables])
    bodies = tidied(driver)
    expected = AbortedForgotten(
        [txn] if gone else [], [ForgottenPart(txn, ids[table]) for table in parts]
    )

    assert bodies == ([expected] if gone or parts else [])
    assert (txn in driver.state.txns.aborted) is not gone


def test_genesis_is_made_once() -> None:
    state, created = DomainState(), LedgerCreated("id", "demo", 0, "c", "e", DEFAULT_LIMITS)
    first = genesis(state, created, "lake")
    state.genesis = created
    second = genesis(state, created, "lake")
    state.catalogs.add("lake")

    assert (first, second, genesis(state, created, "lake")) == (
        created,
        CatalogCreated("lake"),
        None,
    )


@pytest.mark.slow
def test_a_batch_fits_a_record() -> None:
    driver = Driver()
    session = driver.open_session()
    tables = [driver.create_table(session, f"t{each}") for each in range(1_000)]
    first = driver.open_txn(session, size=ENDS_PER_EVENT_MAX)
    for table in tables:
        driver.allocate(session, list(range(first, first + ENDS_PER_EVENT_MAX)), [table])
    body = housekeep(driver.state, Lapsed([session]))

    assert body is not None
    _, framed = frame_event(driver.events[-1].control, body, b"continue")

    assert len(framed) < EVENT_BYTES_MAX
