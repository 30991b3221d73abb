"""The register of the processes that follow the log."""

import json
from typing import Final

import pytest

from ledger.errors import TrimRefusedError
from ledger.log.consumers import (
    BEGIN_ANEW,
    CACHE,
    RUNS_MS,
    UNREADABLE,
    Consumer,
    behind,
    forget,
    register,
    registered,
)
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.trimming.survey import check_consumers

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


# What stands under the key of a follower, and cannot be read by this version.
UNKNOWN: Final = {
    "no JSON": b"{",
    "no object": b"[]",
    "no text": b"\xff",
    "a field of another kind": json.dumps(FOLLOWER._asdict() | {"position": "12"}).encode(),
    "a later version": json.dumps(FOLLOWER._asdict() | {"version": 2}).encode(),
    "a field more": json.dumps(FOLLOWER._asdict() | {"version": 2, "domain": 0}).encode(),
}


@pytest.mark.parametrize("value", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("role", ["follower", CACHE])
def test_a_record_that_cannot_be_read_needs_all_events(role: str, value: bytes) -> None:
    log = MemoryLog(lambda: 7)
    log.writer(Topic.CONSUMERS).append(f"0/{role}/odd/one".encode(), value)
    found = registered(log)
    assert found == [Consumer(role, "odd/one", "", 0, 7, UNREADABLE)]
    assert list(behind(found, 2, 7 + 2 * RUNS_MS)) == found
    with pytest.raises(TrimRefusedError, match=f"consumers forget {role} odd/one"):
        check_consumers(found, 2, 7)
    forget(log, 0, role, "odd/one")
    assert registered(log) == []


def test_a_record_under_a_key_of_no_consumer_is_passed_over() -> None:
    log = MemoryLog()
    for key in (b"0/", b"0/odd", b"0//odd", b"0/odd/", b"\xff"):
        log.writer(Topic.CONSUMERS).append(key, b"{")
    assert registered(log) == []


@pytest.mark.parametrize("role", sorted(BEGIN_ANEW))
def test_a_process_that_begins_anew_each_time_counts_while_it_runs(role: str) -> None:
    said = FOLLOWER._replace(role=role)
    assert list(behind([said], 13, said.at + RUNS_MS)) == [said]
    assert list(behind([said], 13, said.at + RUNS_MS + 1)) == []
