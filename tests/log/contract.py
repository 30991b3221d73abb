"""What every log promises, as tests that each adapter runs over a fixture named `bench`."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from ledger.errors import OffsetGoneError
from ledger.log.port import Log, LogReader, Record, Topic

WAIT_S = 30.0
LARGE = 900 * 1024
LARGEST_EVENT = 1900 * 1024


@dataclass(frozen=True, slots=True)
class Bench:
    """A new log, and how to harm its topics as retention and operators do."""

    log: Log
    remove_below: Callable[[Topic, int], None]
    recreate: Callable[[Topic], None]

    def write(self, topic: Topic, *values: bytes) -> None:
        """Append values under one key, and wait until they are there."""
        writer = self.log.writer(topic)
        for value in values:
            writer.append(b"key", value)
        writer.flush(WAIT_S)
        writer.close()

    @contextmanager
    def reading(self, topic: Topic, offset: int = 0) -> Iterator[LogReader]:
        """Hold a reader for the length of a block."""
        reader = self.log.reader(topic, offset)
        try:
            yield reader
        finally:
            reader.close()

    def read(self, topic: Topic, wanted: int, offset: int = 0) -> list[Record]:
        """Return `wanted` records from an offset on, or as many as come in time."""
        with self.reading(topic, offset) as reader:
            return collect(reader, wanted)


def collect(reader: LogReader, wanted: int, limit: int = 1000) -> list[Record]:
    """Return `wanted` records, or as many as come in time."""
    deadline = time.monotonic() + WAIT_S
    found: list[Record] = []
    while len(found) < wanted and time.monotonic() < deadline:
        found.extend(reader.read(limit, 1.0))
    return found


def values(records: list[Record]) -> list[bytes]:
    """Return the values of records, in the order of their offsets."""
    return [record.value for record in records]


class LogContract:
    """The contract of Log, LogReader and LogWriter."""

    def test_records_come_back_in_order_and_numbered_without_a_hole(self, bench: Bench) -> None:
        written = [b"%d" % number for number in range(500)]
        bench.write(Topic.EVENTS, *written)
        records = bench.read(Topic.EVENTS, 500)
        assert [record.offset for record in records] == list(range(500))
        assert values(records) == written

    def test_a_record_has_its_key_its_value_and_its_time(self, bench: Bench) -> None:
        before_ms = int(time.time() * 1000)
        bench.write(Topic.COMMANDS, b"\x00\xff")
        record = bench.read(Topic.COMMANDS, 1)[0]
        assert record == Record(0, b"key", b"\x00\xff", record.timestamp)
        assert before_ms - 1000 <= record.timestamp <= int(time.time() * 1000) + 1000

    def test_a_tombstone_is_written_and_read_as_an_empty_value(self, bench: Bench) -> None:
        bench.write(Topic.CACHE, b"", b"after")
        assert values(bench.read(Topic.CACHE, 2)) == [b"", b"after"]

    @pytest.mark.parametrize(
        ("topic", "size"),
        [
            (Topic.COMMANDS, LARGE),
            (Topic.EVENTS, LARGEST_EVENT),
            (Topic.CHECKPOINTS, LARGE),
            (Topic.CACHE, 2 * LARGEST_EVENT),
        ],
    )
    def test_large_records(self, bench: Bench, topic: Topic, size: int) -> None:
        """Records near the limit of their topic come back whole, several in a row."""
        written = [bytes([number]) * size for number in range(3)]
        bench.write(topic, *written)
        assert values(bench.read(topic, 3)) == written

    def test_what_is_appended_to_one_topic_is_in_that_one_alone(self, bench: Bench) -> None:
        bench.write(Topic.COMMANDS, b"asked")
        bench.write(Topic.EVENTS, b"happened")
        assert values(bench.read(Topic.EVENTS, 1)) == [b"happened"]
        assert bench.log.ends(Topic.HEARTBEATS) == (0, 0)

    def test_no_read_returns_more_than_its_limit(self, bench: Bench) -> None:
        bench.write(Topic.EVENTS, *[b"%d" % number for number in range(10)])
        with bench.reading(Topic.EVENTS) as reader:
            first = collect(reader, 1, limit=1)
            rest = collect(reader, 9, limit=4)
        assert values(first) == [b"0"]
        assert values(rest) == [b"%d" % number for number in range(1, 10)]

    def test_start_in_the_middle(self, bench: Bench) -> None:
        bench.write(Topic.EVENTS, *[b"%d" % number for number in range(10)])
        assert values(bench.read(Topic.EVENTS, 3, offset=7)) == [b"7", b"8", b"9"]

    def test_the_next_offset_is_behind_the_last_record(self, bench: Bench) -> None:
        bench.write(Topic.EVENTS, *[b"%d" % number for number in range(5)])
        with bench.reading(Topic.EVENTS, 2) as reader:
            before = reader.next_offset()
            collect(reader, 2, limit=2)
            assert (before, reader.next_offset()) == (2, 4)

    def test_at_the_end_a_read_waits_as_long_as_it_was_told_to(self, bench: Bench) -> None:
        bench.write(Topic.EVENTS, b"only")
        with bench.reading(Topic.EVENTS, 1) as reader:
            started = time.monotonic()
            assert list(reader.read(10, 0.3)) == []
            assert 0.25 <= time.monotonic() - started < WAIT_S
            assert list(reader.read(10, 0.0)) == []
            assert reader.next_offset() == 1

    def test_a_read_that_waits_returns_with_the_first_record(self, bench: Bench) -> None:
        with bench.reading(Topic.EVENTS) as reader, ThreadPoolExecutor() as pool:
            waiting = pool.submit(reader.read, 10, 10 * WAIT_S)
            bench.write(Topic.EVENTS, b"awaited")
            assert values(list(waiting.result(WAIT_S))) == [b"awaited"]

    def test_two_readers_of_one_topic_both_get_everything(self, bench: Bench) -> None:
        bench.write(Topic.EVENTS, b"one", b"two")
        with bench.reading(Topic.EVENTS) as left, bench.reading(Topic.EVENTS) as right:
            assert values(collect(left, 2)) == values(collect(right, 2)) == [b"one", b"two"]

    def test_records_of_two_writers_interleave(self, bench: Bench) -> None:
        writers = {b"a": bench.log.writer(Topic.EVENTS), b"b": bench.log.writer(Topic.EVENTS)}
        for number in range(100):
            for name, writer in writers.items():
                writer.append(name, b"%d" % number)
        for writer in writers.values():
            writer.flush(WAIT_S)
            writer.close()
        records = bench.read(Topic.EVENTS, 200)
        by_writer = {
            name: [record.value for record in records if record.key == name] for name in writers
        }
        expected = [b"%d" % number for number in range(100)]
        assert by_writer == {b"a": expected, b"b": expected}

    def test_the_ends_are_those_of_now(self, bench: Bench) -> None:
        empty = bench.log.ends(Topic.EVENTS)
        bench.write(Topic.EVENTS, b"one", b"two", b"three")
        full = bench.log.ends(Topic.EVENTS)
        bench.remove_below(Topic.EVENTS, 2)
        assert (empty, full, bench.log.ends(Topic.EVENTS)) == ((0, 0), (0, 3), (2, 3))

    def test_reading_what_was_removed_is_an_error_each_time(self, bench: Bench) -> None:
        bench.write(Topic.EVENTS, *[b"%d" % number for number in range(10)])
        bench.remove_below(Topic.EVENTS, 6)
        with bench.reading(Topic.EVENTS, 2) as reader:
            with pytest.raises(OffsetGoneError) as caught:
                collect(reader, 1)
            assert (caught.value.wanted, caught.value.earliest) == (2, 6)
            with pytest.raises(OffsetGoneError):
                collect(reader, 1)
            assert reader.next_offset() == 2
        assert values(bench.read(Topic.EVENTS, 4, offset=6)) == [b"6", b"7", b"8", b"9"]

    def test_beyond_the_end(self, bench: Bench) -> None:
        """A reader that is ahead of the log is told: the log lost its end."""
        bench.write(Topic.EVENTS, b"only")
        with bench.reading(Topic.EVENTS, 5) as reader, pytest.raises(OffsetGoneError) as caught:
            collect(reader, 1)
        assert (caught.value.wanted, caught.value.earliest) == (5, 0)

    def test_a_topic_created_anew_is_empty_and_has_another_id(self, bench: Bench) -> None:
        bench.write(Topic.COMMANDS, b"one", b"two")
        before = bench.log.topic_id(Topic.COMMANDS)
        with bench.reading(Topic.COMMANDS) as reader:
            collect(reader, 2)
            assert bench.log.topic_id(Topic.COMMANDS) == before
            bench.recreate(Topic.COMMANDS)
            assert bench.log.ends(Topic.COMMANDS) == (0, 0)
            assert bench.log.topic_id(Topic.COMMANDS) != before
            with pytest.raises(OffsetGoneError):
                collect(reader, 1)

    def test_flushing_and_checking_a_writer_without_records_is_allowed(self, bench: Bench) -> None:
        writer = bench.log.writer(Topic.EVENTS)
        writer.flush(WAIT_S)
        writer.check()
        writer.close()

    def test_everything_may_be_closed_again(self, bench: Bench) -> None:
        parts = (bench.log.reader(Topic.EVENTS, 0), bench.log.writer(Topic.EVENTS), bench.log)
        for part in (*parts, *parts):
            part.close()
