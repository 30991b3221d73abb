"""Evolve trusts the log and compares: what decide cannot have decided stops the reader."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from ledger.core.acceptance import NO_CHAIN
from ledger.core.events.events import (
    AbortedForgotten,
    Body,
    Control,
    Event,
    LedgerCreated,
    Resigned,
    SessionClosed,
    TableCreated,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.events.parts import AllocatedId, CommittedPart, ForgottenPart
from ledger.core.evolve.evolve import evolve
from ledger.core.limits import DEFAULT_LIMITS
from ledger.errors import LogDamagedError
from ledger.log.wire.codec import frame_event
from tests.driver import CATALOG, LEDGER, Driver, definition

UNASKED = (Resigned, LedgerCreated, TxnsExpired)


class Log(Driver):
    """A domain with a table, an open txn with write id 1, and an aborted one with write id 2."""

    def __init__(self) -> None:
        super().__init__()
        self.session = self.open_session()
        self.table = self.create_table(self.session, "a", layout="directories")
        self.other = self.create_table(self.session, "b")
        self.txn = self.open_txn(self.session)
        self.failed = self.open_txn(self.session)
        self.allocate(self.session, [self.txn, self.failed], [self.table])
        self.abort(self.session, self.failed)

    def says(self, body: Body, *, txn: int = 0, ahead: int = 1) -> Event:
        """Return an event of the session that the log would hold next."""
        position = self.state.position + ahead
        cmd = self.state.last_cmd + (type(body) not in UNASKED)
        return Event(Control(NO_CHAIN, 1, position, cmd, self.session, 0, self.now, txn), body)

    def commits(self, *, write_id: int, version: int, table: int = 0, txn: int = 0) -> Event:
        part = CommittedPart(table or self.table, 0, write_id, version, 0, ())
        return self.says(TxnCommitted("default", one_shot=False, parts=[part]), txn=txn or self.txn)


def created(log: Log, *, table: int, name: str, write_id: int = 0, txn: int = 0) -> Event:
    body = TableCreated(table, int(txn > 0), write_id, 0, CATALOG, name, definition())
    return log.says(body, txn=txn)


def opened(log: Log, *, txn: int) -> Event:
    return log.says(
        TxnOpened("default", 1, 1, 0, inline=False, open=(), aborted=(), digest=0), txn=txn
    )


def allocated(log: Log, *, txn: int, write_id: int) -> Event:
    return log.says(WriteIdsAllocated([AllocatedId(log.table, txn, write_id)]))


def one_shot(log: Log, *, txn: int) -> Event:
    return log.says(TxnCommitted("default", one_shot=True, parts=()), txn=txn)


ENDED = TxnAborted("", one_shot=False, parts=(), evidence=None)
IMPOSSIBLE: list[tuple[str, Callable[[Log], Event]]] = [
    ("a position left out", lambda log: log.says(Resigned("x"), ahead=2)),
    ("a position twice", lambda log: log.says(Resigned("x"), ahead=0)),
    (
        "a second genesis",
        lambda log: log.says(LedgerCreated(LEDGER, "", 0, "", "", DEFAULT_LIMITS)),
    ),
    ("a txn id left out", lambda log: opened(log, txn=4)),
    ("a txn id twice", lambda log: opened(log, txn=2)),
    ("a one-shot txn id left out", lambda log: one_shot(log, txn=4)),
    ("a one-shot txn id twice", lambda log: one_shot(log, txn=2)),
    ("a write id left out", lambda log: allocated(log, txn=log.open_txn(log.session), write_id=4)),
    ("a write id twice", lambda log: allocated(log, txn=log.open_txn(log.session), write_id=2)),
    ("another write id for a txn", lambda log: allocated(log, txn=log.txn, write_id=3)),
    ("write ids of a txn that ended", lambda log: allocated(log, txn=log.failed, write_id=3)),
    ("a version left out", lambda log: log.commits(write_id=1, version=2)),
    ("a version twice", lambda log: log.commits(write_id=1, version=0)),
    ("a late write id left out", lambda log: log.commits(table=log.other, write_id=2, version=1)),
    ("the write id of another txn", lambda log: log.commits(write_id=2, version=1)),
    ("a second write id of a txn", lambda log: log.commits(write_id=3, version=1)),
    ("no write id of a txn that has one", lambda log: log.commits(write_id=0, version=1)),
    ("a table that never was", lambda log: log.commits(table=9, write_id=1, version=1)),
    ("a commit of a txn that ended", lambda log: log.commits(txn=2, write_id=2, version=1)),
    ("an abort of a txn that ended", lambda log: log.says(ENDED, txn=log.failed)),
    ("a table id left out", lambda log: created(log, table=4, name="c")),
    ("a table id twice", lambda log: created(log, table=2, name="c")),
    ("a name that is held", lambda log: created(log, table=3, name="A")),
    ("a first write id left out", lambda log: created(log, table=3, name="c", write_id=2, txn=1)),
    ("another table's name", lambda log: log.says(TableRenamed(log.other, 0, 0, 0, CATALOG, "a"))),
    ("a txn forgotten with data", lambda log: log.says(AbortedForgotten([log.failed], ()))),
    ("a txn forgotten that is open", lambda log: log.says(AbortedForgotten([log.txn], ()))),
    (
        "data forgotten that was not there",
        lambda log: log.says(AbortedForgotten([], [ForgottenPart(log.failed, log.other)])),
    ),
    (
        "a session ended twice",
        lambda log: (log.close_session(log.session), log.says(TxnsExpired([log.session], ())))[-1],
    ),
    ("a session closed with a txn open", lambda log: log.says(SessionClosed(()))),
]


@pytest.mark.parametrize(
    "impossible", [row[1] for row in IMPOSSIBLE], ids=[row[0] for row in IMPOSSIBLE]
)
def test_impossible_events_stop_the_reader(impossible: Callable[[Log], Event]) -> None:
    """An event that no rule allows is not applied: a number does not fit, or names nothing."""
    log = Log()
    event = impossible(log)
    with pytest.raises((AssertionError, KeyError)):
        evolve(log.state, event)


APPLIED = """
from ledger.core.evolve.evolve import evolve
from tests.core.test_evolve import IMPOSSIBLE, Log

for name, impossible in IMPOSSIBLE:
    log = Log()
    event = impossible(log)
    try:
        evolve(log.state, event)
    except (AssertionError, KeyError):
        continue
    print(name)
"""


def test_what_the_log_promises_is_compared_also_where_python_leaves_out_asserts() -> None:
    done = subprocess.run(
        [sys.executable, "-O", "-c", APPLIED],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


POSSIBLE: list[tuple[str, Callable[[Log], Event]]] = [
    ("the next position", lambda log: log.says(Resigned("x"))),
    ("the next txn id", lambda log: opened(log, txn=3)),
    ("the next one-shot txn id", lambda log: one_shot(log, txn=3)),
    ("the write id it has", lambda log: allocated(log, txn=log.txn, write_id=1)),
    ("the next write id", lambda log: allocated(log, txn=log.open_txn(log.session), write_id=3)),
    ("the next version", lambda log: log.commits(write_id=1, version=1)),
    ("the next table id", lambda log: created(log, table=3, name="c")),
    (
        "data that was there",
        lambda log: log.says(AbortedForgotten([2], [ForgottenPart(log.failed, log.table)])),
    ),
]


@pytest.mark.parametrize("possible", [row[1] for row in POSSIBLE], ids=[row[0] for row in POSSIBLE])
def test_their_neighbours_are_applied(possible: Callable[[Log], Event]) -> None:
    """The same events with what fits are applied, so it is the misfit that stopped the reader."""
    log = Log()
    event = possible(log)
    evolve(log.state, event)

    assert log.state.position == event.control.position


@pytest.mark.parametrize(("step", "expected"), [(5, 5), (0, 0), (-5, 0)])
def test_the_time_of_a_state_is_the_latest_of_its_events(step: int, expected: int) -> None:
    log = Log()
    at, event = log.state.at, log.says(Resigned("x"))
    evolve(log.state, Event(event.control._replace(at=at + step), event.body))

    assert log.state.at == at + expected


@pytest.mark.parametrize(
    ("body", "cmd"),
    [
        (SessionClosed(()), 0),
        (TxnOpened("default", 1, 1, 0, inline=True, open=(), aborted=(), digest=0), 0),
        (Resigned("x"), 1),
    ],
    ids=["an answer to nothing", "another answer to nothing", "an internal event as an answer"],
)
def test_types_agree_with_commands(body: Body, cmd: int) -> None:
    driver = Driver()
    head = driver.head
    control = Control(NO_CHAIN, head.epoch, head.position + 1, head.last_cmd + cmd, 0, 0, 0, 1)
    _, framed = frame_event(control, body, head.chain)
    with pytest.raises((AssertionError, LogDamagedError), match="command"):
        driver.take(framed)
