"""Topics of a ledger: created once, compared at every start, found by their names."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import NamedTuple

import pytest
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from ledger.errors import EventsLostError, SettingsError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import (
    NEVER,
    REPLICAS_SAFE,
    SETTINGS,
    FoundTopic,
    doubts,
    fits,
    settings_for,
    topic_name,
)
from ledger.log.kafka.topics import add_topic, create_topics, mend_topics, topic_ids, verify_topics
from ledger.log.port import MADE, REQUIRED, Topic
from ledger.machine.kafka.broker import Broker
from tests.log.contract import WAIT_S
from tests.log.kafka_bench import admin, delete_topic, eventually

DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def created(broker: Broker, ledger_name: str) -> str:
    create_topics(broker.bootstrap, ledger_name)
    return ledger_name


@pytest.fixture(scope="module")
def spoiled(broker: Broker) -> Iterator[str]:
    """Return the name of a ledger whose topics are spoiled, one setting at a time."""
    create_topics(broker.bootstrap, "spoiled")
    yield "spoiled"
    for topic in REQUIRED:
        delete_topic(broker.bootstrap, topic_name("spoiled", topic))


def alter(bootstrap: str, name: str, setting: str, value: str) -> None:
    """Give a topic another setting."""
    entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    client = admin(bootstrap)
    client.incremental_alter_configs([resource])[resource].result(WAIT_S)
    eventually(lambda: kept_settings(bootstrap, name)[setting] == value)


def kept_settings(bootstrap: str, name: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, name)
    client = admin(bootstrap)
    found = client.describe_configs([resource])[resource].result(WAIT_S)
    return {setting: entry.value for setting, entry in found.items()}


@pytest.mark.kafka
@pytest.mark.parametrize("topic", REQUIRED)
def test_created_as_they_must_be(broker: Broker, created: str, topic: Topic) -> None:
    kept = kept_settings(broker.bootstrap, topic_name(created, topic))
    assert SETTINGS[topic].items() <= kept.items()


@pytest.mark.kafka
def test_what_is_missing_is_created_and_named(broker: Broker, ledger_name: str) -> None:
    names = [topic_name(ledger_name, topic) for topic in MADE]
    assert create_topics(broker.bootstrap, ledger_name) == names
    before = topic_ids(broker.bootstrap, ledger_name)
    assert create_topics(broker.bootstrap, ledger_name) == []
    assert topic_ids(broker.bootstrap, ledger_name) == before
    assert len(set(before.values())) == len(MADE)


@pytest.mark.kafka
def test_a_topic_that_was_added_is_made_and_then_verified(broker: Broker, created: str) -> None:
    name = topic_name(created, Topic.CACHE)
    assert Topic.CACHE not in topic_ids(broker.bootstrap, created)
    add_topic(broker.bootstrap, created, Topic.CACHE)
    assert SETTINGS[Topic.CACHE].items() <= kept_settings(broker.bootstrap, name).items()
    alter(broker.bootstrap, name, "cleanup.policy", "delete")
    with pytest.raises(SettingsError, match=f"{name} has cleanup.policy=delete, wanted compact"):
        add_topic(broker.bootstrap, created, Topic.CACHE)


@pytest.mark.kafka
def test_no_topic_of_caches_without_a_ledger(broker: Broker, ledger_name: str) -> None:
    with pytest.raises(SettingsError, match="events does not exist"):
        add_topic(broker.bootstrap, ledger_name, Topic.CACHE)
    assert topic_ids(broker.bootstrap, ledger_name) == {}


@pytest.mark.kafka
def test_one_replica_is_a_doubt(broker: Broker, created: str) -> None:
    found = verify_topics(broker.bootstrap, created)
    assert len(found) == len(REQUIRED)
    assert f"{created}.events has 1 replica(s)" in found[1]


class Broken(NamedTuple):
    """A setting as it must not be, and as it is wanted."""

    topic: Topic
    setting: str
    kept: str
    wanted: str


@pytest.mark.kafka
@pytest.mark.parametrize(
    "broken",
    [
        Broken(Topic.EVENTS, "retention.ms", str(7 * DAY_MS), "-1"),
        Broken(Topic.EVENTS, "retention.bytes", "1000000", "-1"),
        Broken(Topic.EVENTS, "cleanup.policy", "compact", "delete"),
        Broken(Topic.EVENTS, "cleanup.policy", "compact,delete", "delete"),
        Broken(Topic.EVENTS, "message.timestamp.type", "CreateTime", "LogAppendTime"),
        Broken(Topic.EVENTS, "unclean.leader.election.enable", "true", "false"),
        Broken(Topic.EVENTS, "max.message.bytes", "1048588", "2097152"),
        Broken(Topic.COMMANDS, "cleanup.policy", "compact", "delete"),
        Broken(Topic.COMMANDS, "retention.ms", str(DAY_MS), str(7 * DAY_MS)),
        Broken(Topic.COMMANDS, "max.message.bytes", "1000", "1048576"),
        Broken(Topic.COMMANDS, "compression.type", "producer", "uncompressed"),
        Broken(Topic.HEARTBEATS, "compression.type", "zstd", "uncompressed"),
        Broken(Topic.EVENTS, "min.insync.replicas", "2", "1"),
        Broken(Topic.HEARTBEATS, "cleanup.policy", "compact", "compact,delete"),
        Broken(Topic.CHECKPOINTS, "cleanup.policy", "delete", "compact"),
        Broken(Topic.CATALOGS, "cleanup.policy", "delete", "compact"),
    ],
    ids=lambda broken: f"{broken.topic}-{broken.setting}",
)
def test_broken_setting(broker: Broker, spoiled: str, broken: Broken) -> None:
    """A setting that loses history is named, with what was found and wanted and how to mend it."""
    topic, setting, kept, wanted = broken
    name = topic_name(spoiled, topic)
    alter(broker.bootstrap, name, setting, kept)
    with pytest.raises(SettingsError) as caught:
        verify_topics(broker.bootstrap, spoiled)
    alter(broker.bootstrap, name, setting, wanted)
    heading, line = str(caught.value).splitlines()
    assert heading == f"ledger {spoiled} cannot run on its topics:"
    assert line.startswith(f"  {name} has {setting}={kept}, wanted {wanted}. Mend it with: kafka-")
    assert f"--bootstrap-server {broker.bootstrap} --alter " in line
    assert re.search(rf"--entity-name {name} --add-config {setting}='?\[?{wanted}\]?'?$", line)


@pytest.mark.kafka
def test_everything_wrong_at_once(broker: Broker, created: str) -> None:
    """All that is wrong is said at once: a missing topic, too many partitions, a setting."""
    delete_topic(broker.bootstrap, f"{created}.beats")
    grown = f"{created}.commands"
    client = admin(broker.bootstrap)
    client.create_partitions([NewPartitions(grown, 3)])[grown].result(WAIT_S)
    eventually(lambda: len(client.list_topics(timeout=WAIT_S).topics[grown].partitions) == 3)
    alter(broker.bootstrap, f"{created}.events", "cleanup.policy", "compact")
    with pytest.raises(SettingsError) as caught:
        verify_topics(broker.bootstrap, created)
    lines = str(caught.value).splitlines()[1:]
    assert lines[0].startswith(f"  {grown} must have 1 partition, got 3. That cannot be changed")
    assert lines[1].startswith(f"  {created}.events has cleanup.policy=compact, wanted delete.")
    missing, _, remedy = lines[2].partition(" Create it with: lakeledger ")
    assert (missing, len(lines)) == (f"  {created}.beats does not exist.", 3)
    assert remedy == f"init --bootstrap {broker.bootstrap} --ledger {created} --replication 1"


def create_as_told(bootstrap: str, ledger: str, *options: str) -> None:
    """Create what a ledger lacks by the command that is printed, with options behind it."""
    with pytest.raises(SettingsError) as caught:
        verify_topics(bootstrap, ledger)
    remedy = str(caught.value).rpartition("Create it with: lakeledger ")[2]
    command = [sys.executable, "-m", "ledger", *remedy.split(), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.kafka
def test_remedy_of_a_missing_topic(broker: Broker, ledger_name: str) -> None:
    create_as_told(broker.bootstrap, ledger_name, "--replication", "1")
    assert list(verify_topics(broker.bootstrap, ledger_name))


@pytest.mark.kafka
def test_a_lost_topic_is_created_by_the_printed_command(broker: Broker, created: str) -> None:
    delete_topic(broker.bootstrap, f"{created}.beats")
    create_as_told(broker.bootstrap, created)
    assert list(verify_topics(broker.bootstrap, created))


@pytest.mark.kafka
def test_events_that_are_gone(broker: Broker, created: str) -> None:
    """Nothing takes the place of a ledger's lost events: not by decree, nor by a start of it."""
    delete_topic(broker.bootstrap, f"{created}.events")
    assert create_topics(broker.bootstrap, created) == [f"{created}.events"]

    writer = KafkaLog(broker.bootstrap, created).writer(Topic.COMMANDS)
    with closing(writer):
        writer.append(b"", b"some command")
        writer.flush(WAIT_S)
    delete_topic(broker.bootstrap, f"{created}.events")
    with pytest.raises(EventsLostError, match=r"ledger are gone.* commands topic ends at 1"):
        create_topics(broker.bootstrap, created)
    assert Topic.EVENTS not in topic_ids(broker.bootstrap, created)


@pytest.mark.parametrize("topic", Topic)
@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("flush", [True, False])
def test_flushed_by_default(topic: Topic, replicas: int, flush: bool) -> None:  # noqa: FBT001
    """Fewer copies than are safe are flushed, of what nothing else can bring back."""
    kept = settings_for(topic, replicas, flush=flush).get("flush.messages")
    is_needed = topic in {Topic.EVENTS, Topic.CATALOGS, Topic.CONSUMERS}
    is_flushed = flush and replicas < REPLICAS_SAFE and is_needed
    assert kept == ("1" if is_flushed else None)


@pytest.mark.parametrize(
    ("topic", "replicas", "kept", "is_doubted"),
    [
        (Topic.EVENTS, 1, "9223372036854775807", True),
        (Topic.EVENTS, 2, "100", True),
        (Topic.EVENTS, 1, "1", False),
        (Topic.EVENTS, 3, "9223372036854775807", False),
        (Topic.CONSUMERS, 1, "9223372036854775807", True),
        (Topic.COMMANDS, 1, "9223372036854775807", False),
    ],
)
def test_unflushed_is_a_doubt(topic: Topic, replicas: int, kept: str, *, is_doubted: bool) -> None:
    found = FoundTopic("lake.it", 1, replicas, {"flush.messages": kept, "min.insync.replicas": "2"})
    said = [line for line in doubts(topic, found, "k:1") if "power cut" in line]
    assert bool(said) is is_doubted
    assert all("--bootstrap-server k:1" in line and "flush.messages=1" in line for line in said)


MENDED: list[tuple[Topic, str, str]] = [
    *((topic, "retention.ms", "1000") for topic in (Topic.EVENTS, Topic.HEARTBEATS)),
    *((topic, "max.message.bytes", "2000") for topic in REQUIRED),
    *((topic, "min.insync.replicas", "3") for topic in REQUIRED),
    *((topic, "message.timestamp.type", "CreateTime") for topic in REQUIRED),
    *((topic, "segment.ms", "9223372036854775807") for topic in (Topic.BEATS, Topic.CATALOGS)),
    (Topic.EVENTS, "cleanup.policy", "compact"),
    (Topic.EVENTS, "segment.bytes", "1048576"),
    (Topic.EVENTS, "flush.messages", NEVER),
    (Topic.CHECKPOINTS, "cleanup.policy", "delete"),
    (Topic.COMMANDS, "compression.type", "gzip"),
    (Topic.HEARTBEATS, "compression.type", "producer"),
]
# What a deployment may choose stays.
KEPT = [
    (Topic.COMMANDS, "retention.ms", str(30 * DAY_MS)),
    (Topic.EVENTS, "segment.jitter.ms", "5"),
]


@pytest.mark.kafka
def test_topics_of_the_own_broker_get_back_what_was_changed(broker: Broker, created: str) -> None:
    as_created: dict[Topic, dict[str, str]] = {
        t: kept_settings(broker.bootstrap, topic_name(created, t)) for t in REQUIRED
    }
    for topic, setting, value in [*MENDED, *KEPT]:
        alter(broker.bootstrap, topic_name(created, topic), setting, value)
    mend = partial(mend_topics, broker.bootstrap, created)
    said = mend(flush=True)
    for topic, setting, value in MENDED:
        name = topic_name(created, topic)
        was = as_created[topic][setting]
        assert f"{name}: {setting} was {value}, is {was}" in said or value == was
        assert kept_settings(broker.bootstrap, name)[setting] == was
    assert mend(flush=True) == []
    for topic, setting, value in KEPT:
        assert kept_settings(broker.bootstrap, topic_name(created, topic))[setting] == value
    events = topic_name(created, Topic.EVENTS)
    assert f"{events}: flush.messages was 1, is {NEVER}" in mend(flush=False)
    assert any("power cut" in line for line in verify_topics(broker.bootstrap, created))
    assert f"{events}: flush.messages was {NEVER}, is 1" in mend(flush=True)
    assert not any("power cut" in line for line in verify_topics(broker.bootstrap, created))


@pytest.mark.kafka
def test_too_many_replicas(broker: Broker, ledger_name: str) -> None:
    with pytest.raises(SettingsError, match=r"cannot have so many replicas.*or request fewer"):
        create_topics(broker.bootstrap, ledger_name, replication=3)


@pytest.mark.kafka
def test_id_of_no_topic(broker: Broker, created: str) -> None:
    assert Topic.CATALOGS in topic_ids(broker.bootstrap, created)
    delete_topic(broker.bootstrap, f"{created}.catalogs")
    assert Topic.CATALOGS not in topic_ids(broker.bootstrap, created)


@pytest.mark.parametrize(
    ("setting", "kept", "wanted", "expected"),
    [
        ("retention.ms", "-1", "3600000", True),
        ("retention.ms", "3600001", "3600000", True),
        ("retention.ms", "", "3600000", False),
        ("retention.bytes", "0", "-1", False),
        ("max.message.bytes", "3000000", "2097152", True),
        ("cleanup.policy", "delete,compact", "compact,delete", True),
        ("compression.type", "zstd", "producer", True),
        ("compression.type", "producer", "uncompressed", False),
    ],
)
def test_fits(setting: str, kept: str, wanted: str, expected: bool) -> None:  # noqa: FBT001
    """Longer and larger than wanted is fine, and the order of words is free."""
    assert fits(setting, kept, wanted) is expected


@pytest.mark.parametrize(
    ("replicas", "in_sync", "expected"),
    [
        (3, "2", []),
        (3, "1", ["f has min.insync.replicas=1: one broker alone may acknowledge a record"]),
        (2, "1", ["f has 2 replica(s): the data on a lost disk is gone"]),
    ],
)
def test_doubts(replicas: int, in_sync: str, expected: list[str]) -> None:
    """Three replicas of which two must answer leave no doubt."""
    found = FoundTopic("f", 1, replicas, {"min.insync.replicas": in_sync})
    assert [line.partition(". ")[0] for line in doubts(Topic.COMMANDS, found, "k:1")] == expected


@pytest.mark.parametrize(("replicas", "expected"), [(1, None), (2, None), (3, "2")])
def test_replicas_in_sync(replicas: int, expected: str | None) -> None:
    """Where there are enough replicas, topics are created so that two must answer."""
    assert settings_for(Topic.EVENTS, replicas).get("min.insync.replicas") == expected
