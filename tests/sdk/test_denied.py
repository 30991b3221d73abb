"""What becomes of a command, and of a session, whose records the broker denies."""

import time
from contextlib import closing
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.core.commands import OpenTxn
from ledger.errors import AccessDeniedError, OutcomeUnknownError, SessionExpiredError
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.session.channel import Channel
from ledger.session.exchange import Times, exchange
from ledger.session.silence import Silence
from ledger.testing import InMemoryLedger
from tests.sdk.conftest import ALWAYS, LEASE_S

PATIENT_S: Final = 60.0
SOON_S: Final = 10.0
ASKER: Final = (7, 1)
COMMAND: Final = OpenTxn(*ASKER, 0, "default", 1, 0)
# A writer that was refused is replaced; the one before the last was noted by then.
WRITERS: Final = 3
BEATS: Final = ClientSettings(beat_s=0.05)


def test_a_command_that_the_broker_denies_is_refused_by_name(ledger: Ledger, log: LossyLog) -> None:
    txn = ledger.begin()
    log.denied[Topic.COMMANDS] = ALWAYS
    began_s = time.monotonic()
    with pytest.raises(AccessDeniedError, match="lacks WRITE"):
        txn.commit()
    assert time.monotonic() - began_s < SOON_S
    log.heal()
    assert txn.commit().position > txn.opened


def test_denied_session(memory: InMemoryLedger, log: LossyLog) -> None:
    """A client whose commands are denied is told so by its first call, and may connect again."""
    log.denied[Topic.COMMANDS] = ALWAYS
    with pytest.raises(AccessDeniedError):
        memory.connect().begin()
    log.heal()
    memory.connect().begin().commit()


def test_a_command_that_may_have_got_in_has_an_unknown_outcome(log: LossyLog) -> None:
    log.lost[Topic.COMMANDS] = 1
    log.denied[Topic.COMMANDS] = ALWAYS
    with closing(Channel.open(log, 0)) as channel:
        awaited = channel.tail.expect(ASKER)
        times = Times(0.05, time.monotonic() + 1.0)
        with pytest.raises(OutcomeUnknownError, match="lacks WRITE"):
            exchange(channel, COMMAND, awaited, times)


def test_a_session_whose_beats_are_denied_says_so(still: InMemoryLedger, log: LossyLog) -> None:
    view = LossyLog(log)
    view.denied[Topic.HEARTBEATS] = ALWAYS
    txn = still.connect(settings=BEATS, log=view).begin()
    until_s = time.monotonic() + PATIENT_S
    while view.writers[Topic.HEARTBEATS] < WRITERS:
        assert time.monotonic() < until_s
    still.advance(LEASE_S + 1)
    with pytest.raises(
        SessionExpiredError, match=r"refused the beats of this process.* lacks WRITE"
    ):
        txn.commit()


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (None, "did not reach the sequencer"),
        (OutcomeUnknownError("late", session=1, n=1), "did not reach the sequencer"),
        (AccessDeniedError("lacks WRITE", topic="t", right="WRITE"), "refused the beats"),
    ],
)
def test_silence_is_explained_by_what_was_refused(refused: Exception | None, said: str) -> None:
    silence = Silence(10.0)
    silence.note_sign(refused)
    silence.note_sign()
    assert said in silence.told()
