"""How clients are set up, and one row for each error of theirs that means something to us."""

from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from confluent_kafka import KafkaError

from ledger.errors import LogError, LogUnavailableError, OffsetGoneError, TopicMissingError
from ledger.log.connection import (
    CLIENT_LINES,
    GATHERED_BYTES,
    MEANINGS,
    OFFSET_GONE,
    REFUSALS,
    Connection,
    Trouble,
    as_log_error,
)

TOPIC = "flights.events"


def heard(name: str, words: str = "", *, fatal: bool = False) -> KafkaError:
    """Return the client's error of a name."""
    return KafkaError(getattr(KafkaError, name), words, fatal=fatal)


REFUSED = heard("_TRANSPORT", "Connection refused")
BAD_LOGIN = heard("_AUTHENTICATION", "Invalid credentials")
ALL_DOWN = heard("_ALL_BROKERS_DOWN", "1/1 brokers are down")


@pytest.mark.parametrize("name", sorted(OFFSET_GONE | REFUSALS | MEANINGS.keys()))
def test_names(name: str) -> None:
    """Every name that the tables use is one of the client's."""
    assert heard(name).name() == name


@pytest.mark.parametrize(
    ("name", "kind", "meaning"),
    [
        ("UNKNOWN_TOPIC_OR_PART", TopicMissingError, "no such topic"),
        ("_UNKNOWN_TOPIC", TopicMissingError, "no such topic"),
        ("_UNKNOWN_PARTITION", TopicMissingError, "no such topic"),
        ("_AUTHENTICATION", LogUnavailableError, "login refused"),
        ("SASL_AUTHENTICATION_FAILED", LogUnavailableError, "login refused"),
        ("_SSL", LogUnavailableError, "login refused"),
        ("TOPIC_AUTHORIZATION_FAILED", LogUnavailableError, "lacks the right"),
        ("CLUSTER_AUTHORIZATION_FAILED", LogUnavailableError, "lacks the right"),
        ("GROUP_AUTHORIZATION_FAILED", LogUnavailableError, "lacks READ on the consumer"),
        ("_TIMED_OUT", LogUnavailableError, "no answer in time"),
        ("_MSG_TIMED_OUT", LogUnavailableError, "no answer in time"),
        ("_TRANSPORT", LogUnavailableError, "no answer in time"),
        ("_RESOLVE", LogUnavailableError, "no answer in time"),
        ("_ALL_BROKERS_DOWN", LogUnavailableError, "no answer in time"),
        ("_DESTROY_BROKER", LogUnavailableError, "its leader is changing"),
        ("REQUEST_TIMED_OUT", LogUnavailableError, "no answer in time"),
        ("NOT_LEADER_FOR_PARTITION", LogUnavailableError, "its leader is changing"),
        ("NOT_ENOUGH_REPLICAS", LogUnavailableError, "too few replicas"),
        ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", LogUnavailableError, "too few replicas"),
        ("MSG_SIZE_TOO_LARGE", LogUnavailableError, "larger than the topic takes"),
        ("POLICY_VIOLATION", LogUnavailableError, "the broker refused"),
        ("_BAD_MSG", LogError, "fail their checksum"),
        ("INVALID_MSG", LogError, "fail their checksum"),
        ("_AUTO_OFFSET_RESET", OffsetGoneError, "offset 7 is not there"),
        ("OFFSET_OUT_OF_RANGE", OffsetGoneError, "offset 7 is not there"),
        ("_LOG_TRUNCATION", OffsetGoneError, "offset 7 is not there"),
    ],
)
def test_rows(name: str, kind: type[LogError], meaning: str) -> None:
    """Each error of the client becomes one of ours that says what it means, topic first."""
    error = as_log_error(heard(name, "its own words"), TOPIC, wanted=7, held=(9, 12))
    assert type(error) is kind
    assert str(error).startswith(f"{TOPIC}: ")
    assert meaning in str(error)
    assert "its own words" in str(error)


def test_fatal() -> None:
    """An error that ends the client says that the process must end with it."""
    error = as_log_error(heard("_FATAL", "out of order", fatal=True), TOPIC)
    assert isinstance(error, LogUnavailableError)
    assert "end this process and start it again" in str(error)


def test_offsets_of_gone() -> None:
    """What was wanted and what is there stand in the words and beside them."""
    gone = as_log_error(heard("_AUTO_OFFSET_RESET"), TOPIC, wanted=7, held=(9, 12))
    assert isinstance(gone, OffsetGoneError)
    assert (gone.wanted, gone.earliest) == (7, 9)
    assert "offset 7 is not there, it holds 9 to 12" in str(gone)


def test_offset_gone_of_a_silent_broker() -> None:
    """Where the broker does not tell what it holds, reading can still go on at an offset."""
    gone = as_log_error(heard("_AUTO_OFFSET_RESET"), TOPIC, wanted=7)
    assert isinstance(gone, OffsetGoneError)
    assert gone.earliest == 0
    assert "-1" not in str(gone)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_TIMED_OUT", f"{TOPIC}: login refused; check user, password, mechanism,"),
        ("_MSG_TIMED_OUT", f"{TOPIC}: login refused; check user, password, mechanism,"),
        ("NOT_ENOUGH_REPLICAS", f"{TOPIC}: too few replicas are in sync"),
    ],
)
def test_true_reason(name: str, expected: str) -> None:
    """A time-out is explained by what was heard before it; an answer explains itself."""
    assert str(as_log_error(heard(name), TOPIC, because=BAD_LOGIN)).startswith(expected)


@pytest.mark.parametrize(
    ("errors", "last", "refusal"),
    [
        ([], None, None),
        ([REFUSED], REFUSED, None),
        ([REFUSED, ALL_DOWN], REFUSED, None),
        ([ALL_DOWN], ALL_DOWN, None),
        ([BAD_LOGIN, REFUSED], REFUSED, BAD_LOGIN),
    ],
)
def test_trouble(
    errors: list[KafkaError], last: KafkaError | None, refusal: KafkaError | None
) -> None:
    """The newest reason is kept, not the news that all brokers are down, and refusals apart."""
    trouble = Trouble()
    for error in errors:
        trouble(error)
    assert (trouble.last, trouble.refusal) == (last, refusal)
    trouble.clear()
    assert trouble == Trouble()


def test_first_undelivered() -> None:
    """The first record not delivered counts, with the reason of then, whatever comes after."""
    trouble = Trouble()
    trouble(REFUSED)
    timed_out = heard("_MSG_TIMED_OUT")
    for error in (None, timed_out, heard("_PURGE_QUEUE")):
        trouble.note_delivery(error, "message")
    trouble.clear()
    assert (trouble.undelivered, trouble.because, trouble.last) == (timed_out, REFUSED, None)


def test_deployment_settings() -> None:
    """A deployment may change what suits it; what safety rests on stays."""
    connection = Connection("kafka:9092", {"fetch.wait.max.ms": 50, "sasl.username": "sdk"})
    reader = connection.reader(Trouble())
    writer = connection.writer(Trouble(), linger_ms=0.2, delivery_timeout_s=1.5)
    assert reader["fetch.wait.max.ms"] == 50
    assert reader["auto.offset.reset"] == "error"
    assert (writer["linger.ms"], writer["message.timeout.ms"], writer["acks"]) == (0.2, 1500, "all")
    assert {each["sasl.username"] for each in (reader, writer)} == {"sdk"}
    assert "acks" not in connection.admin(Trouble())


def test_gathering_reader() -> None:
    """A reader in no hurry has the broker gather for it, whatever suits the others."""
    connection = Connection("kafka:9092", {"fetch.wait.max.ms": 500})
    reader = connection.reader(Trouble(), gather_s=0.05)
    assert (reader["fetch.wait.max.ms"], reader["fetch.min.bytes"]) == (50, GATHERED_BYTES)
    assert connection.reader(Trouble())["fetch.min.bytes"] == 1


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    """Return the list that structlog's lines go to, once it is set up."""
    found: list[Any] = []

    def keep(_logger: object, method: str, event: Any) -> Any:
        found.append((method, event["text"]))
        raise structlog.DropEvent

    structlog.configure(processors=[keep])
    yield found
    structlog.reset_defaults()


def test_client_lines(lines: list[Any]) -> None:
    """What the client would print is a debug line where lines are wanted."""
    CLIENT_LINES.log(40, "%s [%s] %s", "FAIL", "rdkafka#producer-1", "Connection refused")
    assert lines == [("debug", "FAIL [rdkafka#producer-1] Connection refused")]


def test_no_client_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed in a program that never set structlog up."""
    CLIENT_LINES.log(40, "%s", "Connection refused")
    assert capsys.readouterr() == ("", "")
