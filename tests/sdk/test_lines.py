"""Lines: which clients of a process share one, and who waits for whom while one is opened."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event as Signal
from threading import enumerate as running_threads
from typing import Final

import pytest

from ledger.clock import SystemClock
from ledger.core.commands import OpenTxn
from ledger.errors import OutcomeUnknownError, SettingsError
from ledger.log.lossy import LossyLog
from ledger.log.memory import MemoryLog, MemoryWriter
from ledger.log.port import Log, Topic
from ledger.session.channel import CROWD, Channel, Lines, SharedConnection
from ledger.session.session import UNNUMBERED
from ledger.session.sessions import ClientSessions, Labels
from ledger.testing import InMemoryLedger
from tests.sdk.conftest import IMPATIENT

WAIT_S: Final = 5.0
NO_TIME_S: Final = 0.0005
ALWAYS: Final = 10**9
BEGIN: Final = OpenTxn(*UNNUMBERED, "default", 1, 0)


def near(*, linger_ms: float = 0.0) -> Log:
    assert linger_ms >= 0
    return MemoryLog()


def test_clients_that_are_connected_alike_share_a_line() -> None:
    """They hear the events once; the last of them to leave ends the line."""
    lines = Lines()
    one, other = (lines.channel("here", near, 0) for _ in range(2))
    one.close()
    left = other.tail.has_ended
    other.close()

    assert one.tail is other.tail
    assert (left, other.tail.has_ended) == (False, True)
    lines.channel("here", near, 0).close()


def test_nobody_waits_for_a_line_to_elsewhere() -> None:
    lines, is_asked, answers = Lines(), Signal(), Signal()

    def far(*, linger_ms: float = 0.0) -> Log:
        is_asked.set()
        answers.wait(WAIT_S)
        return near(linger_ms=linger_ms)

    with ThreadPoolExecutor() as pool:
        opening = pool.submit(lines.channel, "far", far, 0)
        is_asked.wait(WAIT_S)
        lines.channel("near", near, 0).close()
        is_waiting = not opening.done()
        answers.set()
        opening.result().close()

    assert is_waiting


class UnwritableLog(MemoryLog):
    """A log whose client takes the settings of a reader, and not those of a writer."""

    def writer(self, topic: Topic) -> MemoryWriter:
        raise SettingsError(f"nobody can write to {topic} with such settings")


def test_line_that_cannot_be_opened() -> None:
    """Where nobody can write nobody goes on reading, time and again for as long as this runs."""

    def unwritable(*, linger_ms: float = 0.0) -> Log:
        assert linger_ms >= 0
        return UnwritableLog()

    before = set(running_threads())
    with pytest.raises(SettingsError, match="with such settings"):
        Lines().channel("here", unwritable, 0)

    assert set(running_threads()) <= before


def test_who_waits_no_more_is_no_company(memory: InMemoryLedger, log: LossyLog) -> None:
    gathering, labels = LossyLog(log), Labels("ada", "host", "etl")
    with closing(SharedConnection(log, 0, gathering)) as line:
        own = ClientSessions(
            Channel(line, lambda: None),
            labels,
            lease_ms=10_000,
            settings=IMPATIENT,
            clock=SystemClock(),
        )
        session = own.current()
        log.lost[Topic.COMMANDS] = ALWAYS
        for _ in range(CROWD - 1):
            with pytest.raises(OutcomeUnknownError):
                session.ask(BEGIN, NO_TIME_S)
        log.heal()
        answer = session.ask(BEGIN)
        own.close()

    assert memory.reads.outcome(session.number, answer.control.n) is not None
    assert gathering.writers[Topic.COMMANDS] == 0
