"""Verifying a log: what is in it, what does not count, and where it is damaged."""

from collections.abc import Sequence

import pytest

from ledger.core.acceptance import LogHead, Verdict
from ledger.core.events.events import Resigned
from ledger.errors import LogDamagedError, LogUnavailableError
from ledger.log.checkpoints import digest
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Record, Topic
from ledger.log.replay import verify
from ledger.session.tail import read_genesis
from tests.driver import Driver, write

# The offset of the record that does not count; nobody looks at what is in it.
ZOMBIE = 8
FENCES = {0, 7}


@pytest.fixture
def driver() -> Driver:
    """Return a log with a history, a change of leaders, and a record of the former one."""
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "db.t")
    driver.commit(session, driver.open_txn(session), write(table))
    driver.fence()
    driver.zombie(Resigned("driver"))
    driver.open_txn(session)
    return driver


def replace(log: MemoryLog, offset: int, value: bytes) -> None:
    records = log.topics[Topic.EVENTS].records
    records[offset] = Record(offset, b"", value, 0)


def test_a_sound_log_is_counted_and_folds_to_the_digest_of_who_wrote_it(driver: Driver) -> None:
    found = verify(driver.log)
    assert found.head == driver.head
    assert found.digest == digest(driver.state, driver.head)
    assert found.records == len(driver.records) == driver.head.position + 1
    assert found.dropped == {Verdict.OLD_EPOCH: 1}
    assert found.events == {
        "Fenced": 2,
        "LedgerCreated": 1,
        "CatalogCreated": 1,
        "SessionOpened": 1,
        "TableCreated": 1,
        "TxnOpened": 2,
        "TxnCommitted": 1,
    }


def test_a_log_without_records_is_sound() -> None:
    found = verify(MemoryLog())
    assert (found.head, found.records) == (LogHead(), 0)


def test_who_waits_is_told_how_far_it_is_up_to_the_end(driver: Driver) -> None:
    told: list[tuple[int, int]] = []
    verify(driver.log, lambda done, end: told.append((done, end)))
    assert told[-1] == (len(driver.records), len(driver.records))


@pytest.mark.parametrize("offset", range(ZOMBIE))
def test_one_flipped_bit_is_found_at_its_position(driver: Driver, offset: int) -> None:
    value = driver.records[offset].value
    replace(driver.log, offset, value[:-1] + bytes([value[-1] ^ 1]))
    with pytest.raises(LogDamagedError) as found:
        verify(driver.log)
    assert found.value.position == offset + 1 + (offset in FENCES)


@pytest.mark.parametrize("garbage", [b"", b"\0", b"garbage", bytes(200)], ids=repr)
def test_bytes_no_schema_explains_are_damage(driver: Driver, garbage: bytes) -> None:
    driver.append(garbage)
    with pytest.raises(LogDamagedError, match=f"at position {driver.head.position + 1}: ") as found:
        verify(driver.log)
    assert found.value.position == driver.head.position + 1


def test_a_log_without_its_beginning_is_damaged(driver: Driver) -> None:
    driver.log.remove_below(Topic.EVENTS, 3)
    with pytest.raises(LogDamagedError, match=r"at position 1: .* offset 3, history is gone"):
        verify(driver.log)


class LeavingReader(MemoryLogReader):
    """A reader of a broker that has gone away."""

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:  # noqa: ARG002
        return []


class LeavingLog(MemoryLog):
    """The records of another log, whose broker goes away after the first question."""

    def __init__(self, of: MemoryLog) -> None:
        super().__init__()
        self.topics, self.changed = of.topics, of.changed
        self._is_away = False

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        if self._is_away:
            raise LogUnavailableError("no answer in time")
        self._is_away = True
        return super().ends(topic, timeout_s)

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        return LeavingReader(self, self.topics[topic], offset)


def test_a_broker_that_goes_away_makes_no_log_damaged_or_empty(driver: Driver) -> None:
    with pytest.raises(LogUnavailableError, match="no answer"):
        verify(LeavingLog(driver.log))
    with pytest.raises(LogUnavailableError, match="no answer"):
        read_genesis(LeavingLog(driver.log), 0.0)
