"""The register of the processes that follow the log."""

from ledger.log.consumers import Consumer, behind, forget, register, registered
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic

FOLLOWER = Consumer("follower", "one", "host", 12, 1_000)
PIN = Consumer("pin", "audit", "host", 5, 1_000)


def test_the_last_word_of_each_consumer_counts() -> None:
    log = MemoryLog()
    assert registered(log) == []
    for consumer in (FOLLOWER, PIN, FOLLOWER._replace(position=20)):
        register(log, 0, consumer)
    register(log, 1, FOLLOWER)
    found = registered(log)
    assert found == [FOLLOWER._replace(position=20), PIN]
    assert list(behind(found, 6, 2_000)) == [PIN]
    forget(log, 0, "pin", "audit")
    assert registered(log) == [FOLLOWER._replace(position=20)]


def test_a_record_that_is_no_consumer_is_passed_over() -> None:
    log = MemoryLog()
    for value in (b"{", b"[]", b'{"role": 1}', b"\xff"):
        log.writer(Topic.CONSUMERS).append(b"0/follower/odd", value)
    assert registered(log) == []
