"""A copy of the events in a topic of its own, on a real Kafka: compared, adopted, and gone on with.

The other cluster is the same one, after the topics of the ledger were deleted.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Event as Signal

import pytest

from ledger.client import Ledger
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.topics import create_topics, found_topics
from ledger.log.port import Record, Topic
from ledger.log.replay import verify
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode
from projections.fold.follower import rebuild
from tests.integration.commands import answer_of, lakeledger
from tests.integration.fleet import Fleet
from tests.log.kafka_bench import delete_topic

pytestmark = pytest.mark.kafka

PATIENCE_S = 60.0
TXNS = 10
LACKING = 9


class Moved:
    """A ledger with rows, of which only a copy of its events is left, in a topic of its own."""

    def __init__(self, broker: Broker, ledger: str, folder: Path) -> None:
        self.broker, self.ledger, self.folder = broker, ledger, folder
        self.rows = folder / "rows"
        self.where = ("--bootstrap", broker.bootstrap, "--ledger", ledger)
        create_topics(broker.bootstrap, ledger)
        self.last = self.commit()
        with closing(self.log()) as log:
            rebuild(log, self.rows, Signal())
            self.records = records_of(log)
            self.verified = verify(log)

    def log(self) -> KafkaLog:
        return KafkaLog(self.broker.bootstrap, self.ledger)

    def commit(self) -> int:
        """Lead the ledger, commit some txns and return the last one."""
        with (
            Fleet(self.broker.bootstrap, self.ledger, 1),
            Ledger.connect(self.broker.bootstrap, self.ledger, timeout_s=PATIENCE_S) as client,
        ):
            for _ in range(TXNS):
                txn = client.begin()
                txn.commit()
        return txn.id

    def copy(self, records: Sequence[Record]) -> None:
        """Delete all topics, and write the records into a new one."""
        for topic in found_topics(self.broker.bootstrap, self.ledger):
            delete_topic(self.broker.bootstrap, topic_name(self.ledger, topic))
        create_topics(self.broker.bootstrap, self.ledger)
        with closing(self.log()) as log, closing(log.writer(Topic.EVENTS)) as writer:
            for record in records:
                writer.append(record.key, record.value)
            writer.flush(PATIENCE_S)

    def recover(self, *options: str) -> tuple[int, str]:
        """Recover with the rows; return the exit code and what is said."""
        done = lakeledger(self.folder, "recover", *self.where, "--store", str(self.rows), *options)
        return done.returncode, done.stderr


def records_of(log: KafkaLog) -> list[Record]:
    end, found = log.ends(Topic.EVENTS)[1], list[Record]()
    with closing(log.reader(Topic.EVENTS, 0)) as reader:
        while reader.next_offset() < end:
            found += reader.read(1_000, PATIENCE_S)
    return found


@pytest.fixture
def moved(broker: Broker, ledger_name: str, tmp_path: Path) -> Moved:
    return Moved(broker, ledger_name, tmp_path)


def test_a_copy_that_holds_all_that_rows_have_seen_is_named_and_adopted(moved: Moved) -> None:
    moved.copy(moved.records)
    refused = lakeledger(moved.folder, "log", "verify", *moved.where)
    assert refused.returncode == ExitCode.DONE, "a log can be verified wherever it lies"
    code, said = moved.recover()
    assert (code, "Next: lakeledger recover --adopt" in said) == (ExitCode.DONE, True), said
    found = answer_of(moved.folder, "recover", *moved.where, "--store", str(moved.rows), "--adopt")
    assert (found["adopted"], found["compared"]) == (True, {"rows of this host": "the same"})
    with closing(moved.log()) as log:
        assert verify(log) == moved.verified
    assert moved.commit() == moved.last + TXNS
    code, said = moved.recover("--adopt")
    assert (code, "another topic" in said) == (ExitCode.DONE, False)


def test_a_copy_that_lacks_something_is_adopted_with_a_cut_as_the_error_says(moved: Moved) -> None:
    moved.copy(moved.records[:-LACKING])
    code, said = moved.recover("--adopt")
    assert code == ExitCode.UNHEALTHY
    assert "rows of this host" in said
    assert "lakeledger recover --adopt --cut" in said
    code, said = moved.recover("--adopt", "--cut")
    assert (code, "Next: lakeledger up --rebuild" in said) == (ExitCode.DONE, True), said
    assert moved.commit() > moved.last + TXNS
