"""The feeder against a real broker and a real Spark: the same rows as a plain fold, always."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest
from pyspark.sql import SparkSession

from ledger.core.commands import Property, TableDefinition
from ledger.core.events.events import Resigned
from ledger.errors import LogDamagedError, LogUnavailableError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from projections.fold.fold import Fold
from projections.store.memory import MemoryStore
from projections.store.rocks_store import RocksStore
from spark_sink.feeder import END_S, Feeder, lag_of
from spark_sink.slices import SLICE_BYTES
from tests.driver import Driver, definition, write
from tests.lost_end import REWRITES, Rewrite, domain, lose_end
from tests.projections.digests import digest

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

PATIENCE_S = 60.0


LONG_BYTES = 1024 * 1024


class Fed:
    """A topic with a ledger's events, and a feeder that can be run up to its end."""

    def __init__(self, spark: SparkSession, broker: Broker, name: str, folder: Path) -> None:
        create_topics(broker.bootstrap, name)
        self.spark, self.broker, self.name, self.folder = spark, broker, name, folder
        self.log = KafkaLog(broker.bootstrap, name)
        self.driver = Driver()
        self.written = 0
        self.store = RocksStore.open(folder / "store")

    def publish(self) -> None:
        """Append to the topic what the driver has decided since the last time."""
        writer = self.log.writer(Topic.EVENTS)
        for record in self.driver.records[self.written :]:
            writer.append(record.key, record.value)
        writer.flush(PATIENCE_S)
        writer.close()
        self.written = len(self.driver.records)

    def publish_bytes(self, value: bytes) -> None:
        writer = self.log.writer(Topic.EVENTS)
        writer.append(b"", value)
        writer.flush(PATIENCE_S)
        writer.close()

    def feeder(
        self, reached: Callable[[int], None] = lambda _position: None, *, end_s: float = END_S
    ) -> Feeder:
        """Return a feeder that resumes from the store."""
        return Feeder(
            self.spark,
            Fold.load(self.store, self.log),
            bootstrap=self.broker.bootstrap,
            ledger=self.name,
            checkpoints=self.folder / "checkpoints",
            applied=lambda fed: reached(fed.position),
            end_s=end_s,
        )

    def run_to_end(self) -> None:
        """Run a feeder until the store holds everything the driver decided."""
        stop = Signal()
        end = self.driver.head.position
        feeder = self.feeder(lambda position: stop.set() if position >= end else None)
        thread = Thread(target=feeder.run, args=(stop,))
        thread.start()
        thread.join(PATIENCE_S)

        assert not thread.is_alive(), f"the feeder stands at {feeder.position} of {end}"

    def plain_digest(self) -> bytes:
        """Return the digest of the rows a plain fold makes of the same log."""
        store = MemoryStore()
        fold = Fold.load(store, self.log)
        fold.feed(self.driver.records)
        return digest(store)


@pytest.fixture
def fed(spark: SparkSession, broker: Broker, ledger_name: str, tmp_path: Path) -> Iterator[Fed]:
    """Yield a ledger with some history, a dropped record among it."""
    fed = Fed(spark, broker, ledger_name, tmp_path)
    work(fed.driver, 20)
    fed.driver.fence()
    fed.driver.zombie(Resigned("paused"))
    work(fed.driver, 5)
    yield fed
    fed.store.close()
    fed.log.close()


def long_definition(number: int) -> TableDefinition:
    """Return a definition that makes an event of about `LONG_BYTES`."""
    text = f"{number}".zfill(LONG_BYTES)
    return definition()._replace(properties=(Property("long", text),))


def work(driver: Driver, txns: int) -> None:
    """Let a session write, commit and abort in a table of its own."""
    session = driver.open_session()
    table = driver.create_table(session, f"t{session}", layout="directories")
    for number in range(txns):
        txn = driver.open_txn(session)
        driver.allocate(session, [txn], [table])
        if number % 5:
            driver.commit(session, txn, write(table))
        else:
            driver.abort(session, txn)


def test_spark_structured_streaming_from_the_real_topic_makes_the_very_same_rows(fed: Fed) -> None:
    fed.publish()

    fed.run_to_end()

    assert fed.plain_digest() == digest(fed.store)


def test_restart_begins_at_the_store(fed: Fed) -> None:
    fed.publish()
    fed.run_to_end()
    shutil.rmtree(fed.folder / "checkpoints")
    work(fed.driver, 10)
    fed.publish()

    fed.run_to_end()

    assert fed.plain_digest() == digest(fed.store)


def test_records_that_the_store_has_are_passed_over(fed: Fed) -> None:
    fed.publish()
    feeder = fed.feeder()
    feeder.feed(fed.driver.records)
    before = digest(fed.store)

    feeder.feed(fed.driver.records)
    feeder.feed(fed.driver.records[-3:])

    assert before == digest(fed.store)


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda each: each.__name__)
def test_lost_end_stops_the_feeder(spark: SparkSession, tmp_path: Path, rewrite: Rewrite) -> None:
    driver, store = domain(), MemoryStore()
    fold = Fold.load(store, driver.log)
    feeder = Feeder(spark, fold, bootstrap="", ledger="", checkpoints=tmp_path)
    feeder.feed(driver.records)
    before = digest(store)
    lose_end(driver, rewrite)

    with pytest.raises(LogDamagedError):
        feeder.feed(driver.records)
    assert digest(store) == before


def test_old_checkpoint_is_replaced(spark: SparkSession, tmp_path: Path) -> None:
    driver, store = domain(), MemoryStore()
    fold = Fold.load(store, driver.log)
    feeder = Feeder(spark, fold, bootstrap="", ledger="", checkpoints=tmp_path, checkpoint_s=0.0)
    feeder.feed(driver.records)

    assert Fold.load(store, driver.log).position == driver.head.position


def test_long_events_are_read_in_slices(fed: Fed) -> None:
    session = fed.driver.open_session()
    table = fed.driver.create_table(session, "long")
    for number in range(SLICE_BYTES // LONG_BYTES + 1):
        fed.driver.alter_table(session, table, long_definition(number), "ALTER")
    fed.publish()

    fed.run_to_end()

    assert fed.plain_digest() == digest(fed.store)


def test_stop_does_not_wait_for_a_batch_that_hangs(fed: Fed) -> None:
    stop, release = Signal(), Signal()

    def hang(_position: int) -> None:
        stop.set()
        release.wait(PATIENCE_S)

    fed.publish()
    try:
        with pytest.raises(LogUnavailableError, match="has not ended its batch"):
            fed.feeder(hang, end_s=0.1).run(stop)
    finally:
        release.set()
        for query in fed.spark.streams.active:
            query.stop()


def test_missing_records_stop_the_feeder(fed: Fed) -> None:
    feeder = fed.feeder()

    with pytest.raises(LogDamagedError, match="position 1"):
        feeder.feed(fed.driver.records[1:])


def test_unreadable_bytes_stop_the_query(fed: Fed) -> None:
    fed.publish()
    fed.publish_bytes(b"not an event")
    damaged = fed.driver.head.position + 1

    with pytest.raises(LogDamagedError, match=f"position {damaged}:") as caught:
        fed.feeder().run(Signal())

    assert damaged == caught.value.position


def test_fault_ends_the_feeder(fed: Fed) -> None:
    def fail(_position: int) -> None:
        raise ZeroDivisionError

    fed.publish()

    with pytest.raises(ZeroDivisionError):
        fed.feeder(fail).run(Signal())


def test_a_feeder_whose_query_others_stop_does_not_end_as_told(fed: Fed) -> None:
    fed.publish()
    has_fed = Signal()
    feeder = fed.feeder(lambda _position: has_fed.set())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(feeder.run, Signal())
        assert has_fed.wait(PATIENCE_S)
        for query in fed.spark.streams.active:
            query.stop()

        with pytest.raises(LogUnavailableError):
            running.result(PATIENCE_S)


def test_lag_is_counted_from_the_end_spark_saw() -> None:
    assert [lag_of('{"t": {"0": 10}}', 7), lag_of('{"t": {"0": 1}}', 7), lag_of("", 0)] == [
        3,
        0,
        None,
    ]
