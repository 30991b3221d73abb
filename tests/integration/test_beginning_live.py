"""Topics that are lost, or made anew, on a real broker: a ledger goes on whole, or is not begun."""

import signal
from contextlib import closing
from itertools import combinations
from pathlib import Path
from shutil import rmtree
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.commands import OpenTxn
from ledger.errors import EventsLostError, SettingsError
from ledger.log.checkpoints import Checkpoint, CheckpointWriter
from ledger.log.kafka.admin import KafkaAdmin
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.topics import add_topic, create_topics, new_topic, topic_ids, verify_topics
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode
from ledger.sequencer.sequencer import Sequencer
from ledger.session.tail import read_genesis
from ledger.testing import SequencerThread
from tests.integration.commands import answer_of, lakeledger, starting, up
from tests.integration.raw_client import UNNUMBERED, RawClient

pytestmark = pytest.mark.kafka

ALERT: Final = SequencerSettings(suspect_s=0.3, jitter_s=0.05)
OPEN_TXN: Final = OpenTxn(*UNNUMBERED, "default", 1, 0)
ASK_S: Final = 10.0
END_S: Final = 60.0
FLUSH_S: Final = 30.0
WITH_EVENTS: Final = [
    frozenset({Topic.EVENTS, *more})
    for count in (0, 1)
    for more in combinations([topic for topic in Topic if topic is not Topic.EVENTS], count)
]
WITHOUT: Final = [
    *(frozenset({topic}) for topic in Topic if topic is not Topic.EVENTS),
    frozenset({Topic.COMMANDS, Topic.CHECKPOINTS}),
    frozenset({Topic.BEATS, Topic.HEARTBEATS}),
]


class Lived:
    """A ledger that was in use, of which nothing runs: each of its topics holds something."""

    def __init__(self, broker: Broker, name: str) -> None:
        self.bootstrap, self.name = broker.bootstrap, name
        self._admin = KafkaAdmin(broker.bootstrap, {}, ASK_S)
        create_topics(self.bootstrap, name)
        with closing(self.log()) as log, closing(RawClient(log)) as client:
            leader = self.start()
            session = client.open_session()
            self.txn = client.ask(session, OPEN_TXN).control.txn
            client.beat(session)
            leader.wait_rounds(2)
            leader.resign()
            self.ledger = read_genesis(log, ASK_S).ledger
            self.position = client.acceptor.head.position
            add_topic(self.bootstrap, name, Topic.CACHE)
            with closing(log.writer(Topic.CHECKPOINTS)) as writer:
                offset = log.ends(Topic.EVENTS)[1] - 1
                checkpoint = Checkpoint(client.state, client.acceptor.head, offset)
                CheckpointWriter(writer, 0).write(checkpoint)
            for topic in (Topic.CATALOGS, Topic.CACHE, Topic.CONSUMERS):
                with closing(log.writer(topic)) as writer:
                    writer.append(b"main", b"what another part of the product wrote")
                    writer.flush(FLUSH_S)

    def log(self) -> KafkaLog:
        return KafkaLog(self.bootstrap, self.name)

    def start(self) -> SequencerThread:
        created = Genesis(self.name)
        return SequencerThread(Sequencer(self.log(), created, settings=ALERT)).start()

    def lose(self, topics: frozenset[Topic]) -> None:
        self._admin.delete([topic_name(self.name, topic) for topic in topics])

    def make_anew(self, topics: frozenset[Topic]) -> None:
        self._admin.create([new_topic(self.name, topic, 1) for topic in topics])


def named(topics: frozenset[Topic]) -> str:
    return " and ".join(sorted(topics))


@pytest.fixture
def lived(broker: Broker, ledger_name: str) -> Lived:
    return Lived(broker, ledger_name)


@pytest.mark.parametrize("lost", WITH_EVENTS, ids=named)
def test_a_program_that_needs_lost_events_says_so(lived: Lived, lost: frozenset[Topic]) -> None:
    lived.lose(lost)
    before = topic_ids(lived.bootstrap, lived.name)
    with pytest.raises(EventsLostError):
        create_topics(lived.bootstrap, lived.name)
    with pytest.raises(EventsLostError):
        verify_topics(lived.bootstrap, lived.name)
    with closing(lived.log()) as log, pytest.raises(EventsLostError):
        read_genesis(log, ASK_S)
    assert topic_ids(lived.bootstrap, lived.name) == before

    lived.make_anew(lost)
    with pytest.raises(EventsLostError):
        create_topics(lived.bootstrap, lived.name)
    with pytest.raises(EventsLostError):
        Ledger.connect(lived.bootstrap, lived.name)
    assert isinstance(end_of_sequencer(lived), EventsLostError)
    with closing(lived.log()) as log:
        assert log.ends(Topic.EVENTS) == (0, 0)


def end_of_sequencer(lived: Lived) -> BaseException | None:
    try:
        return lived.start().wait_end(END_S)
    except EventsLostError as error:
        return error


@pytest.mark.parametrize("lost", WITHOUT, ids=named)
def test_other_topics_are_lost(lived: Lived, lost: frozenset[Topic]) -> None:
    lived.lose(lost)
    if lost - {Topic.CACHE, Topic.CONSUMERS}:
        with pytest.raises(SettingsError, match="does not exist"):
            verify_topics(lived.bootstrap, lived.name)
    create_topics(lived.bootstrap, lived.name)
    verify_topics(lived.bootstrap, lived.name)
    leader = lived.start()
    with closing(lived.log()) as log, closing(RawClient(log)) as client:
        answered = client.ask(client.open_session(), OPEN_TXN).control
        leader.resign()
        assert read_genesis(log, ASK_S).ledger == lived.ledger
    assert answered.txn == lived.txn + 1
    assert answered.position > lived.position


def test_what_is_left_is_deleted_on_request_alone(lived: Lived, tmp_path: Path) -> None:
    where = ("--bootstrap", lived.bootstrap, "--ledger", lived.name)
    init = ("init", *where, "--replication", "1")
    whole = lakeledger(tmp_path, *init, "--begin-anew")
    lived.lose(frozenset({Topic.EVENTS}))
    refused = lakeledger(tmp_path, *init)
    served = lakeledger(tmp_path, "serve", "sequencer", *where)
    begun = lakeledger(tmp_path, *init, "--begin-anew")
    with closing(lived.log()) as log:
        empty = {topic: log.ends(topic)[1] for topic in Topic if topic is not Topic.CACHE}
        leader = lived.start()
        with closing(RawClient(log)) as client:
            first = client.ask(client.open_session(), OPEN_TXN).control.txn
        led = lakeledger(tmp_path, *init, "--begin-anew")
        leader.resign()
        ledger = read_genesis(log, ASK_S).ledger

    assert (whole.returncode, "nothing was deleted" in whole.stderr) == (ExitCode.USAGE, True)
    for done in (refused, served):
        assert done.returncode == ExitCode.UNHEALTHY
        assert "the events of this ledger are gone" in done.stderr
        assert "lakeledger init --begin-anew" in done.stderr
    assert begun.returncode == ExitCode.DONE
    assert f"deleted {lived.name}.beats, " in begun.stderr
    assert not any(empty.values())
    assert (first, ledger == lived.ledger) == (1, False)
    assert led.returncode == ExitCode.USAGE


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the home of a ledger that was up, whose broker has lost everything since."""
    with up(tmp_path) as command:
        address = answer_of(tmp_path, "status")["bootstrap"]
        with Ledger.connect(address, "lake") as ledger:
            ledger.create_table("db.t")
        assert command.end(signal.SIGTERM) == ExitCode.DONE
    rmtree(tmp_path / "lake/broker")
    return tmp_path


@pytest.mark.slow
def test_rows_are_all_that_is_left(home: Path) -> None:
    with starting(home, "--rebuild") as refused:
        assert refused.process.wait(END_S) == ExitCode.UNHEALTHY
        refused.wait_for("lake/store go up to position ")
    with up(home, "--begin-anew") as begun:
        assert answer_of(home, "table", "list") == []
        assert begun.end(signal.SIGTERM) == ExitCode.DONE
