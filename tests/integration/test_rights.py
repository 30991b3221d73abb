"""Each role works with exactly the rights of the table, on a broker that denies everything else."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from ledger.client import Ledger
from ledger.core.limits import MIB
from ledger.errors import AccessDeniedError, OutcomeUnknownError, TopicMissingError
from ledger.log.consumers import Consumer, forget, register
from ledger.log.kafka.admin import KafkaAdmin
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.rights import DELETE, READ, ROLES, WRITE, bindings
from ledger.log.kafka.topic_settings import SETTINGS, topic_name
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Topic
from ledger.log.replay import verify
from ledger.machine.process import ExitCode
from ledger.session.tail import read_genesis
from projections.queries import open_reads
from tests.backup.benches import backed_up
from tests.command_line import Done, done_in
from tests.driver import Driver
from tests.integration.commands import Command
from tests.integration.conftest import NOBODY
from tests.integration.secure_broker import ADMIN, ANSWER_S, SecureBroker
from tests.web.looks import first_look

pytestmark = pytest.mark.kafka

LEDGER: Final = "rights"
RESTORED: Final = "restored"
LEASE_S: Final = 1.0
# So many heartbeats of a session and of its leader come in several leases.
BEATS: Final = 15
EXPANDED: Final = 16 * MIB
SOON_S: Final = 8.0
PATIENT_S: Final = 30.0


@pytest.fixture(scope="module")
def ledger(secured: SecureBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the name of a ledger that `init` made and a sequencer leads, each by its rights."""
    home = tmp_path_factory.mktemp("rights")
    for role in ROLES:
        secured.grant([secured.binding(role, *binding) for binding in bindings(LEDGER, role)])
    done = done_of(secured, home, "init", "init", "--replication", "1")
    assert done.returncode == ExitCode.DONE, done.stderr
    with sequencer(secured, home, "first") as first:
        first.wait_for("leading")
        yield LEDGER
    for role in ROLES:
        secured.revoke(role)


def done_of(secured: SecureBroker, home: Path, user: str, *arguments: str) -> Done:
    return done_in(home, *arguments, **secured.environ(user, LEDGER), LAKELEDGER_HOME=str(home))


def role_of(secured: SecureBroker, home: Path, user: str, *arguments: str) -> Command:
    return Command(home, "serve", *arguments, **secured.environ(user, LEDGER))


def sequencer(secured: SecureBroker, home: Path, name: str) -> Command:
    often = ("--set", "sequencer.checkpoint_positions=3", "--lease-s", str(LEASE_S))
    return role_of(secured, home, "sequencer", "sequencer", "--name", name, *often)


def connected(secured: SecureBroker, user: str = "client") -> Ledger:
    return Ledger.connect(
        secured.bootstrap, LEDGER, client=secured.login(user), timeout_s=PATIENT_S
    )


@pytest.mark.usefixtures("ledger")
def test_client(secured: SecureBroker) -> None:
    """A client commits, and its session stays open for longer than a lease: it may beat."""
    with closing(log_of(secured, ADMIN)) as log, connected(secured) as client:
        client.create_table("db.flights", layout="directories")
        txn = client.begin(tables=["db.flights"])
        heard = log.ends(Topic.HEARTBEATS)[1]
        until_s = time.monotonic() + PATIENT_S
        while log.ends(Topic.HEARTBEATS)[1] < heard + BEATS:
            assert time.monotonic() < until_s
        assert txn.commit().position > txn.opened


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("topic", [Topic.COMMANDS, Topic.HEARTBEATS])
def test_packed(secured: SecureBroker, topic: Topic) -> None:
    """A client packs a record that expands a thousandfold: refused, and others go on."""
    packing = {"compression.type": "gzip", "message.max.bytes": 2 * EXPANDED, "linger.ms": 0}
    told: list[KafkaError | None] = []
    place = topic_name(LEDGER, topic)
    with closing(log_of(secured, ADMIN)) as log, connected(secured) as client:
        start = log.ends(topic)[0]
        settings = {"bootstrap.servers": secured.bootstrap, **secured.login("client"), **packing}
        with closing(Producer(settings)) as producer:
            producer.produce(
                place, bytes(EXPANDED), b"1", on_delivery=lambda error, _: told.append(error)
            )
            assert not producer.flush(PATIENT_S)
        assert [each and each.name() for each in told] == ["MSG_SIZE_TOO_LARGE"]
        client.begin().commit()
        with closing(log.reader(topic, start)) as reader:
            assert max(len(each.value) for each in reader.read(10_000, PATIENT_S)) < MIB


@pytest.mark.usefixtures("ledger")
def test_a_sequencer_stands_by_and_leads_once_it_is_alone(
    secured: SecureBroker, tmp_path: Path
) -> None:
    with sequencer(secured, tmp_path, "second") as second:
        second.wait_for("standing by")
        with connected(secured) as client:
            for _ in range(3):
                client.begin().commit()
        second.wait_for("checkpoint written")


@pytest.mark.usefixtures("ledger")
def test_a_follower_comes_to_the_end_of_the_log(secured: SecureBroker, tmp_path: Path) -> None:
    rows, anywhere = tmp_path / "rows", ("--http", "127.0.0.1:0")
    with role_of(secured, tmp_path, "follower", "follower", "--store", str(rows), *anywhere) as it:
        it.wait_for("caught up")
        with role_of(secured, tmp_path, "cache", "cache", "--store", str(rows), *anywhere) as cache:
            cache.wait_for("caught up")
            with connected(secured) as client:
                client.begin().commit()
                written = client.token.position
            with closing(open_reads(rows)) as reads:
                assert reads.wait(written, round(PATIENT_S * 1000)) >= written
            assert cache.process.poll() is None


@pytest.mark.usefixtures("ledger")
def test_a_follower_may_look_at_what_follows_the_log(secured: SecureBroker, tmp_path: Path) -> None:
    other = Consumer("publisher", "other", "there", 1, 1)
    http = ("--http", "127.0.0.1:0", "--store", str(tmp_path / "rows"))
    with closing(log_of(secured, ADMIN)) as log:
        register(log, 0, other)
        with role_of(secured, tmp_path, "follower", "follower", *http) as follower:
            url = json.loads(follower.wait_for("answering HTTP"))["url"]
            assert other.name in {each["name"] for each in first_look(url)["consumers"]}
        forget(log, 0, other.role, other.name)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("user", ["feeder", "publishing-feeder"])
def test_a_feeder_folds_by_spark(secured: SecureBroker, tmp_path: Path, user: str) -> None:
    with connected(secured) as client:
        client.begin().commit()
        written = client.token.position
    environ = secured.environ(user, LEDGER)
    environ["LAKELEDGER_FEEDER__CLIENT_CONFIG"] = str(secured.spark_file(user))
    publish = ("--publish",) if user == "publishing-feeder" else ()
    arguments = ("serve", "feeder", "--store", str(tmp_path / user), *publish)
    with Command(tmp_path, *arguments, **environ) as feeder:
        feeder.wait_for("feeding")
        with closing(open_reads(tmp_path / user / "rows")) as reads:
            reads.wait(written, round(3 * PATIENT_S * 1000))
        if publish:
            source = ("cache", "--source", "published", "--http", "127.0.0.1:0")
            with role_of(secured, tmp_path, "published-cache", *source) as cache:
                cache.wait_for("caught up")


@pytest.mark.usefixtures("ledger")
def test_a_publisher_comes_to_the_end_of_the_log(secured: SecureBroker, tmp_path: Path) -> None:
    with role_of(secured, tmp_path, "publisher", "publisher") as publisher:
        publisher.wait_for("caught up")


@pytest.mark.usefixtures("ledger")
def test_an_operator_learns_which_sequencer_leads(secured: SecureBroker, tmp_path: Path) -> None:
    done = done_of(secured, tmp_path, "operator", "log", "verify")
    assert done.returncode == ExitCode.DONE, done.stderr
    environ = {**secured.environ("operator", LEDGER), "LAKELEDGER_STORE": str(tmp_path / "rows")}
    status = partial(done_in, tmp_path, "status", "--output", "json", **environ)
    found = json.loads(status().stdout)
    assert found["leader"], found["reason"]
    assert found["topics"] is None
    with set_otherwise(secured, Topic.EVENTS, "max.message.bytes", "2000000"):
        found = json.loads(status().stdout)
        assert found["topics"].startswith("1 setting may lose records; lakeledger up mends")
        assert "has max.message.bytes=2000000, wanted" in found["reason"]


@contextmanager
def set_otherwise(secured: SecureBroker, topic: Topic, setting: str, value: str) -> Iterator[None]:
    """Give a topic another setting while the block runs."""
    admin = KafkaAdmin(secured.bootstrap, secured.login(ADMIN), ANSWER_S)
    admin.alter(topic_name(LEDGER, topic), {setting: value})
    try:
        yield
    finally:
        admin.alter(topic_name(LEDGER, topic), {setting: SETTINGS[topic][setting]})


@pytest.mark.usefixtures("ledger")
def test_a_backup_needs_no_right_to_write(secured: SecureBroker, tmp_path: Path) -> None:
    done = done_of(secured, tmp_path, "backup", "backup", str(tmp_path / "copy"))
    assert done.returncode == ExitCode.DONE, done.stderr


@pytest.mark.usefixtures("ledger")
def test_a_restore_writes_to_events_and_catalogs(secured: SecureBroker, tmp_path: Path) -> None:
    driver = Driver(name=RESTORED)
    driver.open_session()
    backed_up(driver.log, tmp_path / "copy")
    secured.grant(
        [secured.binding("restore", *binding) for binding in bindings(RESTORED, "restore")]
    )
    done = done_of(secured, tmp_path, "restore", "restore", str(tmp_path / "copy"))
    assert done.returncode == ExitCode.DONE, done.stderr


def test_a_user_that_may_recover_cuts_a_log(secured: SecureBroker, tmp_path: Path) -> None:
    cut = "recovered"
    create_topics(secured.bootstrap, cut, client=secured.login(ADMIN))
    secured.grant(
        [
            secured.binding(role, *binding)
            for role in ("sequencer", "recover")
            for binding in bindings(cut, role)
        ]
    )
    with Command(tmp_path, "serve", "sequencer", **secured.environ("sequencer", cut)) as leader:
        leader.wait_for("leading")
        assert leader.end(signal.SIGTERM) == ExitCode.DONE
    rows = ("--store", str(tmp_path / "none"))
    recover = partial(done_in, tmp_path, "recover", "--cut", *rows)
    done = recover(**secured.environ("recover", cut))
    assert (done.returncode, "nothing to cut" in done.stderr) == (ExitCode.USAGE, True), done.stderr
    done = recover("--margin", "9", **secured.environ("recover", cut))
    assert done.returncode == ExitCode.DONE, done.stderr
    again = recover(**secured.environ("recover", cut))
    assert (again.returncode, "nothing to cut" in again.stderr) == (ExitCode.USAGE, True)


def test_a_user_that_may_recover_adopts_a_copy(secured: SecureBroker, tmp_path: Path) -> None:
    adopted = "adopted"
    create_topics(secured.bootstrap, adopted, client=secured.login(ADMIN))
    with (
        closing(KafkaLog(secured.bootstrap, adopted, client=secured.login(ADMIN))) as log,
        closing(log.writer(Topic.EVENTS)) as writer,
    ):
        for record in Driver(name=adopted).records:
            writer.append(record.key, record.value)
        writer.flush(PATIENT_S)
    secured.grant(
        [secured.binding("recover", *binding) for binding in bindings(adopted, "recover")]
    )
    rows = ("--store", str(tmp_path / "none"))
    done = done_in(tmp_path, "recover", "--adopt", *rows, **secured.environ("recover", adopted))
    assert done.returncode == ExitCode.DONE, done.stderr
    with closing(KafkaLog(secured.bootstrap, adopted, client=secured.login(ADMIN))) as log:
        assert read_genesis(log, PATIENT_S).name == adopted


@pytest.mark.parametrize("role", ROLES)
def test_no_other_writing(secured: SecureBroker, ledger: str, role: str) -> None:
    """No role writes to a topic that is not its own to write to."""
    foreign = [topic for topic in Topic if WRITE not in ROLES[role].rights.get(topic, ())]
    with closing(log_of(secured, role)) as log:
        for topic in foreign:
            with closing(log.writer(topic)) as writer:
                writer.append(b"key", b"forged")
                # Published metadata has no topic before a feeder publishes it.
                with pytest.raises((AccessDeniedError, TopicMissingError)) as told:
                    writer.flush(PATIENT_S)
            found = told.value
            assert getattr(found, "topic", None) == topic_name(ledger, topic)
            assert topic is Topic.CACHE or getattr(found, "right", None) == WRITE
    assert foreign


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("role", ROLES)
def test_no_other_reading(secured: SecureBroker, role: str) -> None:
    """No role learns what a topic holds that it has no right on."""
    rights = ROLES[role].rights
    with closing(log_of(secured, role)) as log:
        for topic in (each for each in Topic if each not in rights):
            with pytest.raises(AccessDeniedError) as told:
                log.ends(topic, PATIENT_S)
            assert told.value.right == READ


@pytest.mark.parametrize("role", ROLES)
def test_no_other_change(secured: SecureBroker, ledger: str, role: str) -> None:
    """No role deletes topics, changes settings or makes topics of its own; few delete records."""
    admin = AdminClient(
        {"bootstrap.servers": secured.bootstrap, "log_level": 0, **secured.login(role)}
    )
    events = topic_name(ledger, Topic.EVENTS)
    shorter = ConfigEntry("retention.ms", "1", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, events, incremental_configs=[shorter])
    # A role that trims may delete events, and no other records.
    kept = Topic.COMMANDS if DELETE in ROLES[role].rights.get(Topic.EVENTS, ()) else Topic.EVENTS
    tried: list[Any] = [
        admin.delete_records([TopicPartition(topic_name(LEDGER, kept), 0, 1)]),
        *([admin.delete_topics([events])] if kept is Topic.EVENTS else []),
        admin.incremental_alter_configs([resource]),
        admin.create_topics([NewTopic(f"{ledger}.own", 1, 1)]),
    ]
    for answer in (each for answers in tried for each in answers.values()):
        with pytest.raises(KafkaException, match="AUTHORIZATION_FAILED"):
            answer.result(ANSWER_S)
    with closing(log_of(secured, ADMIN)) as log:
        assert verify(log).head.position > 0


def test_a_client_that_may_only_read_is_told_so_soon(secured: SecureBroker, ledger: str) -> None:
    began_s = time.monotonic()
    with connected(secured, "cache") as client, pytest.raises(AccessDeniedError) as told:
        client.begin()
    assert (told.value.topic, told.value.right) == (f"{ledger}.commands", WRITE)
    assert time.monotonic() - began_s < SOON_S


def test_a_client_whose_rights_go_is_refused(secured: SecureBroker, ledger: str) -> None:
    given = [secured.binding("client", *binding) for binding in bindings(ledger, "client")]
    with connected(secured) as client:
        client.begin().commit()
        txn = client.begin()
        secured.revoke("client")
        began_s = time.monotonic()
        # Whether the answer can still be heard is the broker's to say.
        with pytest.raises((AccessDeniedError, OutcomeUnknownError), match="lacks"):
            txn.commit()
        assert time.monotonic() - began_s < SOON_S
        secured.grant(given)


def test_nobody(secured: SecureBroker, ledger: str, tmp_path: Path) -> None:
    """Every role of a user without rights says soon which right is missing, and ends."""
    store = ("--store", str(tmp_path / "rows"))
    asked = {
        ("init", "--replication", "1"): "DESCRIBE",
        ("log", "verify"): "READ",
        ("backup", str(tmp_path / "copy")): "DESCRIBE",
    }
    for arguments, right in asked.items():
        done = done_of(secured, tmp_path, NOBODY, *arguments)
        assert f"AccessDeniedError: {ledger}." in done.stderr
        assert f"user {NOBODY} lacks {right}" in done.stderr
    for role in ("sequencer",), ("follower", *store, "--no-http"):
        with role_of(secured, tmp_path, NOBODY, *role) as command:
            command.wait_for(f"user {NOBODY} lacks DESCRIBE")
            assert command.process.wait(PATIENT_S) != ExitCode.DONE


@pytest.mark.usefixtures("ledger")
def test_a_cache_that_is_refused_says_so_in_its_log(secured: SecureBroker, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "rows"), "--http", "127.0.0.1:0")
    with role_of(secured, tmp_path, NOBODY, "cache", *store) as cache:
        url = json.loads(cache.wait_for("answering HTTP"))["url"]
        refused = f"user {NOBODY} lacks READ"
        assert any(refused in line for line in cache.said) or cache.wait_for(refused)
        with pytest.raises(HTTPError) as told:
            urlopen(f"{url}/readyz", timeout=PATIENT_S)  # noqa: S310
        checks = json.loads(told.value.read())["checks"]
    assert all("lacks READ" in checks[each]["detail"] for each in ("following", "lag"))


def log_of(secured: SecureBroker, user: str) -> KafkaLog:
    return KafkaLog(secured.bootstrap, LEDGER, client=secured.login(user))
