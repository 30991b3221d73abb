"""Leases that clients choose: recorded and bounded; and what a client is told whose lease ran out.

That each session is ended by its own lease is shown where time is moved by hand.
"""

import re
from contextlib import closing
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.config.settings import LEASE_MIN_S, ClientSettings
from ledger.core.limits import DEFAULT_LIMITS, LEASE_MIN_MS
from ledger.errors import SessionExpiredError
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.session.channel import Channel
from ledger.session.sessions import ClientSessions, Labels
from ledger.testing import InMemoryLedger
from tests.sdk.conftest import ALWAYS, LEASE_S, opened

ROUNDS_MAX = 5_000


def test_expired_because_of_silence() -> None:
    """The error of a session whose beats stopped says for how long, and which lease has room."""
    limits = DEFAULT_LIMITS._replace(lease_ms=LEASE_MIN_MS)
    with InMemoryLedger(limits=limits) as memory:
        ledger = memory.connect(settings=ClientSettings(beat_s=ALWAYS))
        txn = ledger.begin()
        wait_for_end(memory, opened(memory)[0])

        with pytest.raises(SessionExpiredError) as raised:
            txn.commit()

    said = re.search(
        r"stopped for (\d+\.\d) s, and the lease was 0\.5 s.*holds the interpreter's lock"
        r".*Ledger\.connect\(lease_s=(\d+)\).*LAKELEDGER_LEASE_S\. Begin the txn again",
        str(raised.value),
    )
    assert said is not None, raised.value
    assert LEASE_MIN_S < float(said[1]) < float(said[2])


def test_lost_beats_do_not_blame_the_process(still: InMemoryLedger, log: LossyLog) -> None:
    view = LossyLog(log)
    ledger = still.connect(settings=ClientSettings(beat_s=0.01), log=view)
    view.lost[Topic.HEARTBEATS] = ALWAYS
    txn = ledger.begin()
    still.advance(LEASE_S + 1)

    with pytest.raises(
        SessionExpiredError, match=r"lease was 10 s, .* they did not reach the sequencer"
    ):
        txn.commit()


def wait_for_end(memory: InMemoryLedger, session: int) -> None:
    for _ in range(ROUNDS_MAX):
        row = memory.reads.session(session)
        if row is not None and row.ended:
            return
        memory.leader.wait_rounds(1)
    raise TimeoutError(f"session {session} is open after {ROUNDS_MAX} rounds")


@pytest.mark.parametrize("lease_s", [0.5, 3, 86_400.0])
def test_lease_chosen_at_connect(still: InMemoryLedger, log: LossyLog, lease_s: float) -> None:
    """The log says of a session which lease its client chose."""
    with Ledger.connect(log=log, reads=still.reads, lease_s=lease_s) as ledger:
        ledger.begin()
        row = still.reads.session(opened(still)[0])

    assert row is not None
    assert row.lease_ms == lease_s * 1000


def test_silent_for_less_than_the_lease_chosen(still: InMemoryLedger, log: LossyLog) -> None:
    """A process that was silent for longer than the ledger's lease, not its own, commits."""
    with Ledger.connect(log=log, reads=still.reads, lease_s=6 * LEASE_S) as ledger:
        txn = ledger.begin()
        still.advance(3 * LEASE_S)

        assert txn.commit().txn == txn.id


@pytest.mark.parametrize(
    ("lease_s", "error", "said"),
    [
        (0.4, ValueError, r"lease_s must be 0\.5 to 86400 s, got 0\.4"),
        (86_401, ValueError, r"lease_s must be 0\.5 to 86400 s, got 86401"),
        (-1, ValueError, "got -1"),
        (float("nan"), ValueError, "got nan"),
        (float("inf"), ValueError, "got inf"),
        ("30", TypeError, "lease_s must be a number of seconds, got '30'"),
        (True, TypeError, "got True"),
    ],
)
def test_a_lease_that_cannot_be_is_refused_before_anything_is_connected(
    log: LossyLog, lease_s: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        Ledger.connect(log=log, lease_s=lease_s)


@pytest.mark.parametrize(("lease_s", "beats"), [(None, 3), (1.0, 30), (86_400.0, 3)])
def test_beats_of_a_lease(
    memory: InMemoryLedger, log: LossyLog, lease_s: float | None, beats: int
) -> None:
    """Beats come three to a lease: the session's or, for a longer one, the ledger's."""
    channel = Channel.open(log, 0)
    sessions = ClientSessions(
        channel,
        Labels("ada", "host", "etl"),
        lease_ms=LEASE_S * 1000,
        settings=ClientSettings(lease_s=lease_s),
        clock=SystemClock(),
    )

    with closing(channel):
        assert round(LEASE_S / sessions.beat_s) == beats
    assert memory.leader.failure is None
