"""Topics that cannot be read, that are missing, or that were made anew while an ingest runs."""

import pytest

from ledger.clock import SystemClock
from ledger.errors import LogUnavailableError, OffsetGoneError, SettingsError
from ledger.ingest.ingest import LOOK_S
from ledger.ingest.offsets import recorded
from tests.ingest.benches import NAME, IngestBench
from tests.ingest.test_ingest import EVENTS, FIRST, USERS, ids, made, put
from tests.ingest.topics import MemorySource


class Later(SystemClock):
    """A clock that jumps ahead, until topics are looked at again."""

    ahead_s = 0.0

    def monotonic_s(self) -> float:
        return super().monotonic_s() + self.ahead_s

    def look_again(self) -> None:
        self.ahead_s += LOOK_S


@pytest.mark.parametrize("more", [0, 1, 5])
def test_a_topic_that_is_made_anew_in_mid_run_ends_the_ingest(
    bench: IngestBench, more: int
) -> None:
    """The new topic is longer than the old one, so its records begin in the middle."""
    made(bench)
    clock = Later()
    ingest, _ = bench.process(EVENTS, clock=clock)
    put(bench, 1, 2, 3)
    bench.drain(ingest)
    bench.topics.records[FIRST].clear()
    bench.topics.ids["events"] = "another"
    put(bench, *range(100, 103 + more))
    if not more:
        clock.look_again()

    with pytest.raises(OffsetGoneError, match="topic events was made anew"):
        bench.drain(ingest)

    assert ids(bench) == [1, 2, 3]


@pytest.mark.parametrize("is_taken", [False, True])
def test_brokers_that_do_not_answer_are_told_until_they_do(
    bench: IngestBench, *, is_taken: bool
) -> None:
    """Also where records were taken before: their commit waits for an answer."""
    made(bench)
    clock = Later()
    ingest, _ = bench.process(EVENTS, clock=clock)
    bench.drain(ingest)
    well = ingest.tally.trouble
    if is_taken:
        put(bench, 1)
        ingest.gather()
    bench.topics.away = LogUnavailableError("no answer in time")
    told = []
    for _ in range(3):
        clock.look_again()
        ingest.gather()
        ingest.commit()
        told.append(ingest.tally.away)
    stuck = ids(bench)
    bench.topics.away = None
    clock.look_again()
    bench.drain(ingest)

    assert (well, told) == ("", ["no answer in time"] * 3)
    assert stuck == []
    assert (ids(bench), ingest.tally.trouble) == ([1] * is_taken, "")


def test_a_topic_that_is_missing_is_named_while_the_others_go_on(bench: IngestBench) -> None:
    made(bench, "events", "users")
    del bench.topics.ids["users"]
    clock = Later()
    ingest, source = bench.process(EVENTS, USERS, owns=False, clock=clock)
    bench.topics.give(source, FIRST)
    put(bench, 1)
    bench.drain(ingest)
    missing = ingest.tally.away
    bench.topics.ids["users"] = "id"
    clock.look_again()
    bench.drain(ingest)

    assert ids(bench) == [1]
    assert "there is no topic users" in missing
    assert ingest.tally.away == ""


def test_a_partition_without_a_leader_is_named(bench: IngestBench) -> None:
    made(bench)
    ingest, _ = bench.process(EVENTS)
    bench.topics.unled.add(FIRST)
    bench.drain(ingest)

    assert "no broker leads events-0" in ingest.tally.away


def test_lost_records_are_counted_for_good(bench: IngestBench) -> None:
    """Later commits, and other processes, carry the number on."""
    made(bench)
    goes_on = {**EVENTS, "lost": "continue"}
    counted = []
    for first in (2, 5, 5):
        ingest, _ = bench.process(goes_on)
        put(bench, *range(first))
        bench.topics.remove_below(FIRST, bench.topics.end(FIRST) - 1)
        bench.drain(ingest)
        (each,) = recorded(bench.ledger, NAME)
        counted.append((each.note.lost, each.offset, ingest.tally.lost["events"]))
    put(bench, 9)
    bench.drain(ingest)

    assert counted == [(0, 2, 0), (4, 7, 4), (8, 12, 4)]
    assert [each.note.lost for each in recorded(bench.ledger, NAME)] == [8]


def test_an_ingest_that_does_not_fit_joins_no_topic(bench: IngestBench) -> None:
    made(bench, layout="directories", location=bench.folder / "events")
    opened: list[MemorySource] = []

    with pytest.raises(SettingsError, match="of layout"):
        bench.process(EVENTS, opened=opened)

    assert opened == []
