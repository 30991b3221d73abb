"""What the log says where no broker is: each call ends in time, with the true reason."""

import gc
import signal
import socket
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Thread
from typing import Final

import pytest

from ledger.errors import LoginRefusedError, LogUnavailableError, SettingsError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics, topic_ids, verify_topics, wait_until_ready
from ledger.log.port import Topic

LEDGER = "flights"
REFUSED_S: Final = 1.5
TRIES: Final = 2


@pytest.fixture
def nowhere() -> Iterator[str]:
    """Return an address that nothing listens at, and nothing else will take."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def log(nowhere: str) -> Iterator[KafkaLog]:
    """Return a log whose broker is away."""
    log = KafkaLog(nowhere, LEDGER, delivery_timeout_s=1.0)
    yield log
    log.close()


def test_asking_for_the_ends_names_the_reason(log: KafkaLog) -> None:
    with pytest.raises(LogUnavailableError, match=r"flights\.events: no answer.*Connection refuse"):
        log.ends(Topic.EVENTS, 0.5)


@pytest.fixture
def closing_broker() -> Iterator[str]:
    """Return an address that takes each connection and closes it, as one with TLS does."""

    def answer(server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                line, _ = server.accept()
                with line, suppress(OSError):
                    line.recv(1024)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=answer, args=[server], daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    "ask",
    [
        lambda there: KafkaLog(there, LEDGER).ends(Topic.EVENTS, 30.0),
        lambda there: verify_topics(there, LEDGER, timeout_s=30.0),
    ],
    ids=["ends", "topics"],
)
def test_refused_soon(closing_broker: str, ask: Callable[[str], object]) -> None:
    """A broker that closes each connection is named after a second, not after the timeout."""
    taken_s = []
    for _ in range(TRIES):  # The machine may be busy; the least time is the program's own.
        began_s = time.monotonic()
        with pytest.raises(LoginRefusedError, match=r"security\.protocol is PLAINTEXT"):
            ask(closing_broker)
        taken_s.append(time.monotonic() - began_s)
    assert min(taken_s) < REFUSED_S


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "ask",
    [
        lambda nowhere: KafkaLog(nowhere, LEDGER).ends(Topic.EVENTS, 30.0),
        lambda nowhere: verify_topics(nowhere, LEDGER, timeout_s=30.0),
    ],
    ids=["ends", "topics"],
)
def test_a_signal_is_heard_during_a_wait(nowhere: str, ask: Callable[[str], object]) -> None:
    began_s, before = time.monotonic(), signal.signal(signal.SIGALRM, interrupt)
    # Hypothesis is called at each collection of garbage, and what is raised there is lost.
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            ask(nowhere)
    finally:
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert time.monotonic() - began_s < 5.0


def test_reading(log: KafkaLog) -> None:
    """A reader finds nothing: it cannot tell an absent broker from an idle one."""
    reader = log.reader(Topic.EVENTS, 7)
    assert list(reader.read(10, 0.5)) == []
    assert reader.next_offset() == 7
    reader.close()


def test_a_record_that_cannot_be_delivered_is_noticed_by_every_call(log: KafkaLog) -> None:
    writer = log.writer(Topic.EVENTS)
    writer.append(b"key", b"value")
    reason = r"flights\.events: no answer.*timed out, .*Connection refused"
    uses: list[Callable[[], None]] = [
        lambda: writer.flush(10),
        writer.check,
        lambda: writer.append(b"key", b"value"),
    ]
    for use in uses:
        with pytest.raises(LogUnavailableError, match=reason):
            use()
    writer.close()


def test_a_record_that_no_topic_takes_is_refused_at_once_and_ends_its_writer(log: KafkaLog) -> None:
    writer = log.writer(Topic.EVENTS)
    for value in (bytes(5 * 1024 * 1024), b"small"):
        with pytest.raises(LogUnavailableError, match="the record is larger than the topic allows"):
            writer.append(b"key", value)
    writer.close()


def test_closing_does_not_wait(nowhere: str, capfd: pytest.CaptureFixture[str]) -> None:
    log = KafkaLog(nowhere, LEDGER)
    reader, writer = log.reader(Topic.EVENTS, 0), log.writer(Topic.EVENTS)
    writer.append(b"key", b"value")
    reader.read(1, 0.3)
    started = time.monotonic()
    for part in (reader, writer, log, reader, writer, log):
        part.close()
    assert time.monotonic() - started < 5
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def _no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collection")
def test_dropped_parts_go_at_once(log: KafkaLog) -> None:
    """A reader or writer nobody holds is gone, also after an error: no forked child inherits it."""
    reader, writer = log.reader(Topic.EVENTS, 0), log.writer(Topic.EVENTS)
    reader.read(1, 0.1)
    writer.append(b"key", b"value")
    with suppress(LogUnavailableError):
        writer.flush(10)
    left: list[Callable[[], object]] = [weakref.ref(reader), weakref.ref(writer)]
    del reader, writer
    assert [each() for each in left] == [None, None]


ASKED: list[Callable[[str], object]] = [
    lambda nowhere: create_topics(nowhere, LEDGER, timeout_s=0.5),
    lambda nowhere: verify_topics(nowhere, LEDGER, timeout_s=0.5),
    lambda nowhere: topic_ids(nowhere, LEDGER, timeout_s=0.5),
]


@pytest.mark.parametrize("ask", ASKED, ids=["create", "verify", "ids"])
def test_topics_name_why_no_answer_comes(nowhere: str, ask: Callable[[str], object]) -> None:
    with pytest.raises(LogUnavailableError, match=rf"no answer.*{nowhere}.*Connection refused"):
        ask(nowhere)


def test_a_broker_that_does_not_come_is_waited_for_as_long_as_was_asked(nowhere: str) -> None:
    assert not wait_until_ready(nowhere, 0.2)


@pytest.mark.parametrize(
    ("client", "message"),
    [
        ({"enable.idempotence": "false"}, "settings enable.idempotence; they cannot"),
        ({"acks": "1", "transactional.id": "x"}, "settings acks, transactional.id; they cannot"),
        ({"max.in.flight": "5"}, "settings max.in.flight; they cannot"),
        ({"default.topic.config": {"auto.offset.reset": "earliest"}}, "default.topic.config"),
        ({"linger.ms": "5", "error_cb": print}, "settings error_cb, linger.ms itself"),
        ({"delivery.timeout.ms": "1"}, "settings delivery.timeout.ms itself"),
        ({"no.such.setting": "1"}, 'No such configuration property: "no.such.setting"'),
        ({"fetch.wait.max.ms": "never"}, "fetch.wait.max.ms"),
    ],
)
def test_settings_that_are_not_open_are_named(client: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        KafkaLog("127.0.0.1:1", LEDGER, client=client)
    with pytest.raises(SettingsError, match=message):
        topic_ids("127.0.0.1:1", LEDGER, client=client)


@pytest.mark.parametrize("name", ["", "-flights", "air lines", "a.b", "x" * 201, "Flüge"])
def test_a_name_that_no_topic_can_have_is_refused_first(name: str) -> None:
    with pytest.raises(SettingsError, match="a ledger name must"):
        KafkaLog("127.0.0.1:1", name)
