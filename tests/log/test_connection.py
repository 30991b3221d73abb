"""How clients are set up, and one row for each error of theirs that means something to us."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import structlog
from confluent_kafka import KafkaError

from ledger.errors import (
    AccessDeniedError,
    LogError,
    LoginRefusedError,
    LogUnavailableError,
    OffsetGoneError,
    TopicMissingError,
)
from ledger.log.kafka.connection import (
    GATHERED_BYTES,
    MEANINGS,
    OFFSET_GONE,
    Connection,
    as_log_error,
)
from ledger.log.kafka.trouble import (
    CLOSED,
    NO_GROUP,
    NOT_WRITTEN,
    REFUSALS,
    STANDING_S,
    ClientLines,
    Closed,
    Trouble,
)

TOPIC = "flights.events"


def heard(name: str, words: str = "", *, fatal: bool = False) -> KafkaError:
    return KafkaError(getattr(KafkaError, name), words, fatal=fatal)


REFUSED = heard("_TRANSPORT", "Connection refused")
BAD_LOGIN = heard("_AUTHENTICATION", "Invalid credentials")
ALL_DOWN = heard("_ALL_BROKERS_DOWN", "1/1 brokers are down")


@pytest.mark.parametrize(
    "name", sorted((OFFSET_GONE | REFUSALS | NOT_WRITTEN | {NO_GROUP} | MEANINGS.keys()) - {CLOSED})
)
def test_every_name_that_the_tables_use_is_one_of_the_clients(name: str) -> None:
    assert heard(name).name() == name


@pytest.mark.parametrize(
    ("name", "kind", "meaning"),
    [
        ("UNKNOWN_TOPIC_OR_PART", TopicMissingError, "no such topic"),
        ("_UNKNOWN_TOPIC", TopicMissingError, "no such topic"),
        ("_UNKNOWN_PARTITION", TopicMissingError, "no such topic"),
        ("_AUTHENTICATION", LoginRefusedError, "login refused"),
        ("SASL_AUTHENTICATION_FAILED", LoginRefusedError, "login refused"),
        ("_SSL", LoginRefusedError, "login refused"),
        ("TOPIC_AUTHORIZATION_FAILED", AccessDeniedError, "lacks a right on topic"),
        ("CLUSTER_AUTHORIZATION_FAILED", AccessDeniedError, "lacks a right on topic"),
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
        ("MSG_SIZE_TOO_LARGE", LogUnavailableError, "larger than the topic allows"),
        ("POLICY_VIOLATION", LogUnavailableError, "the broker refused"),
        ("_BAD_MSG", LogError, "fail their checksum"),
        ("INVALID_MSG", LogError, "fail their checksum"),
        ("_AUTO_OFFSET_RESET", OffsetGoneError, "offset 7 is gone"),
        ("OFFSET_OUT_OF_RANGE", OffsetGoneError, "offset 7 is gone"),
        ("_LOG_TRUNCATION", OffsetGoneError, "offset 7 is gone"),
    ],
)
def test_rows(name: str, kind: type[LogError], meaning: str) -> None:
    """Each error of the client becomes one of ours that says what it means, topic first."""
    error = as_log_error(heard(name, "its own words"), TOPIC, wanted=7, held=(9, 12))
    assert type(error) is kind
    assert str(error).startswith(f"{TOPIC}: ")
    assert meaning in str(error)
    assert "its own words" in str(error)


def test_an_error_that_ends_the_client_says_that_the_process_must_end_with_it() -> None:
    error = as_log_error(heard("_FATAL", "out of order", fatal=True), TOPIC)
    assert isinstance(error, LogUnavailableError)
    assert "end this process and start it again" in str(error)


def test_offsets_of_gone() -> None:
    """What was wanted and what is there stand in the words and beside them."""
    gone = as_log_error(heard("_AUTO_OFFSET_RESET"), TOPIC, wanted=7, held=(9, 12))
    assert isinstance(gone, OffsetGoneError)
    assert (gone.wanted, gone.earliest) == (7, 9)
    assert "offset 7 is gone, the topic holds 9 to 12" in str(gone)


def test_reading_goes_on_at_an_offset_though_a_broker_is_silent() -> None:
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
def test_a_time_out_is_explained_by_what_was_heard_before_it(name: str, expected: str) -> None:
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
def test_the_newest_reason_is_kept_not_the_news_that_all_brokers_are_down_and_refusals_apart(
    errors: list[KafkaError], last: KafkaError | None, refusal: KafkaError | None
) -> None:
    trouble = Trouble()
    for error in errors:
        trouble(error)
    assert (trouble.last, trouble.refusal) == (last, refusal)
    trouble.clear()
    assert trouble == Trouble(has_answered=True)


def test_the_first_record_not_delivered_counts_with_its_reason() -> None:
    trouble = Trouble()
    trouble(REFUSED)
    timed_out = heard("_MSG_TIMED_OUT")
    for error in (None, timed_out, heard("_PURGE_QUEUE")):
        trouble.note_delivery(error)
    trouble.clear()
    assert (trouble.undelivered, trouble.because, trouble.last) == (timed_out, REFUSED, None)


DENIED = heard("TOPIC_AUTHORIZATION_FAILED", "no")
CUT = "FAIL [producer-1] flights: Disconnected (after 1ms in state UP)"


class Undelivered(NamedTuple):
    """A record that was not delivered."""

    held: bytes

    def value(self) -> bytes:
        return self.held


@pytest.mark.parametrize(
    ("error", "lines", "unwritten"),
    [
        (DENIED, [], 1),
        (heard("CLUSTER_AUTHORIZATION_FAILED"), [], 1),
        (heard("_PURGE_QUEUE"), [], 1),
        (heard("_PURGE_INFLIGHT"), [], 0),
        (heard("_MSG_TIMED_OUT"), [], 0),
        (DENIED, [CUT], 0),
        (DENIED, ["DEBUG Disconnected"], 1),
        (None, [], 0),
    ],
)
def test_unwritten(error: KafkaError | None, lines: list[str], unwritten: int) -> None:
    """A record was not written if it was denied, or never sent, and no connection failed."""
    trouble = Trouble()
    for line in lines:
        trouble.note_line(line)
    trouble.note_delivery(error, Undelivered(b"held"))
    assert trouble.unwritten[b"held"] == unwritten


@pytest.mark.parametrize(
    ("right", "user", "said"),
    [
        ("WRITE", "", "this user lacks WRITE on topic flights.events"),
        ("READ", "sdk", "user sdk lacks READ on topic flights.events; grant it: `lakeledger acl"),
    ],
)
def test_a_denial_names_user_right_topic_and_remedy(right: str, user: str, said: str) -> None:
    error = as_log_error(DENIED, TOPIC, right=right, user=user)
    assert isinstance(error, AccessDeniedError)
    assert (error.topic, error.right, error.retry_unchanged) == (TOPIC, right, False)
    assert said in str(error)


def test_what_a_client_heard_stands_in_an_error_once_also_where_it_is_the_error_itself() -> None:
    text = str(as_log_error(BAD_LOGIN, TOPIC, because=BAD_LOGIN))
    assert text.count("Invalid credentials") == 1


def test_a_client_that_gave_up_because_of_a_right_says_which_and_not_only_that_it_gave_up() -> None:
    fatal = heard("CLUSTER_AUTHORIZATION_FAILED", "no producer id", fatal=True)
    assert "lacks WRITE on topic" in str(as_log_error(fatal, TOPIC, right="WRITE"))


def test_group_is_nobodys_matter() -> None:
    trouble = Trouble()
    trouble(heard(NO_GROUP, "FindCoordinator"))
    assert trouble == Trouble()


@pytest.mark.parametrize(
    ("events", "standing"),
    [
        ([], None),
        ([REFUSED], None),
        ([BAD_LOGIN], BAD_LOGIN),
        ([BAD_LOGIN, "answer"], None),
        ([CUT], CLOSED),
        (["answer", CUT], None),
        ([CUT, REFUSED], None),
        ([CUT, ALL_DOWN], CLOSED),
    ],
)
def test_standing(events: list[KafkaError | str], standing: KafkaError | str | None) -> None:
    """A refusal that stands for a while ends a wait; a connection that just failed does not."""
    trouble = Trouble(protocol="PLAINTEXT")
    for event in events:
        if isinstance(event, KafkaError):
            trouble(event)
        elif event == "answer":
            trouble.clear()
        else:
            trouble.note_line(event)
    assert trouble.standing() is None
    if trouble.refused_s is not None:
        trouble.refused_s -= STANDING_S
    found = trouble.standing()
    assert (found and found.name()) == getattr(standing, "name", lambda: standing)()


def test_a_broker_that_closes_each_connection_is_one_of_another_protocol_and_that_is_said() -> None:
    error = as_log_error(Closed("security.protocol is PLAINTEXT"), TOPIC)
    assert isinstance(error, LoginRefusedError)
    assert "differ in TLS or in the use of a login" in str(error)
    assert "security.protocol is PLAINTEXT" in str(error)


def test_a_deployment_may_change_what_suits_it() -> None:
    connection = Connection("kafka:9092", {"fetch.wait.max.ms": 50, "sasl.username": "sdk"})
    reader = connection.reader(Trouble())
    writer = connection.writer(Trouble(), linger_ms=0.2, delivery_timeout_s=1.5)
    assert reader["fetch.wait.max.ms"] == 50
    assert reader["auto.offset.reset"] == "error"
    assert (writer["linger.ms"], writer["message.timeout.ms"], writer["acks"]) == (0.2, 1500, "all")
    assert {each["sasl.username"] for each in (reader, writer)} == {"sdk"}
    assert "acks" not in connection.admin(Trouble())


def test_a_reader_in_no_hurry_has_the_broker_gather_for_it_whatever_suits_the_others() -> None:
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


def test_what_the_client_would_print_is_a_debug_line(lines: list[Any]) -> None:
    ClientLines(Trouble()).log(40, "%s [%s] %s", "FAIL", "producer-1", "Connection refused")
    assert lines == [("debug", "FAIL [producer-1] Connection refused")]


def test_nothing_is_printed_where_structlog_is_not_set(capsys: pytest.CaptureFixture[str]) -> None:
    ClientLines(Trouble()).log(40, "%s", "Connection refused")
    assert capsys.readouterr() == ("", "")
