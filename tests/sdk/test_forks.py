"""Forks: a child is told to connect for itself, and disturbs nobody."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.errors import OutcomeUnknownError
from ledger.testing import InMemoryLedger

# By then a child that hangs is ended.
CHILD_S = 10
# Python warns of forks beside threads from 3.12 on; that is what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def test_a_forked_child_is_told_to_connect_for_itself(ledger: Ledger) -> None:
    txn = ledger.begin()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, first_words(ledger, txn.commit))
        ledger.close()
        os._exit(0)
    os.waitpid(child, 0)

    said = os.read(reader, 10_000).decode()

    os.close(reader)
    os.close(writer)
    assert said.count("Call Ledger.connect there, after the fork") == 4
    assert txn.commit().txn == txn.id


def test_fork_beside_a_commit(memory: InMemoryLedger) -> None:
    ledger = memory.connect(settings=ClientSettings(timeout_s=1.0, close_s=0.05))
    txn = ledger.begin()
    memory.leader.crash()
    reader, writer = os.pipe()
    with ThreadPoolExecutor(1) as other:
        committing = other.submit(txn.commit)
        while txn.status != "unknown":
            assert not committing.done()
        child = os.fork()
        if child == 0:
            signal.alarm(CHILD_S)
            os.write(writer, first_words(ledger, txn.commit))
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        assert "Call Ledger.connect there, after the fork" in os.read(reader, 10_000).decode()
        os.close(reader)
        with pytest.raises(OutcomeUnknownError):
            committing.result()


def first_words(ledger: Ledger, *calls: object) -> bytes:
    """Return what a ledger answers to whatever it is asked."""
    said = []
    for call in (*calls, ledger.begin, ledger.tables, lambda: ledger.wait(1)):
        try:
            call()  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001 - the test looks at all of it
            said.append(str(error))
    return "\n".join(said).encode()
