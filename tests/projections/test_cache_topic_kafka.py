"""What one host publishes to a real topic is what another one reads there."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.topics import add_topic, create_topics
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from projections.cache.topic.published import PublishedRows, open_published
from projections.cache.topic.publishing import publishing
from projections.errors import PublishedElsewhereError
from projections.fold.fold import Fold
from projections.store.memory import MemoryStore
from tests.driver import CATALOG, Driver
from tests.log.kafka_bench import admin, eventually
from tests.log.test_topics import alter
from tests.projections.cached import listed, location, made
from tests.projections.publishing import metadata_rows

pytestmark = pytest.mark.kafka

WAIT_S = 30.0
WAIT_MS = 30_000
BROKER_ID = "1"


class Site:
    """A ledger in a real Kafka, and a store that follows it."""

    def __init__(self, log: KafkaLog) -> None:
        self.log = log
        self.driver = Driver()
        self.store = MemoryStore()
        self.session = self.driver.open_session()
        self.table = self.driver.create_table(self.session, "t", made=made("v0"))
        self._sent = 0

    def alter(self, word: str) -> int:
        return self.driver.alter_table(
            self.session, self.table, made(word), "ALTER"
        ).control.position

    def send(self) -> None:
        """Append to the topic what the driver has decided since the last time."""
        with closing(self.log.writer(Topic.EVENTS)) as writer:
            for record in self.driver.records[self._sent :]:
                writer.append(record.key, record.value)
            writer.flush(WAIT_S)
        self._sent = len(self.driver.records)

    def follow(self, fold: Fold) -> None:
        end = self.log.ends(Topic.EVENTS)[1]
        with closing(self.log.reader(Topic.EVENTS, fold.offset)) as reader:
            while fold.offset < end:
                fold.feed(reader.read(4, WAIT_S))


@pytest.fixture
def site(broker: Broker, ledger_name: str) -> Iterator[Site]:
    create_topics(broker.bootstrap, ledger_name)
    add_topic(broker.bootstrap, ledger_name, Topic.CACHE)
    with closing(KafkaLog(broker.bootstrap, ledger_name)) as log:
        yield Site(log)


def test_another_host_reads_what_is_published(site: Site) -> None:
    site.send()
    with publishing(site.log, site.store) as store:
        fold = Fold.load(store, site.log)
        site.follow(fold)
        with closing(open_published(site.log, CATALOG)) as cache:
            before = location(cache.read("t", listed("0"), max_wait_ms=WAIT_MS))
            position = site.alter("v1")
            site.send()
            site.follow(fold)
            after = cache.read("t", listed("1"), token=position, max_wait_ms=WAIT_MS)
            old = location(cache.read("t", listed("0"), max_wait_ms=WAIT_MS))
    assert (before, location(after), after.source, old) == ("v0", "v1", "cache", "v0")


def test_publisher_goes_on_where_the_last_one_ended(site: Site) -> None:
    site.send()
    with publishing(site.log, site.store) as store:
        site.follow(Fold.load(store, site.log))
    end = site.log.ends(Topic.CACHE)
    with publishing(site.log, site.store):
        assert site.log.ends(Topic.CACHE) == end
    site.alter("v1")
    site.send()
    site.follow(Fold.load(site.store, site.log))
    with publishing(site.log, site.store), closing(PublishedRows.read_whole(site.log)) as rows:
        assert metadata_rows(rows) == metadata_rows(site.store)


@pytest.fixture
def cleaned_soon(broker: Broker) -> Iterator[None]:
    """Let the broker look for what it may compact several times a second, not every 15 s."""
    alter_broker(broker.bootstrap, AlterConfigOpType.SET)
    yield
    alter_broker(broker.bootstrap, AlterConfigOpType.DELETE)


def alter_broker(bootstrap: str, operation: AlterConfigOpType) -> None:
    """Give brokers another pause between two looks, or that of before."""
    entry = ConfigEntry("log.cleaner.backoff.ms", "200", incremental_operation=operation)
    resource = ConfigResource(ResourceType.BROKER, BROKER_ID, incremental_configs=[entry])
    client = admin(bootstrap)
    client.incremental_alter_configs([resource])[resource].result(WAIT_S)


@pytest.mark.usefixtures("cleaned_soon")
def test_compacted_by_the_broker(site: Site, broker: Broker) -> None:
    """Of a topic that the broker compacted, whoever begins and whoever was away reads all rows.

    Tombstones may go at once, too.
    """
    name = topic_name(site.log.ledger, Topic.CACHE)
    for setting, value in (("segment.ms", "100"), ("min.cleanable.dirty.ratio", "0.01")):
        alter(broker.bootstrap, name, setting, value)
    alter(broker.bootstrap, name, "delete.retention.ms", "0")
    gone = site.driver.create_table(site.session, "gone", made=made("g0"))
    site.send()
    with publishing(site.log, site.store) as store:
        fold = Fold.load(store, site.log)
        site.follow(fold)
        with closing(PublishedRows.read_whole(site.log)) as paused:
            before = metadata_rows(paused)
            site.driver.drop_table(site.session, gone)
            for number in range(20):
                site.alter(f"v{number}")
            site.send()
            site.follow(fold)

            def is_compacted() -> bool:
                # The newest segment is not compacted: each look closes it with another batch.
                site.alter("again")
                site.send()
                site.follow(fold)
                return count(site.log) < site.log.ends(Topic.CACHE)[1] // 2

            eventually(is_compacted)
            with closing(PublishedRows.read_whole(site.log)) as rows:
                assert metadata_rows(rows) == metadata_rows(site.store) != before
            while metadata_rows(paused)[0] < metadata_rows(site.store)[0]:
                paused.refresh()
            assert metadata_rows(paused) == metadata_rows(site.store)


def count(log: KafkaLog) -> int:
    """Return how many records of the cache topic are left."""
    first, end = log.ends(Topic.CACHE)
    left = 0
    with closing(log.reader(Topic.CACHE, first)) as reader:
        while reader.next_offset() < end:
            left += len(reader.read(1_000, WAIT_S))
    return left


def test_a_feeder_finds_out_that_another_one_writes_to_its_topic(site: Site) -> None:
    site.send()
    with publishing(site.log, site.store) as store, publishing(site.log, MemoryStore()) as other:
        site.follow(Fold.load(store, site.log))
        site.alter("v1")
        site.send()
        site.follow(Fold.load(other, site.log))
        with pytest.raises(PublishedElsewhereError):
            site.follow(Fold.load(store, site.log))
        with closing(PublishedRows.read_whole(site.log)) as rows:
            assert metadata_rows(rows) == metadata_rows(site.store)
