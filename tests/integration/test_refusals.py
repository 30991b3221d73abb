"""What a broker refuses that asks for a login and for rights is named at once, never guessed."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final, NamedTuple

import pytest

from ledger.errors import AccessDeniedError, LoginRefusedError, LogRefusedError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics, topic_ids, verify_topics
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from tests.integration.conftest import NOBODY
from tests.integration.secure_broker import ADMIN, SecureBroker

pytestmark = pytest.mark.kafka

# A refusal takes half a second on an idle machine; this one may be busy. A time-out takes longer.
SOON_S: Final = 8.0
PATIENT_S: Final = 30.0

LOGINS: Final[Mapping[str, tuple[Callable[[SecureBroker], dict[str, str]], str]]] = {
    "password": (lambda broker: broker.login(ADMIN, "other-secret"), "invalid credentials"),
    "user": (lambda broker: broker.login("stranger"), "invalid credentials"),
    "authority": (lambda broker: broker.login(ADMIN, trusted="other-ca.pem"), "certificate verify"),
    "mechanism": (
        lambda broker: {**broker.login(ADMIN), "sasl.mechanism": "PLAIN"},
        "supported mechanisms: SCRAM-SHA-512",
    ),
    "plaintext": (lambda _: {}, "security.protocol is PLAINTEXT"),
    "login without TLS": (
        lambda broker: {**broker.login(ADMIN), "security.protocol": "SASL_PLAINTEXT"},
        "security.protocol is SASL_PLAINTEXT",
    ),
    "TLS without login": (
        lambda broker: {
            "security.protocol": "SSL",
            "ssl.ca.location": broker.login(ADMIN)["ssl.ca.location"],
        },
        "security.protocol is SSL",
    ),
}


@pytest.mark.parametrize("kind", LOGINS)
@pytest.mark.parametrize(
    "ask",
    [
        lambda bootstrap, client: log_end(bootstrap, client),  # noqa: PLW0108 - it comes later
        lambda bootstrap, client: verify_topics(
            bootstrap, "lake", client=client, timeout_s=PATIENT_S
        ),
    ],
    ids=["ends", "topics"],
)
def test_login(secured: SecureBroker, kind: str, ask: Callable[[str, Any], object]) -> None:
    """A login that is refused ends a wait at once and is named, whatever is wrong with it."""
    client, said = LOGINS[kind]
    refused(LoginRefusedError, lambda: ask(secured.bootstrap, client(secured)), said)


@pytest.mark.parametrize(
    ("protocol", "said"),
    [("SASL_SSL", "security.protocol is SASL_SSL"), ("SASL_PLAINTEXT", "login refused")],
)
def test_login_at_an_open_broker(
    secured: SecureBroker, broker: Broker, protocol: str, said: str
) -> None:
    client = {**secured.login(ADMIN), "security.protocol": protocol}
    refused(LoginRefusedError, lambda: log_end(broker.bootstrap, client), said)


@pytest.fixture(scope="module")
def ledger(secured: SecureBroker) -> str:
    create_topics(secured.bootstrap, "refusals", client=secured.login(ADMIN))
    return "refusals"


class Asked(NamedTuple):
    """What a user without rights asks for, and what the error names."""

    ask: Callable[[KafkaLog], object]
    topic: Topic
    right: str


ASKED: Final[Mapping[str, Asked]] = {
    "ends": Asked(lambda log: log.ends(Topic.EVENTS, PATIENT_S), Topic.EVENTS, "READ"),
    "id": Asked(lambda log: log.topic_id(Topic.COMMANDS), Topic.COMMANDS, "DESCRIBE"),
    "write": Asked(lambda log: written(log, Topic.COMMANDS), Topic.COMMANDS, "WRITE"),
}


@pytest.mark.parametrize("what", ASKED)
def test_right(secured: SecureBroker, ledger: str, what: str) -> None:
    """A right that is missing is named with its topic and user, at once."""
    ask, topic, right = ASKED[what]
    with closing(log_of(secured, ledger, NOBODY)) as log:
        error = refused(AccessDeniedError, lambda: ask(log), f"user nobody lacks {right}")
    assert isinstance(error, AccessDeniedError)
    assert (error.topic, error.right) == (f"{ledger}.{topic}", right)


@pytest.fixture
def reader(secured: SecureBroker, ledger: str) -> Iterator[str]:
    """Return a user that may read the events, and nothing else."""
    secured.grant([secured.binding("follower", f"{ledger}.events", "READ")])
    yield "follower"
    secured.revoke("follower")


def test_reader_that_writes(secured: SecureBroker, ledger: str, reader: str) -> None:
    """The client of a user that may write nowhere gives up for good; what is raised is ours."""
    with closing(log_of(secured, ledger, reader)) as log:
        writer = log.writer(Topic.EVENTS)
        writer.append(b"key", b"held")
        for use in (lambda: writer.flush(PATIENT_S), writer.check):
            refused(AccessDeniedError, use, "user follower lacks WRITE")
        assert writer.unwritten(b"held") == 1
        writer.close()


def test_reader_that_closes_early(secured: SecureBroker, ledger: str, reader: str) -> None:
    """To close a writer raises nothing, whenever its client learns of the refusal."""
    with closing(log_of(secured, ledger, reader)) as log:
        for rounds in range(5):
            writer = log.writer(Topic.EVENTS)
            writer.append(b"key", b"held")
            for _ in range(rounds):
                log.ends(Topic.EVENTS)
            writer.close()


def test_reader_needs_no_group(secured: SecureBroker, ledger: str, reader: str) -> None:
    with closing(log_of(secured, ledger, ADMIN)) as log:
        written(log, Topic.EVENTS)
    with closing(log_of(secured, ledger, reader)) as log:
        for _ in range(20):
            with closing(log.reader(Topic.EVENTS, 0)) as events:
                assert events.read(1, PATIENT_S)[0].offset == 0


@pytest.mark.parametrize("has_read", [True, False])
def test_a_reader_whose_right_is_taken_away_is_told_so_whether_it_had_read_anything_or_not(
    secured: SecureBroker, ledger: str, reader: str, *, has_read: bool
) -> None:
    with closing(log_of(secured, ledger, ADMIN)) as log:
        written(log, Topic.EVENTS)
    log = log_of(secured, ledger, reader)
    with closing(log), closing(log.reader(Topic.EVENTS, 0)) as events:
        assert not has_read or events.read(1, PATIENT_S)
        secured.revoke(reader)
        refused(AccessDeniedError, lambda: read_on(events), "lacks READ")


def test_what_a_user_may_not_know_of_is_denied(secured: SecureBroker) -> None:
    client = secured.login(NOBODY)
    said = "lacks DESCRIBE on topic other.commands"
    refused(
        AccessDeniedError,
        lambda: topic_ids(secured.bootstrap, "other", [Topic.COMMANDS], client=client),
        said,
    )
    refused(
        AccessDeniedError,
        lambda: create_topics(secured.bootstrap, "other", client=client),
        "lacks DESCRIBE on topic other",
    )


def refused(kind: type[LogRefusedError], ask: Callable[[], object], said: str) -> LogRefusedError:
    """Return the refusal that something ends with, which says so and comes soon."""
    began_s = time.monotonic()
    with pytest.raises(kind) as told:
        ask()
    assert said in str(told.value)
    assert time.monotonic() - began_s < SOON_S
    return told.value


def log_of(secured: SecureBroker, ledger: str, user: str) -> KafkaLog:
    return KafkaLog(secured.bootstrap, ledger, client=secured.login(user))


def log_end(bootstrap: str, client: Mapping[str, Any]) -> object:
    with closing(KafkaLog(bootstrap, "lake", client=client)) as log:
        return log.ends(Topic.EVENTS, PATIENT_S)


def written(log: KafkaLog, topic: Topic) -> None:
    """Write a record and wait until it is there."""
    with closing(log.writer(topic)) as writer:
        writer.append(b"key", b"held")
        writer.flush(PATIENT_S)


def read_on(reader: Any) -> None:
    """Read until something is refused, or for as long as a patient client waits."""
    ends_s = time.monotonic() + PATIENT_S
    while time.monotonic() < ends_s:
        reader.read(10, 0.5)
