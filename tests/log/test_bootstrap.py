"""What names a Kafka, and what the client would take for a name and find nobody at."""

import pytest

from ledger.errors import SettingsError
from ledger.log.kafka.bootstrap import check_bootstrap
from ledger.log.kafka.connection import Connection


@pytest.mark.parametrize(
    "text",
    [
        "kafka:9092",
        "kafka",
        "kafka_1.lake.example:9092",
        "10.0.0.1:1",
        "[::1]:65535",
        "[::1]",
        "::1",
        "one:9092,two:9093",
        " one:9092 , two:9093, ",
        "PLAINTEXT://kafka:9092",
        "SASL_SSL://one:9092,SASL_SSL://two:9092",
    ],
)
def test_named(text: str) -> None:
    """One broker or several, with a protocol or not, the port left out or not."""
    check_bootstrap(text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", ""),
        (",", ","),
        ("a:b:c", "a:b:c"),
        ("kafka:port", "kafka:port"),
        ("kafka:", "kafka:"),
        (":9092", ":9092"),
        ("kafka:0", "kafka:0"),
        ("kafka:99999", "kafka:99999"),
        ("kafka:-1", "kafka:-1"),
        ("kafka:9092/lake", "kafka:9092/lake"),
        ("kafka:9092?x=1", "kafka:9092?x=1"),
        ("me@kafka:9092", "me@kafka:9092"),
        ("one two:9092", "one two:9092"),
        ("[::1:9092", "[::1:9092"),
        ("one:9092,two:x", "two:x"),
    ],
)
def test_what_is_no_place_is_refused_before_anybody_waits(text: str, wrong: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Connection(text)
    assert f"got {wrong!r} in {text!r}" in str(raised.value)


def test_what_is_no_text_is_told_as_such() -> None:
    with pytest.raises(TypeError, match=r"bootstrap must be a text .*, got 9092"):
        Connection(9092)  # type: ignore[arg-type]
