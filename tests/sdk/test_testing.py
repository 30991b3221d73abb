"""The ledger in memory that users' own tests are written with."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.errors import FencedError, LogError, OutcomeUnknownError
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.testing import STARTED_AT_MS, FixedClock, InMemoryLedger
from tests.sdk.conftest import ALERT, IMPATIENT

HASTY = ClientSettings(timeout_s=1.0, attempt_s=0.05, close_s=0.05)
PATIENT_MS: Final = 20_000
READERS: Final = 3
TXNS: Final = 150


@pytest.fixture
def _eager() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_what_the_module_shows_as_its_use_works() -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("flights")
        with ledger.transaction() as txn:
            txn.write_id("flights")

        assert memory.reads.txn(txn.id) is not None


def test_a_fixed_clock_moves_when_it_is_told_to_both_of_its_times_alike() -> None:
    clock = FixedClock()
    before = clock.now_ms(), clock.monotonic_s()
    clock.advance(1.5)

    assert before == (STARTED_AT_MS, 0.0)
    assert (clock.now_ms(), clock.monotonic_s()) == (STARTED_AT_MS + 1_500, 1.5)


def test_events_have_the_time_of_the_clock_that_the_ledger_was_given() -> None:
    clock = FixedClock()
    with InMemoryLedger(clock=clock) as memory:
        ledger = memory.connect()
        clock.advance(3_600)

        assert ledger.begin().commit().at.timestamp() * 1000 == STARTED_AT_MS + 3_600_000


def test_a_txn_that_is_left_open_is_aborted_when_its_deadline_has_passed() -> None:
    with InMemoryLedger(clock=FixedClock()) as memory:
        memory.advance(10.0)
        txn = memory.connect().begin(deadline_s=60.0)
        memory.advance(5.0)
        early = memory.reads.txn(txn.id)
        memory.advance(60.0)
        late = memory.reads.txn(txn.id)

    assert early is not None
    assert late is not None
    assert (early.status, late.status, late.reason) == ("open", "aborted", "lease")


@pytest.mark.parametrize("crash", [True, False])
def test_another_sequencer_goes_on_where_the_one_before_ended(*, crash: bool) -> None:
    with InMemoryLedger(settings=ALERT) as memory:
        ledger = memory.connect(settings=IMPATIENT)
        first = ledger.begin()
        memory.take_over(crash=crash)
        second = ledger.begin()

        assert (second.id, first.commit().txn) == (first.id + 1, first.id)


def test_what_a_sequencer_ended_with_is_not_kept_from_the_test(log: LossyLog) -> None:
    with pytest.raises(FencedError):
        lose_an_answer(log)


def lose_an_answer(log: LossyLog) -> None:
    """Use a ledger until its sequencer ends because an answer was lost."""
    with InMemoryLedger(log=log) as memory:
        ledger = memory.connect(settings=HASTY)
        ledger.create_table("flights")
        log.lost[Topic.EVENTS] = 1
        with pytest.raises(OutcomeUnknownError):
            ledger.begin()
        memory.leader.wait_end()


def test_rounds_that_no_leader_does_are_not_waited_for_without_end(memory: InMemoryLedger) -> None:
    memory.leader.stop()

    with pytest.raises(LogError, match="did not do 1 rounds"):
        memory.leader.wait_rounds(1, timeout_s=0.01)


def test_end_of_a_sequencer_that_runs(memory: InMemoryLedger) -> None:
    with pytest.raises(LogError, match="still runs after"):
        memory.leader.wait_end(timeout_s=0.01)


def test_who_waits_is_in_nobodys_way(memory: InMemoryLedger, ledger: Ledger) -> None:
    ledger.create_table("flights")
    wanted = memory.reads.position() + 50
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(memory.reads.wait, wanted, PATIENT_MS)
        while not waiting.done():
            with memory.connect().transaction() as txn:
                txn.write_id("flights")

    assert waiting.result() >= wanted


@pytest.mark.usefixtures("_eager")
def test_threads_read_as_of_one_position_each(memory: InMemoryLedger, ledger: Ledger) -> None:
    table = ledger.create_table("flights").table
    held = ledger.begin("read_only")  # So that no mapping is cleaned.

    def write() -> None:
        for _ in range(TXNS):
            ledger.begin(tables=[table]).commit()

    with ThreadPoolExecutor(READERS + 1) as pool:
        writing = pool.submit(write)
        reading = [pool.submit(read_until, memory, table, TXNS) for _ in range(READERS)]

    assert writing.exception() is None
    assert [each.exception() for each in reading] == [None] * READERS
    held.commit()


def read_until(memory: InMemoryLedger, table: int, write_id: int) -> None:
    """Read which write ids of a table are valid, until one is."""
    reads = memory.reads
    while not reads.write_ids_at(table).is_valid(write_id):
        assert reads.mappings(table) is not None
        listed = reads.write_ids_at(table)
        assert all(exception <= listed.hwm for exception in listed.exceptions())
