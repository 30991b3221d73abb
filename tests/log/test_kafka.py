"""The log in Kafka keeps the contract, and says what went wrong when the broker does not."""

import gc
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread, Timer

import psutil
import pytest
from confluent_kafka import KafkaException, Producer

from ledger.errors import LogError, LogUnavailableError, OffsetGoneError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.topics import add_topic, create_topics
from ledger.log.port import LogReader, LogWriter, Topic
from ledger.machine.kafka.broker import Broker
from tests.log.contract import WAIT_S, Bench, LogContract, collect, values
from tests.log.kafka_bench import delete_topic, kafka_bench

pytestmark = pytest.mark.kafka

LEDGER = "flights"


@pytest.fixture
def log(broker: Broker, ledger_name: str) -> Iterator[KafkaLog]:
    create_topics(broker.bootstrap, ledger_name)
    add_topic(broker.bootstrap, ledger_name, Topic.CACHE)
    log = KafkaLog(broker.bootstrap, ledger_name)
    yield log
    log.close()


@pytest.fixture
def bench(log: KafkaLog, broker: Broker) -> Bench:
    return kafka_bench(log, broker.bootstrap)


class TestKafkaLog(LogContract):
    """The contract, over a real broker."""


def raised(read: Callable[[], object]) -> LogError:
    """Return the error that a repeated call raises before long."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        try:
            read()
        except LogError as error:
            return error
    message = f"no error within {WAIT_S} s"
    raise TimeoutError(message)


def test_full_queue(broker: Broker, bench: Bench, log: KafkaLog) -> None:
    """A writer whose queue is full waits for room; nothing is lost or changes places."""
    narrow = KafkaLog(
        broker.bootstrap, log.ledger, client={"queue.buffering.max.messages": 10}, linger_ms=1
    )
    written = [b"%d" % number for number in range(1000)]
    Bench(narrow, bench.remove_below, bench.recreate).write(Topic.EVENTS, *written)
    narrow.close()
    assert values(bench.read(Topic.EVENTS, 1000)) == written


def test_close_at_an_offset_that_is_gone(log: KafkaLog) -> None:
    def read_and_close() -> None:
        for _ in range(500):
            with closing(log.reader(Topic.EVENTS, 1000)) as reader, suppress(OffsetGoneError):
                reader.read(1, WAIT_S)

    closing_all = Thread(target=read_and_close, daemon=True)
    closing_all.start()
    closing_all.join(WAIT_S * 3)
    assert not closing_all.is_alive()


def test_a_stray_transaction_leaves_a_hole(broker: Broker, bench: Bench, log: KafkaLog) -> None:
    stray = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": log.ledger})
    stray.init_transactions(WAIT_S)
    stray.begin_transaction()
    stray.produce(topic_name(log.ledger, Topic.COMMANDS), b"stray")
    stray.commit_transaction(WAIT_S)
    bench.write(Topic.COMMANDS, b"own")
    with bench.reading(Topic.COMMANDS) as reader:
        records = collect(reader, 2)
        assert [(record.offset, record.value) for record in records] == [(0, b"stray"), (2, b"own")]
        assert reader.next_offset() == 3


def test_open_transaction_holds_nobody_up(broker: Broker, bench: Bench, log: KafkaLog) -> None:
    stray = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": log.ledger})
    stray.init_transactions(WAIT_S)
    stray.begin_transaction()
    stray.produce(topic_name(log.ledger, Topic.COMMANDS), b"stray")
    stray.flush(WAIT_S)
    bench.write(Topic.COMMANDS, b"own")
    found = bench.read(Topic.COMMANDS, 2)
    stray.abort_transaction(WAIT_S)
    assert values(found) == [b"stray", b"own"]


def test_records_before_a_damaged_one_are_read(broker: Broker, bench: Bench, log: KafkaLog) -> None:
    for number in range(5):
        bench.write(Topic.EVENTS, b"record-%d" % number)
    segment = segment_of(broker, topic_name(log.ledger, Topic.EVENTS))
    with segment.open("r+b") as file:
        file.seek(segment.read_bytes().index(b"record-3"))
        file.write(b"R")
    with bench.reading(Topic.EVENTS) as reader:
        assert len(collect(reader, 3)) == 3
        for _ in range(2):
            with pytest.raises(LogError, match="fail their checksum"):
                collect(reader, 1)
        assert reader.next_offset() == 3


def segment_of(broker: Broker, name: str) -> Path:
    """Return the file in which the broker keeps a topic."""
    return next(broker.folder.rglob(f"{name}-0/*.log"))


PARTS_WITHOUT_TOPIC: list[Callable[[KafkaLog], object]] = [
    lambda log: log.reader(Topic.EVENTS, 0).read(1, 10),
    lambda log: written(log).flush(10),
    lambda log: log.ends(Topic.EVENTS),
    lambda log: log.topic_id(Topic.EVENTS),
]


def written(log: KafkaLog) -> LogWriter:
    writer = log.writer(Topic.EVENTS)
    writer.append(b"key", b"value")
    return writer


@pytest.mark.parametrize("use", PARTS_WITHOUT_TOPIC, ids=["read", "write", "ends", "topic_id"])
def test_no_such_topic(broker: Broker, ledger_name: str, use: Callable[[KafkaLog], object]) -> None:
    log = KafkaLog(broker.bootstrap, ledger_name)
    with pytest.raises(LogUnavailableError, match=rf"{ledger_name}.events: no such topic; check"):
        use(log)
    log.close()


def test_deleted_topic(broker: Broker, bench: Bench, log: KafkaLog) -> None:
    """A reader whose topic is deleted does not wait for ever."""
    bench.write(Topic.EVENTS, b"one")
    with bench.reading(Topic.EVENTS) as reader:
        collect(reader, 1)
        delete_topic(broker.bootstrap, topic_name(log.ledger, Topic.EVENTS))
        assert "no such topic" in str(raised(lambda: reader.read(1, 1.0)))


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    """Run a broker that the test may kill, with the topics of a ledger that was written to."""
    broker = Broker.start(tmp_path)
    create_topics(broker.bootstrap, LEDGER)
    log = KafkaLog(broker.bootstrap, LEDGER)
    writer = written(log)
    writer.flush(WAIT_S)
    writer.close()
    log.close()
    yield broker
    broker.kill()


def test_a_record_that_was_not_delivered_in_time_ends_its_writer(own_broker: Broker) -> None:
    log = KafkaLog(own_broker.bootstrap, LEDGER, delivery_timeout_s=4.0)
    writer = written(log)
    writer.flush(WAIT_S)
    own_broker.kill()
    writer.append(b"key", b"lost")
    first = raised(writer.check)
    with Broker.start(own_broker.folder):
        assert log.ends(Topic.EVENTS, WAIT_S) == (0, 2)
        uses: list[Callable[[], None]] = [
            lambda: writer.append(b"key", b"more"),
            writer.check,
            lambda: writer.flush(1),
        ]
        for use in uses:
            with pytest.raises(LogUnavailableError, match=r"flights\.events: no answer in time"):
                use()
        writer.close()
        assert log.ends(Topic.EVENTS, WAIT_S) == (0, 2)
        log.close()
    assert isinstance(first.__cause__, KafkaException)


def test_a_broker_that_was_away_costs_that_time_and_no_more(own_broker: Broker) -> None:
    log = KafkaLog(own_broker.bootstrap, LEDGER)
    reader, writer = log.reader(Topic.EVENTS, 1), written(log)
    writer.flush(WAIT_S)
    collect(reader, 1)
    own_broker.kill()
    writer.append(b"key", b"held back")
    with pytest.raises(LogUnavailableError, match=r"1 record\(s\) not acknowledged"):
        writer.flush(0.3)
    assert list(reader.read(1, 0.3)) == []
    with pytest.raises(LogUnavailableError):
        log.ends(Topic.EVENTS, 0.3)
    with Broker.start(own_broker.folder):
        writer.flush(WAIT_S)
        assert values(collect(reader, 1)) == [b"held back"]
        assert log.ends(Topic.EVENTS, WAIT_S) == (0, 3)
        for part in (reader, writer, log):
            part.close()


def test_the_answer_of_a_slow_broker_is_waited_for_as_asked(own_broker: Broker) -> None:
    log = KafkaLog(own_broker.bootstrap, LEDGER)
    assert log.ends(Topic.EVENTS, WAIT_S) == (0, 1)
    process = psutil.Process(own_broker.pid)
    process.suspend()
    going_on = Timer(2.0, process.resume)
    going_on.start()
    assert log.ends(Topic.EVENTS, WAIT_S) == (0, 1)
    going_on.join()
    log.close()


def use_elsewhere(log: KafkaLog, reader: LogReader, writer: LogWriter) -> None:
    """Use what another process made; exit with 0 if each part refuses, and let nobody clean up."""
    refused = 0
    for use in (
        lambda: writer.append(b"key", b"value"),
        lambda: log.ends(Topic.EVENTS),
        lambda: log.reader(Topic.EVENTS, 0),
        lambda: log.writer(Topic.EVENTS),
        lambda: log.topic_id(Topic.EVENTS),
        lambda: reader.read(1, 0),
        writer.check,
        lambda: writer.flush(0),
    ):
        with suppress(LogError):
            use()
            continue
        refused += 1
    for part in (log, reader, writer):
        part.close()
    os._exit(8 - refused)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_refused_and_may_close_what_it_has(bench: Bench, log: KafkaLog) -> None:
    writer = written(log)
    gc.collect()  # Clients that others dropped must not be destroyed by the child.
    with bench.reading(Topic.EVENTS) as reader:
        collect(reader, 1)
        child = multiprocessing.get_context("fork").Process(
            target=use_elsewhere, args=(log, reader, writer)
        )
        child.start()
        child.join(WAIT_S)
        assert child.exitcode == 0
        writer.append(b"key", b"of the parent")
        assert values(collect(reader, 1)) == [b"of the parent"]
    writer.close()
